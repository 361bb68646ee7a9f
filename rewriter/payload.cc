#include "rewriter/payload.h"

#include <fmt/format.h>

#include <algorithm>

namespace cerberus::rewriter {
namespace {

struct Beginning {
  std::string_view bytes;
  std::string_view kind;
};

// Longer ones first where one begins another.
constexpr Beginning kArchives[] = {
    {"!<arch>\ndebian-binary", "a Debian package"},
    {{"\xed\xab\xee\xdb", 4}, "an RPM package"},
    {{"PK\x03\x04", 4}, "a zip archive"},
    {{"\x1f\x8b", 2}, "compressed by gzip"},
    {{"\xfd"
      "7zXZ\0",
      6},
     "compressed by xz"},
    {{"\x28\xb5\x2f\xfd", 4}, "compressed by zstd"},
    {"BZh", "compressed by bzip2"},
    {{"7z\xbc\xaf\x27\x1c", 6}, "a 7z archive"},
    {"hsqs", "a squashfs file system, as AppImages and snaps are"},
    {"DWARFS", "a DwarFS file system"},
};

constexpr std::string_view kUnknown = "data";

// What Nuitka's one-file programs carry: "KA", and X (plain) or Y (zstd).
constexpr Beginning kNuitka[] = {{"KAX", "an archive of Nuitka"},
                                 {"KAY", "an archive of Nuitka"}};

// In front of what says how long PyInstaller's archive is, at its end.
constexpr std::string_view kPyInstaller{"MEI\x0c\x0b\x0a\x0b\x0e", 8};
constexpr std::string_view kPyInstallerSection = "pydata";
// The end of a zip archive; a comment of up to 64 KiB may stand behind it.
constexpr std::string_view kZipEnd{"PK\x05\x06", 4};
constexpr std::size_t kEnd = (std::size_t{1} << 16) + 22;

std::string_view Text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view KindOf(ByteSpan bytes) {
  for (const Beginning& beginning : kNuitka) {
    if (Text(bytes).starts_with(beginning.bytes)) return beginning.kind;
  }
  const std::string_view kind = ArchiveKind(bytes);
  if (!kind.empty()) return kind;
  const std::string_view end =
      Text(bytes.last(std::min<std::size_t>(bytes.size(), kEnd)));
  if (end.find(kPyInstaller) != end.npos) return "an archive of PyInstaller";
  if (end.find(kZipEnd) != end.npos) return "a zip archive";
  return kUnknown;
}

// Where all ends that the program's tables lead to.
std::uint64_t EndOf(ByteSpan bytes, const ElfFile& elf) {
  const Elf64_Ehdr& header = elf.header();
  std::uint64_t end =
      header.e_shoff +
      std::uint64_t{header.e_shentsize} *
          std::max<std::size_t>(elf.sections().size(), header.e_shnum);
  const auto add = [&end](std::uint64_t offset, std::uint64_t size) {
    end = std::max(end, CheckedAdd(offset, size).value_or(UINT64_MAX));
  };
  for (const Elf64_Phdr& segment : elf.segments()) {
    add(segment.p_offset, segment.p_filesz);
  }
  for (const ElfFile::Section& section : elf.sections()) {
    if (section.header.sh_type == SHT_NOBITS) continue;
    add(section.header.sh_offset, section.header.sh_size);
  }
  return std::min<std::uint64_t>(end, bytes.size());
}

}  // namespace

std::string_view ArchiveKind(ByteSpan bytes) {
  const std::string_view text = Text(bytes);
  for (const Beginning& beginning : kArchives) {
    if (text.starts_with(beginning.bytes)) return beginning.kind;
  }
  // The field behind a tar's first name.
  if (text.size() > 262 && text.substr(257, 5) == "ustar") {
    return "a tar archive";
  }
  return {};
}

std::optional<Payload> FindPayload(ByteSpan bytes, const ElfFile& elf) {
  const std::uint64_t end = EndOf(bytes, elf);
  const ByteSpan behind = bytes.subspan(end);
  // Tools pad files.
  const bool is_data = std::any_of(behind.begin(), behind.end(),
                                   [](std::uint8_t byte) { return byte != 0; });
  const std::string_view kind = is_data ? KindOf(behind) : "";
  // Of a file without section headers some sections may have been left.
  if (is_data && (elf.has_sections() || kind != kUnknown)) {
    return Payload{kind, end, behind.size(), true};
  }
  if (const ElfFile::Section* section = elf.FindSection(kPyInstallerSection)) {
    const ByteSpan data = elf.SectionBytes(*section);
    if (const std::string_view held = KindOf(data); held != kUnknown) {
      return Payload{held, section->header.sh_offset, data.size(), false};
    }
  }
  return std::nullopt;
}

std::optional<Diag> PayloadWarning(const std::string& file, ByteSpan bytes,
                                   const ElfFile& elf) {
  const std::optional<Payload> payload = FindPayload(bytes, elf);
  if (!payload || !payload->is_behind) return std::nullopt;
  Where where;
  where.file = file;
  Diag warning = MakeDiag(
      DiagCode::kUnknown, std::move(where),
      fmt::format("{} bytes stand behind the program ({}): they stay, but are "
                  "not at the end of the file any more, nor behind its section "
                  "headers, where a program may look for them",
                  payload->size, payload->kind));
  warning.severity = Severity::kWarning;
  return warning;
}

bool IsPackedByUpx(ByteSpan bytes, const ElfFile& elf) {
  constexpr std::size_t kStart = 1024;  // its header is behind the segments'
  const std::string_view start =
      Text(bytes.first(std::min<std::size_t>(bytes.size(), kStart)));
  return !elf.has_sections() && start.find("UPX!") != start.npos;
}

}  // namespace cerberus::rewriter
