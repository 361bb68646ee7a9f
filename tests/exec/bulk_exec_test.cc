// Bulk copies, of memory in one piece and of boxes of tensors.
//
// PTX ISA 9.0, "Data Movement and Conversion Instructions: Bulk copy" and
// "Tensor copy".
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "formats/tensor_map.h"
#include "support/bytes.h"
#include "tests/exec/async_exec_test.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

TEST(AsyncExec, CpAsyncBulk) {
  KernelBatch batch{std::string(kHeader)};
  int copies = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async.bulk")) {
    if (s.Has("commit_group") || s.Has("wait_group")) continue;
    ++copies;
    const std::string policy = PolicyOf(s);
    const bool from_global =
        s.text.find(".global.mbarrier") != std::string::npos;
    const bool to_global = s.Has("bulk_group");
    const bool ignores = s.Has("ignore_oob");
    const std::string mask =
        s.Has("multicast::cluster") || s.Has("multicast::cluster::16b")
            ? ", %h0"
        : s.Has("multicast::cluster::32b") ? ", 1"
                                           : "";
    std::string body = PlaceOfThread() + InitAndMeet(1);
    if (!from_global) {
      // The block's input lies in `data` first.
      body +=
          "  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%in];\n"
          "  st.shared.v4.u32 [%l0], {%r4, %r5, %r6, %r7};\n"
          "  bar.sync 0;\n";
    }
    if (to_global) {
      const bool masked = s.Has("cp_mask");
      body += "  mov.b16 %h0, 0xA5F0;\n  @%leader " + s.text +
              " [%first_out], [data], 1024" + policy + (masked ? ", %h0" : "") +
              ";\n  @%leader cp.async.bulk.commit_group;\n"
              "  @%leader cp.async.bulk.wait_group 0;\n";
      batch.Add(s.text, Kernel(batch.NextName(), body),
                RunAndCheck([masked](const std::uint32_t* out) {
                  std::vector<std::uint8_t> want(16 * kThreads, 0xee);
                  std::vector<std::uint32_t> words(4 * kThreads);
                  std::iota(words.begin(), words.end(), 1u);
                  for (std::size_t i = 0; i < want.size(); ++i) {
                    if (!masked || (0xa5f0 >> (i % 16) & 1) != 0) {
                      want[i] =
                          reinterpret_cast<std::uint8_t*>(words.data())[i];
                    }
                  }
                  ASSERT_EQ(std::memcmp(out, want.data(), want.size()), 0);
                }));
      continue;
    }
    const std::string to = from_global ? "data" : "copy";
    body +=
        "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, "
        "[bar], 1024;\n  mov.u32 %r1, 1024;\n  mov.b16 %h0, 1;\n"
        "  @%leader " +
        s.text + " [" + to + "], [" + (from_global ? "%first_in" : "data") +
        "], %r1" + (ignores ? ", 0, 0" : "") + ", [bar]" + mask + policy +
        ";\n" + WaitForBytes() + "  mov.u64 %l1, " + to +
        ";\n"
        "  mad.wide.u32 %l0, %thread, 16, %l1;\n" +
        StoreCopied();
    batch.Add(s.text, Kernel(batch.NextName(), body),
              RunAndCheck(Copied(16, [](std::uint32_t) { return 16; })));
  }
  EXPECT_GT(copies, 0);
  for (const LoweredSpelling& s :
       LoweredSpellingsOf("cp.async.bulk.prefetch")) {
    batch.Add(s.text,
              Kernel(batch.NextName(),
                     "  " + s.text + " [%first_in], 1024" + PolicyOf(s) +
                         ";\n" + PlaceOfThread() +
                         "  cp.async.cg.shared.global [%l0], [%in], 16;\n"
                         "  cp.async.wait_all;\n" +
                         StoreCopied()),
              RunAndCheck(Copied(16, [](std::uint32_t) { return 16; })));
  }
}

// Bytes outside of what can be read stand in front and behind: they are not
// read, but the mbarrier counts them.
TEST(AsyncExec, CpAsyncBulkReadsNothingItIgnores) {
  const std::string text =
      std::string(kHeader) +
      Kernel("k",
             InitAndMeet(1) +
                 "  st.shared.u32 [data], 7;\n  st.shared.u32 [data+44], 9;\n"
                 "  mbarrier.expect_tx.shared::cta.b64 [bar], 48;\n"
                 "  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                 "bytes.ignore_oob [data], [%in], 48, 4, 8, [bar];\n"
                 "  mbarrier.arrive.shared::cta.b64 %state, [bar];\n"
                 "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar],"
                 " 0;\n  @!%p0 bra WAIT;\n"
                 "  ld.shared.u32 %r0, [data];\n  ld.shared.u32 %r1, "
                 "[data+4];\n  ld.shared.u32 %r2, [data+36];\n"
                 "  ld.shared.u32 %r3, [data+44];\n"
                 "  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n");
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer in((*module)->device(), 36), out((*module)->device(), 16);
  std::iota(in.as<std::uint32_t>(), in.as<std::uint32_t>() + 9, 1u);
  Launch launch;
  // The buffer is what bytes 4 to 40 of 48 lie in.
  launch.params = {in.address() - 4, out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(out.as<std::uint32_t>()[0], 7u);
  EXPECT_EQ(out.as<std::uint32_t>()[1], 1u);
  EXPECT_EQ(out.as<std::uint32_t>()[2], 9u);
  EXPECT_EQ(out.as<std::uint32_t>()[3], 9u);
}

// ---- Boxes of tensors -------------------------------------------------------

constexpr std::size_t kBoxBytes = 8192;  // of shared memory

using Coordinates = std::array<std::int32_t, 5>;

// A tensor map and the bytes of its tensor, in which every one is another.
struct Tensor {
  formats::TensorMap map;
  std::vector<std::uint8_t> bytes;
};

Tensor TensorOf(const std::vector<std::uint32_t>& sizes,
                const std::vector<std::uint32_t>& box, int element_log2,
                int pitch = 0) {
  Tensor tensor;
  tensor.map = TensorMapOf(sizes, box, element_log2, pitch);
  tensor.bytes.resize(BytesOf(tensor.map));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
  }
  return tensor;
}

// Each byte of a box: where it is in shared memory and in the tensor, if it is
// inside of that (docs/tensor-map.md).
void ForBytes(const formats::TensorMap& map, const Coordinates& at,
              const std::function<void(std::size_t, std::int64_t)>& fn) {
  std::array<int, 5> count, i = {};
  std::size_t all = std::size_t{1} << map.element_log2;
  for (std::size_t d = 0; d < 5; ++d) {
    count[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    all *= static_cast<std::size_t>(count[d]);
  }
  const std::size_t element = std::size_t{1} << map.element_log2;
  for (std::size_t place = 0; place < all; place += element) {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t d = 0; d < 5; ++d) {
      const std::int64_t x = at[d] + std::int64_t{i[d]} * map.steps[d];
      inside &= x >= 0 && x <= map.last[d];
      offset +=
          x * static_cast<std::int64_t>(d == 0 ? element : map.strides[d - 1]);
    }
    for (std::size_t byte = 0; byte < element; ++byte) {
      const std::size_t plain = place + byte;
      const std::size_t mask = ((std::size_t{1} << map.swizzle) - 1) << 4;
      fn(plain ^ (plain >> 3 & mask),
         inside ? offset + static_cast<std::int64_t>(byte) : -1);
    }
    for (std::size_t d = 0; d < 5 && ++i[d] == count[d]; ++d) i[d] = 0;
  }
}

// k(map, image, at): the image is that of shared memory, `box` bytes of it:
// what it is before a store, and what it is behind a load.
std::string TensorKernel(const std::string& name, const LoweredSpelling& s,
                         bool loads) {
  const int dimensions = DimensionsOf(s);
  std::string text =
      ".visible .entry " + name +
      "(.param .align 64 .b8 map[128], .param .u64 image,\n"
      "    .param .align 4 .b8 at[20], .param .u32 box)\n{\n"
      "  .shared .align 1024 .b8 data[" +
      std::to_string(kBoxBytes) +
      "];\n  .shared .align 8 .b64 bar;\n"
      "  .reg .b64 %map, %image, %policy, %state;\n"
      "  .reg .b32 %i, %box, %word, %data, %c<5>;\n  .reg .b16 %h0;\n"
      "  .reg .pred %p0, %leader;\n"
      "  mov.b64 %policy, 0;\n  mov.b16 %h0, 1;\n"
      "  mov.b64 %map, map;\n  cvta.param.u64 %map, %map;\n"
      "  ld.param.u64 %image, [image];\n  ld.param.u32 %box, [box];\n"
      "  mov.u32 %i, %tid.x;\n  setp.eq.u32 %leader, %i, 0;\n" +
      InitAndMeet(1);
  std::string at;
  for (int d = 0; d < dimensions; ++d) {
    const std::string n = std::to_string(d);
    text += "  ld.param.s32 %c" + n + ", [at+" + std::to_string(4 * d) + "];\n";
    at += (d == 0 ? "%c" : ", %c") + n;
  }
  const std::string tensor = "[%map, {" + at + "}]";
  const std::string loop =
      "  mul.lo.u32 %i, %i, 4;\nLOOP:\n  setp.ge.u32 %p0, %i, %box;\n"
      "  @%p0 bra DONE;\n  cvt.u64.u32 %state, %i;\n"
      "  add.u64 %state, %image, %state;\n  mov.u32 %data, data;\n"
      "  add.u32 %data, %data, %i;\n";
  const std::string end = "  add.u32 %i, %i, " + std::to_string(4 * kThreads) +
                          ";\n  bra LOOP;\nDONE:\n";
  if (loads) {
    text +=
        "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], "
        "%box;\n  @%leader " +
        s.text + " [data], " + tensor + ", [bar]" +
        (s.Has("multicast::cluster") ? ", %h0" : "") + PolicyOf(s) + ";\n" +
        WaitForBytes() + loop +
        "  ld.shared.u32 %word, [%data];\n  st.global.u32 [%state], %word;\n" +
        end;
  } else {
    text += loop +
            "  ld.global.u32 %word, [%state];\n  st.shared.u32 [%data], "
            "%word;\n" +
            end + "  bar.sync 0;\n  @%leader " + s.text + " " + tensor +
            ", [data]" + PolicyOf(s) +
            ";\n  @%leader cp.async.bulk.commit_group;\n"
            "  @%leader cp.async.bulk.wait_group 0;\n";
  }
  return text + "  ret;\n}\n";
}

// Loads the box at `at`, or stores another one there, and compares.
void RunTensor(PtxModule& module, const std::string& kernel, bool loads,
               const Tensor& tensor, const Coordinates& at) {
  Buffer memory(module.device(), tensor.bytes.size());
  Buffer image(module.device(), kBoxBytes);
  std::vector<std::uint8_t> want_image(kBoxBytes, 0xee);
  std::vector<std::uint8_t> want_tensor = tensor.bytes;
  std::uint32_t box = 0;
  if (!loads) {
    std::iota(want_image.begin(), want_image.end(), std::uint8_t{1});
  }
  std::copy(want_image.begin(), want_image.end(), image.as<std::uint8_t>());
  std::copy(tensor.bytes.begin(), tensor.bytes.end(),
            memory.as<std::uint8_t>());
  ForBytes(tensor.map, at, [&](std::size_t place, std::int64_t offset) {
    ++box;
    if (loads) {
      want_image[place] = offset < 0
                              ? std::uint8_t{0}
                              : tensor.bytes[static_cast<std::size_t>(offset)];
    } else if (offset >= 0) {
      want_tensor[static_cast<std::size_t>(offset)] = want_image[place];
    }
  });
  formats::TensorMap map = tensor.map;
  map.address = memory.address();
  Launch launch;
  launch.block = {kThreads, 1, 1};
  AppendLe(launch.raw, map);
  AppendLe(launch.raw, image.address());
  for (const std::int32_t c : at) AppendLe(launch.raw, c);
  AppendLe(launch.raw, box);
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  const auto differs = [](const Buffer& got,
                          const std::vector<std::uint8_t>& want) {
    return std::mismatch(want.begin(), want.end(), got.as<std::uint8_t>())
               .first -
           want.begin();
  };
  EXPECT_EQ(differs(image, want_image), std::ssize(want_image))
      << "in shared memory";
  EXPECT_EQ(differs(memory, want_tensor), std::ssize(want_tensor))
      << "in the tensor";
}

// Others than boxes are with tensor_modes_exec_test.cc.
std::vector<LoweredSpelling> CopiesOfBoxes() {
  std::vector<LoweredSpelling> copies;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async.bulk.tensor")) {
    if (s.text.find("im2col") == s.text.npos &&
        s.text.find("tile::") == s.text.npos) {
      copies.push_back(s);
    }
  }
  return copies;
}

TEST(AsyncExec, CpAsyncBulkTensor) {
  KernelBatch batch{std::string(kHeader)};
  int copies = 0;
  for (const LoweredSpelling& s : CopiesOfBoxes()) {
    const bool loads = s.Has("mbarrier::complete_tx::bytes");
    const auto dimensions = static_cast<std::size_t>(DimensionsOf(s));
    const std::vector<std::uint32_t> sizes = {12, 5, 4, 3, 3};
    const std::vector<std::uint32_t> box = {8, 3, 2, 2, 2};
    const auto end = static_cast<std::ptrdiff_t>(dimensions);
    const Tensor tensor = TensorOf({sizes.begin(), sizes.begin() + end},
                                   {box.begin(), box.begin() + end}, 2);
    Coordinates at = {4, 1, 2, 0, 1};
    std::fill(at.begin() + end, at.end(), 0);
    ++copies;
    batch.Add(s.text, TensorKernel(batch.NextName(), s, loads),
              [=](PtxModule& module, const std::string& kernel) {
                RunTensor(module, kernel, loads, tensor, at);
              });
  }
  EXPECT_GT(copies, 10);
}

// Tensors and boxes of all kinds, also beyond every edge of the tensor.
TEST(AsyncExec, CpAsyncBulkTensorAnywhere) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : CopiesOfBoxes()) {
    const bool loads = s.Has("mbarrier::complete_tx::bytes");
    if (s.Has("tile") || s.Has("L2::cache_hint") || s.Has("shared::cluster") ||
        s.Has("multicast::cluster") || s.Has("cta_group::1") ||
        s.Has("cta_group::2")) {
      continue;
    }
    const auto dimensions = static_cast<std::size_t>(DimensionsOf(s));
    batch.Add(s.text, TensorKernel(batch.NextName(), s, loads),
              [=](PtxModule& module, const std::string& kernel) {
                std::mt19937 random(static_cast<std::uint32_t>(dimensions));
                const auto upto = [&random](std::uint32_t n) {
                  return static_cast<std::uint32_t>(random() % n);
                };
                for (int round = 0; round < 12; ++round) {
                  const int log2 = static_cast<int>(upto(4));
                  const std::uint32_t swizzle = upto(4);
                  std::vector<std::uint32_t> sizes, box;
                  const std::uint32_t row =
                      swizzle == 0 ? 16 * (1 + upto(3)) : 16u << swizzle;
                  for (std::size_t d = 0; d < dimensions; ++d) {
                    box.push_back(d == 0 ? row >> log2 : 1 + upto(4));
                    sizes.push_back(1 + upto(d == 0 ? 60 : 6));
                  }
                  Tensor tensor =
                      TensorOf(sizes, box, log2, static_cast<int>(upto(2)));
                  tensor.map.swizzle = static_cast<std::uint8_t>(swizzle);
                  Coordinates at = {};
                  for (std::size_t d = 0; d < dimensions; ++d) {
                    at[d] = static_cast<std::int32_t>(upto(sizes[d] + box[d])) -
                            static_cast<std::int32_t>(box[d]) + 1;
                    if (d != 0) {
                      tensor.map.steps[d] =
                          static_cast<std::uint8_t>(1 + upto(3));
                    }
                  }
                  SCOPED_TRACE(round);
                  RunTensor(module, kernel, loads, tensor, at);
                }
              });
  }
}

}  // namespace
}  // namespace cerberus::exec
