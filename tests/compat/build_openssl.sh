#!/bin/bash
# Builds OpenSSL 3.5 into a directory, for tests of this release against that of the system. The sources are those of
# the crate openssl-src. Takes some minutes; does nothing if the directory has it already.
# Usage: build_openssl.sh DIR
set -euo pipefail

dir=$(mkdir -p "$1" && cd "$1" && pwd)
version=300.5
[ ! -e "$dir/lib/libcrypto.a" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p src
: >src/lib.rs
cat >Cargo.toml <<EOF
[package]
name = "sources"
version = "0.0.0"
edition = "2021"
[dependencies]
openssl-src = "~$version"
EOF
cargo vendor --quiet vendor >/dev/null
cd vendor/openssl-src/openssl
./Configure --prefix="$dir" --openssldir="$dir/ssl" --libdir=lib no-shared no-tests no-docs no-apps no-legacy no-engine \
    no-dtls no-ssl3 no-tls1 no-tls1_1 >"$dir/configure.log" 2>&1
make -j"$(nproc)" >"$dir/build.log" 2>&1
make install_dev >"$dir/install.log" 2>&1
