// What tests of asynchronous copies and of mbarrier objects share: a kernel of
// 64 threads around the instruction under test.
#ifndef CERBERUS_TESTS_EXEC_ASYNC_EXEC_TEST_H_
#define CERBERUS_TESTS_EXEC_ASYNC_EXEC_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "formats/tensor_map.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {

constexpr std::uint32_t kThreads = 64;
constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";

// k(in, out) with %in and %out pointing at the thread's 16 bytes, shared
// variables `bar` and `data`, and their generic addresses.
inline std::string Kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 in, .param .u64 out)\n{\n"
         "  .shared .align 8 .b64 bar;\n"
         "  .shared .align 128 .b8 data[1024];\n"
         "  .shared .align 128 .b8 copy[1024];\n"
         "  .reg .b64 %in, %out, %first_in, %first_out, %state, %bar;\n"
         "  .reg .b64 %policy, %l<8>;\n  .reg .b128 %q<2>;\n"
         "  .reg .b32 %thread, %r<16>;\n  .reg .b16 %h<4>;\n"
         "  .reg .pred %p<4>, %leader;\n  .reg .f32 %f<4>;\n"
         "  ld.param.u64 %first_in, [in];\n"
         "  ld.param.u64 %first_out, [out];\n"
         "  mov.u32 %thread, %tid.x;\n  mov.b64 %policy, 0;\n"
         "  mad.wide.u32 %in, %thread, 16, %first_in;\n"
         "  mad.wide.u32 %out, %thread, 16, %first_out;\n"
         "  setp.eq.u32 %leader, %thread, 0;\n"
         "  mov.u64 %bar, bar;\n  cvta.shared.u64 %bar, %bar;\n" +
         body + "  ret;\n}\n";
}

using Check = std::function<void(const std::uint32_t* out)>;

// Thread t's input is four words, 4 t + 1, ...; `check` sees all outputs.
inline KernelBatch::Run RunAndCheck(const Check& check) {
  return [check](PtxModule& module, const std::string& kernel) {
    Buffer in(module.device(), 16 * kThreads);
    Buffer out(module.device(), 16 * kThreads);
    std::uint32_t* words = in.as<std::uint32_t>();
    std::iota(words, words + 4 * kThreads, 1u);
    std::fill_n(out.as<std::uint32_t>(), 4 * kThreads, 0xeeeeeeeeu);
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {in.address(), out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    check(out.as<std::uint32_t>());
  };
}

// "[bar]", or the generic address where the instruction names no space.
inline std::string ObjectOf(const LoweredSpelling& s) {
  return s.text.find(".shared") != std::string::npos ? "[bar]" : "[%bar]";
}

inline std::string InitAndMeet(int count) {
  return "  @%leader mbarrier.init.shared::cta.b64 [bar], " +
         std::to_string(count) + ";\n  bar.sync 0;\n";
}

inline std::string PolicyOf(const LoweredSpelling& s) {
  return s.Has("L2::cache_hint") ? ", %policy" : "";
}

// Each thread copies 16 bytes of its own into shared memory and stores what
// arrived.
inline std::string StoreCopied() {
  return "  ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%l0];\n"
         "  st.global.v4.u32 [%out], {%r4, %r5, %r6, %r7};\n";
}
inline std::string PlaceOfThread() {
  return "  mov.u64 %l1, data;\n  mad.wide.u32 %l0, %thread, 16, %l1;\n"
         "  mov.u32 %r0, -1;\n"
         "  st.shared.v4.u32 [%l0], {%r0, %r0, %r0, %r0};\n";
}

inline Check Copied(int size, const std::function<int(std::uint32_t)>& valid) {
  return [size, valid](const std::uint32_t* out) {
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      std::uint8_t want[16];
      std::memset(want, 0xff, sizeof want);
      std::uint32_t source[4];
      std::iota(source, source + 4, 4 * t + 1);
      std::memset(want, 0, static_cast<std::size_t>(size));
      std::memcpy(want, source,
                  static_cast<std::size_t>(std::min(size, valid(t))));
      ASSERT_EQ(std::memcmp(out + 4 * t, want, 16), 0) << t;
    }
  };
}

inline std::string WaitForBytes() {
  return "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0;\n"
         "  @!%p0 bra WAIT;\n";
}

// ---- Tensor maps ------------------------------------------------------------

inline int DimensionsOf(const LoweredSpelling& s) {
  return s.text[s.text.find("d.") - 1] - '0';
}

// Of a tensor whose rows begin at multiples of 16 bytes, `pitch` times 16 of
// which lie unused behind each row, slice and so on.
inline formats::TensorMap TensorMapOf(const std::vector<std::uint32_t>& sizes,
                                      const std::vector<std::uint32_t>& box,
                                      int element_log2, int pitch = 0) {
  formats::TensorMap map;
  map.kind = formats::kTensorMapTiled;
  map.rank = static_cast<std::uint8_t>(sizes.size());
  map.element_log2 = static_cast<std::uint8_t>(element_log2);
  std::uint64_t size = std::uint64_t{sizes[0]} << element_log2;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    map.last[i] = sizes[i] - 1;
    map.box[i] = static_cast<std::uint16_t>(i < box.size() ? box[i] : 1);
    if (i == 0) continue;
    size = (size + 15) / 16 * 16 + static_cast<std::uint64_t>(16 * pitch);
    map.strides[i - 1] = size;
    size *= sizes[i];
  }
  return map;
}
inline std::size_t BytesOf(const formats::TensorMap& map) {
  return map.rank == 1
             ? (std::size_t{map.last[0]} + 1) << map.element_log2
             : map.strides[map.rank - 2u] * (map.last[map.rank - 1u] + 1);
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_ASYNC_EXEC_TEST_H_
