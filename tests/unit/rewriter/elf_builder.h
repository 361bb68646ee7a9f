// Small ELF files made for tests, with every part that the rewriter looks at
// and nothing else. One page holds the tables, the next one the data.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_
#define CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_

#include <elf.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"
#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::rewriter::testing {

enum class Fill {
  kInPlace,
  kRelative,
  kRelativeAndInPlace,
  kSymbol,
  kRelr,
  kRel,        // DT_REL instead of DT_RELA
  kRelSymbol,  // the same by a symbol
};

struct ElfSpec {
  std::uint16_t type = ET_DYN;
  std::uint64_t base = 0;     // address of the first byte
  bool interp = true;         // an executable
  bool property_note = true;  // PT_NOTE and PT_GNU_PROPERTY
  bool build_id_note = true;
  bool sections = true;
  std::size_t spare_dynamic = 4;  // DT_NULL after the one that ends it
  std::size_t spare_phdrs = 0;    // PT_NULL entries
  std::uint64_t bss = 0x2345;
  Fill fill = Fill::kRelative;
  std::vector<std::string> needed = {"libc.so.6"};
  std::string runpath, rpath;
  // One wrapper and one fatbin each.
  std::vector<std::vector<EntrySpec>> fatbins = {{EntrySpec{}}};
  std::vector<std::uint32_t> wrapper_versions;  // 1 where not given
  std::string fatbin_section = ".nv_fatbin";
  // Fatbins that no wrapper leads to, each in a section of this name.
  std::vector<std::pair<std::string, std::vector<EntrySpec>>> loose;
  Bytes code, data;  // of .text and .data, if any
};

// The file, and where its parts are.
struct TestElf {
  Bytes bytes;
  struct Place {
    std::uint64_t offset, vaddr, size;
    std::size_t section;
  };
  std::map<std::string, Place> at;

  Elf64_Ehdr* header() { return reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }
  Elf64_Phdr* phdr(std::size_t i) {
    return reinterpret_cast<Elf64_Phdr*>(bytes.data() + header()->e_phoff) + i;
  }
  Elf64_Phdr* phdr_of(std::uint32_t type) {
    for (std::size_t i = 0; i < header()->e_phnum; ++i) {
      if (phdr(i)->p_type == type) return phdr(i);
    }
    return nullptr;
  }
  Elf64_Shdr* section(const std::string& name) {
    return reinterpret_cast<Elf64_Shdr*>(bytes.data() + header()->e_shoff) +
           at.at(name).section;
  }
  std::uint8_t* data(const std::string& name, std::uint64_t offset = 0) {
    return bytes.data() + at.at(name).offset + offset;
  }
};

// Makes one, part by part in the order of the file.
class ElfBuilder {
 public:
  explicit ElfBuilder(const ElfSpec& spec) : spec_(spec), shift_(spec.base) {}

  TestElf Build() {
    AddHead();
    AddDynamicTables();
    AddFatbins();
    AddData();
    FillDynamic();
    if (spec_.sections) AddSectionHeaders();
    FillHeader();
    FillSegments();
    return std::move(elf_);
  }

 private:
  struct Section {
    std::string name;
    std::uint32_t type;
    std::uint64_t flags, link, info, align, entsize;
  };

  void Pad(std::uint64_t align) {
    elf_.bytes.resize(AlignUp(elf_.bytes.size(), align));
  }
  void Add(const std::string& name, std::uint32_t type, std::uint64_t flags,
           std::uint64_t align, const Bytes& content,
           std::uint64_t entsize = 0) {
    Pad(align);
    section_number_[name] = sections_.size();
    elf_.at[name] = {elf_.bytes.size(), elf_.bytes.size() + shift_,
                     content.size(), sections_.size()};
    sections_.push_back({name, type, flags, 0, 0, align, entsize});
    elf_.bytes.insert(elf_.bytes.end(), content.begin(), content.end());
  }
  static Bytes Text(std::string_view s) {
    Bytes out(s.begin(), s.end());
    out.push_back(0);
    return out;
  }
  static Bytes Note(std::uint32_t type, const Bytes& content) {
    Bytes out;
    AppendLe<std::uint32_t>(out, 4);
    AppendLe<std::uint32_t>(out, static_cast<std::uint32_t>(content.size()));
    AppendLe<std::uint32_t>(out, type);
    for (const char c : {'G', 'N', 'U', '\0'}) {
      out.push_back(static_cast<std::uint8_t>(c));
    }
    out.insert(out.end(), content.begin(), content.end());
    return out;
  }
  void Dyn(std::int64_t tag, std::uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    dynamic_.push_back(entry);
  }
  std::size_t Str(const std::string& s) {
    const std::size_t offset = strings_.size();
    strings_ += s + '\0';
    return offset;
  }
  std::uint64_t WrapperAt(std::size_t i) {
    return elf_.at[".nvFatBinSegment"].vaddr + 24 * i;
  }

  void AddHead() {
    elf_.bytes.resize(sizeof(Elf64_Ehdr) + phnum_ * sizeof(Elf64_Phdr));
    if (spec_.interp) {
      Add(".interp", SHT_PROGBITS, SHF_ALLOC, 1,
          Text("/lib64/ld-linux-x86-64.so.2"));
    }
    if (spec_.property_note) {
      Add(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, Note(5, Bytes(16, 0)));
    }
    if (spec_.build_id_note) {
      Add(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4,
          Note(3, Bytes(20, 0xab)));
    }
    // One bucket, symbols from 1 on, one word of the filter, no shift; the
    // bucket begins with symbol 1, where its chain ends as well.
    Bytes hash;
    for (const std::uint32_t word : {1, 1, 1, 0, 0, 0, 1, 1}) {
      AppendLe(hash, word);
    }
    Add(".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, 8, hash);
  }

  void AddDynamicTables() {
    for (const std::string& name : spec_.needed) Dyn(DT_NEEDED, Str(name));
    if (!spec_.runpath.empty()) Dyn(DT_RUNPATH, Str(spec_.runpath));
    if (!spec_.rpath.empty()) Dyn(DT_RPATH, Str(spec_.rpath));

    // Symbol 1 is the first fatbin, for Fill::kSymbol; its value comes later.
    Add(".dynsym", SHT_DYNSYM, SHF_ALLOC, 8, Bytes(2 * sizeof(Elf64_Sym)),
        sizeof(Elf64_Sym));
    Add(".dynstr", SHT_STRTAB, SHF_ALLOC, 1,
        Bytes(strings_.begin(), strings_.end()));
    if (rela_) {
      Add(".rela.dyn", SHT_RELA, SHF_ALLOC, 8,
          Bytes(count_ * sizeof(Elf64_Rela)), sizeof(Elf64_Rela));
    }
    if (rel_) {
      Add(".rel.dyn", SHT_REL, SHF_ALLOC, 8, Bytes(count_ * sizeof(Elf64_Rel)),
          sizeof(Elf64_Rel));
    }
    if (spec_.fill == Fill::kRelr) {
      Add(".relr.dyn", SHT_RELR, SHF_ALLOC, 8, Bytes((1 + count_) * 8), 8);
    }
  }

  void AddFatbins() {
    Bytes all;
    Pad(16);
    for (const auto& entries : spec_.fatbins) {
      fatbin_vaddr_.push_back(elf_.bytes.size() + all.size() + shift_);
      const Bytes fatbin = FatbinOf(entries);
      all.insert(all.end(), fatbin.begin(), fatbin.end());
    }
    if (count_ > 0) {
      Add(spec_.fatbin_section, SHT_PROGBITS, SHF_ALLOC, 16, all);
    }
    for (const auto& [name, entries] : spec_.loose) {
      Add(name, SHT_PROGBITS, SHF_ALLOC, 8, FatbinOf(entries));
    }
    if (!spec_.code.empty()) {
      Add(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 16, spec_.code);
    }
    text_end_ = elf_.bytes.size();
  }

  // The writable page: the dynamic table and the wrappers.
  void AddData() {
    shift_ += 0x1000;
    Pad(16);
    data_start_ = elf_.bytes.size();
    Bytes table((dynamic_.size() + 12 + spec_.spare_dynamic) *
                sizeof(Elf64_Dyn));
    // 8 tags at most follow; what is left over is DT_NULL.
    Add(".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8, table,
        sizeof(Elf64_Dyn));
    Bytes wrappers;
    for (std::size_t i = 0; i < count_; ++i) {
      AppendLe<std::uint32_t>(wrappers, 0x466243b1);
      AppendLe<std::uint32_t>(wrappers, i < spec_.wrapper_versions.size()
                                            ? spec_.wrapper_versions[i]
                                            : 1);
      const bool in_place =
          spec_.fill == Fill::kInPlace || spec_.fill == Fill::kRelr ||
          spec_.fill == Fill::kRel || spec_.fill == Fill::kRelativeAndInPlace;
      const std::uint64_t from_symbol =
          spec_.fill == Fill::kRelSymbol ? fatbin_vaddr_[i] - fatbin_vaddr_[0]
                                         : 0;
      AppendLe<std::uint64_t>(wrappers,
                              in_place ? fatbin_vaddr_[i] : from_symbol);
      AppendLe<std::uint64_t>(wrappers, 0);
    }
    if (count_ > 0) {
      Add(".nvFatBinSegment", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, wrappers);
    }
    if (!spec_.data.empty()) {
      Add(".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, spec_.data);
    }
    data_end_ = elf_.bytes.size();
  }

  void FillDynamic() {
    Dyn(DT_GNU_HASH, elf_.at[".gnu.hash"].vaddr);
    Dyn(DT_STRTAB, elf_.at[".dynstr"].vaddr);
    Dyn(DT_STRSZ, strings_.size());
    Dyn(DT_SYMTAB, elf_.at[".dynsym"].vaddr);
    Dyn(DT_SYMENT, sizeof(Elf64_Sym));
    if (rela_ && count_ > 0) FillRela();
    if (rel_ && count_ > 0) FillRel();
    if (count_ > 0) FillSymbol();
    if (spec_.fill == Fill::kRelr && count_ > 0) FillRelr();
    const std::uint64_t dynamic_size =
        (dynamic_.size() + 1 + spec_.spare_dynamic) * sizeof(Elf64_Dyn);
    for (std::size_t i = 0; i < dynamic_.size(); ++i) {
      StoreLe(elf_.data(".dynamic", i * sizeof(Elf64_Dyn)), dynamic_[i]);
    }
    elf_.at[".dynamic"].size = dynamic_size;
  }

  void FillRela() {
    Dyn(DT_RELA, elf_.at[".rela.dyn"].vaddr);
    Dyn(DT_RELASZ, count_ * sizeof(Elf64_Rela));
    Dyn(DT_RELAENT, sizeof(Elf64_Rela));
    for (std::size_t i = 0; i < count_; ++i) {
      Elf64_Rela entry{};
      entry.r_offset = WrapperAt(i) + 8;
      if (spec_.fill == Fill::kSymbol) {
        entry.r_info = ELF64_R_INFO(1ul, std::uint64_t{R_X86_64_64});
        entry.r_addend =
            static_cast<std::int64_t>(fatbin_vaddr_[i] - fatbin_vaddr_[0]);
      } else {
        entry.r_info = ELF64_R_INFO(0ul, std::uint64_t{R_X86_64_RELATIVE});
        entry.r_addend = static_cast<std::int64_t>(fatbin_vaddr_[i]);
      }
      StoreLe(elf_.data(".rela.dyn", i * sizeof entry), entry);
    }
  }

  void FillRel() {
    Dyn(DT_REL, elf_.at[".rel.dyn"].vaddr);
    Dyn(DT_RELSZ, count_ * sizeof(Elf64_Rel));
    Dyn(DT_RELENT, sizeof(Elf64_Rel));
    for (std::size_t i = 0; i < count_; ++i) {
      Elf64_Rel entry{};
      entry.r_offset = WrapperAt(i) + 8;
      entry.r_info = by_symbol_
                         ? ELF64_R_INFO(1ul, std::uint64_t{R_X86_64_64})
                         : ELF64_R_INFO(0ul, std::uint64_t{R_X86_64_RELATIVE});
      StoreLe(elf_.data(".rel.dyn", i * sizeof entry), entry);
    }
  }

  void FillSymbol() {
    Elf64_Sym symbol{};
    symbol.st_value = fatbin_vaddr_[0];
    symbol.st_shndx = by_symbol_ ? 1 : SHN_UNDEF;
    StoreLe(elf_.data(".dynsym", sizeof symbol), symbol);
  }

  void FillRelr() {
    // One address, then a bitmap: the wrappers' pointers are 3 words apart.
    Dyn(DT_RELR, elf_.at[".relr.dyn"].vaddr);
    Dyn(DT_RELRSZ, count_ > 1 ? 16 : 8);
    Dyn(DT_RELRENT, 8);
    StoreLe<std::uint64_t>(elf_.data(".relr.dyn"), WrapperAt(0) + 8);
    std::uint64_t bitmap = 1;
    for (std::size_t i = 1; i < count_; ++i) {
      bitmap |= std::uint64_t{1} << (3 * i);
    }
    StoreLe<std::uint64_t>(elf_.data(".relr.dyn", 8), bitmap);
  }

  void AddSectionHeaders() {
    Add(".shstrtab", SHT_STRTAB, 0, 1, {});
    std::string names;
    std::vector<Elf64_Shdr> headers;
    for (const Section& s : sections_) {
      Elf64_Shdr h{};
      h.sh_name = static_cast<Elf64_Word>(names.size());
      names += s.name + '\0';
      h.sh_type = s.type;
      h.sh_flags = s.flags;
      h.sh_addralign = s.align;
      h.sh_entsize = s.entsize;
      if (s.type != SHT_NULL) {
        const TestElf::Place& place = elf_.at[s.name];
        h.sh_addr = (s.flags & SHF_ALLOC) != 0 ? place.vaddr : 0;
        h.sh_offset = place.offset;
        h.sh_size = place.size;
        if (s.type == SHT_DYNSYM || s.type == SHT_DYNAMIC) {
          h.sh_link = static_cast<Elf64_Word>(section_number_[".dynstr"]);
        }
      }
      headers.push_back(h);
    }
    headers.back().sh_size = names.size();
    elf_.bytes.insert(elf_.bytes.end(), names.begin(), names.end());
    Pad(8);
    elf_.header()->e_shoff = elf_.bytes.size();
    elf_.header()->e_shnum = static_cast<Elf64_Half>(headers.size());
    elf_.header()->e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    for (const Elf64_Shdr& h : headers) AppendLe(elf_.bytes, h);
  }

  void FillHeader() {
    Elf64_Ehdr& h = *elf_.header();
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = spec_.type;
    h.e_machine = EM_X86_64;
    h.e_version = EV_CURRENT;
    h.e_phoff = sizeof h;
    h.e_ehsize = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = static_cast<Elf64_Half>(phnum_);
    h.e_shentsize = sizeof(Elf64_Shdr);
  }

  void Segment(std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
               std::uint64_t vaddr, std::uint64_t size, std::uint64_t memory,
               std::uint64_t align) {
    Elf64_Phdr p{};
    p.p_type = type;
    p.p_flags = flags;
    p.p_offset = offset;
    p.p_vaddr = p.p_paddr = vaddr;
    p.p_filesz = size;
    p.p_memsz = memory;
    p.p_align = align;
    StoreLe(elf_.bytes.data() + sizeof(Elf64_Ehdr) + next_++ * sizeof p, p);
  }
  void Cover(std::uint32_t type, const std::string& name, std::uint64_t align) {
    const TestElf::Place& p = elf_.at.at(name);
    Segment(type, PF_R, p.offset, p.vaddr, p.size, p.size, align);
  }

  void FillSegments() {
    const std::uint64_t phdrs = phnum_ * sizeof(Elf64_Phdr);
    if (spec_.interp) {
      Segment(PT_PHDR, PF_R, sizeof(Elf64_Ehdr),
              spec_.base + sizeof(Elf64_Ehdr), phdrs, phdrs, 8);
      Cover(PT_INTERP, ".interp", 1);
    }
    Segment(PT_LOAD, PF_R, 0, spec_.base, text_end_, text_end_, 0x1000);
    Segment(PT_LOAD, PF_R | PF_W, data_start_, data_start_ + shift_,
            data_end_ - data_start_, data_end_ - data_start_ + spec_.bss,
            0x1000);
    Cover(PT_DYNAMIC, ".dynamic", 8);
    if (spec_.property_note) {
      Cover(PT_NOTE, ".note.gnu.property", 8);
      Cover(PT_GNU_PROPERTY, ".note.gnu.property", 8);
    }
    if (spec_.build_id_note) Cover(PT_NOTE, ".note.gnu.build-id", 4);
    Segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 16);
  }

  const ElfSpec& spec_;
  TestElf elf_;
  std::vector<Section> sections_ = {{"", SHT_NULL, 0, 0, 0, 0, 0}};
  std::map<std::string, std::size_t> section_number_;
  // File offset and address differ by the base in the first page, and by one
  // page more in the data.
  std::uint64_t shift_;
  const std::size_t phnum_ =
      (spec_.interp ? 2 : 0) + (spec_.property_note ? 2 : 0) +
      (spec_.build_id_note ? 1 : 0) + 3 + 1 + spec_.spare_phdrs;
  const std::size_t count_ = spec_.fatbins.size();
  const bool rela_ = spec_.fill == Fill::kRelative ||
                     spec_.fill == Fill::kRelativeAndInPlace ||
                     spec_.fill == Fill::kSymbol;
  const bool rel_ = spec_.fill == Fill::kRel || spec_.fill == Fill::kRelSymbol;
  const bool by_symbol_ =
      spec_.fill == Fill::kSymbol || spec_.fill == Fill::kRelSymbol;
  std::string strings_ = std::string(1, '\0');
  std::vector<Elf64_Dyn> dynamic_;
  std::vector<std::uint64_t> fatbin_vaddr_;
  std::uint64_t text_end_ = 0, data_start_ = 0, data_end_ = 0;
  std::size_t next_ = 0;  // program header
};

inline TestElf BuildElf(const ElfSpec& spec) {
  return ElfBuilder(spec).Build();
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_
