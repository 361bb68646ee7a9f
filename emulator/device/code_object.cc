#include "emulator/device/code_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/device/device.h"
#include "emulator/device/msgpack.h"
#include "support/targets/target_id.h"

namespace cerberus::emulator {
namespace {

constexpr std::uint16_t kMachineAmdgpu = 224;
constexpr std::uint8_t kOsAbiHsa = 64;
constexpr std::uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA
// An image is a few megabytes; a header that asks for more is a lie.
constexpr std::uint64_t kMaxImage = std::uint64_t{8} << 30;

// Relocation types (AMDGPUUsage, "Relocation Records").
enum Relocation : std::uint32_t {
  kNone = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kRelative64 = 13,
};

Diag Bad(std::string message) {
  return MakeDiag(DiagCode::kBadFormat, "code object: " + std::move(message));
}

}  // namespace

class Loader {
 public:
  Loader(ByteSpan bytes, std::string_view target, Memory& memory)
      : bytes_(bytes),
        reader_(bytes, "code object"),
        target_(target),
        memory_(memory),
        out_(new LoadedCode) {}

  Result<std::unique_ptr<LoadedCode>> Run() {
    CERB_TRY_VOID(Header());
    CERB_TRY_VOID(Metadata());
    CERB_TRY_VOID(CheckTarget());
    CERB_TRY_VOID(Segments());
    CERB_TRY_VOID(Sections());
    CERB_TRY_VOID(Symbols());
    CERB_TRY_VOID(Relocations());
    CERB_TRY_VOID(Kernels());
    return std::move(out_);
  }

 private:
  template <typename T>
  Result<T> At(std::uint64_t offset) const {
    CERB_TRY(const ByteSpan b, reader_.Slice(offset, sizeof(T)));
    return LoadLe<T>(b.data());
  }

  Status Header() {
    CERB_TRY(header_, At<Elf64_Ehdr>(0));
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != kMachineAmdgpu) {
      return Err(Bad("not a 64-bit AMDGPU ELF file"));
    }
    if (header_.e_type != ET_DYN) {
      return Err(Bad("not a linked shared object"));
    }
    if (header_.e_ident[EI_OSABI] != kOsAbiHsa) {
      return Err(MakeDiag(DiagCode::kUnsupported,
                          "code object: not for the amdhsa system"));
    }
    // e_ident[EI_ABIVERSION] is 2 for version 4, 3 for 5, 4 for 6.
    out_->version_ = header_.e_ident[EI_ABIVERSION] + 2;
    if (out_->version_ < 4 || out_->version_ > 6) {
      return Err(MakeDiag(DiagCode::kUnsupported,
                          fmt::format("code object version {} is not 4, 5 or 6",
                                      out_->version_)));
    }
    if (header_.e_phentsize != sizeof(Elf64_Phdr) && header_.e_phnum != 0) {
      return Err(Bad("unexpected program header size"));
    }
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const auto at = CheckedAdd(header_.e_phoff, i * sizeof(Elf64_Phdr));
      if (!at) return Err(Bad("program headers out of range"));
      CERB_TRY(const Elf64_Phdr p, At<Elf64_Phdr>(*at));
      phdrs_.push_back(p);
    }
    return {};
  }

  // Files that are linked into one keep notes of their own.
  Status Metadata() {
    for (const Elf64_Phdr& p : phdrs_) {
      if (p.p_type != PT_NOTE) continue;
      CERB_TRY(const ByteSpan notes, reader_.Slice(p.p_offset, p.p_filesz));
      ByteReader in(notes, "note segment");
      while (in.remaining() >= 12) {
        CERB_TRY(const std::uint32_t name_size, in.U32());
        CERB_TRY(const std::uint32_t desc_size, in.U32());
        CERB_TRY(const std::uint32_t type, in.U32());
        CERB_TRY(const ByteSpan name, in.Take(name_size));
        CERB_TRY_VOID(in.Seek(
            std::min<std::uint64_t>(AlignUp(in.offset(), 4), notes.size())));
        CERB_TRY(const ByteSpan desc, in.Take(desc_size));
        CERB_TRY_VOID(in.Seek(
            std::min<std::uint64_t>(AlignUp(in.offset(), 4), notes.size())));
        if (type == kNoteMetadata && name_size == 7 &&
            std::memcmp(name.data(), "AMDGPU", 7) == 0) {
          CERB_TRY(MsgValue one, ReadMsgPack(desc));
          metadata_.push_back(std::move(one));
        }
      }
    }
    if (metadata_.empty()) return Err(Bad("no AMDGPU metadata note"));
    return {};
  }

  // What code is for whose metadata do not say, as those of kernels that were
  // written as assembly (AMD's hipBLASLt): the ELF header's flags, which are
  // what AMD's loader goes by (AMDGPUUsage, "ELF Header").
  Result<TargetId> TargetOfHeader(const TargetId& device) const {
    constexpr std::uint32_t kMachine = 0xff;
    const std::uint32_t machine = header_.e_flags & kMachine;
    const Target* const expected = FindTarget(device.processor);
    if (expected == nullptr || machine != expected->elf_machine) {
      return Err(MakeDiag(
          DiagCode::kUnsupported,
          fmt::format("code object is for the processor {:#x} of the ELF "
                      "header's flags, the device is {}",
                      machine, target_)));
    }
    // Two bits for each: not there, any, off, on.
    std::string id = device.processor;
    const auto add = [&](const char* name, unsigned shift) {
      const std::uint32_t setting = header_.e_flags >> shift & 3;
      if (setting >= 2) id += std::string(name) + (setting == 3 ? '+' : '-');
    };
    add(":sramecc", 10);
    add(":xnack", 8);
    return TargetId::Parse(id);
  }

  Status CheckTarget() {
    CERB_TRY(const TargetId device, TargetId::Parse(target_));
    const std::string named = metadata_.front()["amdhsa.target"].text;
    CERB_TRY(const TargetId code,
             named.empty() ? TargetOfHeader(device) : TargetId::Parse(named));
    out_->target_ = code.ToString();
    const bool same = code.processor == device.processor;
    const bool generic = code.is_generic() &&
                         GenericTargetOf(device.processor) == code.processor;
    if (!same && !generic) {
      return Err(MakeDiag(DiagCode::kUnsupported,
                          fmt::format("code object is for {}, the device is {}",
                                      code.ToString(), target_)));
    }
    // "Each generic target needs version 6", and its own version is never 0
    // (AMDGPUUsage, "Generic Processor Versioning").
    if (generic && (out_->version_ < 6 || header_.e_flags >> 24 == 0)) {
      return Err(Bad(
          fmt::format("{} needs code object version 6 and a generic version",
                      code.processor)));
    }
    // A feature that both name must be the same; unnamed means any.
    for (const std::string& wanted : code.features) {
      std::string opposite = wanted;
      opposite.back() = wanted.back() == '+' ? '-' : '+';
      if (std::find(device.features.begin(), device.features.end(), opposite) !=
          device.features.end()) {
        return Err(
            MakeDiag(DiagCode::kUnsupported,
                     fmt::format("code object is for {}, the device is {}",
                                 code.ToString(), target_)));
      }
    }
    return {};
  }

  Status Segments() {
    std::uint64_t end = 0, align = 4096;
    for (const Elf64_Phdr& p : phdrs_) {
      if (p.p_type != PT_LOAD) continue;
      const auto top = CheckedAdd(p.p_vaddr, p.p_memsz);
      if (!top || *top > kMaxImage || p.p_filesz > p.p_memsz) {
        return Err(Bad("segment out of range"));
      }
      end = std::max(end, *top);
      if (p.p_align > align && p.p_align <= (1u << 21) &&
          (p.p_align & (p.p_align - 1)) == 0) {
        align = p.p_align;
      }
    }
    if (end == 0) return Err(Bad("nothing to load"));
    // Loaders map whole pages; scalar loads of a last byte read its dword.
    end = (end + 3) & ~std::uint64_t{3};
    // Instruction fetch runs past the end of the code; the hardware wants
    // s_code_end there and we want room for a whole instruction.
    CERB_TRY(const Allocation image,
             memory_.Allocate(end, align, MemoryKind::kCode));
    out_->memory_ = &memory_;
    out_->base_ = image.address;
    size_ = out_->size_ = end;
    Protect();
    for (const Elf64_Phdr& p : phdrs_) {
      if (p.p_type != PT_LOAD) continue;
      CERB_TRY(const ByteSpan from, reader_.Slice(p.p_offset, p.p_filesz));
      if (!from.empty()) {
        std::memcpy(reinterpret_cast<void*>(image.address + p.p_vaddr),
                    from.data(), from.size());
      }
      if ((p.p_flags & PF_X) != 0 && out_->text_begin_ == 0) {
        out_->text_begin_ = image.address + p.p_vaddr;
        out_->text_end_ = out_->text_begin_ + p.p_memsz;
      }
    }
    return {};
  }

  // Segments without PF_W, up to where the next one begins, and what is
  // read-only once relocated.
  void Protect() {
    std::vector<std::uint64_t> begins = {size_};
    for (const Elf64_Phdr& p : phdrs_) {
      if (p.p_type == PT_LOAD) begins.push_back(p.p_vaddr);
    }
    for (const Elf64_Phdr& p : phdrs_) {
      std::uint64_t end = p.p_vaddr + p.p_memsz;
      if (p.p_type == PT_LOAD && (p.p_flags & PF_W) == 0) {
        end = size_;
        for (const std::uint64_t b : begins) {
          if (b > p.p_vaddr) end = std::min(end, b);
        }
      } else if (p.p_type != PT_GNU_RELRO || end > size_ || end < p.p_vaddr) {
        continue;
      }
      memory_.Protect(out_->base_ + p.p_vaddr, end - p.p_vaddr);
    }
  }

  bool Inside(std::uint64_t at, std::uint64_t size) const {
    return size <= size_ && at <= size_ - size;
  }
  template <typename T>
  T Load(std::uint64_t at) const {
    return LoadLe<T>(reinterpret_cast<const void*>(out_->base_ + at));
  }

  // Sections are for FindSection only: a stripped file has none.
  Status Sections() {
    if (header_.e_shnum == 0 || header_.e_shentsize != sizeof(Elf64_Shdr) ||
        header_.e_shstrndx >= header_.e_shnum) {
      return {};
    }
    const auto section = [&](unsigned i) {
      return At<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
    };
    const auto names = section(header_.e_shstrndx);
    if (!names) return {};
    const auto text = reader_.Slice(names->sh_offset, names->sh_size);
    if (!text) return {};
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto s = section(i);
      if (!s || s->sh_name >= text->size()) continue;
      const std::string_view all = AsText(*text).substr(s->sh_name);
      const std::string_view name = all.substr(0, all.find('\0'));
      if (name.starts_with(".debug_")) {
        const auto bytes = reader_.Slice(s->sh_offset, s->sh_size);
        if (bytes) {
          out_->debug_.emplace(name.substr(1),
                               Bytes(bytes->begin(), bytes->end()));
        }
        continue;
      }
      if ((s->sh_flags & SHF_ALLOC) == 0 || !Inside(s->sh_addr, s->sh_size)) {
        continue;
      }
      out_->sections_.emplace(
          name, ByteSpan(reinterpret_cast<const std::uint8_t*>(out_->base_ +
                                                               s->sh_addr),
                         s->sh_size));
    }
    return {};
  }

  Status Symbols() {
    std::uint64_t dynamic = 0, dynamic_size = 0;
    for (const Elf64_Phdr& p : phdrs_) {
      if (p.p_type == PT_DYNAMIC) {
        dynamic = p.p_vaddr, dynamic_size = p.p_memsz;
      }
    }
    if (!Inside(dynamic, dynamic_size)) return Err(Bad("bad PT_DYNAMIC"));
    std::uint64_t symtab = 0, strtab = 0, strsz = 0, hash = 0;
    for (std::uint64_t at = 0; at + 16 <= dynamic_size; at += 16) {
      const auto d = Load<Elf64_Dyn>(dynamic + at);
      if (d.d_tag == DT_NULL) break;
      switch (d.d_tag) {
        case DT_SYMTAB: symtab = d.d_un.d_ptr; break;
        case DT_STRTAB: strtab = d.d_un.d_ptr; break;
        case DT_STRSZ: strsz = d.d_un.d_val; break;
        case DT_HASH: hash = d.d_un.d_ptr; break;
        case DT_RELA: rela_ = d.d_un.d_ptr; break;
        case DT_RELASZ: rela_size_ = d.d_un.d_val; break;
        default: break;
      }
    }
    if (symtab == 0 || !Inside(strtab, strsz)) {
      return Err(Bad("no dynamic symbols"));
    }
    // DT_HASH's second word is the number of symbols; lld writes both hash
    // tables for AMDGPU. Without it the string table, which follows, is the
    // end.
    std::uint64_t count = 0;
    if (hash != 0 && Inside(hash, 8)) {
      count = Load<std::uint32_t>(hash + 4);
    } else if (strtab > symtab) {
      count = (strtab - symtab) / sizeof(Elf64_Sym);
    }
    const auto bytes = CheckedMul(count, sizeof(Elf64_Sym));
    if (!bytes || !Inside(symtab, *bytes)) {
      return Err(Bad("dynamic symbol table out of range"));
    }
    const std::string_view strings(
        reinterpret_cast<const char*>(out_->base_ + strtab), strsz);
    for (std::uint64_t i = 1; i < count; ++i) {
      const auto s = Load<Elf64_Sym>(symtab + i * sizeof(Elf64_Sym));
      symbol_values_.resize(i, 0);
      symbol_values_.push_back(
          s.st_shndx == SHN_UNDEF ? 0 : out_->base_ + s.st_value);
      if (s.st_shndx == SHN_UNDEF || s.st_name >= strings.size() ||
          !Inside(s.st_value, s.st_size)) {
        continue;
      }
      const std::string_view rest = strings.substr(s.st_name);
      SymbolInfo info;
      info.name = rest.substr(0, rest.find('\0'));
      info.address = out_->base_ + s.st_value;
      info.size = s.st_size;
      info.is_variable =
          ELF64_ST_TYPE(s.st_info) == STT_OBJECT && !info.name.ends_with(".kd");
      if (info.name.empty()) continue;
      out_->symbol_index_.emplace(info.name, out_->symbols_.size());
      out_->symbols_.push_back(std::move(info));
    }
    return {};
  }

  Status Relocations() {
    if (rela_size_ == 0) return {};
    if (!Inside(rela_, rela_size_)) return Err(Bad("relocations out of range"));
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= rela_size_;
         at += sizeof(Elf64_Rela)) {
      const auto r = Load<Elf64_Rela>(rela_ + at);
      const std::uint32_t type = ELF64_R_TYPE(r.r_info);
      const std::uint64_t index = ELF64_R_SYM(r.r_info);
      const std::uint64_t addend = static_cast<std::uint64_t>(r.r_addend);
      if (!Inside(r.r_offset,
                  type == kAbs64 || type == kRel64 || type == kRelative64
                      ? 8
                      : 4)) {
        return Err(Bad("relocation outside the image"));
      }
      std::uint64_t symbol = 0;
      if (index != 0) {
        if (index >= symbol_values_.size()) {
          return Err(Bad("relocation against a missing symbol"));
        }
        symbol = symbol_values_[index];
        if (symbol == 0 && type != kNone) {
          return Err(Bad("undefined symbol in a relocation"));
        }
      }
      const std::uint64_t place = out_->base_ + r.r_offset;
      void* const where = reinterpret_cast<void*>(place);
      const std::uint64_t value = symbol + addend;
      switch (type) {
        case kNone: break;
        case kRelative64: StoreLe(where, out_->base_ + addend); break;
        case kAbs64: StoreLe(where, value); break;
        case kRel64: StoreLe(where, value - place); break;
        case kAbs32:
        case kAbs32Lo: StoreLe(where, static_cast<std::uint32_t>(value)); break;
        case kAbs32Hi:
          StoreLe(where, static_cast<std::uint32_t>(value >> 32));
          break;
        case kRel32:
          StoreLe(where, static_cast<std::uint32_t>(value - place));
          break;
        default:
          return Err(
              MakeDiag(DiagCode::kUnsupported,
                       fmt::format("code object: relocation type {}", type)));
      }
    }
    return {};
  }

  Status Kernels() {
    for (const MsgValue& note : metadata_) {
      CERB_TRY_VOID(KernelsOf(note["amdhsa.kernels"]));
    }
    return {};
  }

  Status KernelsOf(const MsgValue& kernels) {
    for (const MsgValue& k : kernels.items) {
      KernelInfo info;
      info.name = k[".name"].text;
      info.symbol = k[".symbol"].text;
      info.kernarg_size = k[".kernarg_segment_size"].U32();
      info.kernarg_alignment = k[".kernarg_segment_align"].U32();
      info.lds_size = k[".group_segment_fixed_size"].U32();
      info.private_size = k[".private_segment_fixed_size"].U32();
      info.dynamic_stack = k[".uses_dynamic_stack"].U32() != 0;
      info.sgprs = k[".sgpr_count"].U32();
      info.vgprs = k[".vgpr_count"].U32();
      info.agprs = k[".agpr_count"].U32();
      info.sgpr_spills = k[".sgpr_spill_count"].U32();
      info.vgpr_spills = k[".vgpr_spill_count"].U32();
      info.wavefront_size = k[".wavefront_size"].U32();
      info.max_flat_workgroup_size = k[".max_flat_workgroup_size"].U32();
      const MsgValue& reqd = k[".reqd_workgroup_size"];
      for (std::size_t i = 0; i < 3 && i < reqd.items.size(); ++i) {
        info.reqd_workgroup_size[i] = reqd.items[i].U32();
      }
      for (const MsgValue& a : k[".args"].items) {
        KernelArg arg;
        arg.name = a[".name"].text;
        arg.value_kind = a[".value_kind"].text;
        arg.address_space = a[".address_space"].text;
        arg.offset = a[".offset"].U32();
        arg.size = a[".size"].U32();
        info.args.push_back(std::move(arg));
      }
      const SymbolInfo* kd = out_->FindSymbol(info.symbol);
      if (kd == nullptr) {
        return Err(Bad(fmt::format("no descriptor '{}'", info.symbol)));
      }
      const std::uint64_t at = kd->address - out_->base_;
      if (!Inside(at, 64)) return Err(Bad("kernel descriptor out of range"));
      info.descriptor = kd->address;
      // kernel_code_entry_byte_offset, from the descriptor itself.
      info.entry = kd->address + Load<std::uint64_t>(at + 16);
      if (info.entry < out_->text_begin_ || info.entry >= out_->text_end_ ||
          info.entry % 4 != 0) {
        return Err(
            Bad(fmt::format("kernel '{}' starts outside the code", info.name)));
      }
      if (info.kernarg_size > (1u << 20) || info.private_size > (1u << 30)) {
        return Err(
            Bad(fmt::format("kernel '{}' has impossible sizes", info.name)));
      }
      if (info.wavefront_size != 32 && info.wavefront_size != 64) {
        return Err(Bad(fmt::format("kernel '{}' has wavefront size {}",
                                   info.name, info.wavefront_size)));
      }
      out_->kernel_index_.emplace(info.name, out_->kernels_.size());
      out_->descriptor_index_.emplace(info.descriptor, out_->kernels_.size());
      out_->kernels_.push_back(std::move(info));
    }
    return {};
  }

  ByteSpan bytes_;
  ByteReader reader_;
  std::string target_;
  Memory& memory_;
  std::unique_ptr<LoadedCode> out_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> phdrs_;
  std::vector<MsgValue> metadata_;
  std::uint64_t size_ = 0;
  std::uint64_t rela_ = 0, rela_size_ = 0;
  std::vector<std::uint64_t> symbol_values_;
};

Result<std::unique_ptr<LoadedCode>> LoadedCode::Load(ByteSpan bytes,
                                                     std::string_view target,
                                                     Memory& memory) {
  return Loader(bytes, target, memory).Run();
}

LoadedCode::~LoadedCode() {
  if (memory_ != nullptr) (void)memory_->Free(base_, "unloading");
}

const KernelInfo* LoadedCode::FindKernel(std::string_view name) const {
  const auto it = kernel_index_.find(name);
  return it == kernel_index_.end() ? nullptr : &kernels_[it->second];
}

const KernelInfo* LoadedCode::FindKernelAt(std::uint64_t descriptor) const {
  const auto it = descriptor_index_.find(descriptor);
  return it == descriptor_index_.end() ? nullptr : &kernels_[it->second];
}

const SymbolInfo* LoadedCode::FindSymbol(std::string_view name) const {
  const auto it = symbol_index_.find(name);
  return it == symbol_index_.end() ? nullptr : &symbols_[it->second];
}

std::optional<ByteSpan> LoadedCode::FindSection(std::string_view name) const {
  const auto it = sections_.find(name);
  if (it == sections_.end()) return std::nullopt;
  return it->second;
}

std::string LoadedCode::PlaceOf(std::uint64_t address) const {
  std::string place;
  for (const auto& [name, bytes] : sections_) {
    if (address - reinterpret_cast<std::uint64_t>(bytes.data()) <
        bytes.size()) {
      place = "in " + name;
    }
  }
  for (const SymbolInfo& s : symbols_) {
    if (address - s.address < s.size) {
      place += fmt::format(", {} bytes into '{}' of {} bytes",
                           address - s.address, s.name, s.size);
    }
  }
  return place;
}

std::string LoadedCode::SourceOf(std::uint64_t address) const {
  return SourceLine(debug_, address - base_);
}

std::uint32_t KernelInfo::explicit_size() const {
  std::uint32_t end = 0;
  for (const KernelArg& a : args) {
    if (!a.value_kind.starts_with("hidden_")) {
      end = std::max(end, a.offset + a.size);
    }
  }
  return end;
}

}  // namespace cerberus::emulator
