// How much of each thread's memory a kernel's local arrays take, and how much
// there is. LLVM would say it of a finished function, which is too late to
// leave one kernel out, and of no line.
#ifndef CERBERUS_PTXC_PASSES_LOCAL_MEMORY_H_
#define CERBERUS_PTXC_PASSES_LOCAL_MEMORY_H_

#include <cstdint>
#include <string_view>

namespace llvm {
class Function;
}

namespace cerberus::ptx {

// The frames of the kernel and of what it calls directly, as deep as that
// goes; recursion counts once.
std::uint64_t LocalBytes(const llvm::Function& kernel);

// What the hardware can give to a thread.
std::uint64_t MostLocalBytes(std::string_view processor, unsigned wave_size);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LOCAL_MEMORY_H_
