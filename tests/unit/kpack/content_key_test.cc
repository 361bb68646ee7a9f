#include "kpack/content_key.h"

#include <gtest/gtest.h>

namespace cerberus::kpack {
namespace {

// Values from the xxhsum program (`xxhsum -H128`).
TEST(ContentKey, IsXxh3InHex) {
  EXPECT_EQ(Hash128Hex({}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Hash128Hex(AsBytes("abc")), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(ContentKey("abc"), "ptx:06b05ab6733a618578af5f94892f3950");
}

TEST(ContentKey, TrailingNulsDoNotCount) {
  EXPECT_EQ(ContentKey(std::string_view("abc\0\0\0", 6)), ContentKey("abc"));
  EXPECT_NE(ContentKey(std::string_view("a\0bc", 4)), ContentKey("abc"));
  EXPECT_EQ(ContentKey(std::string_view("\0", 1)), ContentKey(""));
}

}  // namespace
}  // namespace cerberus::kpack
