// CUDA fatbins: the containers in which nvcc ships PTX and machine code.
//
// A fatbin is a list of entries behind a 16-byte header. Each entry is PTX
// text, a cubin (machine code) or LTO-IR, for one architecture, plain or
// compressed. Only PTX is of use to us: a library built without compute_XX
// has nothing to convert. Layout: docs/fatbin-format.md.
#ifndef CERBERUS_IMAGES_FATBIN_H_
#define CERBERUS_IMAGES_FATBIN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::images {

// No entry of any shipped library comes near this; a larger declared size is
// taken for a lie before memory is allocated for it.
inline constexpr std::uint64_t kMaxUnpackedEntry = std::uint64_t{1} << 30;

// The number stored in the file; values not listed occur and are kept.
enum class EntryKind : std::uint16_t {
#define FATBIN_KIND(name, number, text, what) name = number,
#include "images/fatbin_flags.def"
};
// "ptx", "cubin", "lto-ir", else "kind 5".
std::string KindName(EntryKind kind);

enum class Compression : std::uint8_t { kNone, kLz4, kZstd };
std::string_view CompressionName(Compression compression);  // "zstd"

enum FatbinFlag : std::uint64_t {
#define FATBIN_FLAG(name, bit, text, what) name = bit,
#include "images/fatbin_flags.def"
};

struct FatbinEntry {
  EntryKind kind;
  std::uint16_t version;       // 0x0101
  std::uint32_t sm;            // 75 for sm_75 and compute_75
  std::uint64_t flags;         // FatbinFlag
  std::uint16_t format_major;  // PTX ISA version of PTX, ABI of a cubin
  std::uint16_t format_minor;
  std::string_view source_name;  // "va.cu", or empty
  std::uint64_t offset;          // of the entry's header, from the fatbin
  ByteSpan payload;              // as stored, padding cut off
  std::uint64_t stored_size;     // payload and padding
  std::uint64_t unpacked_size;   // = payload.size() if not compressed

  Compression compression() const;
  bool is_ptx() const { return kind == EntryKind::kPtx; }
  bool is_64bit() const { return (flags & kFlag64Bit) != 0; }
  bool is_debug() const { return (flags & kFlagDebug) != 0; }
  bool arch_specific() const { return (flags & kFlagArchSpecific) != 0; }
  bool family_specific() const { return (flags & kFlagFamilySpecific) != 0; }
  // "sm_75", "sm_90a", "compute_75": what the entry was compiled for.
  std::string ArchName() const;
};

struct Fatbin {
  ByteSpan bytes;      // header and entries
  std::uint64_t base;  // offset of `bytes` in the file, for messages
  std::vector<FatbinEntry> entries;
};

// Whether a file that begins so is a fatbin.
bool BeginsFatbin(ByteSpan data);

// Reads the container at the start of `data`; bytes behind its end are not
// looked at. `what` and `base` name the place in messages. Errors: not a
// fatbin, a size that runs past the data, an entry that runs past the fatbin.
Result<Fatbin> ParseFatbin(ByteSpan data, const std::string& what = "fatbin",
                           std::uint64_t base = 0);

// The entry's content as it was before compression. Errors: declared sizes
// above kMaxUnpackedEntry, a compressed stream that is broken or unpacks to
// another size than declared.
Result<Bytes> Unpack(const FatbinEntry& entry);

// Fatbins that stand somewhere in `data`: an object file with some, an archive
// of such, or one fatbin. Members of an archive lie on even offsets.
std::vector<Fatbin> FindFatbins(ByteSpan data);

// The entries that hold PTX; where there is none, the cubins that do
// (images/ptx_cubin.h).
std::vector<FatbinEntry> EntriesWithPtx(
    const std::vector<FatbinEntry>& entries);

// The text of such an entry without the NULs and padding behind it. Errors: as
// Unpack; an entry without PTX; NULs within the text.
Result<std::string> UnpackPtx(const FatbinEntry& entry);

// Names of the kernels in the entry, mangled, in the order of the file: the
// .entry directives of PTX, the entry functions of a cubin; none for others.
Result<std::vector<std::string>> KernelNames(const FatbinEntry& entry);
std::vector<std::string> KernelNames(std::string_view ptx);

// Whether these are the entries of libcudadevrt, which nvcc -rdc=true links
// into a program that leaves the device link to the driver.
bool IsDeviceRuntime(const std::vector<FatbinEntry>& entries);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_FATBIN_H_
