#include "emulator/offload_bundle.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "images/hip_bundle.h"
#include "support/target_id.h"

namespace cerberus::emulator::hip {
namespace {

// ELF-64 header and table entries, the fields that bound the file (System V
// ABI, "ELF Header"; "Section Header"; "Program Header").
struct ElfHeader {
  std::uint8_t ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, phoff, shoff;
  std::uint32_t flags;
  std::uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct ElfSection {
  std::uint32_t name, type;
  std::uint64_t flags, addr, offset, size;
  std::uint32_t link, info;
  std::uint64_t addralign, entsize;
};
struct ElfSegment {
  std::uint32_t type, flags;
  std::uint64_t offset, vaddr, paddr, filesz, memsz, align;
};
constexpr std::uint32_t kShtNobits = 8;
// More than any code object is: how far an image without a size may reach.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 32;

// The ELF file at the start of `image`: as far as its tables, sections and
// segments reach.
Result<ByteSpan> ElfExtent(ByteSpan image) {
  ByteReader reader(image, "code object");
  CERB_TRY(ElfHeader header, reader.Read<ElfHeader>());
  if (header.ident[4] != 2 || header.ident[5] != 1) {
    return Err(DiagCode::kBadFormat,
               "code object is not a 64-bit little-endian ELF file");
  }
  if ((header.phnum != 0 && header.phentsize != sizeof(ElfSegment)) ||
      (header.shnum != 0 && header.shentsize != sizeof(ElfSection))) {
    return Err(DiagCode::kBadFormat, "code object's ELF tables are damaged");
  }
  std::uint64_t end = sizeof header;
  if (header.phnum != 0) {
    CERB_TRY_VOID(reader.Seek(header.phoff));
    for (unsigned i = 0; i < header.phnum; ++i) {
      CERB_TRY(ElfSegment segment, reader.Read<ElfSegment>());
      CERB_TRY(ByteSpan bytes, reader.Slice(segment.offset, segment.filesz));
      end = std::max<std::uint64_t>(end, segment.offset + bytes.size());
    }
    end = std::max<std::uint64_t>(end, reader.offset());
  }
  if (header.shnum != 0) {
    CERB_TRY_VOID(reader.Seek(header.shoff));
    for (unsigned i = 0; i < header.shnum; ++i) {
      CERB_TRY(ElfSection section, reader.Read<ElfSection>());
      if (section.type == kShtNobits) continue;
      CERB_TRY(ByteSpan bytes, reader.Slice(section.offset, section.size));
      end = std::max<std::uint64_t>(end, section.offset + bytes.size());
    }
    end = std::max<std::uint64_t>(end, reader.offset());
  }
  return image.first(static_cast<std::size_t>(end));
}

// clang-offload-bundler's file: magic, count, then per entry offset, size,
// length of the id, the id (Clang, "Clang Offload Bundler", "Bundled Binary
// File Layout").
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";

bool StartsWith(ByteSpan image, std::string_view magic) {
  return image.size() >= magic.size() &&
         std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

// "hipv4-amdgcn-amd-amdhsa--gfx1100" → "gfx1100"; "" for host entries.
std::string_view TargetOfEntry(std::string_view id) {
  if (id.rfind("hip", 0) != 0) return {};
  const std::size_t at = id.rfind("-gfx");
  return at == std::string_view::npos ? std::string_view{} : id.substr(at + 1);
}

Result<ByteSpan> FromBundle(ByteSpan image, std::string_view target) {
  CERB_TRY(TargetId wanted, TargetId::Parse(target));
  // The best entry: named by the earliest of the device's load order; else
  // one for the same processor with features the device leaves open.
  const std::vector<std::string> order = wanted.LoadOrder();
  std::size_t best_rank = order.size() + 1;
  ByteSpan best;
  std::string present;

  ByteReader reader(image, "offload bundle");
  CERB_TRY_VOID(reader.Skip(kBundleMagic.size()));
  CERB_TRY(std::uint64_t count, reader.U64());
  for (std::uint64_t i = 0; i < count; ++i) {
    CERB_TRY(std::uint64_t offset, reader.U64());
    CERB_TRY(std::uint64_t size, reader.U64());
    CERB_TRY(std::uint64_t length, reader.U64());
    if (length > 4096) return Err(reader.Error("entry's id is too long"));
    CERB_TRY(ByteSpan id, reader.Take(length));
    CERB_TRY(ByteSpan object, reader.Slice(offset, size));
    const std::string_view entry = TargetOfEntry(AsText(id));
    if (entry.empty() || object.empty()) continue;
    present += present.empty() ? "" : ", ";
    present += entry;
    Result<TargetId> parsed = TargetId::Parse(entry);
    if (!parsed) continue;
    const std::size_t rank = static_cast<std::size_t>(
        std::find(order.begin(), order.end(), parsed->ToString()) -
        order.begin());
    if (rank == order.size() &&
        (!wanted.features.empty() || parsed->processor != wanted.processor)) {
      continue;
    }
    if (rank < best_rank) {
      best_rank = rank;
      best = object;
    }
  }
  if (best.empty()) {
    return Err(DiagCode::kUnsupported,
               "no code object for " + std::string(target) +
                   " among those of the program (" + present + ")");
  }
  return best;
}

}  // namespace

Result<ByteSpan> SelectCodeObject(ByteSpan image, std::string_view target,
                                  Bytes* unpacked) {
  if (rewriter::IsCompressedBundle(image)) {
    CERB_TRY(*unpacked, rewriter::DecompressBundle(image));
    image = *unpacked;
    if (!StartsWith(image, kBundleMagic)) {
      return Err(DiagCode::kBadFormat,
                 "compressed offload bundle holds no offload bundle");
    }
  }
  if (StartsWith(image, kElfMagic)) return ElfExtent(image);
  if (StartsWith(image, kBundleMagic)) return FromBundle(image, target);
  return Err(DiagCode::kBadFormat,
             "module image is neither a code object nor an offload bundle");
}

Result<ByteSpan> SelectCodeObject(const void* image, std::string_view target,
                                  Bytes* unpacked) {
  return SelectCodeObject(
      ByteSpan(static_cast<const std::uint8_t*>(image), kMaxImage), target,
      unpacked);
}

}  // namespace cerberus::emulator::hip
