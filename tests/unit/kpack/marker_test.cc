#include "kpack/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kpack/archive_builder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The bytes that upstream's tools put into a binary (82 b2 … 91 bb … ab … b7).
const char kUpstream[] =
    "\x82\xb2kpack_search_paths\x91\xbb../.kpack/t_@GFXARCH@.kpack"
    "\xabkernel_name\xb7p/lib/libmulti.plain.so";

TEST(Marker, UpstreamsBytes) {
  Marker marker;
  marker.search_paths = {"../.kpack/t_@GFXARCH@.kpack"};
  marker.kernel_name = "p/lib/libmulti.plain.so";
  const Result<Bytes> bytes = EncodeMarker(marker);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(AsText(*bytes), kUpstream);

  // In a binary the section goes on behind the map.
  const Result<Marker> back =
      DecodeMarker(AsBytes(std::string(kUpstream) + std::string(90, '\0')));
  ASSERT_TRUE(back.has_value()) << back.error().ToString();
  EXPECT_THAT(back->search_paths, ElementsAre("../.kpack/t_@GFXARCH@.kpack"));
  EXPECT_EQ(back->kernel_name, "p/lib/libmulti.plain.so");
  EXPECT_EQ(back->abi, -1);
  EXPECT_EQ(back->version, "");
}

TEST(Marker, OursRoundTrips) {
  Marker marker;
  marker.search_paths = {".kpack/app-@GFXARCH@.kpack", "/opt/x.kpack"};
  marker.kernel_name = "app";
  marker.version = "0.1.0";
  marker.abi = 1;
  const Result<Bytes> bytes = EncodeMarker(marker);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(AsText(*bytes),
            mp::Map({{"kpack_search_paths",
                      mp::Array({mp::Str(".kpack/app-@GFXARCH@.kpack"),
                                 mp::Str("/opt/x.kpack")})},
                     {"kernel_name", mp::Str("app")},
                     {"cerberus", mp::Map({{"abi", mp::Int(1)},
                                           {"version", mp::Str("0.1.0")}})}}));
  const Result<Marker> back = DecodeMarker(*bytes);
  ASSERT_TRUE(back.has_value()) << back.error().ToString();
  EXPECT_EQ(back->search_paths, marker.search_paths);
  EXPECT_EQ(back->kernel_name, "app");
  EXPECT_EQ(back->version, "0.1.0");
  EXPECT_EQ(back->abi, 1);
}

TEST(Marker, MalformedMarkers) {
  const std::string paths = mp::Array({mp::Str("a.kpack")});
  struct {
    const char* what;
    std::string bytes;
    const char* message;
  } const cases[] = {
      {"nothing", "", "marker+0x0: MessagePack data is cut short"},
      {"a list", mp::Array({}), "marker: is not a map"},
      {"no paths", mp::Map({{"kernel_name", mp::Str("k")}}),
       "marker: has no list 'kpack_search_paths'"},
      {"no path in the list",
       mp::Map({{"kpack_search_paths", mp::Array({})},
                {"kernel_name", mp::Str("k")}}),
       "marker: has no list 'kpack_search_paths'"},
      {"a path that is a number",
       mp::Map({{"kpack_search_paths", mp::Array({mp::Int(1)})},
                {"kernel_name", mp::Str("k")}}),
       "'kpack_search_paths' holds what is not a path"},
      {"no name", mp::Map({{"kpack_search_paths", paths}}),
       "marker: has no string 'kernel_name'"},
      {"a name that is a list",
       mp::Map({{"kpack_search_paths", paths}, {"kernel_name", mp::Array({})}}),
       "marker: has no string 'kernel_name'"},
      {"cut short",
       mp::Map({{"kpack_search_paths", paths}, {"kernel_name", "\xa9kern"}}),
       "MessagePack data is cut short"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const Result<Marker> marker = DecodeMarker(AsBytes(c.bytes));
    ASSERT_FALSE(marker.has_value());
    EXPECT_THAT(marker.error().ToString(), HasSubstr(c.message));
  }
}

TEST(Marker, WhatReadersRefuseIsNotWritten) {
  EXPECT_FALSE(EncodeMarker(Marker()).has_value());
  Marker marker;
  marker.kernel_name = "k";
  marker.search_paths = {std::string(70000, 'p')};
  EXPECT_FALSE(EncodeMarker(marker).has_value());
}

TEST(Marker, ModuleKey) { EXPECT_EQ(ModuleKey("lib/a.so", 12), "lib/a.so#12"); }

}  // namespace
}  // namespace cerberus::kpack
