#include "kpack/msgpack_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kpack/msgpack_writer.h"
#include "tests/unit/kpack/archive_builder.h"

namespace cerberus::kpack {
namespace {

using testing::HasSubstr;
using Kind = Value::Kind;

// One value of each encoding in MessagePack's specification.
TEST(MsgpackValue, EveryEncoding) {
  using namespace std::string_literals;
  struct {
    std::string bytes;
    Kind kind;
  } const cases[] = {
      {"\x00"s, Kind::kUint},
      {"\x7f"s, Kind::kUint},
      {"\x80"s, Kind::kMap},
      {"\x90"s, Kind::kArray},
      {"\xa0"s, Kind::kString},
      {"\xa3xyz"s, Kind::kString},
      {"\xc0"s, Kind::kNil},
      {"\xc2"s, Kind::kBool},
      {"\xc3"s, Kind::kBool},
      {"\xc4\x02\x01\x02"s, Kind::kBinary},
      {"\xc5\0\x01\x01"s, Kind::kBinary},
      {"\xc6\0\0\0\x01\x01"s, Kind::kBinary},
      {"\xc7\x01\x05z"s, Kind::kExtension},
      {"\xc8\0\x01\x05z"s, Kind::kExtension},
      {"\xc9\0\0\0\x01\x05z"s, Kind::kExtension},
      {"\xca\x3f\x80\0\0"s, Kind::kFloat},
      {"\xcb\x3f\xf0\0\0\0\0\0\0"s, Kind::kFloat},
      {"\xcc\xff"s, Kind::kUint},
      {"\xcd\xff\xff"s, Kind::kUint},
      {"\xce\xff\xff\xff\xff"s, Kind::kUint},
      {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff"s, Kind::kUint},
      {"\xd0\x80"s, Kind::kInt},
      {"\xd1\x80\0"s, Kind::kInt},
      {"\xd2\x80\0\0\0"s, Kind::kInt},
      {"\xd3\x80\0\0\0\0\0\0\0"s, Kind::kInt},
      {"\xd4\x01z"s, Kind::kExtension},
      {"\xd9\x01z"s, Kind::kString},
      {"\xda\0\x01z"s, Kind::kString},
      {"\xdb\0\0\0\x01z"s, Kind::kString},
      {"\xdc\0\x01\xc0"s, Kind::kArray},
      {"\xdd\0\0\0\x01\xc0"s, Kind::kArray},
      {"\xde\0\x01\xa1k\xc0"s, Kind::kMap},
      {"\xdf\0\0\0\x01\xa1k\xc0"s, Kind::kMap},
      {"\xe0"s, Kind::kInt},
      {"\xff"s, Kind::kInt},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.bytes));
    const Result<Document> document = Document::Parse(AsBytes(c.bytes));
    ASSERT_TRUE(document.has_value()) << document.error().ToString();
    EXPECT_EQ(document->root().kind(), c.kind);
    // And every cut of it is an error.
    for (std::size_t size = 0; size < c.bytes.size(); ++size) {
      EXPECT_FALSE(Document::Parse(AsBytes(c.bytes).first(size)).has_value());
    }
  }
}

TEST(MsgpackValue, IntegersConvertWhereTheyFit) {
  using namespace std::string_literals;
  const auto parse = [](const std::string& bytes) {
    const Result<Document> document = Document::Parse(AsBytes(bytes));
    const Value root = document->root();
    return std::pair(root.AsInt(), root.AsUint());
  };
  EXPECT_EQ(parse("\x05"s), std::pair(std::optional<std::int64_t>(5),
                                      std::optional<std::uint64_t>(5)));
  // 5 in a signed encoding.
  EXPECT_EQ(parse("\xd0\x05"s), std::pair(std::optional<std::int64_t>(5),
                                          std::optional<std::uint64_t>(5)));
  EXPECT_EQ(parse("\xff"s), std::pair(std::optional<std::int64_t>(-1),
                                      std::optional<std::uint64_t>()));
  EXPECT_EQ(parse("\xcf\x80\0\0\0\0\0\0\0"s),
            std::pair(std::optional<std::int64_t>(),
                      std::optional<std::uint64_t>(1ull << 63)));
  EXPECT_EQ(parse("\xa1x"s), std::pair(std::optional<std::int64_t>(),
                                       std::optional<std::uint64_t>()));
}

TEST(MsgpackValue, NestedFindAndWalk) {
  const std::string bytes = mp::Map(
      {{"a", mp::Array({mp::Int(1), mp::Array({mp::Str("in")}), mp::Int(3)})},
       {"m", mp::Map({{"k", mp::Str("v")}, {"", mp::Int(0)}})},
       {"last", "\xc3"}});
  const Result<Document> document = Document::Parse(AsBytes(bytes));
  ASSERT_TRUE(document.has_value());
  const Value root = document->root();
  EXPECT_EQ(root.size(), 3u);
  EXPECT_EQ(root.Find("m").Find("k").AsString(), "v");
  EXPECT_EQ(root.Find("m").Find("").AsUint(), 0u);
  EXPECT_EQ(root.Find("last").AsBool(), true);
  EXPECT_FALSE(root.Find("missing").Find("k"));
  const Value array = root.Find("a");
  ASSERT_EQ(array.size(), 3u);
  Value item = array.First();
  EXPECT_EQ(item.AsInt(), 1);
  item = array.Next(item);
  EXPECT_EQ(item.First().AsString(), "in");
  EXPECT_FALSE(item.Next(item.First()));
  item = array.Next(item);
  EXPECT_EQ(item.AsInt(), 3);
  EXPECT_FALSE(array.Next(item));
}

TEST(MsgpackValue, Limits) {
  Document::Limits limits;
  limits.depth = 2;
  limits.values = 4;
  limits.string_bytes = 3;
  struct {
    std::string bytes;
    const char* message;  // "": accepted
  } const cases[] = {
      {mp::Array({mp::Array({})}), ""},
      {mp::Array({mp::Array({mp::Array({})})}), "nested deeper than 2 levels"},
      {mp::Array({mp::Int(1), mp::Int(2), mp::Int(3)}), ""},
      {mp::Array({mp::Int(1), mp::Int(2), mp::Int(3), mp::Int(4)}),
       "more than 4 MessagePack values"},
      {mp::Str("abc"), ""},
      {mp::Str("abcd"), "a string of 4 bytes, at most 3"},
      {mp::Int(1) + mp::Int(2), "1 bytes follow the MessagePack value"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.bytes));
    const Result<Document> document = Document::Parse(AsBytes(c.bytes), limits);
    EXPECT_EQ(document.has_value(), c.message[0] == '\0');
    if (!document) {
      EXPECT_THAT(document.error().ToString(), HasSubstr(c.message));
    }
  }
}

TEST(MsgpackValue, ErrorsSayWhere) {
  const Result<Document> document = Document::Parse(AsBytes("\x92\x01\xc1"));
  ASSERT_FALSE(document.has_value());
  EXPECT_EQ(document.error().where.offset, 2);
}

TEST(MsgpackWriter, ShortestForms) {
  using namespace std::string_literals;
  MsgpackWriter w;
  w.Array(6);
  w.Uint(127);
  w.Uint(128);
  w.Uint(65536);
  w.Int(-1);
  w.Int(300);
  w.String(std::string(32, 's'));
  EXPECT_EQ(AsText(std::move(w).Take()),
            "\x96\x7f\xcc\x80\xce\0\1\0\0\xff\xcd\x01\x2c\xd9\x20"s +
                std::string(32, 's'));
}

}  // namespace
}  // namespace cerberus::kpack
