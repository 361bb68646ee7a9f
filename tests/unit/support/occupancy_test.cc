#include "support/targets/occupancy.h"

#include <gtest/gtest.h>

#include <string>

namespace cerberus {
namespace {

std::uint32_t Waves(const char* processor, KernelSize kernel) {
  if (kernel.work_items == 0) kernel.work_items = kernel.wave_size;
  return WavesPerSimd(processor, kernel);
}

// "Occupancy [waves/SIMD]" of clang-22 -Rpass-analysis=kernel-resource-usage.
TEST(Occupancy, ByRegisters) {
  EXPECT_EQ(Waves("gfx1100", {32, 96}), 16u);
  EXPECT_EQ(Waves("gfx1100", {32, 97}), 12u);
  EXPECT_EQ(Waves("gfx1100", {32, 192}), 8u);
  EXPECT_EQ(Waves("gfx1100", {32, 256}), 5u);
  EXPECT_EQ(Waves("gfx1100", {64, 256}), 2u);
  EXPECT_EQ(Waves("gfx1102", {32, 192}), 5u);
  EXPECT_EQ(Waves("gfx1030", {32, 128}), 8u);
  EXPECT_EQ(Waves("gfx1030", {32, 256}), 4u);
  EXPECT_EQ(Waves("gfx1010", {32, 24}), 20u);
  EXPECT_EQ(Waves("gfx1201", {32, 240}), 6u);
  EXPECT_EQ(Waves("gfx942", {64, 128}), 4u);
  EXPECT_EQ(Waves("gfx942", {64, 512}), 1u);
  EXPECT_EQ(Waves("gfx942", {64, 0}), 8u);
  EXPECT_EQ(Waves("gfx906", {64, 64}), 4u);
  EXPECT_EQ(Waves("gfx906", {64, 24, 100}), 8u);
  EXPECT_EQ(Waves("gfx906", {64, 24, 102}), 7u);
}

TEST(Occupancy, ByBlocksAndTheirSharedMemory) {
  EXPECT_EQ(Waves("gfx942", {64, 24, 16, 65536, 256}), 1u);
  EXPECT_EQ(Waves("gfx942", {64, 24, 16, 32768, 256}), 2u);
  EXPECT_EQ(Waves("gfx942", {64, 24, 16, 0, 1024}), 8u);
  EXPECT_EQ(Waves("gfx1100", {32, 24, 16, 32768, 256}), 8u);
  EXPECT_EQ(Waves("gfx1100", {32, 24, 16, 0, 64}), 16u);
}

TEST(Occupancy, OfProcessorsThatNobodyKnows) {
  EXPECT_EQ(Waves("gfx1250", {32, 24}), 0u);
  EXPECT_EQ(Waves("gfx803", {64, 24}), 0u);
  EXPECT_EQ(Waves("", {64, 24}), 0u);
}

}  // namespace
}  // namespace cerberus
