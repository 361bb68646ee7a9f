#include "support/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cerberus {
namespace {

using ::testing::HasSubstr;

constexpr std::uint8_t kData[] = {0x01, 0x02, 0x03, 0x04, 0x05,
                                  0x06, 0x07, 0x08, 0x09};

TEST(ByteReader, ReadsLittleEndianInOrder) {
  ByteReader reader(kData);
  EXPECT_EQ(*reader.U8(), 0x01);
  EXPECT_EQ(*reader.U16(), 0x0302);
  EXPECT_EQ(*reader.U32(), 0x07060504u);
  EXPECT_EQ(reader.offset(), 7u);
  EXPECT_EQ(reader.remaining(), 2u);
}

TEST(ByteReader, ReadPastTheEndNamesTheOffsetAndMovesNothing) {
  ByteReader reader(kData, ".nv_fatbin", 0x100);
  ASSERT_TRUE(reader.U64());
  const Result<std::uint32_t> read = reader.U32();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().ToString(),
            ".nv_fatbin+0x108: 4 bytes at 0x108 run past the end (0x109)");
  EXPECT_EQ(reader.offset(), 8u);
  EXPECT_EQ(*reader.U8(), 0x09);
}

TEST(ByteReader, SliceSurvivesSizesThatWrap) {
  ByteReader reader(kData);
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(reader.Slice(1, huge));
  EXPECT_FALSE(reader.Slice(huge, 1));
  EXPECT_FALSE(reader.Slice(10, 0));
  EXPECT_TRUE(reader.Slice(9, 0));
  EXPECT_FALSE(reader.Skip(huge));
}

TEST(ByteReader, SeekStopsAtTheEnd) {
  ByteReader reader(kData);
  EXPECT_TRUE(reader.Seek(9));
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_FALSE(reader.Seek(10));
}

TEST(CheckedArithmetic, ReportsOverflow) {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(CheckedAdd(huge - 1, 1), huge);
  EXPECT_EQ(CheckedAdd(huge, 1), std::nullopt);
  EXPECT_EQ(CheckedMul(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_EQ(CheckedMul(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(AlignUp(17, 16), 32u);
  EXPECT_EQ(AlignUp(16, 16), 16u);
}

}  // namespace
}  // namespace cerberus
