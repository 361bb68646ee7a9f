#include "cli/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cerberus::cli {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(JsonWriter, Layout) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").Int(1);
  json.Key("empty").BeginArray();
  json.EndArray();
  json.Key("list").BeginArray();
  json.String("a");
  json.BeginObject();
  json.Key("b").Bool(true);
  json.EndObject();
  json.Null();
  json.EndArray();
  json.Key("seconds").Number(1.5);
  json.EndObject();
  EXPECT_EQ(std::move(json).Take(),
            "{\n"
            "  \"schema\": 1,\n"
            "  \"empty\": [],\n"
            "  \"list\": [\n"
            "    \"a\",\n"
            "    {\n"
            "      \"b\": true\n"
            "    },\n"
            "    null\n"
            "  ],\n"
            "  \"seconds\": 1.500\n"
            "}\n");
}

std::string Encoded(std::string_view text) {
  JsonWriter json;
  json.String(text);
  return std::move(json).Take();
}

TEST(JsonWriter, Strings) {
  struct {
    std::string_view text;
    const char* json;
  } const cases[] = {
      {"plain", "\"plain\"\n"},
      {"a\"b\\c", "\"a\\\"b\\\\c\"\n"},
      {"tab\tnul\0"
       "end",
       "\"tab\\u0009nul"},
      {"\x1b[31m", "\"\\u001b[31m\"\n"},
      {"h\xc3\xa9", "\"h\xc3\xa9\"\n"},
      {"\xe2\x82\xac \xf0\x9f\x98\x80", "\"\xe2\x82\xac \xf0\x9f\x98\x80\"\n"},
      // Not UTF-8: a lone byte, a cut sequence, an overlong form, a
      // surrogate, a value above U+10FFFF.
      {"\xff", "\"\\ufffd\"\n"},
      {"\xe2\x82", "\"\\ufffd\\ufffd\"\n"},
      {"\xc0\xaf", "\"\\ufffd\\ufffd\"\n"},
      {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"\n"},
      {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Encoded(c.text), testing::StartsWith(c.json)) << c.json;
  }
}

TEST(ParseFlatJson, Objects) {
  EXPECT_THAT(*ParseFlatJson("{}"), ElementsAre());
  EXPECT_THAT(*ParseFlatJson(R"({"a":"x","b": -3, "c":true})"),
              ElementsAre(Pair("a", "x"), Pair("b", "-3"), Pair("c", "true")));
  EXPECT_THAT(*ParseFlatJson(R"({"k":"q\"b\\s\/n\nu\u00e9"})"),
              ElementsAre(Pair("k", "q\"b\\s/n\nu\xc3\xa9")));
}

TEST(ParseFlatJson, OtherLines) {
  for (const char* line :
       {"", "{", "error: it crashed", "[1]", R"({"a"})", R"({"a":})",
        R"({"a":{"b":1}})", R"({"a":1} x)", R"({"a":"unterminated)",
        R"({"a":"bad \x"})", R"({"a":"\u00g0"})", R"({"a":1,})"}) {
    EXPECT_FALSE(ParseFlatJson(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace cerberus::cli
