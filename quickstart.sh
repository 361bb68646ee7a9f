#!/bin/bash
# From a fresh Debian 12 to a CUDA program that runs converted: installs what
# is missing, builds Cerberus, compiles samples/vector_add with NVIDIA's nvcc,
# converts it and runs it.
set -euo pipefail
cd "$(dirname "$0")"
trap 'echo "quickstart: stopped at: $BASH_COMMAND" >&2' ERR

step() { printf '\n== %s\n' "$1"; }
show() { echo "\$ $*"; "$@"; }

step "1/4  What building needs"
scripts/setup.sh

step "2/4  Building Cerberus into build/release (some five minutes on two cores)"
cmake --preset release --log-level=WARNING
# Of what is installed, what the next two steps use.
cmake --build --preset release \
  --target cerberus cerberus-jit cerberus_stub cerberus_hip_face

step "3/4  A CUDA program, compiled by NVIDIA's compiler"
nvcc=$(command -v nvcc || echo build/cuda/bin/nvcc)
out=build/quickstart
rm -rf "$out" && mkdir -p "$out"
show "$nvcc" -o $out/vector_add samples/vector_add/vector_add.cu

step "4/4  Converted, and running"
show build/release/bin/cerberus-convert $out/vector_add \
  -o $out/vector_add.amd --arch gfx1100
show $out/vector_add.amd
