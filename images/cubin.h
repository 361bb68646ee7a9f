// A cubin: machine code for NVIDIA GPUs, an ELF file. It does not run here, but
// it names its kernels and says how many registers each takes of a thread,
// which bounds the block that a program can ever have launched there.
#ifndef CERBERUS_IMAGES_CUBIN_H_
#define CERBERUS_IMAGES_CUBIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "images/fatbin.h"
#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::images {

struct CubinKernel {
  std::string name;             // mangled
  std::uint32_t registers = 0;  // of a thread; 0: the file does not say
};

// In the order of the symbols. Errors: no 64-bit ELF file, tables or sections
// that run past its end.
Result<std::vector<CubinKernel>> ReadCubin(ByteSpan cubin);

// The most threads of a block, each with so many registers, on any NVIDIA GPU:
// a multiple of 32, at most 1,024.
std::uint32_t MostThreadsWith(std::uint32_t registers);

// By kernel, the most threads that a block of it can have had, where that is
// less than 1,024: as the machine code among a module's entries says that takes
// fewest registers. Of use for a GPU that is presented as compute capability
// `sm` (86 for 8.6) only if a program that meets one runs machine code and no
// PTX, which may come out with fewer registers: none for kernels that no entry
// for such GPUs holds, unless all there is, PTX too, is for newer ones. None
// either where an entry cannot be read.
std::map<std::string, std::uint32_t> BlockBounds(
    const std::vector<FatbinEntry>& entries, std::uint32_t sm);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_CUBIN_H_
