#include "ptxc/backend/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "formats/code_object.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"

namespace cerberus::ptx {
namespace {

using Elf = llvm::object::ELF64LE;
using llvm::msgpack::DocNode;

Diag Invalid(const std::string& what) {
  return MakeDiag(DiagCode::kInternal, "the notes: " + what);
}

Diag Invalid(llvm::Error error) {
  return Invalid(llvm::toString(std::move(error)));
}

// Where the elements of a list go that stands in both: kernels behind those
// that are there. What else both have is the same: the target, the version.
int Append(DocNode* to, DocNode, DocNode key) {
  if (key.getKind() == llvm::msgpack::Type::String &&
      key.getString() == llvm::StringRef(formats::kMetadataKernels) &&
      to->isArray()) {
    return static_cast<int>(to->getArray().size());
  }
  return 0;
}

llvm::StringRef TextOf(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The end of the sections if there is none.
const Elf::Shdr* FindNotes(Elf::ShdrRange sections) {
  return std::find_if(sections.begin(), sections.end(), [](const auto& header) {
    return header.sh_type == llvm::ELF::SHT_NOTE;
  });
}

std::uint32_t Number(DocNode map, llvm::StringRef key) {
  llvm::msgpack::MapDocNode& fields = map.getMap();
  const auto at = fields.find(key);
  return at != fields.end() && at->second.getKind() == llvm::msgpack::Type::UInt
             ? static_cast<std::uint32_t>(at->second.getUInt())
             : 0;
}

}  // namespace

Status MergeNotes(Bytes& code_object) {
  const llvm::StringRef bytes = TextOf(code_object);
  llvm::Expected<llvm::object::ELFFile<Elf>> file =
      llvm::object::ELFFile<Elf>::create(bytes);
  if (!file) return Err(Invalid(file.takeError()));
  llvm::Expected<Elf::ShdrRange> sections = file->sections();
  if (!sections) return Err(Invalid(sections.takeError()));
  llvm::Expected<Elf::PhdrRange> segments = file->program_headers();
  if (!segments) return Err(Invalid(segments.takeError()));
  const Elf::Shdr* section = FindNotes(*sections);
  const auto* segment = std::find_if(
      segments->begin(), segments->end(),
      [](const auto& header) { return header.p_type == llvm::ELF::PT_NOTE; });
  if (section == sections->end() || segment == segments->end() ||
      segment->p_offset != section->sh_offset) {
    return Err(Invalid("no section of them, or no segment"));
  }

  llvm::msgpack::Document all;
  std::string note;  // the first one's header and name
  llvm::Error error = llvm::Error::success();
  for (const auto& next : file->notes(*section, error)) {
    const llvm::StringRef metadata =
        next.getDescAsStringRef(formats::kMetadataNoteAlign);
    if (note.empty()) {
      note =
          bytes.slice(section->sh_offset,
                      static_cast<std::size_t>(metadata.data() - bytes.data()));
    }
    if (!all.readFromBlob(metadata, /*Multi=*/false, Append)) {
      llvm::consumeError(std::move(error));
      return Err(Invalid("metadata that does not merge"));
    }
  }
  if (error) return Err(Invalid(std::move(error)));
  std::string merged;
  all.writeToBlob(merged);

  // Its size stands behind that of the name.
  const llvm::support::ulittle32_t size(
      static_cast<std::uint32_t>(merged.size()));
  note.replace(4, sizeof size, reinterpret_cast<const char*>(&size),
               sizeof size);
  note += merged;
  note.resize((note.size() + 3) & ~std::size_t{3});
  if (note.size() > section->sh_size) return Err(Invalid("no room"));
  const std::size_t offset = section->sh_offset;
  const std::size_t old_size = section->sh_size;
  const auto set = [&](const void* field, std::uint64_t value) {
    const llvm::support::ulittle64_t little(value);
    std::memcpy(
        code_object.data() + (static_cast<const char*>(field) - bytes.data()),
        &little, sizeof little);
  };
  set(&section->sh_size, note.size());
  set(&segment->p_filesz, note.size());
  set(&segment->p_memsz, note.size());
  std::memset(code_object.data() + offset, 0, old_size);
  std::memcpy(code_object.data() + offset, note.data(), note.size());
  return {};
}

Result<std::vector<KernelUse>> ReadKernelUses(ByteSpan object) {
  llvm::Expected<llvm::object::ELFFile<Elf>> file =
      llvm::object::ELFFile<Elf>::create(TextOf(object));
  if (!file) return Err(Invalid(file.takeError()));
  llvm::Expected<Elf::ShdrRange> sections = file->sections();
  if (!sections) return Err(Invalid(sections.takeError()));
  std::vector<KernelUse> uses;
  const Elf::Shdr* section = FindNotes(*sections);
  if (section == sections->end()) return uses;
  llvm::Error error = llvm::Error::success();
  for (const auto& note : file->notes(*section, error)) {
    llvm::msgpack::Document document;
    if (note.getName() != llvm::StringRef(formats::kMetadataNoteName) ||
        !document.readFromBlob(
            note.getDescAsStringRef(formats::kMetadataNoteAlign),
            /*Multi=*/false)) {
      continue;
    }
    const auto kernels =
        document.getRoot().getMap().find(formats::kMetadataKernels);
    if (kernels == document.getRoot().getMap().end()) continue;
    for (DocNode kernel : kernels->second.getArray()) {
      uses.push_back({kernel.getMap()[".name"].toString(),
                      Number(kernel, ".max_flat_workgroup_size"),
                      Number(kernel, ".vgpr_count"),
                      Number(kernel, ".vgpr_spill_count")});
    }
  }
  if (error) return Err(Invalid(std::move(error)));
  return uses;
}

}  // namespace cerberus::ptx
