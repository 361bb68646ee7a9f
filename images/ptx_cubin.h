// PTX in a cubin: what a stand-in for ptxas hands back to programs that take
// machine code from it, keep it and load it later. For them it is an ELF file
// for NVIDIA GPUs with the right architecture and the names of its kernels;
// the driver stub finds the PTX in it. Layout: docs/fatbin-format.md.
#ifndef CERBERUS_IMAGES_PTX_CUBIN_H_
#define CERBERUS_IMAGES_PTX_CUBIN_H_

#include <cstdint>
#include <string_view>

#include "support/bytes.h"

namespace cerberus::images {

struct CubinTraits {
  std::uint32_t sm = 0;      // 86 for sm_86
  char suffix = 0;           // 'a', 'f' or 0
  bool relocatable = false;  // ptxas -c
};

// `ptx` is one module, or several behind one another; a NUL ends it.
Bytes MakePtxCubin(std::string_view ptx, const CubinTraits& traits);

// Whether the bytes begin a 64-bit ELF file for NVIDIA GPUs, with or without
// PTX in it.
bool BeginsCubin(ByteSpan start);

// The PTX in such a file; empty if it is any other, also a broken one.
std::string_view PtxOfCubin(ByteSpan cubin);

// The architecture that the text of a module is for.
CubinTraits TraitsOfPtx(std::string_view ptx);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_PTX_CUBIN_H_
