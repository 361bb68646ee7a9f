// The kernels of a PTX text, without parsing it.
#ifndef CERBERUS_PTXC_FRONT_KERNEL_NAMES_H_
#define CERBERUS_PTXC_FRONT_KERNEL_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace cerberus::ptx {

// The names behind `.entry`, mangled, each once, in the order of the text,
// which may be several modules behind one another. A broken module still lists
// what it has.
std::vector<std::string> KernelNames(std::string_view text);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_KERNEL_NAMES_H_
