#include "packager/wheel/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cerberus::packager {
namespace {

using ::testing::HasSubstr;

// FIPS 180-2, appendix B.1, in base64 as Python's urlsafe_b64encode has it.
TEST(Sha256, IsBase64ForUrlsWithoutPadding) {
  EXPECT_EQ(Sha256::Of(AsBytes("abc")),
            "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  EXPECT_EQ(Sha256::Of({}),
            "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  Sha256 pieces;
  pieces.Update(AsBytes("a"));
  pieces.Update(AsBytes("bc"));
  EXPECT_EQ(pieces.Text(), Sha256::Of(AsBytes("abc")));
}

TEST(Record, QuotesAsCsvDoes) {
  const std::vector<RecordLine> lines = {{"x/a.py", "sha256=AA", "3"},
                                         {"x/a,\"b\".txt", "sha256=BB", "0"},
                                         {"x.py", "a,b", "\""},
                                         {"x.dist-info/RECORD", "", ""}};
  const std::string text = FormatRecord(lines);
  EXPECT_EQ(text,
            "x/a.py,sha256=AA,3\n"
            "\"x/a,\"\"b\"\".txt\",sha256=BB,0\n"
            "x.py,\"a,b\",\"\"\"\"\n"
            "x.dist-info/RECORD,,\n");
  const auto back = ParseRecord(text, "RECORD");
  ASSERT_TRUE(back) << back.error().ToString();
  ASSERT_EQ(back->size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ((*back)[i].path, lines[i].path);
    EXPECT_EQ((*back)[i].hash, lines[i].hash);
    EXPECT_EQ((*back)[i].size, lines[i].size);
  }
}

TEST(Record, TakesCarriageReturnsAndEmptyLines) {
  const auto lines = ParseRecord("a,sha256=x,1\r\n\r\nb,,", "RECORD");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].size, "1");
  EXPECT_EQ((*lines)[1].path, "b");
}

TEST(Record, SaysWhichLineIsWrong) {
  const auto fields = ParseRecord("a,,\nb,c\n", "x.whl/RECORD");
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().ToString(),
            "x.whl/RECORD: line 2 has 2 fields, expected path, hash and size");
  const auto quote = ParseRecord("\"a,,\n", "RECORD");
  ASSERT_FALSE(quote);
  EXPECT_THAT(quote.error().message, HasSubstr("quote without an end"));
  const auto twice = ParseRecord("a,,\na,,\n", "RECORD");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("'a' a second time"));
}

}  // namespace
}  // namespace cerberus::packager
