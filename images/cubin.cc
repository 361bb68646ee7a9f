#include "images/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

namespace cerberus::images {
namespace {

// NVIDIA's st_other bit of a function that can be launched. CUDA Binary
// Utilities names it STO_CUDA_ENTRY in cuobjdump's symbol listing.
constexpr unsigned kStoCudaEntry = 0x10;

// Attributes of kernels: a section of records, each a byte of format, one of
// attribute, and two of value or, in one format, of the size of what follows.
// The names are those of `nvdisasm -elf`; docs/fatbin-format.md, "Cubins".
constexpr std::uint32_t kShtCudaInfo = SHT_LOPROC;
constexpr std::uint8_t kFormatSized = 4;       // EIFMT_SVAL
constexpr std::uint8_t kRegisterCount = 0x2f;  // EIATTR_REGCOUNT
// Up to sm_89 a kernel's section has the number as well, in these bits.
constexpr unsigned kRegistersShift = 24;

// CUDA C++ Programming Guide, "Compute Capabilities": a block has at most so
// many registers, on all GPUs since 3.0; fewer on some. CUDA's occupancy
// calculator: a warp gets them by 256.
constexpr std::uint32_t kRegistersOfBlock = 65536;
constexpr std::uint32_t kRegistersAtOnce = 256;
constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kMostThreads = 1024;

struct Elf {
  ByteReader reader;
  std::vector<Elf64_Shdr> sections;

  Result<ByteSpan> Content(const Elf64_Shdr& section) const {
    return reader.Slice(section.sh_offset, section.sh_size);
  }
};

Result<Elf> ReadElf(ByteSpan cubin) {
  Elf elf{ByteReader(cubin, "cubin"), {}};
  CERB_TRY(const Elf64_Ehdr header, elf.reader.Read<Elf64_Ehdr>());
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return Err(DiagCode::kBadFormat, "the cubin is not a 64-bit ELF file");
  }
  CERB_TRY_VOID(elf.reader.Seek(header.e_shoff));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    CERB_TRY(elf.sections.emplace_back(), elf.reader.Read<Elf64_Shdr>());
  }
  return elf;
}

// By number of the symbol. A record that the section cuts off ends it.
std::map<std::uint32_t, std::uint32_t> RegisterCounts(ByteSpan info) {
  std::map<std::uint32_t, std::uint32_t> counts;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const std::uint8_t format = info[at];
    const std::uint8_t attribute = info[at + 1];
    const auto size = LoadLe<std::uint16_t>(info.data() + at + 2);
    at += 4;
    if (format != kFormatSized) continue;
    if (size > info.size() - at) break;
    if (attribute == kRegisterCount && size >= 8) {
      counts[LoadLe<std::uint32_t>(info.data() + at)] =
          LoadLe<std::uint32_t>(info.data() + at + 4);
    }
    at += size;
  }
  return counts;
}

// Of the functions in a table of symbols, the section of that number.
Result<std::map<std::uint32_t, std::uint32_t>> RegisterCounts(
    const Elf& elf, std::size_t table) {
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const Elf64_Shdr& section : elf.sections) {
    if (section.sh_type != kShtCudaInfo || section.sh_link != table) continue;
    CERB_TRY(const ByteSpan info, elf.Content(section));
    counts.merge(RegisterCounts(info));
  }
  return counts;
}

Result<std::vector<CubinKernel>> KernelsOf(const Elf& elf, std::size_t table) {
  std::vector<CubinKernel> kernels;
  const Elf64_Shdr& section = elf.sections[table];
  if (section.sh_link >= elf.sections.size()) return kernels;
  CERB_TRY(const ByteSpan symbols, elf.Content(section));
  CERB_TRY(const ByteSpan text, elf.Content(elf.sections[section.sh_link]));
  CERB_TRY(const auto counts, RegisterCounts(elf, table));
  for (std::uint32_t i = 0; i < symbols.size() / sizeof(Elf64_Sym); ++i) {
    const auto symbol =
        LoadLe<Elf64_Sym>(symbols.data() + i * sizeof(Elf64_Sym));
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        (symbol.st_other & kStoCudaEntry) == 0 ||
        symbol.st_name >= text.size()) {
      continue;
    }
    const std::string_view rest = AsText(text.subspan(symbol.st_name));
    CubinKernel kernel{std::string(rest.substr(0, rest.find('\0'))), 0};
    if (const auto said = counts.find(i); said != counts.end()) {
      kernel.registers = said->second;
    } else if (symbol.st_shndx < elf.sections.size()) {
      kernel.registers =
          elf.sections[symbol.st_shndx].sh_info >> kRegistersShift;
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// Whether a GPU of compute capability `sm` loads the entry: of its own major
// version, and no newer.
bool Loads(std::uint32_t sm, const FatbinEntry& entry) {
  if (entry.arch_specific() || entry.family_specific()) return entry.sm == sm;
  return entry.sm / 10 == sm / 10 && entry.sm <= sm;
}

}  // namespace

Result<std::vector<CubinKernel>> ReadCubin(ByteSpan cubin) {
  CERB_TRY(const Elf elf, ReadElf(cubin));
  const auto table = std::find_if(
      elf.sections.begin(), elf.sections.end(), [](const Elf64_Shdr& section) {
        return section.sh_type == SHT_SYMTAB;  // there is one at most
      });
  if (table == elf.sections.end()) return std::vector<CubinKernel>{};
  return KernelsOf(elf, static_cast<std::size_t>(
                            std::distance(elf.sections.begin(), table)));
}

std::uint32_t MostThreadsWith(std::uint32_t registers) {
  const std::uint64_t of_warp =
      AlignUp(std::uint64_t{std::max(registers, 1u)} * kWarp, kRegistersAtOnce);
  const std::uint64_t warps =
      std::max<std::uint64_t>(kRegistersOfBlock / of_warp, 1);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(warps * kWarp, kMostThreads));
}

std::map<std::string, std::uint32_t> BlockBounds(
    const std::vector<FatbinEntry>& entries, std::uint32_t sm) {
  const bool all_newer =
      std::all_of(entries.begin(), entries.end(),
                  [&](const FatbinEntry& entry) { return entry.sm > sm; });
  const auto runs = [&](const FatbinEntry& entry) {
    return entry.kind == EntryKind::kCubin && entry.is_64bit() &&
           (all_newer || Loads(sm, entry));
  };
  if (std::none_of(entries.begin(), entries.end(), runs)) return {};
  struct Bound {
    std::uint32_t threads = 0;
    bool runs = false;  // as machine code where a program meets such a GPU
  };
  std::map<std::string, Bound> bounds;
  for (const FatbinEntry& entry : entries) {
    if (entry.kind != EntryKind::kCubin || !entry.is_64bit()) continue;
    const Result<Bytes> cubin = Unpack(entry);
    if (!cubin) return {};
    const Result<std::vector<CubinKernel>> kernels = ReadCubin(*cubin);
    if (!kernels) return {};
    for (const CubinKernel& kernel : *kernels) {
      Bound& bound = bounds[kernel.name];
      bound.threads =
          std::max(bound.threads, MostThreadsWith(kernel.registers));
      bound.runs |= runs(entry);
    }
  }
  std::map<std::string, std::uint32_t> known;
  for (const auto& [kernel, bound] : bounds) {
    if (bound.runs && bound.threads < kMostThreads) {
      known.emplace(kernel, bound.threads);
    }
  }
  return known;
}

}  // namespace cerberus::images
