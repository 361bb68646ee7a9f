#!/bin/bash
# Installs what building and testing Cerberus needs on Debian 12: packages
# from Debian, NVIDIA's compiler from PyPI into build/cuda if there is no nvcc
# on PATH, and a Python environment in build/venv for the tests. What is there
# already is left alone, so that a second run needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }
die() { echo "setup: error: $*" >&2; exit 1; }

packages=(
  # compilers and build tools
  clang-22 clang-tools-22 lld-22 llvm-22 llvm-22-dev llvm-22-tools
  liblld-22-dev libpolly-22-dev
  g++ binutils cmake ninja-build ccache pkg-config
  # libraries
  libzstd-dev liblz4-dev libxxhash-dev libfmt-dev libexpected-dev
  libcli11-dev libmsgpack-cxx-dev zlib1g-dev libxml2-dev
  # tests
  libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev mold patchelf
  python3 python3-venv ca-certificates procps
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  say "installing from Debian: ${missing[*]}"
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "run as root, or install sudo"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get failed; LLVM 22 comes from Debian 12's security archive" \
        "(bookworm-security): is it in /etc/apt/sources.list?"
else
  say "Debian packages: all there"
fi

# What the samples and the tests need of a CUDA toolkit, at one version.
cuda_wheels=(nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-nvvm
             nvidia-cuda-cccl)

# The wheels hold one toolkit tree, nvidia/cu13, but for the links that a
# linker looks for.
install_cuda() {
  local work=build/cuda.part
  rm -rf "$work" && mkdir -p "$work"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --no-deps --target "$work/wheels" \
    "${cuda_wheels[@]/%/==13.0.*}"
  local tree=$work/wheels/nvidia/cu13
  ln -s lib "$tree/lib64"
  ln -s libcudart.so.13 "$tree/lib/libcudart.so"
  ln -s libnvvm.so.4 "$tree/lib/libnvvm.so"
  rm -rf build/cuda
  mv "$tree" build/cuda
  rm -rf "$work"
}

if command -v nvcc >/dev/null; then
  nvcc=$(command -v nvcc)
  say "CUDA toolkit: $nvcc"
else
  if [[ ! -x build/cuda/bin/nvcc || ! -e build/cuda/lib64 ]]; then
    say "installing NVIDIA's CUDA 13.0 compiler from PyPI into build/cuda"
    install_cuda
  fi
  nvcc=$PWD/build/cuda/bin/nvcc
  say "CUDA toolkit: build/cuda"
fi

# The toolkit's driver stub, which programs of the driver API link with, is in
# no wheel. It is a library with the driver's names and nothing behind them,
# and cuda.h has the names.
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
if [[ ! -e $toolkit/lib64/stubs/libcuda.so &&
      ! -e build/stubs/libcuda.so ]]; then
  say "making a driver library to link with: build/stubs/libcuda.so"
  mkdir -p build/stubs
  echo '#include <cuda.h>' | g++ -E -x c++ -I "$toolkit/include" - |
    grep -oE '\bcu[A-Z][A-Za-z0-9_]*\(' | tr -d '(' | sort -u |
    sed 's/.*/.globl &\n.type &,@function\n&:/' |
    gcc -x assembler - -shared -nostdlib -Wl,-soname,libcuda.so.1 \
      -o build/stubs/libcuda.so
fi

# LIEF is the independent reader that checks every rewritten binary; tinygrad
# carries AMD's pseudo-code, which checks the emulator's instructions.
if build/venv/bin/python3 -c 'import lief, tinygrad' 2>/dev/null; then
  say "Python environment: all there"
else
  say "making a Python environment with LIEF and tinygrad in build/venv"
  mkdir -p build
  python3 -m venv build/venv
  build/venv/bin/pip install -q 'lief>=0.16' tinygrad==0.14.0
fi

# Older cudarts, whose calls differ from those of 13.0: 2 MB.
for cudart in 11.8=nvidia-cuda-runtime-cu11==11.8.89 \
              12.4=nvidia-cuda-runtime-cu12==12.4.127; do
  folder=build/cudarts/${cudart%%=*}
  if [[ ! -e $folder/nvidia ]]; then
    say "installing cudart ${cudart%%=*} from PyPI into $folder"
    build/venv/bin/pip install -q --no-deps --target "$folder.part" \
      "${cudart#*=}"
    mv "$folder.part" "$folder"
  fi
done

say "done"
