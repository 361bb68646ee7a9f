// From a binary to the modules that must be compiled.
#ifndef CERBERUS_REWRITER_EXTRACT_H_
#define CERBERUS_REWRITER_EXTRACT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/binary.h"

namespace cerberus::rewriter {

// What the driver is asked to load as one thing.
struct Module {
  // Number in the archives' keys, `kernel_name#index`; none for a fatbin
  // that no wrapper reaches, which is found by content only.
  std::optional<std::uint32_t> index;
  std::size_t fatbin;                        // index into Binary::fatbins()
  std::vector<images::FatbinEntry> entries;  // of that fatbin, in file order

  // The wrapper nvcc adds to every program without -rdc: a device link with
  // nothing in it. There is nothing to compile and nothing is missing.
  bool is_empty_device_link = false;

  // -rdc=true: the entries hold linked machine code, or nothing if nvcc was
  // asked for PTX alone; the PTX is that of these fatbins (indices into
  // Binary::fatbins()), one per translation unit, to be linked into one
  // module. CUDA's own device runtime, which only kernels that launch kernels
  // need, is left out. Empty otherwise.
  std::vector<std::size_t> link_members;

  bool is_device_link() const { return !link_members.empty(); }
  bool has_ptx() const;
  // Where the module is, for messages: ".nv_fatbin+0x5f8".
  Where where;
};

// One module per wrapper whose fatbin is in the file, in order, then those
// without a wrapper. The members of a device link are not listed a second time
// as modules.
Result<std::vector<Module>> ExtractModules(const Binary& binary);

struct PtxChoice {
  const images::FatbinEntry* entry;              // the one to compile first
  std::vector<const images::FatbinEntry*> next;  // to step down to, best first
  // Set when all PTX is newer than asked for, or bound to one chip: what the
  // user should be told.
  std::string note;
};

// Decides which PTX of a module stands for compute capability `cc` (75 for
// 7.5): the newest with sm ≤ cc; no `a` or `f` entry unless there is no other;
// where all are newer, the oldest of them, with a note. Errors: kNoPtx,
// naming the machine code that is there instead.
Result<PtxChoice> ChoosePtx(const std::vector<images::FatbinEntry>& entries,
                            std::uint32_t cc);

// The same for the members of a device link, in the order of link_members.
// Errors: as ChoosePtx, naming the member.
Result<std::vector<PtxChoice>> ChooseMemberPtx(const Binary& binary,
                                               const Module& module,
                                               std::uint32_t cc);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_EXTRACT_H_
