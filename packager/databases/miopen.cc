// MIOpen: share/miopen/db/gfx942130.db.txt, gfx90a68.HIP.fdb.txt,
// gfx1030_36.kdb, gfx908_ConvAsm1x1U_decoder.ktn.model. Behind the processor
// stands the number of its compute units, in hexadecimal and mostly without
// anything between, so the processors must be known by name. Then its libraries
// of composable kernels, libMIOpenCKGroupedConv_gfx942.so.
#include "packager/databases/databases.h"
#include "support/targets/target_table.h"

namespace cerberus::packager {
namespace {

// Of MIOpen's files and not in the table of targets.
constexpr std::string_view kOlder[] = {"gfx801", "gfx803"};

bool IsKnown(std::string_view processor) {
  for (const std::string_view older : kOlder) {
    if (older == processor) return true;
  }
  return FindTarget(processor) != nullptr;
}

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// "gfx942130.db.txt" → "gfx942": of the known processors the longest, behind
// which nothing stands but digits up to a '_' or '.'.
std::string ProcessorAndUnits(std::string_view name) {
  constexpr std::size_t kShortest = 6, kLongest = 7;  // gfx900, gfx1100
  for (std::size_t length = kLongest; length >= kShortest; --length) {
    if (name.size() < length || !IsKnown(name.substr(0, length))) continue;
    std::size_t end = length;
    while (end < name.size() && IsHexDigit(name[end])) ++end;
    if (end < name.size() &&
        (name[end] == '.' || name[end] == '_' || name[end] == '-')) {
      return std::string(name.substr(0, length));
    }
  }
  return "";
}

}  // namespace

std::string MiopenTarget(std::string_view path) {
  const std::string_view name = FileName(path);
  for (const std::string_view start : {"libMIOpenCK", "MIOpenCK"}) {
    if (name.substr(0, start.size()) != start) continue;
    const std::size_t last = name.rfind("_gfx");
    const std::size_t dot = name.find('.');
    if (last == name.npos || last > dot) return "";
    return TargetAt(name.substr(last + 1, dot - last - 1));
  }
  if (Below(path, "miopen/db") != name || name.empty()) return "";
  for (const std::string_view end :
       {".db.txt", ".fdb.txt", ".db", ".kdb", ".kdb.bz2", ".model"}) {
    if (EndsWith(name, end)) return ProcessorAndUnits(name);
  }
  return "";
}

}  // namespace cerberus::packager
