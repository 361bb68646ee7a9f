#include "runtime-stub/code_object.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "code_object_builder.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;

TestCodeObject TwoKernels() {
  TestCodeObject object;
  TestKernel z = SimpleKernel("z_kernel");
  z.params = {{0, 4}, {8, 8}};
  z.launch_block = 16;
  z.kernarg_size = 200;
  z.maxntid = {16, 4, 1};
  z.reqntid = {16, 4, 1};
  object.kernels = {z, SimpleKernel("a_kernel")};
  object.sm = 90;
  object.failed = {{"bad", "because"}};
  return object;
}

TEST(CodeObject, SaysWhatItHolds) {
  const Bytes bytes = TwoKernels().Build();
  Result<CodeObjectInfo> info = ReadCodeObject(bytes);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->abi, 1u);
  EXPECT_EQ(info->sm, 90u);
  ASSERT_EQ(info->kernels.size(), 2u);
  const KernelInfo* z = info->FindKernel("z_kernel");
  ASSERT_NE(z, nullptr);
  ASSERT_EQ(z->params.size(), 2u);
  EXPECT_EQ(z->params[1].offset, 8u);
  EXPECT_EQ(z->launch_block, 16u);
  EXPECT_EQ(z->explicit_size(), 48u);
  EXPECT_EQ(z->max_threads, 64u);
  EXPECT_EQ(z->required_block[1], 4u);
  EXPECT_NE(info->FindKernel("a_kernel"), nullptr);
  EXPECT_EQ(info->FindKernel("kernel"), nullptr);
  ASSERT_NE(info->FindFailed("bad"), nullptr);
  EXPECT_EQ(info->FindFailed("bad")->reason, "because");
}

// Code of other compilers has neither launch block nor .cerberus.info.
TEST(CodeObject, OfAnotherCompiler) {
  TestCodeObject object;
  TestKernel kernel = SimpleKernel("k");
  kernel.launch_block = -1;
  object.kernels = {kernel};
  object.abi = -1;
  const Bytes bytes = object.Build();
  Result<CodeObjectInfo> info = ReadCodeObject(bytes);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_FALSE(info->abi);
  EXPECT_FALSE(info->kernels[0].launch_block);
  EXPECT_EQ(info->kernels[0].explicit_size(), 8u);
}

TEST(CodeObject, SizeComesFromTheHeaders) {
  const Bytes bytes = TwoKernels().Build();
  Result<std::uint64_t> size = ElfSize(bytes.data());
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, bytes.size());
  const Bytes text(64, 'x');
  EXPECT_FALSE(ElfSize(text.data()));
}

TEST(CodeObject, LyingSizesAreRefused) {
  TestCodeObject outside = TwoKernels();
  outside.kernels[0].params = {{196, 8}};
  TestCodeObject large = TwoKernels();
  large.kernels[0].kernarg_size = 1 << 20;
  TestCodeObject cubin = TwoKernels();
  cubin.machine = 190;
  struct Row {
    const TestCodeObject* object;
    const char* message;
  };
  for (const Row& row : {Row{&outside, "runs past"}, Row{&large, "at most"},
                         Row{&cubin, "machine 190"}}) {
    const Bytes bytes = row.object->Build();
    Result<CodeObjectInfo> info = ReadCodeObject(bytes);
    ASSERT_FALSE(info) << row.message;
    EXPECT_THAT(info.error().ToString(), HasSubstr(row.message));
  }
}

// Cut anywhere, the file is refused or read, but never read past its end
// (under AddressSanitizer this test sees that).
TEST(CodeObject, EveryTruncationIsSurvived) {
  const Bytes whole = TwoKernels().Build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + size);
    EXPECT_FALSE(ReadCodeObject(part)) << size;
  }
}

TEST(CodeObject, EveryFlippedByteIsSurvived) {
  const Bytes whole = TwoKernels().Build();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes changed = whole;
    changed[at] ^= 0xff;
    Result<CodeObjectInfo> info = ReadCodeObject(changed);
    if (!info) continue;
    for (const KernelInfo& kernel : info->kernels) {
      EXPECT_LE(kernel.explicit_size(), kernel.kernarg_size) << at;
    }
  }
}

}  // namespace
}  // namespace cerberus::stub
