#!/bin/sh
# Builds the component with cargo-component, and runs the scripted sessions against what it built.
set -eu

target=wasm32-unknown-unknown
cd "$(dirname "$0")/.."

say() { printf 'cargo-component: %s\n' "$*" >&2; }

# It asks rustup to download this target unless the folder is there; it never looks into it.
wasi=$(rustc --print sysroot)/lib/rustlib/wasm32-wasip1
if [ ! -d "$wasi" ]; then
	say "making the empty folder $wasi, which it insists on"
	mkdir -p "$wasi" 2>/dev/null || sudo mkdir -p "$wasi"
fi

# A folder of its own: cargo would put the core module back where this puts the component.
folder=${CARGO_TARGET_DIR:-target}/cargo-component
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=$(cat guest/rustflags) \
	cargo component build --package loop-guard-guest --target "$target" --profile guest --target-dir "$folder"
component=$folder/$target/guest/loop_guard_guest.wasm

# Byte 4 tells a component (0d) from a core module (01).
kind=$(od -An -tx1 -j4 -N1 "$component" | tr -d ' ')
if [ "$kind" != 0d ]; then
	say "$component is not a component"
	exit 1
fi
cargo run --quiet --package loop-guard -- inspect "$component"
LOOP_GUARD_COMPONENT=$(realpath "$component") cargo test --workspace --test scripts
