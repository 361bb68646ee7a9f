#include "rewriter/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rewriter/verify.h"
#include "support/mapped_file.h"
#include "tests/unit/rewriter/conversion.h"
#include "tests/unit/rewriter/elf_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::rewriter {
namespace {

using testing::ApplyPlan;
using testing::BuildElf;
using testing::Convert;
using ::testing::ElementsAre;
using testing::ElfSpec;
using testing::Fill;
using ::testing::HasSubstr;
using testing::Options;
using testing::TestElf;

std::vector<std::string> DynamicStrings(const Bytes& bytes, std::int64_t tag) {
  const auto elf = ElfFile::Parse(bytes, "app");
  std::vector<std::string> out;
  for (const Elf64_Dyn& entry : elf->dynamic()) {
    if (entry.d_tag == tag) {
      out.emplace_back(*elf->DynamicString(entry.d_un.d_val));
    }
  }
  return out;
}

struct Shape {
  const char* name;
  ElfSpec spec;
  const char* tactic;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  const auto add = [&](const char* name, const char* tactic,
                       const std::function<void(ElfSpec&)>& change) {
    shapes.push_back({name, {}, tactic});
    change(shapes.back().spec);
  };
  add("pie", "PT_NOTE of .note.gnu.property", [](ElfSpec&) {});
  add("nopie", "PT_NOTE of .note.gnu.property", [](ElfSpec& s) {
    s.type = ET_EXEC;
    s.base = 0x400000;
    s.fill = Fill::kInPlace;
  });
  add("lib", "grows in place over .note.gnu.build-id, .gnu.hash",
      [](ElfSpec& s) { s.interp = s.property_note = false; });
  add("lib_no_notes", "grows in place over .gnu.hash, .dynsym",
      [](ElfSpec& s) { s.interp = s.property_note = s.build_id_note = false; });
  add("exe_no_property", "grows in place over .interp, .note.gnu.build-id",
      [](ElfSpec& s) { s.property_note = false; });
  add("null_phdr", "an unused program header", [](ElfSpec& s) {
    s.interp = s.property_note = false;
    s.spare_phdrs = 1;
  });
  add("full_dynamic", "PT_NOTE of .note.gnu.property",
      [](ElfSpec& s) { s.spare_dynamic = 0; });
  add("lib_full_dynamic", "grows in place", [](ElfSpec& s) {
    s.spare_dynamic = 0;
    s.interp = s.property_note = false;
  });
  add("no_sections", "PT_NOTE of .note.gnu.property",
      [](ElfSpec& s) { s.sections = false; });
  add("lib_no_sections", "table moves",
      [](ElfSpec& s) { s.sections = s.interp = s.property_note = false; });
  add("exe_no_sections_full", "table moves", [](ElfSpec& s) {
    s.sections = s.property_note = false;
    s.spare_dynamic = 0;
    s.bss = 0x123456;
  });
  for (const Fill fill : {Fill::kRelativeAndInPlace, Fill::kSymbol, Fill::kRelr,
                          Fill::kRel, Fill::kRelSymbol}) {
    add("fill", "PT_NOTE", [&](ElfSpec& s) { s.fill = fill; });
  }
  add("many", "PT_NOTE", [](ElfSpec& s) {
    s.fatbins.assign(100, {{}});
    s.wrapper_versions = {2};
  });
  add("no_wrappers", "PT_NOTE", [](ElfSpec& s) { s.fatbins = {}; });
  return shapes;
}

TEST(Plan, EveryShapeConvertsAndVerifies) {
  for (const Shape& shape : Shapes()) {
    for (const bool keep : {false, true}) {
      SCOPED_TRACE(shape.name);
      const TestElf elf = BuildElf(shape.spec);
      PlanOptions options = Options();
      options.keep_fatbin = keep;
      const auto done = Convert(elf.bytes, options);
      ASSERT_TRUE(done);
      EXPECT_THAT(done->plan.tactic, HasSubstr(shape.tactic));
      const std::size_t count = shape.spec.fatbins.size();
      EXPECT_LE(done->plan.bytes_in_place(), 4096 + 24 * count);
      EXPECT_THAT(
          done->info.search_paths,
          ElementsAre(".kpack/app-@GFXARCH@.kpack", ".kpack/more.kpack"));
      EXPECT_EQ(done->info.kernel_name, "app");
      EXPECT_EQ(done->info.converter_version, "9.8.7");
      EXPECT_EQ(done->info.launch_abi, 5);
      ASSERT_EQ(done->info.records.size(), count);
      for (const ConvertedInfo::Record& record : done->info.records) {
        EXPECT_EQ(record.repointed, !keep);
      }
      EXPECT_THAT(DynamicStrings(done->after, DT_RUNPATH),
                  ElementsAre("/opt/driver"));

      // What was loaded is loaded at the same address from the same place.
      const auto before = ElfFile::Parse(done->before, "app");
      const auto after = ElfFile::Parse(done->after, "app");
      EXPECT_EQ(done->plan.cuts.empty(), keep || count < 100);
      for (const Plan::Piece& piece : done->plan.pieces()) {
        const auto vaddr = before->VaddrOf(piece.offset);
        ASSERT_TRUE(vaddr);
        EXPECT_EQ(after->OffsetOf(*vaddr), piece.output_offset);
      }
      // The names the loader asks for are still found.
      std::vector<std::string> needed = DynamicStrings(done->before, DT_NEEDED);
      if (!keep) needed.push_back("/opt/driver/libcuda.so.1");
      EXPECT_EQ(DynamicStrings(done->after, DT_NEEDED), needed);
      // Every byte of the new segments has a section, for strip.
      if (shape.spec.sections) {
        const ElfFile::Section* marker = after->FindSection(".rocm_kpack_ref");
        ASSERT_NE(marker, nullptr);
        EXPECT_EQ(marker->header.sh_addr, done->plan.segment_vaddr);
        EXPECT_EQ(marker->header.sh_flags, std::uint64_t{SHF_ALLOC});
        std::uint64_t covered = 0;
        for (const ElfFile::Section& section : after->sections()) {
          if (section.header.sh_addr >= done->plan.segment_vaddr) {
            covered += section.header.sh_size;
          }
        }
        EXPECT_GE(covered + 256, done->plan.segment_size);
      } else {
        EXPECT_TRUE(after->sections().empty());
      }
    }
  }
}

TEST(Plan, TableMovesWhereSomethingUnknownStandsBehindIt) {
  struct Row {
    const char* what;
    std::function<void(TestElf&)> change;
  } const rows[] = {
      {"data that code may point to",
       [](TestElf& e) { e.section(".gnu.hash")->sh_type = SHT_PROGBITS; }},
      {"a writable section",
       [](TestElf& e) { e.section(".gnu.hash")->sh_flags |= SHF_WRITE; }},
      {"a hash table other than the loader's",
       [](TestElf& e) { e.section(".gnu.hash")->sh_addr += 8; }},
      {"a hash table without a section",
       [](TestElf& e) { e.section(".gnu.hash")->sh_type = SHT_NULL; }},
      {"a segment of its own",
       [](TestElf& e) {
         Elf64_Phdr* stack = e.phdr_of(PT_GNU_STACK);
         stack->p_type = PT_LOOS;
         stack->p_offset = e.at.at(".gnu.hash").offset;
         stack->p_filesz = 8;
         stack->p_offset -= 4;
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    ElfSpec spec;
    spec.interp = spec.property_note = spec.build_id_note = false;
    TestElf elf = BuildElf(spec);
    const auto before = Convert(elf.bytes);
    ASSERT_TRUE(before);
    EXPECT_THAT(before->plan.tactic, HasSubstr("grows in place"));
    row.change(elf);
    const auto after = Convert(elf.bytes);
    ASSERT_TRUE(after);
    EXPECT_THAT(after->plan.tactic, HasSubstr("moves to a new segment"));
  }
}

TEST(Plan, IsAFunctionOfItsInput) {
  for (const Shape& shape : Shapes()) {
    const TestElf elf = BuildElf(shape.spec);
    const auto one = Convert(elf.bytes);
    const auto two = Convert(elf.bytes);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->after, two->after);
    EXPECT_EQ(one->plan.ToJson(), two->plan.ToJson());
    EXPECT_EQ(one->plan.ToText(), two->plan.ToText());
  }
}

TEST(Plan, ChangesNoByteOutsideItsRanges) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(shape.name);
    const TestElf elf = BuildElf(shape.spec);
    const auto done = Convert(elf.bytes);
    ASSERT_TRUE(done);
    Bytes before(done->after.size(), 0xa5);  // of what is appended, nothing
    for (const Plan::Piece& piece : done->plan.pieces()) {
      std::copy_n(done->before.data() + piece.offset, piece.size,
                  before.data() + piece.output_offset);
    }
    for (std::size_t i = 0; i < done->after.size(); ++i) {
      if (before[i] == done->after[i]) continue;
      ASSERT_TRUE(done->plan.ranges.Contains(i)) << i;
    }
  }
}

TEST(Plan, KeepFatbinLeavesWrappersAlone) {
  const TestElf elf = BuildElf({});
  PlanOptions options = Options();
  options.keep_fatbin = true;
  const auto done = Convert(elf.bytes, options);
  ASSERT_TRUE(done);
  for (const char* part : {".nvFatBinSegment", ".rela.dyn", ".nv_fatbin"}) {
    const TestElf::Place& place = elf.at.at(part);
    for (std::uint64_t i = 0; i < place.size; ++i) {
      ASSERT_EQ(done->before[place.offset + i], done->after[place.offset + i]);
    }
  }
}

// The record's bytes, by the table in docs/marker-format.md.
TEST(Plan, RecordsFollowTheFormat) {
  ElfSpec spec;
  spec.fatbins = {{}, {{.sm = 80}}};
  spec.wrapper_versions = {2, 1};
  const TestElf elf = BuildElf(spec);
  const auto done = Convert(elf.bytes);
  ASSERT_TRUE(done);
  const std::uint8_t* segment = done->after.data() + done->plan.append_offset;
  const std::uint64_t vaddr = done->plan.segment_vaddr;
  EXPECT_EQ(AsText({segment, 8}), "CERBSEG1");
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 8), 1u);
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 12), 64u);
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 32), 64u);
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 36), 2u);
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 40), 64u + 2 * 48);
  const std::uint32_t marker_size = LoadLe<std::uint32_t>(segment + 44);
  EXPECT_EQ(LoadLe<std::uint64_t>(segment + 16), 64u + 2 * 48 + marker_size);
  EXPECT_EQ(LoadLe<std::uint32_t>(segment + 48), 0u);
  // A MessagePack map of three keys, the first 18 bytes long.
  EXPECT_EQ(segment[64 + 96], 0x83);
  EXPECT_EQ(AsText({segment + 64 + 97, 19}), "\xb2kpack_search_paths");
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint8_t* record = segment + 64 + 48 * i;
    const std::uint64_t at = vaddr + 64 + 48 * i;
    const auto target = [&](std::size_t field) {
      return at + LoadLe<std::uint64_t>(record + field);
    };
    EXPECT_EQ(AsText({record, 4}), "CBWR");
    EXPECT_EQ(LoadLe<std::uint32_t>(record + 4), 1u);
    EXPECT_EQ(LoadLe<std::uint32_t>(record + 8), i);
    EXPECT_EQ(LoadLe<std::uint32_t>(record + 12), i == 0 ? 1u : 0u);
    EXPECT_EQ(target(16), vaddr);
    EXPECT_EQ(target(24), elf.at.at(".nvFatBinSegment").vaddr + 24 * i);
    EXPECT_EQ(
        LoadLe<std::uint64_t>(done->after.data() +
                              elf.at.at(".rela.dyn").offset + 24 * i + 16),
        at);
  }
  const std::uint64_t first_size = LoadLe<std::uint64_t>(segment + 64 + 40);
  EXPECT_EQ(first_size, 16u);
  EXPECT_EQ(vaddr + 64 + LoadLe<std::uint64_t>(segment + 64 + 32),
            elf.at.at(".nv_fatbin").vaddr);
}

TEST(Plan, ExtendsTheSearchPathThatCounts) {
  struct Row {
    std::string runpath, rpath;
    std::vector<std::string> want_runpath, want_rpath;
  } const rows[] = {
      {"", "", {"/opt/driver"}, {}},
      {"/a:/b", "", {"/opt/driver:/a:/b"}, {}},
      {"", "/a", {}, {"/opt/driver:/a"}},
      // The loader ignores DT_RPATH beside DT_RUNPATH.
      {"/a", "/b", {"/opt/driver:/a"}, {"/b"}},
  };
  for (const std::size_t spare : {std::size_t{4}, std::size_t{0}}) {
    for (const Row& row : rows) {
      ElfSpec spec;
      spec.spare_dynamic = spare;
      spec.runpath = row.runpath;
      spec.rpath = row.rpath;
      const TestElf elf = BuildElf(spec);
      const auto done = Convert(elf.bytes);
      ASSERT_TRUE(done);
      EXPECT_EQ(DynamicStrings(done->after, DT_RUNPATH), row.want_runpath);
      EXPECT_EQ(DynamicStrings(done->after, DT_RPATH), row.want_rpath);
    }
  }
}

TEST(Plan, TheDriverIsNamedByItsPathUnlessTheFileMustRunWithoutIt) {
  const std::string stub = Options().runpath.front() + "/libcuda.so.1";
  struct Row {
    std::vector<std::string> before, after, after_keep_fatbin;
  } const rows[] = {
      {{"libc.so.6"}, {"libc.so.6", stub}, {"libc.so.6"}},
      {{"libcudart.so.13"},
       {"libcudart.so.13", stub},
       {"libcudart.so.13", "libcuda.so.1"}},
      {{"libcuda.so.1", "libcudart.so.13"},
       {stub, "libcudart.so.13"},
       {"libcuda.so.1", "libcudart.so.13"}},
  };
  for (const Row& row : rows) {
    ElfSpec spec;
    spec.needed = row.before;
    const TestElf elf = BuildElf(spec);
    const auto done = Convert(elf.bytes);
    ASSERT_TRUE(done);
    EXPECT_EQ(DynamicStrings(done->after, DT_NEEDED), row.after);
    PlanOptions options = Options();
    options.keep_fatbin = true;
    const auto kept = Convert(elf.bytes, options);
    ASSERT_TRUE(kept);
    EXPECT_EQ(DynamicStrings(kept->after, DT_NEEDED), row.after_keep_fatbin);
  }
}

TEST(Plan, WithoutASearchPathNothingOfTheDynamicSectionChanges) {
  const TestElf elf = BuildElf({});
  PlanOptions options = Options();
  options.runpath.clear();
  const auto done = Convert(elf.bytes, options);
  ASSERT_TRUE(done);
  const TestElf::Place& dynamic = elf.at.at(".dynamic");
  for (std::uint64_t i = 0; i < dynamic.size; ++i) {
    ASSERT_EQ(done->before[dynamic.offset + i],
              done->after[dynamic.offset + i]);
  }
}

TEST(Plan, RefusesWhatItCannotConvert) {
  const auto error = [](const Bytes& bytes, const PlanOptions& options) {
    const auto binary = Binary::FromBytes(bytes, "app");
    if (!binary) return binary.error().ToString();
    const auto plan = PlanConversion(*binary, options);
    return plan ? std::string() : plan.error().ToString();
  };
  const TestElf elf = BuildElf({});
  EXPECT_EQ(error(elf.bytes, Options()), "");
  const auto done = Convert(elf.bytes);
  ASSERT_TRUE(done);
  EXPECT_THAT(error(done->after, Options()), HasSubstr("already converted"));

  ElfSpec in_place;
  in_place.fill = Fill::kInPlace;
  TestElf fixed = BuildElf(in_place);
  fixed.phdr_of(PT_DYNAMIC)->p_type = PT_GNU_STACK;
  EXPECT_THAT(error(fixed.bytes, Options()), HasSubstr("statically linked"));

  for (const char* folder : {"", "/a:/b"}) {
    PlanOptions options = Options();
    options.runpath = {folder};
    EXPECT_THAT(error(elf.bytes, options),
                HasSubstr("cannot stand in a search path"));
  }
  PlanOptions options = Options();
  options.search_paths.clear();
  EXPECT_THAT(error(elf.bytes, options), HasSubstr("search path"));
  options = Options();
  options.kernel_name.clear();
  EXPECT_THAT(error(elf.bytes, options), HasSubstr("kernel name"));

  TestElf far = BuildElf({});
  far.phdr(3)->p_memsz = std::uint64_t{1} << 50;
  EXPECT_THAT(error(far.bytes, Options()), HasSubstr("no room"));
}

TEST(Plan, PrintsItself) {
  const TestElf elf = BuildElf({});
  const auto done = Convert(elf.bytes);
  ASSERT_TRUE(done);
  const std::string text = done->plan.ToText();
  EXPECT_THAT(text, HasSubstr("program headers"));
  EXPECT_THAT(text, HasSubstr("wrapper 0 leads to its record"));
  EXPECT_THAT(text, HasSubstr("new segment: header, 1 record and marker"));
  const std::string json = done->plan.ToJson();
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.back(), '}');
  EXPECT_THAT(json, HasSubstr("\"why\":\"program headers\""));
}

TEST(Verify, FindsAnyByteThatIsNotAsPlanned) {
  const TestElf elf = BuildElf({});
  const auto done = Convert(elf.bytes);
  ASSERT_TRUE(done);
  const auto binary = Binary::FromBytes(done->before, "app");
  Bytes changed = done->after;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    changed[i] ^= 0x40;
    EXPECT_FALSE(VerifyConversion(*binary, done->plan, changed, "x")) << i;
    changed[i] ^= 0x40;
  }
  changed.pop_back();
  EXPECT_FALSE(VerifyConversion(*binary, done->plan, changed, "x"));
}

TEST(Verify, ReadsNoFileThatWasNotConverted) {
  const TestElf elf = BuildElf({});
  const auto info = ReadConverted(elf.bytes, "app");
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().message, HasSubstr("is not a converted file"));
}

TEST(Verify, FindsDamageWithoutTheInput) {
  struct Row {
    std::int64_t at;  // within the new segment
    const char* message;
  } const rows[] = {
      {8, "segment version"}, {12, "segment version"},
      {16, "checksum"},       {24, "checksum does not match"},
      {32, "checksum"},       {64, "checksum"},
      {64 + 24, "checksum"},  {64 + 48 + 5, "checksum"},
  };
  const TestElf elf = BuildElf({});
  const auto done = Convert(elf.bytes);
  ASSERT_TRUE(done);
  for (const Row& row : rows) {
    Bytes changed = done->after;
    changed[done->plan.append_offset + static_cast<std::uint64_t>(row.at)] ^= 1;
    const auto info = ReadConverted(changed, "app");
    ASSERT_FALSE(info) << row.at;
  }
  // A wrapper that leads elsewhere.
  Bytes changed = done->after;
  const std::uint64_t addend = elf.at.at(".rela.dyn").offset + 16;
  StoreLe<std::uint64_t>(changed.data() + addend, 0x123456789);
  EXPECT_FALSE(ReadConverted(changed, "app"));
}

TEST(Rewrite, WritesTheFileAndKeepsItsAttributes) {
  const std::string folder =
      ::testing::TempDir() + "rewrite." + std::to_string(::getpid());
  const std::string in = folder + ".in", out = folder + ".out";
  const TestElf elf = BuildElf({});
  ASSERT_TRUE(WriteFile(in, elf.bytes, 0751));
  const bool has_attributes =
      ::setxattr(in.c_str(), "user.origin", "here", 4, 0) == 0;
  {
    const auto binary = Binary::Open(in);
    ASSERT_TRUE(binary) << binary.error().ToString();
    EXPECT_EQ(binary->mode(), 0751u);
    const auto plan = PlanConversion(*binary, Options());
    ASSERT_TRUE(plan);
    auto file = OutputFile::Create(out, binary->mode());
    ASSERT_TRUE(file);
    ASSERT_TRUE(Rewrite(*binary, *plan, *file));
    const auto ok = VerifyWritten(*binary, *plan, *file);
    ASSERT_TRUE(ok) << ok.error().ToString();
    ASSERT_TRUE(file->Commit());
    EXPECT_TRUE(VerifyConversionFile(*binary, *plan, out));
    const auto written = MappedFile::Open(out);
    ASSERT_TRUE(written);
    EXPECT_EQ(Bytes(written->bytes().begin(), written->bytes().end()),
              ApplyPlan(elf.bytes, *plan));
  }
  const auto converted = Binary::Open(out);
  ASSERT_TRUE(converted);
  EXPECT_EQ(converted->mode(), 0751u);
  if (has_attributes) {  // not on every file system
    char value[8] = {};
    EXPECT_EQ(::getxattr(out.c_str(), "user.origin", value, sizeof value), 4);
    EXPECT_STREQ(value, "here");
  }
  EXPECT_TRUE(converted->is_converted());
  EXPECT_EQ(converted->fatbins().size(), 1u);
  EXPECT_TRUE(ReadConvertedFile(out));
  ::unlink(in.c_str());
  ::unlink(out.c_str());
}

TEST(Rewrite, RefusesAnInputThatHasChanged) {
  const TempFolder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  const TestElf elf = BuildElf({});
  ASSERT_TRUE(WriteFile(in, elf.bytes));
  const auto binary = Binary::Open(in);
  ASSERT_TRUE(binary);
  const auto plan = PlanConversion(*binary, Options());
  ASSERT_TRUE(plan);
  const auto rewrite = [&] {
    auto file = OutputFile::Create(out);
    return Rewrite(*binary, *plan, *file);
  };
  EXPECT_TRUE(rewrite());
  // Another file of the same bytes is not the one that was read.
  ASSERT_TRUE(WriteFile(in, elf.bytes));
  const Status status = rewrite();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().ToString(), HasSubstr("has changed"));
}

// What is written over the copy and what stands around it is read again.
TEST(Verify, FindsWhatWasWrittenToAnotherPlace) {
  const TempFolder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  ElfSpec spec;
  spec.loose = {{".rodata", {{.content = std::string(1 << 16, 'x')}}}};
  ASSERT_TRUE(WriteFile(in, BuildElf(spec).bytes));
  const auto binary = Binary::Open(in);
  ASSERT_TRUE(binary) << binary.error().ToString();
  const auto plan = PlanConversion(*binary, Options());
  ASSERT_TRUE(plan);
  ASSERT_FALSE(plan->edits.empty());
  auto file = OutputFile::Create(out);
  ASSERT_TRUE(file);
  ASSERT_TRUE(Rewrite(*binary, *plan, *file));
  EXPECT_TRUE(VerifyWritten(*binary, *plan, *file));
  for (const Plan::Edit& edit : plan->edits) {
    for (const std::uint64_t at :
         {edit.offset - 1, edit.offset, edit.offset + edit.bytes.size()}) {
      if (at >= plan->input_size) continue;  // before the first byte, too
      const Bytes before = ApplyPlan(
          Bytes(binary->bytes().begin(), binary->bytes().end()), *plan);
      const std::uint8_t wrong = before[at] ^ 1;
      ASSERT_TRUE(file->WriteAt(at, {&wrong, 1}));
      EXPECT_FALSE(VerifyWritten(*binary, *plan, *file)) << at;
      ASSERT_TRUE(file->WriteAt(at, {&before[at], 1}));
    }
  }
  EXPECT_TRUE(VerifyWritten(*binary, *plan, *file));
}

}  // namespace
}  // namespace cerberus::rewriter
