#!/bin/sh
# Makes sure that this checkout's Rust toolchain can compile for wasm32-unknown-unknown.
# Running it again costs nothing.
#
# LOOP_GUARD_TOOLCHAIN chooses the way:
#   auto    use the target if it is there, else try rustup, else Debian's packages (the default)
#   rustup  `rustup target add`, nothing else
#   debian  Debian's rustc, with the target's standard library built from Debian's sources;
#           for networks that reach package registries alone
set -eu

target=wasm32-unknown-unknown
checkout=$(cd "$(dirname "$0")/.." && pwd)
packages='rustc-web cargo-web rust-web-src rust-web-llvm lld-22 rust-web-clippy rustfmt-web gcc libc6-dev'
cd "$checkout"

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Compiling something is the only check that also notices a library of another compiler version.
compiles() {
	scratch=$(mktemp -d)
	if printf '' | "$1" - --crate-name probe --crate-type cdylib --target "$target" \
		-o "$scratch/probe.wasm" >/dev/null 2>&1; then found=0; else found=1; fi
	rm -rf "$scratch"
	return "$found"
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

add_with_rustup() {
	command -v rustup >/dev/null || return 1
	say "adding $target with rustup"
	rustup target add "$target" && compiles rustc
}

install_debian_packages() {
	missing=
	for package in $packages; do
		dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "installing Debian's Rust with apt-get, as root:$missing"
	say "(rustup's toolchain has no standard library for $target here, and one can only be built with the compiler it belongs to)"
	as_root apt-get -q update >&2 || return 1
	# shellcheck disable=SC2086 # a list of package names
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >&2
}

# Debian ships no standard library for this target, but the sources to build it from.
build_standard_library() {
	say "building the standard library for $target from Debian's sources (about a minute)"
	work=$(mktemp -d)
	mkdir "$work/src"
	printf '#![no_std]\n' >"$work/src/lib.rs"
	printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$work/Cargo.toml"
	(
		cd "$work"
		unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
		# Bitcode in the libraries is what link-time optimisation needs later.
		CARGO_TARGET_DIR=$work/target RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc \
			CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=-Cembed-bitcode=yes \
			/usr/bin/cargo build -q --release --target "$target" -Zbuild-std=std,panic_abort
	) || return 1
	rm "$work/target/$target"/release/deps/libempty-*
	libraries=$(/usr/bin/rustc --print target-libdir --target "$target")
	say "installing it in $libraries, as root"
	as_root rm -rf "$libraries" || return 1
	as_root mkdir -p "$libraries" || return 1
	as_root cp "$work/target/$target"/release/deps/*.rlib "$libraries/" || return 1
	rm -rf "$work"
	compiles /usr/bin/rustc
}

select_debian_toolchain() {
	if command -v rustup >/dev/null; then
		say "making Debian's Rust the toolchain of this checkout ('rustup override unset' takes that back)"
		rustup toolchain link debian /usr >&2 || return 1
		rustup override set debian --path "$checkout" >&2
	elif [ "$(command -v rustc)" != /usr/bin/rustc ]; then
		die "Debian's Rust is ready, but another comes first on PATH ($(command -v rustc)): put /usr/bin before it"
	fi
}

add_with_debian() {
	[ -e /etc/debian_version ] && command -v apt-get >/dev/null || return 1
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || return 1
	install_debian_packages || return 1
	compiles /usr/bin/rustc || build_standard_library || return 1
	[ "$(rustc --print sysroot 2>/dev/null)" = /usr ] || select_debian_toolchain
}

case ${LOOP_GUARD_TOOLCHAIN:=auto} in
auto)
	compiles rustc || add_with_rustup || add_with_debian ||
		die "no way to compile for $target. Run 'rustup target add $target' where rustup can download," \
			"or this script as root on Debian; LOOP_GUARD_TOOLCHAIN=rustup|debian chooses one way."
	;;
rustup)
	compiles rustc || add_with_rustup ||
		die "'rustup target add $target' did not work; see its message above."
	;;
debian)
	add_with_debian ||
		die "Debian's way did not work; it needs Debian 12 or newer, root or sudo, and apt-get: see the messages above."
	;;
*)
	die "LOOP_GUARD_TOOLCHAIN is '$LOOP_GUARD_TOOLCHAIN'; it can be auto, rustup or debian."
	;;
esac
say "$(rustc --version) compiles for $target"
