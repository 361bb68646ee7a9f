// C++ names as people write them.
#ifndef CERBERUS_SUPPORT_DEMANGLE_H_
#define CERBERUS_SUPPORT_DEMANGLE_H_

#include <string>
#include <string_view>

namespace cerberus {

// "_Z4scanPiS_" → "scan(int*, int*)"; other names as they are.
std::string Demangle(std::string_view name);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_DEMANGLE_H_
