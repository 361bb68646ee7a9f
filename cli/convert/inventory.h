// The device code of a file, counted: what `cerberus list` says first.
#ifndef CERBERUS_CLI_CONVERT_INVENTORY_H_
#define CERBERUS_CLI_CONVERT_INVENTORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/rewriter.h"
#include "support/result.h"

namespace cerberus::cli {

struct Inventory {
  struct Count {
    std::size_t modules = 0;
    std::size_t kernels = 0;
  };
  // By what it was compiled for: the number in its name and the name.
  using ByArch = std::map<std::pair<std::uint32_t, std::string>, Count>;

  Count all;  // modules that hold kernels
  ByArch ptx;
  ByArch machine_code;
  Count without_ptx;  // nothing to convert
  // Entries whose kernels cannot be counted, and why the first one cannot.
  std::size_t unreadable = 0;
  std::string why_unreadable;
};

Result<Inventory> TakeInventory(const rewriter::Binary& binary);
// Of a fatbin by itself, which is one module.
Inventory TakeInventory(const std::vector<images::FatbinEntry>& entries);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_INVENTORY_H_
