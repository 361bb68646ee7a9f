#ifndef CERBERUS_CLI_DEMANGLE_H_
#define CERBERUS_CLI_DEMANGLE_H_

#include <string>

namespace cerberus::cli {

// "_Z4scanPiS_" → "scan(int*, int*)"; other names as they are.
std::string Demangle(const std::string& name);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_DEMANGLE_H_
