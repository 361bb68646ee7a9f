// Small ELF files made for tests, with every part that the rewriter looks at
// and nothing else. One page holds the tables, the next one the data.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_
#define CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_

#include <elf.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::rewriter::testing {

enum class Fill { kInPlace, kRelative, kRelativeAndInPlace, kSymbol, kRelr };

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

inline TestElf BuildElf(const ElfSpec& spec) {
  TestElf elf;
  Bytes& b = elf.bytes;
  struct Section {
    std::string name;
    std::uint32_t type;
    std::uint64_t flags, link, info, align, entsize;
  };
  std::vector<Section> sections = {{"", SHT_NULL, 0, 0, 0, 0, 0}};
  std::map<std::string, std::size_t> section_number;
  // File offset and address differ by the base in the first page, and by one
  // page more in the data.
  std::uint64_t shift = spec.base;
  const auto pad = [&](std::uint64_t align) {
    b.resize(AlignUp(b.size(), align));
  };
  const auto add = [&](const std::string& name, std::uint32_t type,
                       std::uint64_t flags, std::uint64_t align,
                       const Bytes& content, std::uint64_t entsize = 0) {
    pad(align);
    section_number[name] = sections.size();
    elf.at[name] = {b.size(), b.size() + shift, content.size(),
                    sections.size()};
    sections.push_back({name, type, flags, 0, 0, align, entsize});
    b.insert(b.end(), content.begin(), content.end());
  };
  const auto text = [](std::string_view s) {
    Bytes out(s.begin(), s.end());
    out.push_back(0);
    return out;
  };
  const auto note = [](std::uint32_t type, const Bytes& content) {
    Bytes out;
    AppendLe<std::uint32_t>(out, 4);
    AppendLe<std::uint32_t>(out, static_cast<std::uint32_t>(content.size()));
    AppendLe<std::uint32_t>(out, type);
    for (const char c : {'G', 'N', 'U', '\0'}) {
      out.push_back(static_cast<std::uint8_t>(c));
    }
    out.insert(out.end(), content.begin(), content.end());
    return out;
  };

  const std::size_t phnum =
      (spec.interp ? 2 : 0) + (spec.property_note ? 2 : 0) +
      (spec.build_id_note ? 1 : 0) + 3 + 1 + spec.spare_phdrs;
  b.resize(sizeof(Elf64_Ehdr) + phnum * sizeof(Elf64_Phdr));
  if (spec.interp) {
    add(".interp", SHT_PROGBITS, SHF_ALLOC, 1,
        text("/lib64/ld-linux-x86-64.so.2"));
  }
  if (spec.property_note) {
    add(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, note(5, Bytes(16, 0)));
  }
  if (spec.build_id_note) {
    add(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4, note(3, Bytes(20, 0xab)));
  }
  add(".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, 8, Bytes(28, 0));

  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  const auto dyn = [&](std::int64_t tag, std::uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    dynamic.push_back(entry);
  };
  const auto str = [&](const std::string& s) {
    const std::size_t offset = strings.size();
    strings += s + '\0';
    return offset;
  };
  for (const std::string& name : spec.needed) dyn(DT_NEEDED, str(name));
  if (!spec.runpath.empty()) dyn(DT_RUNPATH, str(spec.runpath));
  if (!spec.rpath.empty()) dyn(DT_RPATH, str(spec.rpath));

  // Symbol 1 is the first fatbin, for Fill::kSymbol; its value comes later.
  add(".dynsym", SHT_DYNSYM, SHF_ALLOC, 8, Bytes(2 * sizeof(Elf64_Sym)),
      sizeof(Elf64_Sym));
  add(".dynstr", SHT_STRTAB, SHF_ALLOC, 1,
      Bytes(strings.begin(), strings.end()));
  const bool rela = spec.fill == Fill::kRelative ||
                    spec.fill == Fill::kRelativeAndInPlace ||
                    spec.fill == Fill::kSymbol;
  const std::size_t count = spec.fatbins.size();
  if (rela) {
    add(".rela.dyn", SHT_RELA, SHF_ALLOC, 8, Bytes(count * sizeof(Elf64_Rela)),
        sizeof(Elf64_Rela));
  }
  if (spec.fill == Fill::kRelr) {
    add(".relr.dyn", SHT_RELR, SHF_ALLOC, 8, Bytes((1 + count) * 8), 8);
  }
  std::vector<std::uint64_t> fatbin_vaddr;
  Bytes all;
  pad(16);
  for (const auto& entries : spec.fatbins) {
    fatbin_vaddr.push_back(b.size() + all.size() + shift);
    const Bytes fatbin = FatbinOf(entries);
    all.insert(all.end(), fatbin.begin(), fatbin.end());
  }
  if (count > 0) {
    add(spec.fatbin_section, SHT_PROGBITS, SHF_ALLOC, 16, all);
  }
  for (const auto& [name, entries] : spec.loose) {
    add(name, SHT_PROGBITS, SHF_ALLOC, 8, FatbinOf(entries));
  }
  const std::uint64_t text_end = b.size();

  shift += 0x1000;
  pad(16);
  const std::uint64_t data_start = b.size();
  Bytes table((dynamic.size() + 12 + spec.spare_dynamic) * sizeof(Elf64_Dyn));
  // 8 tags at most follow; what is left over is DT_NULL.
  add(".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8, table,
      sizeof(Elf64_Dyn));
  Bytes wrappers;
  for (std::size_t i = 0; i < count; ++i) {
    AppendLe<std::uint32_t>(wrappers, 0x466243b1);
    AppendLe<std::uint32_t>(wrappers, i < spec.wrapper_versions.size()
                                          ? spec.wrapper_versions[i]
                                          : 1);
    const bool in_place = spec.fill == Fill::kInPlace ||
                          spec.fill == Fill::kRelr ||
                          spec.fill == Fill::kRelativeAndInPlace;
    AppendLe<std::uint64_t>(wrappers, in_place ? fatbin_vaddr[i] : 0);
    AppendLe<std::uint64_t>(wrappers, 0);
  }
  if (count > 0) {
    add(".nvFatBinSegment", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, wrappers);
  }
  const std::uint64_t data_end = b.size();

  dyn(DT_GNU_HASH, elf.at[".gnu.hash"].vaddr);
  dyn(DT_STRTAB, elf.at[".dynstr"].vaddr);
  dyn(DT_STRSZ, strings.size());
  dyn(DT_SYMTAB, elf.at[".dynsym"].vaddr);
  dyn(DT_SYMENT, sizeof(Elf64_Sym));
  const auto wrapper_vaddr = [&](std::size_t i) {
    return elf.at[".nvFatBinSegment"].vaddr + 24 * i;
  };
  if (rela && count > 0) {
    dyn(DT_RELA, elf.at[".rela.dyn"].vaddr);
    dyn(DT_RELASZ, count * sizeof(Elf64_Rela));
    dyn(DT_RELAENT, sizeof(Elf64_Rela));
    for (std::size_t i = 0; i < count; ++i) {
      Elf64_Rela entry{};
      entry.r_offset = wrapper_vaddr(i) + 8;
      if (spec.fill == Fill::kSymbol) {
        entry.r_info = ELF64_R_INFO(1ul, std::uint64_t{R_X86_64_64});
        entry.r_addend =
            static_cast<std::int64_t>(fatbin_vaddr[i] - fatbin_vaddr[0]);
      } else {
        entry.r_info = ELF64_R_INFO(0ul, std::uint64_t{R_X86_64_RELATIVE});
        entry.r_addend = static_cast<std::int64_t>(fatbin_vaddr[i]);
      }
      StoreLe(elf.data(".rela.dyn", i * sizeof entry), entry);
    }
    Elf64_Sym symbol{};
    symbol.st_value = fatbin_vaddr[0];
    symbol.st_shndx = 1;
    StoreLe(elf.data(".dynsym", sizeof symbol), symbol);
  }
  if (spec.fill == Fill::kRelr && count > 0) {
    // One address, then a bitmap: the wrappers' pointers are 3 words apart.
    dyn(DT_RELR, elf.at[".relr.dyn"].vaddr);
    dyn(DT_RELRSZ, count > 1 ? 16 : 8);
    dyn(DT_RELRENT, 8);
    StoreLe<std::uint64_t>(elf.data(".relr.dyn"), wrapper_vaddr(0) + 8);
    std::uint64_t bitmap = 1;
    for (std::size_t i = 1; i < count; ++i) {
      bitmap |= std::uint64_t{1} << (3 * i);
    }
    StoreLe<std::uint64_t>(elf.data(".relr.dyn", 8), bitmap);
  }
  const std::uint64_t dynamic_size =
      (dynamic.size() + 1 + spec.spare_dynamic) * sizeof(Elf64_Dyn);
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    StoreLe(elf.data(".dynamic", i * sizeof(Elf64_Dyn)), dynamic[i]);
  }
  elf.at[".dynamic"].size = dynamic_size;

  if (spec.sections) {
    add(".shstrtab", SHT_STRTAB, 0, 1, {});
    std::string names;
    std::vector<Elf64_Shdr> headers;
    for (const Section& s : sections) {
      Elf64_Shdr h{};
      h.sh_name = static_cast<Elf64_Word>(names.size());
      names += s.name + '\0';
      h.sh_type = s.type;
      h.sh_flags = s.flags;
      h.sh_addralign = s.align;
      h.sh_entsize = s.entsize;
      if (s.type != SHT_NULL) {
        const TestElf::Place& place = elf.at[s.name];
        h.sh_addr = (s.flags & SHF_ALLOC) != 0 ? place.vaddr : 0;
        h.sh_offset = place.offset;
        h.sh_size = place.size;
        if (s.type == SHT_DYNSYM || s.type == SHT_DYNAMIC) {
          h.sh_link = static_cast<Elf64_Word>(section_number[".dynstr"]);
        }
      }
      headers.push_back(h);
    }
    headers.back().sh_size = names.size();
    b.insert(b.end(), names.begin(), names.end());
    pad(8);
    elf.header()->e_shoff = b.size();
    elf.header()->e_shnum = static_cast<Elf64_Half>(headers.size());
    elf.header()->e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    for (const Elf64_Shdr& h : headers) AppendLe(b, h);
  }

  Elf64_Ehdr& h = *elf.header();
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = spec.type;
  h.e_machine = EM_X86_64;
  h.e_version = EV_CURRENT;
  h.e_phoff = sizeof h;
  h.e_ehsize = sizeof h;
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phnum = static_cast<Elf64_Half>(phnum);
  h.e_shentsize = sizeof(Elf64_Shdr);

  std::size_t next = 0;
  const auto phdr = [&](std::uint32_t type, std::uint32_t flags,
                        std::uint64_t offset, std::uint64_t vaddr,
                        std::uint64_t size, std::uint64_t memory,
                        std::uint64_t align) {
    Elf64_Phdr p{};
    p.p_type = type;
    p.p_flags = flags;
    p.p_offset = offset;
    p.p_vaddr = p.p_paddr = vaddr;
    p.p_filesz = size;
    p.p_memsz = memory;
    p.p_align = align;
    StoreLe(b.data() + h.e_phoff + next++ * sizeof p, p);
  };
  const auto cover = [&](std::uint32_t type, const std::string& name,
                         std::uint64_t align) {
    const TestElf::Place& p = elf.at.at(name);
    phdr(type, PF_R, p.offset, p.vaddr, p.size, p.size, align);
  };
  if (spec.interp) {
    phdr(PT_PHDR, PF_R, h.e_phoff, spec.base + h.e_phoff,
         phnum * sizeof(Elf64_Phdr), phnum * sizeof(Elf64_Phdr), 8);
    cover(PT_INTERP, ".interp", 1);
  }
  phdr(PT_LOAD, PF_R, 0, spec.base, text_end, text_end, 0x1000);
  phdr(PT_LOAD, PF_R | PF_W, data_start, data_start + shift,
       data_end - data_start, data_end - data_start + spec.bss, 0x1000);
  cover(PT_DYNAMIC, ".dynamic", 8);
  if (spec.property_note) {
    cover(PT_NOTE, ".note.gnu.property", 8);
    cover(PT_GNU_PROPERTY, ".note.gnu.property", 8);
  }
  if (spec.build_id_note) cover(PT_NOTE, ".note.gnu.build-id", 4);
  phdr(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 16);
  return elf;
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_ELF_BUILDER_H_
