# Loop guard. `make help` lists what there is.
#
# Plain cargo works as well once `make setup` has run: `cargo build`, `cargo test`, `cargo run -- demo`.

CARGO_COMPONENT := 0.21.1

.PHONY: help setup build demo test bench lint cargo-component clean
.DEFAULT_GOAL := help

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

bench: setup ## Measure what a call costs, against targets; needs Node.js
	cargo bench --package loop-guard --profile dev --bench guard

lint: setup ## Check formatting, lints, documentation and scripts, with warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --package loop-guard-guest --target wasm32-unknown-unknown -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	RUSTDOCFLAGS='-D warnings' cargo doc --package loop-guard-guest --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then shellcheck guest/*.sh .ci/run; else echo "shellcheck is not installed: the scripts are not checked"; fi

cargo-component: setup ## Build the component with cargo-component, and run the scripted sessions against it
	guest/cargo-component.sh $(CARGO_COMPONENT)

clean: ## Delete what was built
	cargo clean
