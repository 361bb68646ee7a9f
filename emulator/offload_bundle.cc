#include "emulator/offload_bundle.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

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
// More than any code object is; a lying header must not make us read on.
constexpr std::uint64_t kMaxObject = std::uint64_t{1} << 32;

// The length of the ELF file at `image`: as far as its tables, sections and
// segments reach.
Result<ByteSpan> ElfExtent(const std::uint8_t* image) {
  const ElfHeader header = LoadLe<ElfHeader>(image);
  if (header.ident[4] != 2 || header.ident[5] != 1) {
    return Err(DiagCode::kBadFormat,
               "code object is not a 64-bit little-endian ELF file");
  }
  std::uint64_t end = sizeof header;
  auto reach = [&end](std::uint64_t offset, std::uint64_t size) {
    if (offset > kMaxObject || size > kMaxObject) return false;
    end = std::max(end, offset + size);
    return true;
  };
  bool sane = true;
  if (header.phnum != 0) {
    sane = header.phentsize == sizeof(ElfSegment) &&
           reach(header.phoff, std::uint64_t{header.phnum} * 56);
    for (unsigned i = 0; sane && i < header.phnum; ++i) {
      const ElfSegment segment =
          LoadLe<ElfSegment>(image + header.phoff + i * sizeof(ElfSegment));
      sane = reach(segment.offset, segment.filesz);
    }
  }
  if (sane && header.shnum != 0) {
    sane = header.shentsize == sizeof(ElfSection) &&
           reach(header.shoff, std::uint64_t{header.shnum} * 64);
    for (unsigned i = 0; sane && i < header.shnum; ++i) {
      const ElfSection section =
          LoadLe<ElfSection>(image + header.shoff + i * sizeof(ElfSection));
      if (section.type != kShtNobits) {
        sane = reach(section.offset, section.size);
      }
    }
  }
  if (!sane) {
    return Err(DiagCode::kBadFormat, "code object's ELF tables are damaged");
  }
  return ByteSpan(image, end);
}

// clang-offload-bundler's file: magic, count, then per entry offset, size,
// length of the id, the id (Clang, "Clang Offload Bundler", "Bundled Binary
// File Layout").
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";

// "hipv4-amdgcn-amd-amdhsa--gfx1100" → "gfx1100"; "" for host entries.
std::string_view TargetOfEntry(std::string_view id) {
  if (id.rfind("hip", 0) != 0) return {};
  const std::size_t at = id.rfind("-gfx");
  return at == std::string_view::npos ? std::string_view{}
                                      : id.substr(at + 1);
}

Result<ByteSpan> FromBundle(const std::uint8_t* image,
                            std::string_view target) {
  CERB_TRY(TargetId wanted, TargetId::Parse(target));
  // The best entry: named by the earliest of the device's load order; else
  // one for the same processor with features the device leaves open.
  const std::vector<std::string> order = wanted.LoadOrder();
  std::size_t best_rank = order.size() + 1;
  ByteSpan best;
  std::string present;

  const std::uint8_t* at = image + kBundleMagic.size();
  const std::uint64_t count = LoadLe<std::uint64_t>(at);
  at += 8;
  if (count > 4096) {
    return Err(DiagCode::kBadFormat, "offload bundle's header is damaged");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t offset = LoadLe<std::uint64_t>(at);
    const std::uint64_t size = LoadLe<std::uint64_t>(at + 8);
    const std::uint64_t length = LoadLe<std::uint64_t>(at + 16);
    at += 24;
    if (length > 4096 || offset > kMaxObject || size > kMaxObject) {
      return Err(DiagCode::kBadFormat, "offload bundle's header is damaged");
    }
    const std::string_view id(reinterpret_cast<const char*>(at), length);
    at += length;
    const std::string_view entry = TargetOfEntry(id);
    if (entry.empty() || size == 0) continue;
    present += present.empty() ? "" : ", ";
    present += entry;
    Result<TargetId> parsed = TargetId::Parse(entry);
    if (!parsed) continue;
    std::size_t rank = static_cast<std::size_t>(
        std::find(order.begin(), order.end(), parsed->ToString()) -
        order.begin());
    if (rank == order.size() && (!wanted.features.empty() ||
                                 parsed->processor != wanted.processor)) {
      continue;
    }
    if (rank < best_rank) {
      best_rank = rank;
      best = ByteSpan(image + offset, size);
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

Result<ByteSpan> SelectCodeObject(const void* image,
                                  std::string_view target) {
  const std::uint8_t* bytes = static_cast<const std::uint8_t*>(image);
  if (std::memcmp(bytes, "\x7f"
                         "ELF",
                  4) == 0) {
    return ElfExtent(bytes);
  }
  if (std::memcmp(bytes, kCompressedMagic.data(), 4) == 0) {
    return Err(DiagCode::kUnsupported,
               "compressed offload bundles are not read; compile with "
               "--no-offload-compress");
  }
  if (std::memcmp(bytes, kBundleMagic.data(),
                  std::min<std::size_t>(kBundleMagic.size(), 4)) == 0 &&
      std::memcmp(bytes, kBundleMagic.data(), kBundleMagic.size()) == 0) {
    return FromBundle(bytes, target);
  }
  return Err(DiagCode::kBadFormat,
             "module image is neither a code object nor an offload bundle");
}

}  // namespace cerberus::emulator::hip
