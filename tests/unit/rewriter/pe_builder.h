// Small PE files made for tests, with every part that the rewriter looks at and
// nothing else.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_PE_BUILDER_H_
#define CERBERUS_TESTS_UNIT_REWRITER_PE_BUILDER_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/pe/pe.h"
#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::rewriter::testing {

inline constexpr std::uint64_t kPeBase = 0x180000000;

struct PeSpec {
  bool is_dll = true;
  bool is_relocatable = true;
  // Bytes between the DOS header and the PE header, and behind the table of
  // sections before the first section.
  std::uint32_t dos_program = 0x40;
  std::uint32_t header_room = 100;
  bool has_checksum = false;
  bool has_symbols = false;  // COFF symbols, with a section's long name
  Bytes overlay, certificates;
  Bytes code = Bytes(64, 0x90);
  // One wrapper and one fatbin each.
  std::vector<std::vector<EntrySpec>> fatbins = {{EntrySpec{}}};
  // Behind them in the same section, and no wrapper leads there.
  std::vector<std::vector<EntrySpec>> loose;
  // Instead: images that wrappers of HIP lead to, one each.
  std::vector<Bytes> hip_images;
};

struct TestPe {
  Bytes bytes;
  struct Place {
    std::uint32_t rva = 0, offset = 0, size = 0;
    std::size_t header = 0;  // offset of the section header
  };
  std::map<std::string, Place> at;

  std::uint8_t* data(const std::string& section, std::uint32_t offset = 0) {
    return bytes.data() + at.at(section).offset + offset;
  }
  PeSectionHeader* section(const std::string& name) {
    return reinterpret_cast<PeSectionHeader*>(bytes.data() +
                                              at.at(name).header);
  }
  std::size_t optional_offset() const {
    return LoadLe<std::uint32_t>(bytes.data() + 0x3c) + 24;
  }
  PeOptionalHeader* optional() {
    return reinterpret_cast<PeOptionalHeader*>(bytes.data() +
                                               optional_offset());
  }
  PeDirectory* directory(std::uint32_t index) {
    return reinterpret_cast<PeDirectory*>(bytes.data() + optional_offset() +
                                          sizeof(PeOptionalHeader)) +
           index;
  }
};

// The sum of "PE Format", the way its text puts it: word by word, with the
// carry added at once.
inline std::uint32_t PeChecksum(const Bytes& bytes, std::size_t field) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::uint32_t word = bytes[i];
    if (i + 1 < bytes.size()) word |= std::uint32_t{bytes[i + 1]} << 8;
    if (i >= field && i < field + 4) word = 0;
    sum += word;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum + static_cast<std::uint32_t>(bytes.size());
}

// Makes one, part by part in the order of the file.
class PeBuilder {
 public:
  explicit PeBuilder(const PeSpec& spec) : spec_(spec) {}

  TestPe Build() {
    AddSections();
    PlaceHeaders();
    PlaceSections();
    FillWrappers();
    FillTables();
    AddBehindSections();
    FillHeaders();
    return std::move(pe_);
  }

 private:
  struct Section {
    std::string name;
    std::uint32_t flags;
    Bytes content;
  };

  void AddSections() {
    constexpr std::uint32_t kRead = 0x40000040, kWrite = 0xc0000040;
    sections_.push_back({".text", 0x60000020, spec_.code});
    sections_.push_back({".rdata", kRead, Bytes(28 + 40 + 4)});
    Bytes all;
    const auto add_code = [&](const Bytes& code) {
      all.resize(AlignUp(all.size(), 16));
      code_at_.push_back(static_cast<std::uint32_t>(all.size()));
      all.insert(all.end(), code.begin(), code.end());
    };
    if (hip_) {
      for (const Bytes& image : spec_.hip_images) add_code(image);
    } else {
      for (const auto& entries : spec_.fatbins) add_code(FatbinOf(entries));
      for (const auto& entries : spec_.loose) add_code(FatbinOf(entries));
    }
    sections_.push_back({wrappers_, kWrite, Bytes(24 * count_)});
    if (spec_.is_relocatable) {
      // Page and size of one block, then an entry for each pointer.
      sections_.push_back(
          {".reloc", 0x42000040, Bytes(AlignUp(8 + 2 * count_, 4))});
    }
    sections_.push_back({code_, kRead, all});
    if (spec_.has_symbols) sections_.push_back({"/4", kRead, Bytes(32, 1)});
  }

  void PlaceHeaders() {
    Bytes& b = pe_.bytes;
    b.resize(0x40 + spec_.dos_program);
    b[0] = 'M';
    b[1] = 'Z';
    StoreLe(b.data() + 0x3c, static_cast<std::uint32_t>(b.size()));
    for (const char c : {'P', 'E', '\0', '\0'}) {
      b.push_back(static_cast<std::uint8_t>(c));
    }
    file_at_ = b.size();
    table_ = file_at_ + sizeof(PeFileHeader) + kOptionalSize;
    const std::size_t end = table_ + 40 * sections_.size() + spec_.header_room;
    b.resize(AlignUp(end, 512));
    // As much room as was asked for: what is more is filled.
    if (end < b.size()) b[end] = 0xee;
    headers_size_ = static_cast<std::uint32_t>(b.size());
  }

  void PlaceSections() {
    Bytes& b = pe_.bytes;
    rva_ = static_cast<std::uint32_t>(AlignUp(headers_size_, 0x1000));
    std::size_t header = table_;
    for (const Section& section : sections_) {
      const auto size = static_cast<std::uint32_t>(section.content.size());
      pe_.at[section.name] = {rva_, static_cast<std::uint32_t>(b.size()), size,
                              header};
      PeSectionHeader h{};
      std::copy(section.name.begin(), section.name.end(), h.name);
      h.virtual_size = size;
      h.rva = rva_;
      h.raw_offset = static_cast<std::uint32_t>(b.size());
      h.raw_size = static_cast<std::uint32_t>(AlignUp(size, 512));
      h.characteristics = section.flags;
      StoreLe(b.data() + header, h);
      header += sizeof h;
      b.insert(b.end(), section.content.begin(), section.content.end());
      b.resize(AlignUp(b.size(), 512));
      rva_ = static_cast<std::uint32_t>(AlignUp(rva_ + size, 0x1000));
    }
  }

  void FillWrappers() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uint8_t* wrapper = pe_.data(wrappers_, 24 * i);
      StoreLe<std::uint32_t>(wrapper, hip_ ? 0x48495046 : 0x466243b1);
      StoreLe<std::uint32_t>(wrapper + 4, 1);
      StoreLe<std::uint64_t>(wrapper + 8,
                             kPeBase + pe_.at.at(code_).rva + code_at_[i]);
    }
  }

  void FillTables() {
    if (spec_.is_relocatable) {
      const TestPe::Place& place = pe_.at.at(".reloc");
      directories_[kPeRelocations] = {place.rva, place.size};
      StoreLe<std::uint32_t>(pe_.data(".reloc"), pe_.at.at(wrappers_).rva);
      StoreLe<std::uint32_t>(pe_.data(".reloc", 4), place.size);
      for (std::uint32_t i = 0; i < count_; ++i) {
        StoreLe(pe_.data(".reloc", 8 + 2 * i),
                static_cast<std::uint16_t>(0xa000 | (24 * i + 8)));
      }
    }
    // The program's first byte is exported.
    const std::uint32_t rdata = pe_.at.at(".rdata").rva;
    directories_[kPeDebug] = {rdata, 28};
    directories_[kPeExports] = {rdata + 28, 44};
    StoreLe<std::uint32_t>(pe_.data(".rdata", 28 + 20), 1);
    StoreLe<std::uint32_t>(pe_.data(".rdata", 28 + 28), rdata + 28 + 40);
    StoreLe<std::uint32_t>(pe_.data(".rdata", 28 + 40), pe_.at.at(".text").rva);
  }

  void AddBehindSections() {
    Bytes& b = pe_.bytes;
    if (spec_.has_symbols) {
      symbols_at_ = static_cast<std::uint32_t>(b.size());
      b.resize(b.size() + 18, 0x77);
      const std::string long_name = ".a_long_name";
      AppendLe(b, static_cast<std::uint32_t>(4 + long_name.size() + 1));
      b.insert(b.end(), long_name.begin(), long_name.end());
      b.push_back(0);
    }
    // Debug information is in the overlay.
    StoreLe(pe_.data(".rdata", 24), static_cast<std::uint32_t>(b.size()));
    b.insert(b.end(), spec_.overlay.begin(), spec_.overlay.end());
    if (spec_.certificates.empty()) return;
    b.resize(AlignUp(b.size(), 8));
    directories_[kPeCertificates] = {
        static_cast<std::uint32_t>(b.size()),
        static_cast<std::uint32_t>(spec_.certificates.size())};
    b.insert(b.end(), spec_.certificates.begin(), spec_.certificates.end());
  }

  void FillHeaders() {
    PeFileHeader file{};
    file.machine = 0x8664;
    file.section_count = static_cast<std::uint16_t>(sections_.size());
    file.symbols_offset = symbols_at_;
    file.symbol_count = symbols_at_ != 0 ? 1 : 0;
    file.optional_size = kOptionalSize;
    file.characteristics = static_cast<std::uint16_t>(
        0x22 | (spec_.is_dll ? kPeIsDll : 0) |
        (spec_.is_relocatable ? 0 : kPeRelocsStripped));
    Bytes& b = pe_.bytes;
    StoreLe(b.data() + file_at_, file);
    PeOptionalHeader optional{};
    optional.magic = 0x20b;
    optional.image_base = kPeBase;
    optional.section_alignment = 0x1000;
    optional.file_alignment = 512;
    optional.data_size = 0x10000;
    optional.image_size = rva_;
    optional.headers_size = headers_size_;
    optional.directory_count = 16;
    optional.entry_point = pe_.at.at(".text").rva;
    const std::size_t at = pe_.optional_offset();
    StoreLe(b.data() + at, optional);
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      StoreLe(b.data() + at + sizeof optional + i * sizeof(PeDirectory),
              directories_[i]);
    }
    if (!spec_.has_checksum) return;
    const std::size_t field = at + offsetof(PeOptionalHeader, checksum);
    StoreLe(b.data() + field, PeChecksum(b, field));
  }

  static constexpr std::uint16_t kOptionalSize =
      sizeof(PeOptionalHeader) + 16 * sizeof(PeDirectory);

  const PeSpec& spec_;
  const bool hip_ = !spec_.hip_images.empty();
  const std::string wrappers_ = hip_ ? ".hipFatB" : ".nvFatBi";
  const std::string code_ = hip_ ? ".hip_fat" : ".nv_fatb";
  const std::size_t count_ =
      hip_ ? spec_.hip_images.size() : spec_.fatbins.size();
  TestPe pe_;
  std::vector<Section> sections_;
  std::vector<std::uint32_t> code_at_;  // in the section
  std::vector<PeDirectory> directories_ = std::vector<PeDirectory>(16);
  std::size_t file_at_ = 0, table_ = 0;
  std::uint32_t headers_size_ = 0, rva_ = 0, symbols_at_ = 0;
};

inline TestPe BuildPe(const PeSpec& spec) { return PeBuilder(spec).Build(); }

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_PE_BUILDER_H_
