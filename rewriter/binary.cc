#include "rewriter/binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "formats/fatbin.h"
#include "formats/segment.h"
#include "rewriter/needle_scan.h"
#include "rewriter/payload.h"

namespace cerberus::rewriter {
namespace {

constexpr std::string_view kWrapperSection = ".nvFatBinSegment";

// Sections nvcc keeps for fatbins alone. What looks like a fatbin there is
// one, and a broken one is an error; elsewhere it may be chance.
constexpr std::string_view kRelocatableSection = "__nv_relfatbin";
constexpr std::string_view kFatbinSections[] = {".nv_fatbin",
                                                kRelocatableSection};

bool StartsWith(ByteSpan bytes, std::string_view magic) {
  return AsText(bytes).substr(0, magic.size()) == magic;
}

// Magic, version 1 and header size 16 in one word.
constexpr Needle kFatbinStart =
    formats::kFatbinMagic | (std::uint64_t{0x00100001} << 32);

bool IsForFatbins(const ObjectFile& file, const ObjectFile::Region& region) {
  return std::any_of(
      std::begin(kFatbinSections), std::end(kFatbinSections),
      [&](std::string_view name) { return file.IsSection(region, name); });
}

// Where fatbins may be: data, and where there are no section headers, anything.
std::vector<ObjectFile::Region> RegionsThatMayHoldFatbins(
    const ObjectFile& file) {
  std::vector<ObjectFile::Region> regions = file.Regions();
  std::erase_if(regions, [&](const ObjectFile::Region& region) {
    return file.has_sections() &&
           (region.is_executable ||
            file.IsSection(region, formats::kMarkerSection));
  });
  return regions;
}

std::string Escaped(ByteSpan bytes) {
  std::string out;
  for (const std::uint8_t b : bytes) out += fmt::format("{:02x} ", b);
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace

bool IsLoadable(ByteSpan start) {
  if (start.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = LoadLe<Elf64_Ehdr>(start.data());
  return std::equal(header.e_ident, header.e_ident + SELFMAG, ELFMAG) &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == EM_X86_64 &&
         (header.e_type == ET_DYN || header.e_type == ET_EXEC);
}

bool IsLoadableByWindows(ByteSpan start) {
  constexpr std::size_t kPlace = 0x3c;  // e_lfanew
  constexpr std::uint16_t kAmd64 = 0x8664;
  if (!StartsWith(start, "MZ") || start.size() < kPlace + 4) return false;
  const auto at = LoadLe<std::uint32_t>(start.data() + kPlace);
  constexpr std::size_t kHead = 6;  // signature and machine
  if (at > start.size() || start.size() - at < kHead) return false;
  return StartsWith(start.subspan(at), std::string_view("PE\0\0", 4)) &&
         LoadLe<std::uint16_t>(start.data() + at + 4) == kAmd64;
}

FileKind DetectFileKind(ByteSpan bytes) {
  if (bytes.empty()) return FileKind::kEmpty;
  if (StartsWith(bytes,
                 "\x7f"
                 "ELF"))
    return FileKind::kElf;
  if (StartsWith(bytes, "MZ")) return FileKind::kPe;
  if (StartsWith(bytes, "\x50\xed\x55\xba")) return FileKind::kFatbin;
  if (images::IsBundle(bytes) || images::IsCompressedBundle(bytes))
    return FileKind::kHipBundle;
  if (StartsWith(bytes, "KPAK")) return FileKind::kKpack;
  // A Debian package begins like a static library.
  const std::string_view archive = ArchiveKind(bytes);
  if (!archive.empty() && !StartsWith(bytes, "PK\x03\x04")) {
    return FileKind::kUnknown;
  }
  if (StartsWith(bytes, "!<arch>\n") || StartsWith(bytes, "!<thin>\n")) {
    return FileKind::kStaticLibrary;
  }
  if (StartsWith(bytes, "PK\x03\x04")) return FileKind::kZip;
  // PTX begins with .version, comments and blank lines aside.
  std::string_view text =
      AsText(bytes.first(std::min<std::size_t>(bytes.size(), 4096)));
  for (;;) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return FileKind::kUnknown;
    text.remove_prefix(start);
    std::string_view end;
    if (text.substr(0, 2) == "//") end = "\n";
    if (text.substr(0, 2) == "/*") end = "*/";
    if (end.empty()) break;
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos) return FileKind::kUnknown;
    text.remove_prefix(at + end.size());
  }
  return text.substr(0, 8) == ".version" ? FileKind::kPtx : FileKind::kUnknown;
}

struct Binary::Impl {
  std::string path;
  std::string source;
  std::optional<FileState> file;
  MappedFile mapped;                    // if a file was opened
  const MappedFile* backing = nullptr;  // holds `bytes` while they are read
  ByteSpan bytes;
  ElfFile elf;
  PeFile pe;
  const ObjectFile* object = &elf;  // or &pe
  std::vector<Wrapper> wrappers;
  std::vector<LocatedFatbin> fatbins;
  std::vector<EmbeddedPtx> texts;
  HipCode hip;
  bool converted = false;

  // `input` is the file that holds `bytes`, or null.
  Status Read(bool all, const InputFile* input);
  Status CheckKind() const;
  Status FindWrappers();
  Status ResolveWrappers(std::vector<std::uint64_t> vaddrs, bool certain);
  Result<std::optional<std::uint64_t>> FatbinOf(const Wrapper& wrapper) const;
  Status Search(const InputFile* input);
  Status SearchStretch(NeedleScan& scan, std::uint64_t from, std::uint64_t to,
                       const ObjectFile::Region* region);
  Result<std::uint64_t> EndOfFatbinAt(std::uint64_t at,
                                      const ObjectFile::Region& region);
  void AddFatbin(std::uint64_t at, LocatedFatbin fatbin);
  void NumberFatbins();

  EmbeddedPtxFinder text_finder{{}};
  std::uint64_t looked_at = 0;  // bytes of fatbins, since the last were let go
  // Found so far, by offset in the file.
  std::map<std::uint64_t, LocatedFatbin> found;
  std::map<std::uint32_t, std::uint64_t> offset_of_wrapper;
};

Status Binary::Impl::CheckKind() const {
  const auto fail = [&](DiagCode code, std::string message) {
    Where where;
    where.file = path;
    return Err(code, std::move(where), std::move(message));
  };
  switch (DetectFileKind(bytes)) {
    case FileKind::kElf:
    case FileKind::kPe: return {};
    case FileKind::kEmpty:
      return fail(DiagCode::kBadFormat,
                  "is empty, expected a program or library");
    case FileKind::kStaticLibrary:
      return fail(DiagCode::kUnsupported,
                  "is a static library; convert the program that links it");
    case FileKind::kFatbin:
      return fail(DiagCode::kUnsupported,
                  "is a bare fatbin, expected a program or library");
    case FileKind::kHipBundle:
      return fail(DiagCode::kUnsupported,
                  "is a bare HIP bundle, expected a program or library");
    case FileKind::kPtx:
      return fail(DiagCode::kUnsupported,
                  "is PTX text, expected a program or library; "
                  "'cerberus compile' takes PTX");
    case FileKind::kKpack:
      return fail(DiagCode::kUnsupported,
                  "is a kpack archive, expected a program or library");
    case FileKind::kZip:
      return fail(DiagCode::kUnsupported,
                  "is a zip file, expected a program or library; a "
                  "Python wheel is converted by 'cerberus convert-wheel'");
    case FileKind::kUnknown: break;
  }
  if (const std::string_view kind = ArchiveKind(bytes); !kind.empty()) {
    return fail(DiagCode::kUnsupported,
                fmt::format("is {}, expected a program or library; unpack it, "
                            "and 'cerberus pack-tree' converts the folder",
                            kind));
  }
  return fail(
      DiagCode::kBadFormat,
      fmt::format(
          "is neither an ELF nor a PE file (it starts with {})",
          Escaped(bytes.first(std::min<std::size_t>(bytes.size(), 4)))));
}

Status Binary::Impl::FindWrappers() {
  std::vector<std::uint64_t> vaddrs;
  bool has_section = false;
  const std::vector<ObjectFile::Region> regions = object->Regions();
  for (const ObjectFile::Region& region : regions) {
    if (!object->IsSection(region, kWrapperSection)) continue;
    has_section = true;
    const ByteSpan data = bytes.subspan(region.offset, region.size);
    std::uint64_t at = 0;
    while (at + sizeof(formats::FatbinWrapper) <= data.size()) {
      const std::uint32_t magic = LoadLe<std::uint32_t>(data.data() + at);
      if (magic == formats::kWrapperMagic) {
        vaddrs.push_back(region.vaddr + at);
        at += sizeof(formats::FatbinWrapper);
      } else if (magic == 0) {
        at += 8;  // padding between the wrappers of two object files
      } else {
        return Err(object->Error(
            DiagCode::kBadFormat,
            fmt::format("bad wrapper magic 0x{:08x}, expected 0x{:08x}", magic,
                        formats::kWrapperMagic),
            region.name, static_cast<std::int64_t>(at)));
      }
    }
  }
  if (has_section) {
    std::sort(vaddrs.begin(), vaddrs.end());
    return ResolveWrappers(std::move(vaddrs), /*certain=*/true);
  }
  if (object->has_sections()) return {};
  // Without section headers the wrappers are found by their look: magic and
  // version in data the loader can write, and a pointer that leads to a
  // fatbin.
  for (const ObjectFile::Region& region : regions) {
    if (!region.is_writable) continue;
    const std::uint8_t* data = bytes.data() + region.offset;
    std::uint64_t at = (0 - region.vaddr) & 7;
    for (; at + sizeof(formats::FatbinWrapper) <= region.size; at += 8) {
      const std::uint32_t version = LoadLe<std::uint32_t>(data + at + 4);
      if (LoadLe<std::uint32_t>(data + at) == formats::kWrapperMagic &&
          (version == 1 || version == 2)) {
        vaddrs.push_back(region.vaddr + at);
        at += sizeof(formats::FatbinWrapper) - 8;
      }
    }
  }
  std::sort(vaddrs.begin(), vaddrs.end());
  return ResolveWrappers(std::move(vaddrs), /*certain=*/false);
}

Status Binary::Impl::ResolveWrappers(std::vector<std::uint64_t> vaddrs,
                                     bool certain) {
  const std::vector<ObjectFile::Region> regions = object->Regions();
  std::vector<std::uint64_t> slots;
  for (std::size_t i = 0; i < vaddrs.size(); ++i) {
    const std::uint64_t vaddr = vaddrs[i];
    const auto offset = object->OffsetOf(vaddr, sizeof(formats::FatbinWrapper));
    const bool apart =
        i == 0 || vaddr - vaddrs[i - 1] >= sizeof(formats::FatbinWrapper);
    if (!apart || !offset ||
        LoadLe<std::uint32_t>(bytes.data() + *offset) !=
            formats::kWrapperMagic) {
      return Err(
          object->Error(DiagCode::kBadFormat,
                        fmt::format("the wrapper at address 0x{:x} {}", vaddr,
                                    apart ? "is not in a loaded segment"
                                          : "overlaps the one before"),
                        std::string(kWrapperSection)));
    }
    slots.push_back(vaddr + 8);
    slots.push_back(vaddr + 16);
  }
  CERB_TRY(const std::vector<PointerSlot> pointers,
           object->ResolvePointers(slots));
  for (std::size_t i = 0; i < vaddrs.size(); ++i) {
    Wrapper wrapper;
    wrapper.index = static_cast<std::uint32_t>(wrappers.size());
    wrapper.vaddr = vaddrs[i];
    wrapper.data = pointers[2 * i];
    wrapper.last = pointers[2 * i + 1];
    wrapper.offset = wrapper.data.offset - 8;
    wrapper.version = LoadLe<std::uint32_t>(bytes.data() + wrapper.offset + 4);
    const auto reject = [&](Diag diag) {
      diag.where.file = path;
      return Err(std::move(diag));
    };
    auto fatbin_vaddr = FatbinOf(wrapper);
    if (!fatbin_vaddr) {
      if (!certain) continue;
      return reject(std::move(fatbin_vaddr).error());
    }
    if (!*fatbin_vaddr) {
      wrappers.push_back(wrapper);
      continue;
    }
    const std::uint64_t at_vaddr = **fatbin_vaddr;
    const ByteSpan data = object->BytesAt(at_vaddr);
    const auto at = static_cast<std::uint64_t>(data.data() - bytes.data());
    if (!found.contains(at)) {
      // Name the section the fatbin stands in, for messages.
      std::string name;
      std::uint64_t base = at;
      bool relocatable = false;
      for (const ObjectFile::Region& region : regions) {
        if (!region.name.empty() && at >= region.offset &&
            at - region.offset < region.size) {
          name = region.name;
          base = at - region.offset;
          relocatable = object->IsSection(region, kRelocatableSection);
        }
      }
      auto fatbin = images::ParseFatbin(data, name, base);
      if (!fatbin) {
        if (!certain) continue;
        return reject(std::move(fatbin).error());
      }
      AddFatbin(at, {name, at_vaddr, at, relocatable, std::move(*fatbin), {}});
    }
    offset_of_wrapper[wrapper.index] = at;
    wrappers.push_back(wrapper);
  }
  return {};
}

// The address of the wrapper's fatbin. In a converted file `data` leads to a
// record, and the record to the fatbin, or where it was.
Result<std::optional<std::uint64_t>> Binary::Impl::FatbinOf(
    const Wrapper& wrapper) const {
  const auto fail = [&](std::string message) {
    return Err(
        object->Error(DiagCode::kBadFormat,
                      fmt::format("wrapper {}: {}", wrapper.index, message),
                      std::string(kWrapperSection)));
  };
  std::uint64_t vaddr = wrapper.data.value;
  if (vaddr == 0) return fail("points to no fatbin");
  ByteSpan data = object->BytesAt(vaddr);
  if (StartsWith(data, formats::kRecordMagic)) {
    if (data.size() < sizeof(formats::WrapperRecord)) {
      return fail(fmt::format("the record at 0x{:x} is cut short", vaddr));
    }
    const auto record = LoadLe<formats::WrapperRecord>(data.data());
    if ((record.flags & formats::kRecordFatbinRemoved) != 0) {
      return std::optional<std::uint64_t>();
    }
    vaddr += static_cast<std::uint64_t>(record.to_fatbin);
    data = object->BytesAt(vaddr);
  }
  if (data.empty()) {
    return fail(
        fmt::format("points to 0x{:x}, which is not in the file", vaddr));
  }
  if (!images::BeginsFatbin(data)) {
    return fail(fmt::format(
        "points to 0x{:x}, where there is no fatbin (found {}, expected "
        "50 ed 55 ba)",
        vaddr, Escaped(data.first(std::min<std::size_t>(data.size(), 4)))));
  }
  return std::optional<std::uint64_t>(vaddr);
}

// Little of a large file is in memory at a time.
void Binary::Impl::AddFatbin(std::uint64_t at, LocatedFatbin fatbin) {
  constexpr std::uint64_t kMuch = 4 << 20;
  looked_at += fatbin.fatbin.bytes.size();
  found.emplace(at, std::move(fatbin));
  if (looked_at < kMuch) return;
  if (backing != nullptr) backing->LetGo(0, backing->size());
  looked_at = 0;
}

// One pass over the file for fatbins and PTX that nothing leads to. It leaves
// out the insides of fatbins.
Status Binary::Impl::Search(const InputFile* input) {
  NeedleScan scan(bytes, input, kFatbinStart,
                  LoadLe<Needle>(EmbeddedPtxFinder::kStart.data()));
  text_finder = EmbeddedPtxFinder(bytes);
  std::uint64_t at = 0;
  for (const ObjectFile::Region& region : RegionsThatMayHoldFatbins(*object)) {
    // Regions may overlap in a file that lies.
    const std::uint64_t end = region.offset + region.size;
    if (end <= at) continue;
    const std::uint64_t begin = std::max(at, region.offset);
    CERB_TRY_VOID(SearchStretch(scan, at, begin, nullptr));
    CERB_TRY_VOID(SearchStretch(scan, begin, end, &region));
    at = end;
  }
  CERB_TRY_VOID(SearchStretch(scan, at, bytes.size(), nullptr));
  texts = std::move(text_finder).Take();
  return {};
}

// `region` is null where no fatbin is looked for.
Status Binary::Impl::SearchStretch(NeedleScan& scan, std::uint64_t at,
                                   std::uint64_t to,
                                   const ObjectFile::Region* region) {
  while (at < to) {
    // Up to the next fatbin that is known already, and on behind it.
    auto known = found.upper_bound(at);
    if (known != found.begin()) {
      const auto& [start, before] = *std::prev(known);
      const std::uint64_t end = start + before.fatbin.bytes.size();
      if (at < end) {
        at = end;
        continue;
      }
    }
    const std::uint64_t stop =
        known == found.end() ? to : std::min(to, known->first);
    CERB_TRY(at, scan.Next(at, stop));
    if (at == stop) continue;
    if (LoadLe<Needle>(bytes.data() + at) != kFatbinStart) {
      text_finder.See(at++);
    } else if (region == nullptr) {
      ++at;
    } else {
      CERB_TRY(at, EndOfFatbinAt(at, *region));
    }
  }
  return {};
}

// Takes what begins like a fatbin for one if it is whole. Where the search goes
// on.
Result<std::uint64_t> Binary::Impl::EndOfFatbinAt(
    std::uint64_t at, const ObjectFile::Region& region) {
  const std::uint64_t end = region.offset + region.size;
  if (at + sizeof(formats::FatbinHeader) > end) return end;
  const std::uint64_t base = region.name.empty() ? at : at - region.offset;
  auto fatbin =
      images::ParseFatbin(bytes.subspan(at, end - at), region.name, base);
  if (!fatbin) {
    if (!IsForFatbins(*object, region)) return at + 1;
    Diag diag = std::move(fatbin).error();
    diag.where.file = path;
    return Err(std::move(diag));
  }
  const std::uint64_t size = fatbin->bytes.size();
  AddFatbin(at, {region.name,
                 object->VaddrOf(at).value_or(0),
                 at,
                 object->IsSection(region, kRelocatableSection),
                 std::move(*fatbin),
                 {}});
  return at + size;
}

void Binary::Impl::NumberFatbins() {
  std::map<std::uint64_t, std::size_t> number;
  for (auto& [offset, fatbin] : found) {
    number[offset] = fatbins.size();
    fatbins.push_back(std::move(fatbin));
  }
  found.clear();
  for (Wrapper& wrapper : wrappers) {
    const auto at = offset_of_wrapper.find(wrapper.index);
    if (at == offset_of_wrapper.end()) continue;
    wrapper.fatbin = number[at->second];
    fatbins[*wrapper.fatbin].wrappers.push_back(wrapper.index);
  }
}

Status Binary::Impl::Read(bool all, const InputFile* input) {
  CERB_TRY_VOID(CheckKind());
  if (DetectFileKind(bytes) == FileKind::kPe) {
    CERB_TRY(pe, PeFile::Parse(bytes, path));
    object = &pe;
  } else {
    CERB_TRY(elf, ElfFile::Parse(bytes, path));
  }
  for (const ObjectFile::Region& region : object->Regions()) {
    if (object->IsSection(region, formats::kMarkerSection)) converted = true;
  }
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type == PT_LOAD &&
        StartsWith(bytes.subspan(
                       std::min<std::uint64_t>(segment.p_offset, bytes.size()),
                       std::min<std::uint64_t>(segment.p_filesz, 8)),
                   formats::kSegmentMagic)) {
      converted = true;
    }
  }
  CERB_TRY_VOID(FindWrappers());
  if (all) CERB_TRY_VOID(Search(input));
  NumberFatbins();
  CERB_TRY(hip, FindHipCode(*object));
  if (hip.is_split()) converted = true;
  return {};
}

Result<Binary> Binary::FromBytes(ByteSpan bytes, const std::string& name) {
  Binary binary;
  binary.impl_->path = name;
  binary.impl_->bytes = bytes;
  CERB_TRY_VOID(binary.impl_->Read(true, nullptr));
  return binary;
}

Result<Binary> Binary::WithWrappers(ByteSpan bytes, const std::string& name,
                                    const MappedFile* file) {
  Binary binary;
  binary.impl_->path = name;
  binary.impl_->bytes = bytes;
  binary.impl_->backing = file;
  CERB_TRY_VOID(binary.impl_->Read(false, nullptr));
  binary.impl_->backing = nullptr;
  return binary;
}

Result<Binary> Binary::Open(const std::string& path) {
  return Open(path, path);
}

Result<Binary> Binary::Open(const std::string& path, const std::string& name) {
  CERB_TRY(const InputFile input, InputFile::Open(path));
  Binary binary;
  Impl& impl = *binary.impl_;
  impl.path = name;
  impl.source = path;
  impl.file = input.state();
  CERB_TRY(impl.mapped, input.Map());
  impl.bytes = impl.mapped.bytes();
  impl.backing = &impl.mapped;
  CERB_TRY_VOID(impl.Read(true, &input));
  CERB_TRY_VOID(input.CheckIs(input.state()));
  const auto let_go = [&impl] { impl.mapped.LetGo(0, impl.mapped.size()); };
  impl.elf.set_let_go(let_go);
  impl.pe.set_let_go(let_go);
  return binary;
}

Binary::Binary() : impl_(std::make_unique<Impl>()) {}
Binary::Binary(Binary&&) noexcept = default;
Binary& Binary::operator=(Binary&&) noexcept = default;
Binary::~Binary() = default;

const std::string& Binary::path() const { return impl_->path; }
const std::string& Binary::source() const { return impl_->source; }
ByteSpan Binary::bytes() const { return impl_->bytes; }
const FileState* Binary::file() const {
  return impl_->file ? &*impl_->file : nullptr;
}
unsigned Binary::mode() const {
  return impl_->file ? impl_->file->mode() : 0755;
}
void Binary::LetGo() const { impl_->object->LetGo(); }
const ObjectFile& Binary::object() const { return *impl_->object; }
bool Binary::is_pe() const { return impl_->object == &impl_->pe; }
const ElfFile& Binary::elf() const { return impl_->elf; }
const PeFile& Binary::pe() const { return impl_->pe; }
bool Binary::is_executable() const {
  return is_pe() ? !impl_->pe.is_dll() : impl_->elf.is_executable();
}
const std::vector<Wrapper>& Binary::wrappers() const { return impl_->wrappers; }
const std::vector<LocatedFatbin>& Binary::fatbins() const {
  return impl_->fatbins;
}
const std::vector<EmbeddedPtx>& Binary::texts() const { return impl_->texts; }
const HipCode& Binary::hip() const { return impl_->hip; }
bool Binary::is_converted() const { return impl_->converted; }

bool Binary::links_shared_cudart() const {
  for (const std::string_view name : impl_->elf.NeededLibraries()) {
    if (name.substr(0, 13) == "libcudart.so.") return true;
  }
  return false;
}

bool Binary::links_cuda_driver() const {
  for (const std::string_view name : impl_->elf.NeededLibraries()) {
    if (name == "libcuda.so.1") return true;
  }
  return false;
}

}  // namespace cerberus::rewriter
