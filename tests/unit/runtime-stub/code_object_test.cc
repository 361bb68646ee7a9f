#include "runtime-stub/module/code_object.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "code_object_builder.h"
#include "formats/launch_abi.h"

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
  EXPECT_EQ(info->abi, unsigned{formats::kLaunchAbi});
  EXPECT_EQ(info->sm, 90u);
  ASSERT_EQ(info->kernels.size(), 2u);
  const KernelInfo* z = info->FindKernel("z_kernel");
  ASSERT_NE(z, nullptr);
  ASSERT_EQ(z->params.size(), 2u);
  EXPECT_EQ(z->params[1].offset, 8u);
  EXPECT_EQ(z->launch_block, 16u);
  EXPECT_EQ(z->explicit_size(), 64u);
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

// What the compiler itself keeps in LDS is the hardware's affair, not the
// program's.
TEST(CodeObject, OwnSharedMemory) {
  TestCodeObject object;
  TestKernel some = SimpleKernel("some");
  some.static_shared = 1000;
  some.own_shared = 128;
  TestKernel wrong = some;
  wrong.name = "wrong";
  wrong.own_shared = 2000;
  TestKernel window = some;
  window.name = "window";
  window.window_block = 8;
  window.launch_block = 24;
  window.kernarg_size = 200;
  window.window_bytes = 100000;
  TestKernel tensor = window;
  tensor.name = "tensor";
  tensor.tensor_bytes = 60000;
  TestKernel more = tensor;
  more.name = "more";
  more.tensor_bytes = 100001;
  object.kernels = {some, wrong, window, tensor, more};
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->FindKernel("some")->static_shared, 1000u);
  EXPECT_EQ(info->FindKernel("some")->program_shared(), 872u);
  EXPECT_EQ(info->FindKernel("wrong")->program_shared(), 0u);
  EXPECT_EQ(info->FindKernel("window")->program_shared(), 100000u);
  EXPECT_EQ(info->FindKernel("tensor")->program_shared(), 40000u);
  EXPECT_EQ(info->FindKernel("tensor")->tensor_memory, 60000u);
  EXPECT_EQ(info->FindKernel("more")->program_shared(), 0u);
  EXPECT_EQ(info->FindKernel("more")->tensor_memory, 100000u);
}

// docs/launch-abi.md, "Warps": with one warp in each wave of 64 the hardware
// gets 64 work-items for 32 threads, and a block has at most half as many
// threads as a work-group has work-items.
// A kernel's second form is taken where the hardware has too little, and
// counts as no kernel of its own.
TEST(CodeObject, SharedMemoryInAWindow) {
  TestCodeObject object;
  TestKernel first = SimpleKernel("k");
  first.static_shared = 1000;
  TestKernel second = SimpleKernel("k.window");
  second.window_block = 8;
  second.launch_block = 24;
  second.kernarg_size = 200;
  second.static_shared = 256;
  second.window_bytes = 1000;
  TestKernel always = second;
  always.name = "always";
  always.window_bytes = 100000;
  object.kernels = {second, SimpleKernel("k1"), first, always};
  const Bytes bytes = object.Build();
  Result<CodeObjectInfo> info = ReadCodeObject(bytes);
  ASSERT_TRUE(info) << info.error().ToString();
  ASSERT_EQ(info->kernels.size(), 3u);
  EXPECT_EQ(info->FindKernel("k.window"), nullptr);
  const KernelInfo* k = info->FindKernel("k");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->SharedLimit(65536), 227u * 1024);
  EXPECT_EQ(&k->FormFor(1, 64536, 65536), k);
  const KernelInfo& form = k->FormFor(1, 64537, 65536);
  EXPECT_EQ(form.name, "k.window");
  EXPECT_EQ(form.window, 8u);
  EXPECT_EQ(form.params.size(), 1u);
  EXPECT_EQ(form.explicit_size(), 72u);
  EXPECT_EQ(form.static_shared, 1000u);
  EXPECT_EQ(form.HardwareShared(64537), 0u);
  EXPECT_EQ(k->HardwareShared(64536), 64536u);
  const KernelInfo* other = info->FindKernel("k1");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->SharedLimit(65536), 65536u);
  EXPECT_EQ(&other->FormFor(1, 100000, 65536), other);
  const KernelInfo* only = info->FindKernel("always");
  ASSERT_NE(only, nullptr);
  EXPECT_EQ(only->static_shared, 100000u);
  EXPECT_TRUE(only->window);
}

// For blocks that do not fit with one warp in each wave; also of the form with
// a window. Without a first form it is a kernel like others.
TEST(CodeObject, PackedForms) {
  TestCodeObject object;
  TestKernel one = SimpleKernel("one");
  one.wave_size = 64;
  one.warps_per_wave = 1;
  TestKernel packed = one;
  packed.name = "one.packed";
  packed.warps_per_wave = 2;
  TestKernel alone = packed;
  alone.name = "two.packed";
  object.kernels = {one, packed, alone};
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->kernels.size(), 2u);
  const KernelInfo* k = info->FindKernel("one");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(info->FindKernel("one.packed"), nullptr);
  EXPECT_NE(info->FindKernel("two.packed"), nullptr);
  EXPECT_EQ(k->max_threads, 1024u);
  EXPECT_EQ(&k->FormFor(512, 0, 65536), k);
  const KernelInfo& form = k->FormFor(513, 0, 65536);
  EXPECT_EQ(form.name, "one.packed");
  EXPECT_NE(form.form, k->form);
  EXPECT_EQ(form.WorkGroupOf(1024, 1, 1), (WorkGroup{1024, 1, 1}));
}

// The form for the smallest blocks that takes the block, whatever the order in
// the file, is launched; the first says what the kernel as a whole can do.
TEST(CodeObject, FormsForSmallBlocks) {
  TestCodeObject object;
  TestKernel first = SimpleKernel("k");
  first.vgprs = 192;
  first.local_bytes = 400;
  const auto form = [&](const char* name, std::uint32_t threads) {
    TestKernel kernel = first;
    kernel.name = name;
    kernel.max_flat = threads;
    kernel.vgprs = 256;
    kernel.local_bytes = 0;
    return kernel;
  };
  // Not ours: PTX has no such names, and nobody knows when to launch them.
  object.kernels = {
      form("k.256", 256),  form("k.512", 512), first,
      form("k.other", 64), form("k.", 64),     form("other.128", 64)};
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  const KernelInfo* k = info->FindKernel("k");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(info->FindKernel("k.256"), nullptr);
  EXPECT_EQ(info->kernels.size(), 4u);
  EXPECT_EQ(k->max_threads, 1024u);
  EXPECT_EQ(k->registers, 192u);
  EXPECT_EQ(k->local_bytes, 400u);
  const auto taken = [&](std::uint64_t threads) {
    return k->FormFor(threads, 0, 65536).name;
  };
  EXPECT_EQ(taken(1), "k.256");
  EXPECT_EQ(taken(256), "k.256");
  EXPECT_EQ(taken(257), "k.512");
  EXPECT_EQ(taken(512), "k.512");
  EXPECT_EQ(taken(513), "k");
  EXPECT_EQ(taken(1024), "k");
  EXPECT_EQ(taken(2000), "k");  // refused, whichever it is
  EXPECT_NE(k->FormFor(1, 0, 65536).form, k->FormFor(512, 0, 65536).form);
}

// With one warp in each wave of 64, and in a window, all at once.
TEST(CodeObject, FormsOfAllKinds) {
  TestCodeObject object;
  const auto add = [&](const char* name, std::uint32_t items, int warps,
                       bool window) {
    TestKernel kernel = SimpleKernel(name);
    kernel.wave_size = 64;
    kernel.max_flat = items;
    kernel.warps_per_wave = warps;
    kernel.static_shared = 1000;
    kernel.window_bytes = 1000;
    if (window) {
      kernel.window_block = 8;
      kernel.launch_block = 24;
      kernel.kernarg_size = 200;
    }
    object.kernels.push_back(kernel);
  };
  for (const bool window : {false, true}) {
    const std::string name = window ? "k.window" : "k";
    add(name.c_str(), 1024, 1, window);
    add((name + ".packed").c_str(), 1024, 2, window);
    add((name + ".256").c_str(), 512, 1, window);
    add((name + ".128").c_str(), 256, 1, window);
  }
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  ASSERT_EQ(info->kernels.size(), 1u);
  const KernelInfo& k = info->kernels[0];
  EXPECT_EQ(k.max_threads, 1024u);
  EXPECT_EQ(k.SharedLimit(65536), 227u * 1024);
  std::set<unsigned> numbers;
  const auto taken = [&](std::uint64_t threads, std::uint64_t shared) {
    const KernelInfo& form = k.FormFor(threads, shared, 65536);
    numbers.insert(form.form);
    return form.name;
  };
  EXPECT_EQ(taken(128, 0), "k.128");
  EXPECT_EQ(taken(129, 0), "k.256");
  EXPECT_EQ(taken(512, 0), "k");
  EXPECT_EQ(taken(513, 0), "k.packed");
  EXPECT_EQ(taken(32, 65536), "k.window.128");
  EXPECT_EQ(taken(256, 65536), "k.window.256");
  EXPECT_EQ(taken(257, 65536), "k.window");
  EXPECT_EQ(taken(1024, 65536), "k.window.packed");
  EXPECT_EQ(numbers.size(), 8u);
  EXPECT_LT(*numbers.rbegin(), KernelInfo::kForms);
}

// More than there can be are kernels like others, and never launched as forms.
TEST(CodeObject, TooManyForms) {
  TestCodeObject object;
  object.kernels = {SimpleKernel("k")};
  for (int i = 100; i < 200; ++i) {
    object.kernels.push_back(SimpleKernel("k." + std::to_string(i)));
  }
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->FindKernel("k")->forms.size(), KernelInfo::kForms - 1);
  EXPECT_EQ(info->kernels.size(), 101 - (KernelInfo::kForms - 1));
}

TEST(CodeObject, WarpsInWavesOf64) {
  TestCodeObject object;
  TestKernel one = SimpleKernel("one");
  one.wave_size = 64;
  one.warps_per_wave = 1;
  TestKernel bounded = one;
  bounded.name = "bounded";
  bounded.max_flat = 192;
  bounded.maxntid = {70, 1, 1};
  TestKernel two = one;
  two.name = "two";
  two.warps_per_wave = 2;
  TestKernel narrow = SimpleKernel("narrow");
  object.kernels = {bounded, narrow, one, two};
  Result<CodeObjectInfo> info = ReadCodeObject(object.Build());
  ASSERT_TRUE(info) << info.error().ToString();
  const auto group = [&](const char* name) {
    return info->FindKernel(name)->WorkGroupOf(11, 3, 2);
  };
  EXPECT_EQ(group("one"), (WorkGroup{192, 1, 1}));
  EXPECT_EQ(group("two"), (WorkGroup{11, 3, 2}));
  EXPECT_EQ(group("narrow"), (WorkGroup{11, 3, 2}));
  EXPECT_EQ(info->FindKernel("one")->WorkGroupOf(1, 1, 1)[0], 64u);
  EXPECT_EQ(info->FindKernel("one")->WorkGroupOf(512, 1, 1)[0], 1024u);
  EXPECT_EQ(info->FindKernel("one")->max_threads, 512u);
  EXPECT_EQ(info->FindKernel("bounded")->max_threads, 70u);
  EXPECT_EQ(info->FindKernel("two")->max_threads, 1024u);
  EXPECT_EQ(info->FindKernel("narrow")->max_threads, 1024u);
}

// Kernels divide by multiplying (docs/launch-abi.md, "The launch block").
TEST(CodeObject, ReciprocalsDivideThreadIdsExactly) {
  for (std::uint32_t side = 1; side <= 1024; ++side) {
    formats::LaunchBlock block;
    block.SetBlock(side, side, 1);
    for (std::uint32_t n = 0; n < 1024; ++n) {
      ASSERT_EQ(n * block.reciprocal[0] >> 20, n / side) << n << "/" << side;
    }
    ASSERT_EQ(block.reciprocal[1], block.reciprocal[0]);
  }
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
