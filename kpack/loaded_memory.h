// How much can be read behind an address in a program or library.
#ifndef CERBERUS_KPACK_LOADED_MEMORY_H_
#define CERBERUS_KPACK_LOADED_MEMORY_H_

#include <cstddef>

namespace cerberus::kpack {

// Bytes from the address to the end of the segment that it is in, as the loader
// has mapped it; 0 if no loaded file has it there. Asks the loader, which
// knows it without a look at /proc/self/maps.
std::size_t LoadedBytesAt(const void* address);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_LOADED_MEMORY_H_
