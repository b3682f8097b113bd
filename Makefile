# Loop guard. `make help` lists what there is.
#
# Plain cargo works as well once `make setup` has run: `cargo build`, `cargo test`, `cargo run -- demo`.

CARGO_COMPONENT := 0.21.1
CARGO_DENY := 0.20.2
CARGO_FUZZ := 0.13.2

# npm writes this file last in a folder of packages.
NPM_PACKAGES := host-test/js/node_modules/.package-lock.json
WEB_PACKAGES := host-test/web/node_modules/.package-lock.json

# The browser for `make web`.
CHROMIUM := /usr/bin/chromium

# The database of advisories is a git repository, which not every network reaches.
ADVISORIES := yes

# For how long each target is fuzzed, in seconds.
FUZZ_SECONDS := 20
FUZZ_TARGETS := canonical configuration hooks pattern

.PHONY: help setup build demo test web bench lint deny fuzz reproducible cargo-component clean
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

bench: setup $(NPM_PACKAGES) ## Measure what a call costs, against targets; needs Node.js and npm
	cargo bench --package loop-guard --profile dev --bench guard --bench replay

web: build $(WEB_PACKAGES) ## Test the pages of --report in a real browser, CHROMIUM; needs Node.js and npm
	cd host-test/web && LOOP_GUARD="$$(cd ../.. && cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/loop-guard" CHROMIUM=$(CHROMIUM) npm test

$(NPM_PACKAGES) $(WEB_PACKAGES): %/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --ignore-scripts

lint: setup ## Check formatting, lints, documentation and scripts, with warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --package loop-guard-guest --target wasm32-unknown-unknown -- -D warnings
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
	rm -rf host-test/js/build
