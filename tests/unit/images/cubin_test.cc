#include "images/cubin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/images/cubin_builder.h"
#include "tests/unit/rewriter/fatbin_builder.h"

namespace cerberus::images {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using testing_cubin::Cubin;
using testing_cubin::RegistersIn;

std::vector<std::pair<std::string, std::uint32_t>> Read(const Bytes& cubin) {
  std::vector<std::pair<std::string, std::uint32_t>> kernels;
  const auto read = ReadCubin(cubin);
  EXPECT_TRUE(read) << read.error().ToString();
  if (!read) return kernels;
  for (const CubinKernel& kernel : *read) {
    kernels.emplace_back(kernel.name, kernel.registers);
  }
  return kernels;
}

// `readelf -x .nv.info` and `-S` on what ptxas 13.0 makes for sm_86, sm_100.
TEST(Cubin, KernelsWithTheirRegisters) {
  for (const RegistersIn place :
       {RegistersIn::kInfo, RegistersIn::kSection, RegistersIn::kBoth}) {
    EXPECT_THAT(Read(Cubin({{"heavy", 168}, {"light", 8}}, place)),
                ElementsAre(Pair("heavy", 168), Pair("light", 8)));
  }
  EXPECT_THAT(Read(Cubin({{"k", 168}}, RegistersIn::kNone)),
              ElementsAre(Pair("k", 0)));
}

// CERBERUS_TEST_SEEDS=DIR: a seed for fatbin_fuzzer.
TEST(Cubin, InAFatbinBesidePtx) {
  rewriter::testing::EntrySpec ptx, cubin;
  ptx.sm = cubin.sm = 86;
  cubin.kind = 2;
  cubin.content = AsText(Cubin({{"k1", 168}, {"k2", 32}}, RegistersIn::kBoth));
  const Bytes bytes = rewriter::testing::FatbinOf({cubin, ptx});
  if (const char* folder = std::getenv("CERBERUS_TEST_SEEDS")) {
    std::ofstream(std::string(folder) + "/with_cubin", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  const auto names = KernelNames(fatbin->entries[0]);
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"k1", "k2"}));
  EXPECT_THAT(BlockBounds(fatbin->entries, 86), ElementsAre(Pair("k1", 384)));
}

TEST(Cubin, BrokenOnesAreErrors) {
  const auto message = [](const Bytes& cubin) {
    const auto read = ReadCubin(cubin);
    return read ? "none" : read.error().ToString();
  };
  EXPECT_THAT(message(Bytes(64, 'x')), HasSubstr("not a 64-bit ELF file"));
  const Bytes good = Cubin({{"a", 40}, {"b", 80}}, RegistersIn::kInfo);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(),
                    good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(ReadCubin(cut)) << size;
  }
  // No read leaves the file, whatever a byte is changed to.
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::uint8_t value : {0x00, 0x7f, 0xff}) {
      Bytes damaged = good;
      damaged[at] = value;
      (void)ReadCubin(damaged);
    }
  }
}

// CUDA's occupancy calculator; 255 is the most that a thread can have.
TEST(Cubin, RegistersBoundBlocks) {
  EXPECT_EQ(MostThreadsWith(0), 1024u);
  EXPECT_EQ(MostThreadsWith(64), 1024u);
  EXPECT_EQ(MostThreadsWith(65), 896u);
  EXPECT_EQ(MostThreadsWith(72), 896u);
  EXPECT_EQ(MostThreadsWith(128), 512u);
  EXPECT_EQ(MostThreadsWith(168), 384u);
  EXPECT_EQ(MostThreadsWith(255), 256u);
  EXPECT_EQ(MostThreadsWith(~0u), 32u);
}

struct Spec {
  std::uint32_t sm;
  std::uint32_t registers;  // of kernel k; 0: PTX
  std::uint64_t flags = 0x11;
};

std::map<std::string, std::uint32_t> Bounds(const std::vector<Spec>& specs,
                                            std::uint32_t sm) {
  std::vector<rewriter::testing::EntrySpec> entries;
  for (const Spec& spec : specs) {
    rewriter::testing::EntrySpec entry;
    entry.sm = spec.sm;
    entry.flags = spec.flags;
    if (spec.registers != 0) {
      entry.kind = 2;
      entry.packing = 'z';
      entry.content =
          AsText(Cubin({{"k", spec.registers}, {"light", 32}},
                       spec.sm < 90 ? RegistersIn::kBoth : RegistersIn::kInfo));
    }
    entries.push_back(entry);
  }
  const Bytes bytes = rewriter::testing::FatbinOf(entries);
  const auto fatbin = ParseFatbin(bytes);
  EXPECT_TRUE(fatbin);
  return BlockBounds(fatbin->entries, sm);
}

TEST(Cubin, MachineCodeBoundsBlocksOfItsKernels) {
  constexpr std::uint64_t kThisChipOnly = 0x100011;
  const auto at_most = [](std::uint32_t threads) {
    return UnorderedElementsAre(Pair("k", threads));
  };
  EXPECT_THAT(Bounds({{80, 255}, {80, 0}}, 86), at_most(256));
  // Of several the one that allows most, also one for another GPU.
  EXPECT_THAT(Bounds({{80, 255}, {86, 168}}, 86), at_most(384));
  EXPECT_THAT(Bounds({{70, 96}, {86, 255}, {90, 168}}, 86), at_most(672));
  EXPECT_THAT(Bounds({{70, 40}, {86, 255}}, 86), IsEmpty());
  // A program that meets a GPU of 8.6 runs PTX, or there is nothing for it.
  EXPECT_THAT(Bounds({{75, 255}, {75, 0}}, 86), IsEmpty());
  EXPECT_THAT(Bounds({{87, 255}, {80, 0}}, 86), IsEmpty());
  EXPECT_THAT(Bounds({{90, 255}, {75, 0}}, 86), IsEmpty());
  EXPECT_THAT(Bounds({{80, 255, kThisChipOnly}, {80, 0}}, 86), IsEmpty());
  EXPECT_THAT(Bounds({{75, 0}}, 86), IsEmpty());
  EXPECT_THAT(Bounds({}, 86), IsEmpty());
  // It was never meant for one.
  EXPECT_THAT(Bounds({{90, 255}, {90, 0}}, 86), at_most(256));
  EXPECT_THAT(Bounds({{86, 168}, {86, 0}}, 80), at_most(384));
}

TEST(Cubin, WhatCannotBeReadBoundsNothing) {
  rewriter::testing::EntrySpec good, broken;
  good.kind = broken.kind = 2;
  good.sm = broken.sm = 86;
  good.content = AsText(Cubin({{"k", 255}}, RegistersIn::kBoth));
  broken.content = "no cubin";
  const Bytes bytes = rewriter::testing::FatbinOf({good, broken});
  const auto fatbin = ParseFatbin(bytes);
  ASSERT_TRUE(fatbin);
  EXPECT_THAT(BlockBounds(fatbin->entries, 86), IsEmpty());
  EXPECT_THAT(BlockBounds({fatbin->entries[0]}, 86),
              ElementsAre(Pair("k", 256)));
}

}  // namespace
}  // namespace cerberus::images
