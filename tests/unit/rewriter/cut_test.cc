// Device code that leaves the file, and what keeps it there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rewriter/extract.h"
#include "tests/unit/rewriter/conversion.h"
#include "tests/unit/rewriter/elf_builder.h"

namespace cerberus::rewriter {
namespace {

using testing::BuildElf;
using testing::Convert;
using testing::ElfSpec;
using testing::Fill;
using ::testing::HasSubstr;
using testing::Options;
using testing::TestElf;

// A fatbin that takes two whole pages and more, and one without a wrapper.
ElfSpec LargeFatbin() {
  const std::string text =
      std::string(testing::kPtx) + std::string(14000, '\n');
  ElfSpec spec;
  spec.fatbins = {{{.content = text}}};
  spec.loose = {{".nv_fatbin2", {{}}}};
  return spec;
}

TEST(Cut, WholePagesLeaveTheFileAndAddressesStay) {
  const auto done = Convert(BuildElf(LargeFatbin()).bytes);
  ASSERT_TRUE(done);
  ASSERT_EQ(done->plan.cuts.size(), 1u);
  EXPECT_EQ(done->plan.bytes_cut(), 2 * 0x1000u);
  ASSERT_EQ(done->info.records.size(), 1u);
  EXPECT_EQ(done->info.records[0].flags, 2u);
  const auto before = Binary::FromBytes(done->before, "app");
  const auto after = Binary::FromBytes(done->after, "app");
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->fatbins().size(), 1u);  // the loose one
  EXPECT_EQ(after->fatbins()[0].vaddr, before->fatbins()[1].vaddr);
  ASSERT_EQ(after->wrappers().size(), 1u);
  EXPECT_FALSE(after->wrappers()[0].fatbin);
  const LocatedFatbin& fatbin = before->fatbins()[0];
  EXPECT_TRUE(after->elf().IsLoaded(fatbin.vaddr, fatbin.fatbin.bytes.size()));
  const auto modules = ExtractModules(*after);
  ASSERT_TRUE(modules);
  EXPECT_EQ(modules->size(), 1u);
  const auto again = PlanConversion(*after, Options());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("already converted"));
}

TEST(Cut, NothingIsCutWithKeepFatbinOrWhenAsked) {
  const TestElf elf = BuildElf(LargeFatbin());
  for (const bool keep : {false, true}) {
    PlanOptions options = Options();
    options.keep_fatbin = keep;
    options.cut = keep;
    const auto done = Convert(elf.bytes, options);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->plan.bytes_cut(), 0u);
    EXPECT_EQ(done->info.records[0].flags, 0u);
  }
}

TEST(Cut, AFatbinStaysThatSomethingElseLeadsTo) {
  const auto kept = [](const Bytes& bytes) {
    const auto done = Convert(bytes);
    if (!done) return std::string("fails");
    if (!done->plan.cuts.empty()) return std::string("is cut");
    EXPECT_EQ(done->info.records[0].flags, 0u);
    return done->plan.notes.back().message;
  };
  constexpr char kWhy[] = "something else than its wrapper leads to";
  // A dynamic symbol.
  ElfSpec spec = LargeFatbin();
  spec.fill = Fill::kSymbol;
  EXPECT_THAT(kept(BuildElf(spec).bytes), HasSubstr(kWhy));
  // The array of pointers of a version 2 wrapper, or any other: one more
  // relocation. In a file at a fixed address none is needed.
  for (const bool fixed : {false, true}) {
    spec = LargeFatbin();
    spec.data = Bytes(16);
    if (fixed) {
      spec.type = ET_EXEC;
      spec.base = 0x400000;
      spec.fill = Fill::kInPlace;
    }
    TestElf elf = BuildElf(spec);
    EXPECT_EQ(kept(elf.bytes), "is cut");
    const std::uint64_t fatbin = elf.at.at(".nv_fatbin").vaddr;
    StoreLe(elf.data(".data"), fatbin + 100);
    EXPECT_THAT(kept(elf.bytes), fixed ? HasSubstr(kWhy) : HasSubstr("is cut"));
  }
  // Machine code: lea fatbin+8(%rip), %rsi; cmpl $1, fatbin(%rip); and of a
  // file at a fixed address mov $fatbin, %edi.
  struct Row {
    Bytes before;
    std::int64_t to, from_end;
    bool fixed, is_kept;
  } const rows[] = {
      {{0x48, 0x8d, 0x35}, 8, 0, false, true},
      {{0x4c, 0x8d, 0x3d}, 8, 0, false, true},
      {{0x8d, 0x35, 0x90, 0x90}, 8, 0, false, false},
      {{0x48, 0x8b, 0x05}, 8, 0, false, false},
      {{0x48, 0x8b, 0x05}, 0, 0, false, true},
      {{0x83, 0x3d}, 0, 1, false, true},
      {{0x81, 0x3d}, 0, 4, false, true},
      {{0xbf}, 0, 0, true, true},
      {{0xbf}, 4, 0, true, false},
  };
  for (const Row& row : rows) {
    spec = LargeFatbin();
    spec.code = Bytes(64, 0x90);
    if (row.fixed) {
      spec.type = ET_EXEC;
      spec.base = 0x400000;
      spec.fill = Fill::kInPlace;
    }
    TestElf elf = BuildElf(spec);
    const auto start = static_cast<std::int64_t>(elf.at.at(".text").vaddr);
    const auto fatbin =
        static_cast<std::int64_t>(elf.at.at(".nv_fatbin").vaddr);
    const std::size_t at = 20 + row.before.size();
    std::copy(row.before.begin(), row.before.end(), elf.data(".text", 20));
    const std::int64_t next =
        start + static_cast<std::int64_t>(at) + 4 + row.from_end;
    StoreLe(
        elf.data(".text", at),
        static_cast<std::int32_t>(fatbin + row.to - (row.fixed ? 0 : next)));
    const std::string why = kept(elf.bytes);
    EXPECT_THAT(why, HasSubstr(row.is_kept ? kWhy : "is cut")) << row.to;
  }
}

TEST(Cut, SymbolsOfAFileWithoutSectionsAreCounted) {
  ElfSpec spec = LargeFatbin();
  spec.sections = false;
  const auto done = Convert(BuildElf(spec).bytes);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->plan.bytes_cut(), 2 * 0x1000u);
}

}  // namespace
}  // namespace cerberus::rewriter
