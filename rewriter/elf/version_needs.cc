#include "rewriter/elf/version_needs.h"

#include <elf.h>
#include <fmt/format.h>

namespace cerberus::rewriter {
namespace {

// The hash of the System V ABI, "Hash Table".
std::uint32_t HashOf(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash = (hash ^ ((hash & 0xf0000000u) >> 24)) & 0x0fffffffu;
  }
  return hash;
}

template <typename Entry>
Result<Entry> EntryAt(const ElfFile& elf, ByteSpan table, std::uint64_t at) {
  if (at > table.size() || table.size() - at < sizeof(Entry)) {
    return Err(elf.Error(DiagCode::kBadFormat,
                         fmt::format("an entry at 0x{:x} lies past the end of "
                                     "the table (0x{:x})",
                                     at, table.size()),
                         ".gnu.version_r"));
  }
  return LoadLe<Entry>(table.data() + at);
}

}  // namespace

Result<std::vector<VersionNeed>> ReadVersionNeeds(const ElfFile& elf,
                                                  ByteSpan table) {
  std::vector<VersionNeed> needs;
  // Both chains lead forwards, and entries that share no bytes are few.
  for (std::uint64_t at = 0; !table.empty();) {
    CERB_TRY(const auto library, EntryAt<Elf64_Verneed>(elf, table, at));
    CERB_TRY(const std::string_view name, elf.DynamicString(library.vn_file));
    std::uint64_t aux_at = at + library.vn_aux;
    for (unsigned i = 0; i < library.vn_cnt; ++i) {
      CERB_TRY(const auto aux, EntryAt<Elf64_Vernaux>(elf, table, aux_at));
      if (needs.size() >= table.size() / sizeof aux) {
        return Err(elf.Error(DiagCode::kBadFormat, "entries share bytes",
                             ".gnu.version_r"));
      }
      needs.push_back({name, static_cast<std::size_t>(aux_at)});
      if (aux.vna_next == 0) break;
      aux_at += aux.vna_next;
    }
    if (library.vn_next == 0) break;
    at += library.vn_next;
  }
  return needs;
}

void AskForVersion(Bytes& table, std::size_t at, std::string_view name,
                   std::uint64_t offset) {
  auto aux = LoadLe<Elf64_Vernaux>(table.data() + at);
  aux.vna_hash = HashOf(name);
  aux.vna_name = static_cast<Elf64_Word>(offset);
  aux.vna_flags |= VER_FLG_WEAK;
  StoreLe(table.data() + at, aux);
}

}  // namespace cerberus::rewriter
