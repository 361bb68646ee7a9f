// A program or library that may hold CUDA or HIP code: its file format, its
// wrappers and what they lead to.
#ifndef CERBERUS_REWRITER_BINARY_H_
#define CERBERUS_REWRITER_BINARY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "images/fatbin.h"
#include "rewriter/elf/elf.h"
#include "rewriter/embedded_ptx.h"
#include "rewriter/hip_code.h"
#include "rewriter/pe/pe.h"
#include "support/bytes.h"
#include "support/input_file.h"
#include "support/mapped_file.h"
#include "support/result.h"

namespace cerberus::rewriter {

// What a file is, by its first bytes; for messages and for verbs that take
// several kinds.
enum class FileKind : std::uint8_t {
  kUnknown,
  kEmpty,
  kElf,
  kPe,
  kFatbin,
  kHipBundle,
  kPtx,
  kKpack,
  kStaticLibrary,
  kZip,
};
FileKind DetectFileKind(ByteSpan bytes);
// Whether a file that begins like this is a program or library that a loader
// would take on x86-64.
bool IsLoadable(ByteSpan start);
// The same for Windows; `start` must reach to the header behind the program for
// DOS, 4 KiB mostly do.
bool IsLoadableByWindows(ByteSpan start);

// One __fatBinC_Wrapper_t of .nvFatBinSegment: what a translation unit
// registers with cudart.
struct Wrapper {
  std::uint32_t index;    // position among the file's wrappers
  std::uint32_t version;  // 1, or 2: the result of a device link
  std::uint64_t vaddr;
  std::uint64_t offset;  // in the file
  PointerSlot data;      // → fatbin
  PointerSlot last;      // version 2: → array of the members' fatbins
  // Index into Binary::fatbins(); none in a converted file that it left.
  std::optional<std::size_t> fatbin;
};

struct LocatedFatbin {
  std::string section;   // ".nv_fatbin"; "" if there are no section headers
  std::uint64_t vaddr;   // 0 if it is in no loaded segment
  std::uint64_t offset;  // in the file
  bool is_relocatable;   // of one translation unit of -rdc, unlinked
  images::Fatbin fatbin;
  std::vector<std::uint32_t> wrappers;  // that lead here; often none or one
};

class Binary {
 public:
  // Maps the file and finds everything. Errors, each naming what was found:
  // neither an ELF nor a PE file, cut short, 32-bit, for another machine, an
  // object file or static library (link it first), a wrapper that leads
  // nowhere, a fatbin whose sizes lie. A binary without any device code opens;
  // see wrappers() and fatbins().
  static Result<Binary> Open(const std::string& path);
  // The same for a file that messages call otherwise.
  static Result<Binary> Open(const std::string& path, const std::string& name);
  // The same for bytes that the caller keeps alive.
  static Result<Binary> FromBytes(ByteSpan bytes, const std::string& name);
  // … and without what no wrapper leads to, which takes reading all of them.
  // `file` holds the bytes, or is null.
  static Result<Binary> WithWrappers(ByteSpan bytes, const std::string& name,
                                     const MappedFile* file);

  Binary(Binary&&) noexcept;  // views into it stay valid
  Binary& operator=(Binary&&) noexcept;
  ~Binary();

  const std::string& path() const;    // or the name that messages use
  const std::string& source() const;  // what was opened
  ByteSpan bytes() const;
  // The file that was opened, as it was then; null if none was.
  const FileState* file() const;
  unsigned mode() const;  // the file's permission bits
  // A hint: what has been looked at of the bytes is not looked at again soon.
  // It keeps little of a large file in memory.
  void LetGo() const;
  // What it is in whatever format.
  const ObjectFile& object() const;
  // It has one of these formats; the other one holds nothing.
  bool is_pe() const;
  const ElfFile& elf() const;
  const PeFile& pe() const;
  // A program rather than a library.
  bool is_executable() const;

  // In the order of their addresses; a wrapper's index is its position here.
  const std::vector<Wrapper>& wrappers() const;
  // In file order, with and without wrappers.
  const std::vector<LocatedFatbin>& fatbins() const;

  // PTX that is in none of them, in file order.
  const std::vector<EmbeddedPtx>& texts() const;

  // The same for HIP.
  const HipCode& hip() const;

  // How the program reaches the CUDA driver.
  bool links_shared_cudart() const;  // DT_NEEDED libcudart.so.*
  bool links_cuda_driver() const;    // DT_NEEDED libcuda.so.1
  // True if a marker of an earlier conversion is in the file.
  bool is_converted() const;

 private:
  Binary();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_BINARY_H_
