#include "images/ptx_cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>

#include "images/fatbin.h"
#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::images {
namespace {

constexpr char kTwoKernels[] =
    ".version 8.0\n.target sm_86\n.address_size 64\n"
    ".visible .entry first() { ret; }\n.visible .entry second() { ret; }\n";

TEST(PtxCubin, GivesBackTheText) {
  for (const bool relocatable : {false, true}) {
    const Bytes cubin = MakePtxCubin(kTwoKernels, {86, 0, relocatable});
    EXPECT_EQ(PtxOfCubin(cubin), kTwoKernels);
    const auto header = LoadLe<Elf64_Ehdr>(cubin.data());
    EXPECT_EQ(header.e_machine, 190);
    EXPECT_EQ(header.e_type, relocatable ? ET_REL : ET_EXEC);
    // The last thing in the file, by which a loader knows its size.
    EXPECT_EQ(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
              cubin.size());
  }
  EXPECT_EQ(PtxOfCubin(MakePtxCubin("", {86, 0, false})), "");
  EXPECT_EQ(PtxOfCubin(MakePtxCubin(std::string_view("a\0b", 3), {})), "a");
}

// The numbers of `readelf -h` on what ptxas 12.9 makes.
TEST(PtxCubin, IsMarkedForItsArchitecture) {
  const auto flags = [](std::uint32_t sm, char suffix) {
    const Bytes cubin = MakePtxCubin(kTwoKernels, {sm, suffix, false});
    return LoadLe<Elf64_Ehdr>(cubin.data()).e_flags;
  };
  EXPECT_EQ(flags(86, 0), 0x560556u);
  EXPECT_EQ(flags(90, 0), 0x5a055au);
  EXPECT_EQ(flags(90, 'a'), 0x5a0d5au);
  EXPECT_EQ(flags(100, 0), 0x6006402u);
  EXPECT_EQ(flags(100, 'a'), 0x600640au);
  EXPECT_EQ(flags(100, 'f'), 0x6006402u);
}

TEST(PtxCubin, ReadsTheArchitectureOfATarget) {
  const auto traits = TraitsOfPtx(".version 8.8\n.target sm_100f, debug\n");
  EXPECT_EQ(traits.sm, 100u);
  EXPECT_EQ(traits.suffix, 'f');
  EXPECT_EQ(TraitsOfPtx(kTwoKernels).sm, 86u);
  EXPECT_EQ(TraitsOfPtx(kTwoKernels).suffix, 0);
  EXPECT_EQ(TraitsOfPtx("").sm, 0u);
  EXPECT_EQ(TraitsOfPtx(".target sm_").sm, 0u);
}

// Tools and the reader of fatbins find the kernels as in any cubin.
TEST(PtxCubin, InAFatbinItIsPtxAndStillACubin) {
  const Bytes cubin = MakePtxCubin(kTwoKernels, {86, 0, false});
  rewriter::testing::EntrySpec entry;
  entry.kind = 2;
  entry.content = AsText(cubin);
  entry.packing = 'z';  // as NVIDIA's fatbinary does it
  const Bytes bytes = rewriter::testing::FatbinOf({entry});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  ASSERT_EQ(fatbin->entries.size(), 1u);
  const auto names = KernelNames(fatbin->entries[0]);
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"first", "second"}));
  const auto with_ptx = EntriesWithPtx(fatbin->entries);
  ASSERT_EQ(with_ptx.size(), 1u);
  const auto text = UnpackPtx(with_ptx[0]);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, kTwoKernels);
}

TEST(PtxCubin, OthersHaveNone) {
  EXPECT_EQ(PtxOfCubin({}), "");
  const Bytes good = MakePtxCubin(kTwoKernels, {86, 0, false});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(),
                    good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(PtxOfCubin(cut), "") << size;
  }
  // Every byte of the headers, changed: no read leaves the file.
  const auto header = LoadLe<Elf64_Ehdr>(good.data());
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at >= sizeof header && at < header.e_shoff) continue;
    for (const std::uint8_t value : {0x00, 0x7f, 0xff}) {
      Bytes damaged = good;
      damaged[at] = value;
      (void)PtxOfCubin(damaged);
    }
  }
  Bytes other = good;
  other[EI_NIDENT + 2] = 224;  // a code object of AMD's
  EXPECT_EQ(PtxOfCubin(other), "");
}

}  // namespace
}  // namespace cerberus::images
