// What a report says of kernels and libraries beside numbers: collected while
// files are converted or split.
#ifndef CERBERUS_CLI_REPORT_FINDINGS_H_
#define CERBERUS_CLI_REPORT_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/json.h"

namespace cerberus::cli {

struct Findings {
  // A kernel in a code object that was made or split.
  struct KernelRow {
    std::string module;  // its label, "app#0"
    std::string target;
    CodeObject::Kernel kernel;
  };
  // One that is in none; of a module whose kernels are not known, the module.
  struct MissingRow {
    std::string module;
    std::string target;
    std::string kernel;  // mangled, or ""
    std::string reason;
  };
  // A library of NVIDIA's that cannot run, and the file that needs it.
  struct NeededRow {
    std::string file;
    std::string library;
    std::string replacement;  // of ROCm, or ""
  };
  struct UnreadRow {
    std::string module;
    std::string target;
    std::string reason;
  };
  struct Size {
    std::uint64_t code = 0;  // of the archive
    std::uint64_t databases = 0;
  };

  std::vector<KernelRow> kernels;
  std::vector<MissingRow> missing;
  std::vector<NeededRow> nvidia_libraries;
  std::vector<UnreadRow> unread;  // code objects that say nothing of kernels
  std::map<std::string, Size> sizes;  // by target

  void Add(const Findings& other);
  // Of the kernels, those of which not all values fit into registers.
  std::size_t SpillingCount() const;
  // As members of the object that is being written.
  void WriteTo(JsonWriter& json) const;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORT_FINDINGS_H_
