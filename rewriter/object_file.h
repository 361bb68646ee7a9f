// What an ELF file and a PE file have in common for whoever looks for device
// code in them: bytes that are loaded to addresses, pointers among them, and
// who leads where.
#ifndef CERBERUS_REWRITER_OBJECT_FILE_H_
#define CERBERUS_REWRITER_OBJECT_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

// A pointer that stands in the file, and how the loader fills it in.
struct PointerSlot {
  enum class Fill : std::uint8_t {
    kInPlace,    // the bytes are the address; in PE files moved by its base
    kRelative,   // R_X86_64_RELATIVE: base plus the relocation's addend
    kSymbol,     // R_X86_64_64: a symbol's value plus the addend
    kRelr,       // DT_RELR, or DT_REL: base plus the bytes in place
    kRelSymbol,  // DT_REL: a symbol's value plus the bytes in place
  };
  Fill fill = Fill::kInPlace;
  std::uint64_t vaddr = 0;        // of the slot
  std::uint64_t offset = 0;       // of the slot, in the file
  std::uint64_t rela_offset = 0;  // of its relocation, in the file, or 0
  std::uint64_t in_place = 0;     // the bytes that stand there
  std::uint64_t value = 0;        // address it leads to, 0: null
};

// Addresses from the first up to the one behind the last.
struct AddressRange {
  std::uint64_t first;
  std::uint64_t end;
};

class ObjectFile {
 public:
  // Bytes of the file that are loaded: a section, or a segment where a file
  // has no section headers.
  struct Region {
    std::string name;  // "": a segment
    std::uint64_t vaddr;
    std::uint64_t offset;
    std::uint64_t size;  // in the file
    bool is_executable;
    bool is_writable;
  };

  virtual ~ObjectFile() = default;

  ByteSpan bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  virtual bool has_sections() const = 0;
  // By offset in the file.
  virtual std::vector<Region> Regions() const = 0;
  // Whether a region is the section that compilers call so.
  virtual bool IsSection(const Region& region, std::string_view name) const = 0;

  // Where `size` bytes at an address stand in the file; none if they are
  // not all inside the file part of one segment or section.
  virtual std::optional<std::uint64_t> OffsetOf(
      std::uint64_t vaddr, std::uint64_t size = 1) const = 0;
  virtual std::optional<std::uint64_t> VaddrOf(std::uint64_t offset) const = 0;
  // File bytes from an address to the end of its segment or section; empty if
  // none.
  virtual ByteSpan BytesAt(std::uint64_t vaddr) const = 0;
  // Whether all these addresses are taken when the file is loaded.
  virtual bool IsLoaded(std::uint64_t vaddr, std::uint64_t size) const = 0;

  // Finds out how each of the 8-byte slots at the addresses is filled, in
  // one pass over the relocations. `vaddrs` must be sorted. Errors: a slot
  // outside the file, a relocation of a type that cannot stand there, a
  // broken relocation table.
  virtual Result<std::vector<PointerSlot>> ResolvePointers(
      const std::vector<std::uint64_t>& vaddrs) const = 0;

  // Of each of the ranges (sorted, disjoint) whether something is known to
  // lead there or to write there: an exported symbol whose name does not begin
  // with `own_prefix` (if that is not empty), a pointer that the loader fills
  // in, a plain pointer in the data of a file that is loaded to a fixed
  // address, or machine code. Slots at the addresses in `own_slots` do not
  // count. True for all where symbols cannot be counted.
  virtual Result<std::vector<bool>> ReferredRanges(
      const std::vector<AddressRange>& ranges,
      const std::set<std::uint64_t>& own_slots,
      std::string_view own_prefix) const = 0;

  // A hint: what has been looked at is not looked at again soon.
  void LetGo() const {
    if (let_go_) let_go_();
  }
  void set_let_go(std::function<void()> let_go) { let_go_ = std::move(let_go); }

  // Message about this file: "app: .dynamic+0x10: …".
  Diag Error(DiagCode code, std::string message, std::string section = "",
             std::int64_t offset = -1) const;

 protected:
  ByteSpan bytes_;
  std::string name_;

 private:
  std::function<void()> let_go_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_OBJECT_FILE_H_
