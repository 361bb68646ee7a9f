#include "support/range_map.h"

#include <gtest/gtest.h>

#include <limits>

namespace cerberus {
namespace {

TEST(RangeMap, KeepsRangesApart) {
  RangeMap map;
  EXPECT_TRUE(map.Add(16, 8, "b"));
  EXPECT_TRUE(map.Add(0, 16, "a"));
  EXPECT_TRUE(map.Add(24, 1, "c"));
  EXPECT_FALSE(map.Add(23, 1, "inside b"));
  EXPECT_FALSE(map.Add(8, 100, "over all"));
  EXPECT_EQ(map.Add(15, 2, "x").error().message,
            "range 0xf+2 for x overlaps 0x10+8 for b");
  EXPECT_EQ(map.TotalBytes(), 25u);
}

TEST(RangeMap, RefusesEmptyAndWrapping) {
  RangeMap map;
  EXPECT_FALSE(map.Add(5, 0, "empty"));
  EXPECT_FALSE(map.Add(2, std::numeric_limits<std::uint64_t>::max(), "wraps"));
}

TEST(RangeMap, ContainsKnowsBothEnds) {
  RangeMap map;
  ASSERT_TRUE(map.Add(10, 5, "r"));
  EXPECT_FALSE(map.Contains(9));
  EXPECT_TRUE(map.Contains(10));
  EXPECT_TRUE(map.Contains(14));
  EXPECT_FALSE(map.Contains(15));
}

}  // namespace
}  // namespace cerberus
