// Whole programs with some of their fields changed: numbers in headers, tables
// and wrappers get the values of other fields, or ones next to them. The first
// byte of the input says which program, and each four of the rest change a
// field.
//
// The programs are those that the unit tests build, and the files in the folder
// that CERBERUS_FUZZ_BINARIES names: real ones.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/plan_check.h"
#include "tests/unit/rewriter/elf_builder.h"
#include "tests/unit/rewriter/pe_builder.h"

namespace {

using namespace cerberus;                     // NOLINT
using namespace cerberus::rewriter;           // NOLINT
using namespace cerberus::rewriter::testing;  // NOLINT

struct Field {
  std::uint64_t offset;
  unsigned size;
};

struct Program {
  Bytes bytes;
  std::vector<Field> fields;
  std::vector<std::uint64_t> values;  // that stand in them

  void Add(std::uint64_t offset, unsigned size) {
    if (offset + size > bytes.size()) return;
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, size);
    fields.push_back({offset, size});
    values.push_back(value);
  }
  // A table of fields, four or eight bytes each.
  void AddAll(std::uint64_t offset, std::uint64_t size, unsigned each) {
    for (std::uint64_t at = 0; at + each <= std::min<std::uint64_t>(size, 4096);
         at += each) {
      Add(offset + at, each);
    }
  }
};

Program Prepare(Bytes bytes) {
  Program program;
  program.bytes = std::move(bytes);
  program.values = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63,
                    program.bytes.size()};
  const auto binary = Binary::FromBytes(program.bytes, "fuzz");
  if (!binary) return program;
  for (const Wrapper& wrapper : binary->wrappers()) {
    program.AddAll(wrapper.offset, 24, 8);
    program.Add(wrapper.data.rela_offset, 8);
    program.Add(wrapper.data.rela_offset + 8, 8);
    program.Add(wrapper.data.rela_offset + 16, 8);
  }
  for (const LocatedFatbin& fatbin : binary->fatbins()) {
    program.AddAll(fatbin.offset, 80, 8);
    program.values.push_back(fatbin.vaddr);
    program.values.push_back(fatbin.offset);
  }
  for (const HipWrapper& wrapper : binary->hip().wrappers) {
    program.AddAll(wrapper.offset, 24, 8);
  }
  if (binary->is_pe()) {
    const PeFile& pe = binary->pe();
    program.AddAll(pe.signature_offset() + 4,
                   pe.sections_offset() - pe.signature_offset(), 4);
    program.AddAll(pe.sections_offset(),
                   pe.sections().size() * sizeof(PeSectionHeader), 4);
    for (const std::uint32_t i : {kPeExports, kPeRelocations, kPeDebug}) {
      const auto at = pe.OffsetOf(pe.base() + pe.directory(i).rva, 1);
      if (at) program.AddAll(*at, pe.directory(i).size, 4);
    }
    return program;
  }
  const ElfFile& elf = binary->elf();
  program.AddAll(0, sizeof(Elf64_Ehdr), 4);
  program.AddAll(elf.header().e_phoff,
                 elf.segments().size() * sizeof(Elf64_Phdr), 8);
  program.AddAll(elf.header().e_shoff,
                 elf.sections().size() * sizeof(Elf64_Shdr), 8);
  program.AddAll(elf.dynamic_offset(),
                 elf.dynamic_capacity() * sizeof(Elf64_Dyn), 8);
  return program;
}

std::vector<Program> Programs() {
  const std::vector<EntrySpec> large = {
      {.content = std::string(kPtx) + std::string(14000, '\n')}};
  std::vector<Program> programs;
  for (const Fill fill : {Fill::kRelative, Fill::kSymbol, Fill::kRelr,
                          Fill::kRel, Fill::kInPlace}) {
    ElfSpec spec;
    spec.fill = fill;
    spec.fatbins = {large, large};
    spec.loose = {{".other", {{}}}};
    spec.code = Bytes(64, 0x90);
    spec.data = Bytes(16);
    if (fill == Fill::kInPlace) spec.type = ET_EXEC;
    programs.push_back(Prepare(BuildElf(spec).bytes));
    spec.interp = spec.property_note = false;
    spec.sections = fill != Fill::kRelr;
    programs.push_back(Prepare(BuildElf(spec).bytes));
  }
  for (int i = 0; i < 8; ++i) {
    PeSpec spec;
    spec.is_relocatable = (i & 1) == 0;
    spec.has_symbols = (i & 2) != 0;
    spec.has_checksum = true;
    spec.header_room = (i & 4) != 0 ? 0 : 100;
    spec.fatbins = {large, large};
    spec.loose = {{{}}};
    spec.overlay = Bytes(99, 1);
    spec.certificates = Bytes((i & 1) * 64, 2);
    programs.push_back(Prepare(BuildPe(spec).bytes));
  }
  if (const char* folder = std::getenv("CERBERUS_FUZZ_BINARIES")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<char> read((std::istreambuf_iterator<char>(in)),
                                   std::istreambuf_iterator<char>());
      programs.push_back(Prepare(Bytes(read.begin(), read.end())));
    }
  }
  return programs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const std::vector<Program>& programs = *new auto(Programs());
  if (size < 1) return 0;
  const Program& program = programs[data[0] % programs.size()];
  if (program.fields.empty()) return 0;
  Bytes bytes = program.bytes;
  for (std::size_t at = 1; at + 4 <= size && at < 65; at += 4) {
    const std::size_t which = data[at] | (data[at + 1] & 0xf) << 8;
    const int delta = static_cast<int>(data[at + 1] >> 4) - 8;
    const std::size_t value = data[at + 2] | data[at + 3] << 8;
    const Field& field = program.fields[which % program.fields.size()];
    const std::uint64_t changed =
        program.values[value % program.values.size()] +
        static_cast<std::uint64_t>(static_cast<std::int64_t>(delta));
    std::memcpy(bytes.data() + field.offset, &changed, field.size);
  }
  CheckPlans(bytes, size % 8 == 1);
  return 0;
}
