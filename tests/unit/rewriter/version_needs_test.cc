#include "rewriter/elf/version_needs.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rewriter/elf_builder.h"

namespace cerberus::rewriter {
namespace {

using testing::BuildElf;
using testing::ElfSpec;
using ::testing::HasSubstr;

// A library, whose name is the file's string 1, and how many of its versions.
Bytes Table(std::uint16_t versions) {
  Bytes table;
  AppendLe(table, Elf64_Verneed{1, versions, 1, sizeof(Elf64_Verneed), 0});
  for (unsigned i = 0; i < versions; ++i) {
    AppendLe(table,
             Elf64_Vernaux{
                 0, 0, 2, 1,
                 i + 1u < versions ? Elf64_Word{sizeof(Elf64_Vernaux)} : 0});
  }
  return table;
}

class VersionNeeds : public ::testing::Test {
 protected:
  Result<std::vector<VersionNeed>> Read(const Bytes& table) {
    return ReadVersionNeeds(*elf_, table);
  }

  const testing::TestElf built_ = BuildElf(ElfSpec());
  const Result<ElfFile> elf_ = ElfFile::Parse(built_.bytes, "app");
};

TEST_F(VersionNeeds, AreRead) {
  const auto needs = Read(Table(2));
  ASSERT_TRUE(needs) << needs.error().message;
  ASSERT_EQ(needs->size(), 2u);
  EXPECT_EQ((*needs)[0].library, *elf_->DynamicString(1));
  EXPECT_EQ((*needs)[0].at, 16u);
  EXPECT_EQ((*needs)[1].at, 32u);
  EXPECT_TRUE(Read({})->empty());
}

TEST_F(VersionNeeds, AreAskedForByNameAndHash) {
  Bytes table = Table(1);
  AskForVersion(table, 16, "GLIBC_2.2.5", 77);
  const auto aux = LoadLe<Elf64_Vernaux>(table.data() + 16);
  EXPECT_EQ(aux.vna_hash, 0x09691a75u);  // as readelf shows it everywhere
  EXPECT_EQ(aux.vna_name, 77u);
  EXPECT_EQ(aux.vna_flags, VER_FLG_WEAK);
  EXPECT_EQ(aux.vna_other, 2u);
}

TEST_F(VersionNeeds, ThatLieAreRefused) {
  Bytes cut = Table(2);
  cut.pop_back();
  ASSERT_FALSE(Read(cut));
  EXPECT_THAT(Read(cut).error().message, HasSubstr("past the end"));
  // Each entry four bytes behind the last.
  Bytes shared;
  AppendLe(shared, Elf64_Verneed{1, 90, 1, 4, 0});
  while (shared.size() < 400) AppendLe(shared, 4u);
  ASSERT_FALSE(Read(shared));
  EXPECT_THAT(Read(shared).error().message, HasSubstr("share bytes"));
  Bytes unnamed = Table(1);
  StoreLe(unnamed.data() + 4, 0x7fffffffu);
  ASSERT_FALSE(Read(unnamed));
  EXPECT_THAT(Read(unnamed).error().message, HasSubstr("string offset"));
}

}  // namespace
}  // namespace cerberus::rewriter
