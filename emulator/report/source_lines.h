// From an address in a code object to the line it was compiled from.
#ifndef CERBERUS_EMULATOR_REPORT_SOURCE_LINES_H_
#define CERBERUS_EMULATOR_REPORT_SOURCE_LINES_H_

#include <cstdint>
#include <map>
#include <string>

#include "support/bytes.h"

namespace cerberus::emulator {

// The .debug_* sections of a code object by name, without the dot.
using DebugSections = std::map<std::string, Bytes, std::less<>>;

// "reduce.hip:12", and for inlined code "…, inlined at reduce.hip:40"; empty
// if the sections do not tell. `address`: as in the ELF file.
std::string SourceLine(const DebugSections& sections, std::uint64_t address);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_REPORT_SOURCE_LINES_H_
