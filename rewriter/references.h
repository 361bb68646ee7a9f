// Who leads to a piece of device code, as far as a file's bytes tell.
#ifndef CERBERUS_REWRITER_REFERENCES_H_
#define CERBERUS_REWRITER_REFERENCES_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "rewriter/object_file.h"

namespace cerberus::rewriter {

// Collects for ranges of addresses (sorted, disjoint) which of them something
// leads to.
class References {
 public:
  References(const std::vector<AddressRange>& ranges,
             const std::set<std::uint64_t>& own_slots)
      : ranges_(ranges), own_slots_(own_slots), referred_(ranges.size()) {}

  // Something leads to an address, or writes there.
  void See(std::uint64_t vaddr);
  void SeeAll() { referred_.assign(ranges_.size(), true); }

  // Machine code. Without disassembling it, every place that may be an
  // operand counts: x86-64 reaches data by a displacement of 32 bits behind a
  // ModRM byte that says RIP (Intel SDM vol. 2A, table 2-7), and by operands
  // that count from a base. Such a place may be chance; that costs the bytes
  // that could have gone, and no more. Of most instructions only those count
  // that lead to the first byte of a range: to read device code a program has
  // to begin there. An lea counts wherever it leads.
  struct Bases {
    // Of operands of 32 bits: 0 in a file that is loaded to a fixed address,
    // the base of the image in a PE file.
    std::vector<std::uint64_t> narrow;
    // Of 64 bits: 0 again, the global offset table in the large models (x86-64
    // psABI, 3.5.4).
    std::vector<std::uint64_t> wide;
  };
  void SeeCode(const ObjectFile& file, const ObjectFile::Region& region,
               const Bases& bases);
  // Data of a file that is loaded to a fixed address, whose pointers no
  // relocation names.
  void SeePlainData(const ObjectFile& file, const ObjectFile::Region& region);

  bool IsOwn(std::uint64_t slot) const { return own_slots_.contains(slot); }
  std::vector<bool> Take() && { return std::move(referred_); }

 private:
  // The range that holds the address, or null.
  const AddressRange* Find(std::uint64_t vaddr) const;
  void SeeStart(std::uint64_t vaddr);
  void Mark(const AddressRange* range) {
    referred_[static_cast<std::size_t>(range - ranges_.data())] = true;
  }

  const std::vector<AddressRange>& ranges_;
  const std::set<std::uint64_t>& own_slots_;
  std::vector<bool> referred_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_REFERENCES_H_
