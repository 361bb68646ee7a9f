#include "runtime-stub/module/hip_image.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "code_object_builder.h"
#include "formats/code_object.h"
#include "images/code_object.h"
#include "kpack/msgpack_value.h"

namespace cerberus::stub {
namespace {

Bytes CodeWith(const std::string& hidden) {
  TestKernel kernel = SimpleKernel("k");
  kernel.hidden = hidden;
  TestCodeObject object;
  object.kernels = {SimpleKernel("other"), kernel};
  return object.Build();
}

std::string HiddenKind(const Bytes& code) {
  const auto maps = images::FindCodeObjectMaps(code, "code");
  kpack::Document::Limits limits;
  limits.allow_trailing_bytes = true;
  const auto document = kpack::Document::Parse(maps->metadata, limits);
  const kpack::Value kernels = document->root().Find(formats::kMetadataKernels);
  const kpack::Value args = kernels.Next(kernels.First()).Find(".args");
  std::string kind;
  for (kpack::Value arg = args.First(); arg; arg = args.Next(arg)) {
    kind = *arg.Find(".value_kind").AsString();
  }
  return kind;
}

std::vector<std::uint64_t> SegmentSizes(const Bytes& code) {
  const auto maps = images::FindCodeObjectMaps(code, "code");
  kpack::Document::Limits limits;
  limits.allow_trailing_bytes = true;
  const auto document = kpack::Document::Parse(maps->metadata, limits);
  const kpack::Value kernels = document->root().Find(formats::kMetadataKernels);
  std::vector<std::uint64_t> sizes;
  for (kpack::Value k = kernels.First(); k; k = kernels.Next(k)) {
    sizes.push_back(*k.Find(".kernarg_segment_size").AsUint());
  }
  return sizes;
}

// HIP 5 takes a kind that it does not know for an argument of the program's.
TEST(HipImage, HiddenArgumentsThatHip5DoesNotKnow) {
  const Bytes code = CodeWith("hidden_dynamic_lds_size");
  ASSERT_EQ(HiddenKind(code), "hidden_dynamic_lds_size");
  const Bytes known = ForHip5(code);
  ASSERT_EQ(known.size(), code.size());
  EXPECT_EQ(HiddenKind(known), "hidden_global_offset_x");
}

// As that of the first kernel does; that of the second goes on behind it.
TEST(HipImage, SegmentsOfArgumentsEndWithTheList) {
  TestKernel listed = SimpleKernel("listed"), longer = SimpleKernel("longer");
  listed.kernarg_size = 312;
  longer.kernarg_size = 320;
  longer.hidden_end = 124;
  TestCodeObject object;
  object.kernels = {listed, longer};
  Bytes code = object.Build();
  code[formats::kAbiVersionOffset] = formats::kAbiVersion5;
  const Bytes older = ForHipBefore53(code);
  EXPECT_EQ(older[formats::kAbiVersionOffset], formats::kAbiVersion4);
  EXPECT_EQ(SegmentSizes(code), (std::vector<std::uint64_t>{312, 320}));
  EXPECT_EQ(SegmentSizes(older), (std::vector<std::uint64_t>{312, 128}));
}

TEST(HipImage, OtherCodeStaysAsItIs) {
  EXPECT_TRUE(ForHip5(CodeWith("hidden_block_count_x")).empty());
  EXPECT_TRUE(ForHip5({}).empty());
  Bytes cut = CodeWith("hidden_dynamic_lds_size");
  cut.resize(cut.size() / 2);
  EXPECT_TRUE(ForHip5(cut).empty());
}

}  // namespace
}  // namespace cerberus::stub
