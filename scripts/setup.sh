#!/bin/bash
# Installs what building and testing Cerberus needs on Debian 12 or 13: packages
# from Debian, NVIDIA's compiler from PyPI into build/cuda if there is no nvcc
# on PATH, and a Python environment in build/venv for the tests. What is there
# already is left alone, so that a second run needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }
die() { echo "setup: error: $*" >&2; exit 1; }

packages=(
  # compilers and build tools
  clang-22 clang-tools-22 clang-format-22 clang-tidy-22
  lld-22 llvm-22 llvm-22-dev llvm-22-tools bolt-22
  liblld-22-dev libpolly-22-dev
  g++ binutils cmake ninja-build ccache pkg-config
  # libraries
  libzstd-dev liblz4-dev libxxhash-dev libfmt-dev libexpected-dev
  libcli11-dev libmsgpack-cxx-dev libzip-dev libsqlite3-dev zlib1g-dev libxml2-dev
  # tests
  libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev mold patchelf
  chrpath elfutils debhelper lintian libopenblas0-pthread
  python3 python3-venv ca-certificates procps util-linux
)

apt_as_root() {
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "run as root, or install sudo"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  say "installing from Debian: ${missing[*]}"
  apt_as_root update -q
  apt_as_root install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get failed; LLVM 22 comes from Debian's security archive" \
        "(bookworm-security, trixie-security): is it among apt's sources?"
else
  say "Debian packages: all there"
fi

# LIEF is the independent reader that checks every rewritten binary; tinygrad
# carries AMD's pseudo-code, which checks the emulator's instructions; of
# msgpack, xxhash and zstandard the independent reader of archives is made.
if build/venv/bin/python3 -c 'import lief, tinygrad, msgpack, xxhash, zstandard' \
    2>/dev/null; then
  say "Python environment: all there"
else
  say "making a Python environment for the tests in build/venv"
  mkdir -p build
  python3 -m venv build/venv
  build/venv/bin/pip install -q 'lief>=0.16' tinygrad==0.14.0 \
    'msgpack>=1.0' 'xxhash>=3.0' 'zstandard>=0.19'
fi

# install_cuda FOLDER VERSION [CCCL]: what samples and tests need of a CUDA
# toolkit. The wheels hold one tree, nvidia/cu13, but for the links that a
# linker looks for. CCCL counts its versions otherwise.
install_cuda() {
  local folder=$1 version=$2 work=$1.part
  say "installing NVIDIA's CUDA $version compiler from PyPI into $folder"
  rm -rf "$work" && mkdir -p "$work"
  build/venv/bin/pip install -q --no-deps --target "$work" \
    "nvidia-cuda-nvcc==$version.*" "nvidia-cuda-runtime==$version.*" \
    "nvidia-cuda-crt==$version.*" "nvidia-nvvm==$version.*" \
    "nvidia-cuda-cccl==${3:-$version}.*"
  local tree=$work/nvidia/cu13
  ln -s lib "$tree/lib64"
  ln -s libcudart.so.13 "$tree/lib/libcudart.so"
  ln -s libnvvm.so.4 "$tree/lib/libnvvm.so"
  rm -rf "$folder"
  mv "$tree" "$folder"
  rm -rf "$work"
}

# make_stub TOOLKIT FOLDER: the driver library that programs of the driver API
# link with is in no wheel. It has the driver's names and nothing behind them,
# and cuda.h has the names.
make_stub() {
  say "making a driver library to link with: $2/libcuda.so"
  mkdir -p "$2"
  echo '#include <cuda.h>' | g++ -E -x c++ -I "$1/include" - |
    grep -oE '\bcu[A-Z][A-Za-z0-9_]*\(' | tr -d '(' | sort -u |
    sed 's/.*/.globl &\n.type &,@function\n&:/' |
    gcc -x assembler - -shared -nostdlib -Wl,-soname,libcuda.so.1 \
      -o "$2/libcuda.so"
}

if command -v nvcc >/dev/null; then
  nvcc=$(command -v nvcc)
  say "CUDA toolkit: $nvcc"
else
  [[ -e build/cuda/lib64 ]] || install_cuda build/cuda 13.0
  nvcc=$PWD/build/cuda/bin/nvcc
  say "CUDA toolkit: build/cuda"
fi
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
if [[ ! -e $toolkit/lib64/stubs/libcuda.so &&
      ! -e build/stubs/libcuda.so ]]; then
  make_stub "$toolkit" build/stubs
fi

# AMD's HIP runtime as Debian ships it, with its HSA headers. Unpacked and not
# installed: programs of the tests that look for a HIP runtime must not find
# it, nor its own HSA runtime. 19 MB to fetch, and what it needs that the
# machine lacks.
rocm=build/rocm-debian
fetch_rocm() {
  apt-get install -q -y --download-only --reinstall \
    --no-install-recommends -o Debug::NoLocking=1 \
    -o Dir::Cache::archives="$PWD/$rocm.part/archives" \
    libamdhip64-5 libhsa-runtime-dev rocminfo >"$rocm.part/log" 2>&1
}
if [[ ! -e $rocm/usr/bin/rocminfo ]]; then
  say "unpacking Debian's HIP runtime into $rocm"
  rm -rf $rocm.part && mkdir -p $rocm.part/archives/partial
  # The lists of packages may be old, or not there.
  fetch_rocm || { apt_as_root update -q && fetch_rocm; } ||
    die "apt-get failed: $(tail -1 $rocm.part/log)"
  for package in $rocm.part/archives/*.deb; do
    dpkg-deb -x "$package" $rocm.part
  done
  rm -rf $rocm.part/archives $rocm
  mv $rocm.part $rocm
fi

# The newest toolkit, whose programs must convert as well: 126 MB to fetch,
# 280 MB on disk without the compiler's library, which nvcc does not use.
# tests/long/newest_toolkit.py says when there is a newer one.
newest=13.5
if [[ ! -e build/cuda-newest/$newest ]]; then
  install_cuda build/cuda-newest "$newest" 13.3
  rm build/cuda-newest/lib/libnvvm.so*
  make_stub build/cuda-newest build/cuda-newest/lib/stubs
  touch "build/cuda-newest/$newest"
fi

# Other cudarts, whose calls differ from those of 13.0: 5 MB to fetch.
for cudart in 11.8=nvidia-cuda-runtime-cu11==11.8.89 \
              12.4=nvidia-cuda-runtime-cu12==12.4.127 \
              13.5=nvidia-cuda-runtime==13.5.37; do
  folder=build/cudarts/${cudart%%=*}
  if [[ ! -e $folder/nvidia ]]; then
    say "installing cudart ${cudart%%=*} from PyPI into $folder"
    build/venv/bin/pip install -q --no-deps --target "$folder.part" \
      "${cudart#*=}"
    mv "$folder.part" "$folder"
  fi
done

say "done"
