# Loop guard. `make help` lists what there is.
#
# Plain cargo works as well once `make setup` has run: `cargo build`, `cargo test`, `cargo run -- demo`.

CARGO_COMPONENT := 0.21.1
CARGO_DENY := 0.20.2
CARGO_FUZZ := 0.13.2

# npm writes this file last in a folder of packages.
JS_PACKAGES := host-test/js/node_modules/.package-lock.json
WEB_PACKAGES := host-test/web/node_modules/.package-lock.json

# Where cargo puts what it builds.
TARGET_FOLDER = $(shell cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

# The browser for `make web`.
CHROMIUM := /usr/bin/chromium

# The database of advisories is a git repository, which not every network reaches.
ADVISORIES := yes

# For how long each target is fuzzed, in seconds.
FUZZ_SECONDS := 20
FUZZ_TARGETS := canonical configuration hooks pattern

.PHONY: help setup build demo test component js node python page web hosts cost bench lint deny fuzz reproducible cargo-component clean
.DEFAULT_GOAL := help

# Installs a cargo command, of which a debug build takes minutes and a release build far longer.
install = @cargo $(1) --version 2>/dev/null | grep -q ' $(2)$$' || cargo install --debug --locked cargo-$(1) --version $(2)

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 24

setup: ## Bring the wasm target if it is missing
	@guest/setup-wasm.sh

build: setup ## Build the component, the library and the command
	cargo build --workspace
	@cargo run --quiet -- inspect | head -n 3

demo: build ## See the guard at work on the built-in sessions
	@cargo run --quiet -- demo

test: build ## Run all tests; LOOP_GUARD_SESSIONS=FOLDER replays the recorded sessions in it as well
	cargo test --workspace --no-fail-fast $(if $(LOOP_GUARD_SESSIONS),-- --include-ignored)

component: build ## Write the component, and what tests of hosts need, to host-test/build
	@mkdir -p host-test/build
	@cargo run --quiet -- inspect --save host-test/build/loop-guard.wasm > /dev/null
	@cargo run --quiet -- check --export json host-test/sessions/*.yaml > host-test/build/sessions.json
	cargo run --quiet --example misfits -- host-test/build
	cargo build --package loop-guard-page-reader --target wasm32-unknown-unknown --profile guest
	@cp $(TARGET_FOLDER)/wasm32-unknown-unknown/guest/loop_guard_page_reader.wasm host-test/build/readers.wasm

hosts: node python web ## Build and test the hosts in other languages: Node.js, Python, the browser

js: component $(JS_PACKAGES)
	cd host-test/js && npm run build

node: js ## Test the npm package and the plugins for DeepSeek Harness; needs Node.js 20 and npm
	cd host-test/js && npm run lint && npm test

python: component ## Build and test the Python package; needs Python 3.11 or newer
	host-test/python/check.sh

page: js $(WEB_PACKAGES) ## Build the page to try the guard in, host-test/web/dist/loop-guard.html; needs Node.js 20 and npm
	cd host-test/web && npm run build

web: page ## Test the page, and the pages of --report, in a real browser, CHROMIUM
	cd host-test/web && npm run lint
	cd host-test/web && LOOP_GUARD=$(TARGET_FOLDER)/debug/loop-guard CHROMIUM=$(CHROMIUM) npm test

cost: hosts ## Measure what a call costs in each host, in one run
	CHROMIUM=$(CHROMIUM) cargo bench --package loop-guard --profile dev --bench hosts

bench: setup $(JS_PACKAGES) ## Measure what a call costs, against targets; needs Node.js and npm
	cargo bench --package loop-guard --profile dev --bench guard --bench replay

$(JS_PACKAGES) $(WEB_PACKAGES): %/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --ignore-scripts

lint: setup ## Check formatting, lints, documentation and scripts, with warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --package loop-guard-guest --package loop-guard-page-reader --target wasm32-unknown-unknown -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	RUSTDOCFLAGS='-D warnings' cargo doc --package loop-guard-guest --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then shellcheck guest/*.sh .ci/run; else echo "shellcheck is not installed: the scripts are not checked"; fi

deny: ## Check licences, sources, duplicates and advisories of all dependencies; ADVISORIES=no does without their database
	$(call install,deny,$(CARGO_DENY))
	cargo deny check --allow license-exception-not-encountered licenses bans sources
	cargo deny --manifest-path guest/fuzz/Cargo.toml --config deny.toml check --allow license-not-encountered licenses sources
	@if [ $(ADVISORIES) = no ]; then echo "Advisories are not checked"; else cargo deny check advisories; fi

fuzz: setup ## Fuzz the guard from the stored corpus for FUZZ_SECONDS (20) for each of FUZZ_TARGETS; what is new goes to guest/fuzz/found
	$(call install,fuzz,$(CARGO_FUZZ))
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p guest/fuzz/found/$$target; \
		(cd guest/fuzz && cargo fuzz run --sanitizer none $$target found/$$target corpus/$$target -- \
			-dict=json.dict -timeout=60 -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1) || exit; \
	done

reproducible: setup ## Build the component twice from clean, and compare the two byte for byte
	guest/reproducible.sh

cargo-component: setup ## Build the component with cargo-component, and run the scripted sessions against it
	$(call install,component,$(CARGO_COMPONENT))
	guest/cargo-component.sh

clean: ## Delete what was built
	cargo clean
	rm -rf host-test/build host-test/js/build host-test/js/dist host-test/python/dist host-test/web/build host-test/web/dist
