#!/usr/bin/env bash
# Makes the files of this folder anew with LLVM's own tools: no reader or writer of rocmatrix takes part.
#
# Needs clang-19 and lld of LLVM 19, and clang-offload-bundler and clang-offload-packager of LLVM 18, 19 and 22 (Debian:
# clang-tools-18, -19, -22; the packager of 22 is llvm-offload-binary of llvm-22), named by the variables BUNDLER_18,
# BUNDLER_19, BUNDLER_22, PACKAGER_19 and PACKAGER_22.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inputs=("$work/host") targets=(host-x86_64-unknown-linux-gnu-) images=()
touch "$work/host"
for target in gfx942 gfx90a:sramecc+:xnack+ gfx90a:xnack- gfx1100 gfx803; do
  clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$target" -nogpulib -O2 -fuse-ld=lld -Wl,-s kernels.cl \
    -o "$work/$target.co"
  inputs+=("$work/$target.co") targets+=("hipv4-amdgcn-amd-amdhsa--$target")
  images+=("--image=file=$work/$target.co,triple=amdgcn-amd-amdhsa,arch=$target,kind=hip")
done

bundle() {  # BUNDLER OUTPUT [OPTION...]
  local bundler=$1 output=$2
  shift 2
  # shellcheck disable=SC2086 # a bundler may be a command with options
  $bundler -type=o -bundle-align=4096 "$@" "${inputs[@]/#/-input=}" -targets="$(IFS=,; echo "${targets[*]}")" -output="$output"
}
bundle "$BUNDLER_19" plain
bundle "$BUNDLER_18" zstd-1 -compress
bundle "$BUNDLER_19" zstd-2 -compress
COMPRESSED_BUNDLE_FORMAT_VERSION=3 bundle "$BUNDLER_22" zstd-3 -compress
# The tools choose zstd wherever LLVM has it, and Debian's does: zlib's stream is put behind the same header by Python.
for version in 1 2 3; do
  python3 - "$version" plain "zlib-$version" <<'PYTHON'
import hashlib, pathlib, struct, sys, zlib
version, plain = int(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
body, digest = zlib.compress(plain), int.from_bytes(hashlib.md5(plain).digest()[:8], "little")
head = {1: ("<IQ", 20), 2: ("<IIQ", 24), 3: ("<QQQ", 32)}[version]
numbers = [len(plain), digest] if version == 1 else [head[1] + len(body), len(plain), digest]
pathlib.Path(sys.argv[3]).write_bytes(b"CCOB" + struct.pack("<HH", version, 0) + struct.pack(head[0], *numbers) + body)
PYTHON
done
$PACKAGER_19 -o package-19 "${images[@]:0:3}"
$PACKAGER_22 -o package-22 "${images[@]:0:3}"
cp "$work/gfx942.co" gfx942.co
