#!/bin/sh
# Builds the component twice, each time from a fresh copy of the tracked files in a folder of another name, with nothing left of the
# guest and what it is made of, and compares the two files.
#
# What the host crates are made of is built once: none of it enters the component.
set -eu

cd "$(dirname "$0")/.."
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
scratch=$(mktemp -d)
# Each copy has its guest built in a folder of its own, which nobody needs afterwards.
marker=$scratch/began
touch "$marker"
trap 'find "$target/guest-of" -mindepth 1 -maxdepth 1 -newer "$marker" -exec rm -rf {} +; rm -rf "$scratch"' EXIT
toolchain=$(rustup show active-toolchain 2>/dev/null | cut -d' ' -f1 || true)

# The component of a fresh copy, under this name.
build() {
	mkdir -p "$scratch/$1"
	git ls-files -z | xargs -0 cp --parents -t "$scratch/$1"
	(
		cd "$scratch/$1"
		export CARGO_TARGET_DIR="$target"
		[ -z "$toolchain" ] || export RUSTUP_TOOLCHAIN="$toolchain"
		cargo run --quiet --package loop-guard -- inspect --save "$scratch/$1.wasm" >/dev/null
	)
}

build one
build another/place
if ! cmp "$scratch/one.wasm" "$scratch/another/place.wasm"; then
	echo 'reproducible: two clean builds made two different components' >&2
	exit 1
fi
echo "reproducible: two clean builds made the same $(wc -c <"$scratch/one.wasm") bytes, $(sha256sum "$scratch/one.wasm" | cut -d' ' -f1)"
