// Device services: what kernels that print, assert and allocate leave in the
// context block's ring, record and heap. Layouts: docs/launch-abi.md. How
// arguments are packed: CUDA C++ Programming Guide, "Formatted Output"; the
// declarations are those that nvcc writes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "formats/launch_abi.h"
#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

constexpr std::uint64_t kRingHeader = 32;
constexpr std::uint64_t kHeapHeader = 64 + 8 * 128;

// Context block, record, ring and heap, as the stub makes them. The
// emulator's device memory is the host's.
class Services {
 public:
  Services(PtxModule& module, std::uint64_t ring_bytes,
           std::uint64_t heap_bytes)
      : block_(module.device(), 48),
        record_(module.device(), 64),
        ring_(module.device(), kRingHeader + ring_bytes),
        heap_(module.device(), kHeapHeader + heap_bytes) {
    std::memset(record_.as<void>(), 0, record_.size());
    std::memset(ring_.as<void>(), 0, ring_.size());
    std::memset(heap_.as<void>(), 0, kHeapHeader);
    const std::uint64_t fields[] = {
        1,          record_.address(), ring_.address(),
        ring_bytes, heap_.address(),   heap_.size()};
    std::memcpy(block_.as<void>(), fields, sizeof fields);
    const std::uint64_t context = module.Symbol("__cerberus_ctx");
    EXPECT_NE(context, 0u);
    if (context != 0) {
      *reinterpret_cast<std::uint64_t*>(context) = block_.address();
    }
  }

  std::uint64_t written() const { return ring_.as<std::uint64_t>()[0]; }
  void set_read(std::uint64_t read) { ring_.as<std::uint64_t>()[1] = read; }
  std::uint64_t dropped() const { return ring_.as<std::uint64_t>()[2]; }
  std::uint64_t word(std::uint64_t i) const {
    return ring_.as<std::uint64_t>()[4 + i];
  }
  const std::uint32_t* record() const { return record_.as<std::uint32_t>(); }
  std::uint64_t heap_start() const { return heap_.address() + kHeapHeader; }
  std::uint64_t heap_end() const { return heap_.address() + heap_.size(); }

 private:
  Buffer block_, record_, ring_, heap_;
};

std::string AsBytes(const std::string& text) {
  std::string list;
  for (char c : text) list += std::to_string(c) + ", ";
  return "[" + std::to_string(text.size() + 1) + "] = {" + list + "0};\n";
}

constexpr char kHead[] = ".version 9.0\n.target sm_75\n.address_size 64\n";
constexpr char kVprintf[] =
    ".extern .func (.param .b32 func_retval0) vprintf\n"
    "(.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);\n";
constexpr char kVprintfOfNothing[] =
    ".extern .func vprintf(.param .b64 format, .param .b64 arguments);\n";

// k(out): thread t prints the format with `stores` as arguments, which may
// use %t (its number), and stores what vprintf answers.
// Without `answers` vprintf is declared as taichi does, with no result.
std::string PrintKernel(const std::string& format, const std::string& stores,
                        bool answers = true) {
  return std::string(kHead) + (answers ? kVprintf : kVprintfOfNothing) +
         ".global .align 1 .b8 format" + AsBytes(format) +
         ".global .align 1 .b8 text[6] = {104, 101, 108, 108, 111, 0};\n"
         ".visible .entry k(.param .u64 out)\n{\n"
         "  .local .align 8 .b8 packed[64];\n"
         "  .reg .b64 %p, %g, %f, %o, %s;\n  .reg .b32 %t, %r;\n"
         "  mov.u32 %t, %tid.x;\n  mov.u64 %p, packed;\n"
         "  cvta.local.u64 %g, %p;\n  mov.u64 %s, text;\n"
         "  cvta.global.u64 %s, %s;\n" +
         stores +
         "  mov.u64 %f, format;\n  cvta.global.u64 %f, %f;\n  {\n"
         "  .param .b64 param0;\n  st.param.b64 [param0+0], %f;\n"
         "  .param .b64 param1;\n  st.param.b64 [param1+0], %g;\n"
         "  .param .b32 retval0;\n"
         "  st.param.b32 [retval0], 99;\n  call.uni " +
         (answers ? "(retval0), " : "") +
         "vprintf, (param0, param1);\n"
         "  ld.param.b32 %r, [retval0+0];\n  }\n"
         "  ld.param.u64 %o, [out];\n  mad.wide.u32 %o, %t, 4, %o;\n"
         "  st.global.u32 [%o], %r;\n  ret;\n}\n";
}

struct Printed {
  std::vector<std::uint64_t> words;  // behind the format
  int answer = 0;
};

// One thread's record.
Printed Print(const std::string& format, const std::string& stores,
              bool answers = true) {
  Printed printed;
  const std::string ptx = PrintKernel(format, stores, answers);
  auto module = PtxModule::Compile(ptx);
  if (!module) {
    ADD_FAILURE() << module.error().ToString() << ptx;
    return printed;
  }
  Services services(**module, 1024, 0);
  Buffer out((*module)->device(), 4);
  Launch launch;
  launch.params = {out.address()};
  const Status status = (*module)->Run("k", launch);
  EXPECT_TRUE(status) << (status ? "" : status.error().ToString());
  printed.answer = *out.as<int>();
  const std::uint64_t first = services.word(0);
  const std::uint64_t size = (first & 0xffffffff) / 8;
  EXPECT_EQ(services.written(), size);
  EXPECT_EQ(first >> 32, format.size());
  EXPECT_EQ(services.dropped(), 0u);
  std::string seen;
  const std::uint64_t format_words = (format.size() + 7) / 8;
  for (std::uint64_t i = 0; i < format_words; ++i) {
    const std::uint64_t word = services.word(1 + i);
    seen.append(reinterpret_cast<const char*>(&word), 8);
  }
  EXPECT_EQ(seen.substr(0, format.size()), format);
  for (std::uint64_t i = 1 + format_words; i < size; ++i) {
    printed.words.push_back(services.word(i));
  }
  return printed;
}

TEST(ServiceExec, PrintfPacksEveryConversion) {
  using Words = std::vector<std::uint64_t>;
  constexpr std::uint64_t kHello = 0x6f6c6c6568;
  const struct {
    const char* format;
    const char* stores;
    Words words;
    int answer;
  } kCases[] = {
      {"nothing %% here", "", {}, 0},
      {"%d", "  st.local.u32 [%p], -5;\n", {0xfffffffb}, 1},
      {"%hhd%hd%c",
       "  st.local.u32 [%p], 1;\n  st.local.u32 [%p+4], 2;\n"
       "  st.local.u32 [%p+8], 3;\n",
       {1, 2, 3},
       3},
      // Eight bytes start at a multiple of eight.
      {"%c%f%x%lld",
       "  st.local.u32 [%p], 65;\n  st.local.f64 [%p+8], 1.5;\n"
       "  st.local.u32 [%p+16], 7;\n"
       "  st.local.u64 [%p+24], 0x123456789a;\n",
       {65, 0x3ff8000000000000, 7, 0x123456789a},
       4},
      {"%5.3ld %zu %p",
       "  st.local.u64 [%p], 1;\n  st.local.u64 [%p+8], 2;\n"
       "  st.local.u64 [%p+16], 3;\n",
       {1, 2, 3},
       3},
      {"%-*.*f",
       "  st.local.u32 [%p], 9;\n  st.local.u32 [%p+4], 2;\n"
       "  st.local.f64 [%p+8], 1.5;\n",
       {9, 2, 0x3ff8000000000000},
       3},
      {"%s!", "  st.local.u64 [%p], %s;\n", {5, kHello}, 1},
      {"%.3s", "  st.local.u64 [%p], %s;\n", {3, kHello & 0xffffff}, 1},
      {"%.*s%d",
       "  st.local.u32 [%p], 4;\n  st.local.u64 [%p+8], %s;\n"
       "  st.local.u32 [%p+16], 6;\n",
       {4, 4, kHello & 0xffffffff, 6},
       3},
      {"%s%s",
       "  st.local.u64 [%p], 0;\n  st.local.u64 [%p+8], %s;\n",
       {~std::uint64_t{0}, 5, kHello},
       2},
      // A text in the thread's own memory.
      {"%s",
       "  st.local.u32 [%p+16], 0x6968;\n  add.u64 %o, %g, 16;\n"
       "  st.local.u64 [%p], %o;\n",
       {2, 0x6968},
       1},
      // No conversions of CUDA's: nothing is read for them.
      {"%n%d", "  st.local.u32 [%p], 8;\n", {8}, 1},
      {"%d %", "  st.local.u32 [%p], 8;\n", {8}, 1},
  };
  for (const auto& c : kCases) {
    const Printed printed = Print(c.format, c.stores);
    EXPECT_EQ(printed.words, c.words) << c.format;
    EXPECT_EQ(printed.answer, c.answer) << c.format;
  }
  const Printed printed =
      Print("%d", "  st.local.u32 [%p], 5;\n", /*answers=*/false);
  EXPECT_EQ(printed.words, Words{5});
  EXPECT_EQ(printed.answer, 99);
}

TEST(ServiceExec, PrintfOfManyThreadsFillsTheRingAndNoMore) {
  const std::string ptx = PrintKernel("%d",
                                      "  setp.lt.u32 %q, %t, 3;\n"
                                      "  st.local.u32 [%p], %t;\n");
  std::string text = ptx;
  text.replace(text.find(".reg .b32 %t"), 0, ".reg .pred %q;\n  ");
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  // Records of three words: 85 fit into 256 words.
  Services services(**module, 256 * 8, 0);
  Buffer out((*module)->device(), 4 * 128);
  Launch launch;
  launch.block = {128, 1, 1};
  launch.params = {out.address()};
  std::vector<int> seen(128);
  std::uint64_t read = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE((*module)->Run("k", launch));
    EXPECT_EQ(services.written() - read, 85u * 3);
    EXPECT_EQ(services.dropped(), 43u * (round + 1));
    for (; read < services.written(); read += 3) {
      EXPECT_EQ(services.word(read % 256), std::uint64_t{2} << 32 | 24);
      ++seen[services.word((read + 2) % 256) % 128];
    }
    services.set_read(read);
  }
  int all = 0;
  for (int count : seen) {
    EXPECT_LE(count, 3);
    all += count;
  }
  EXPECT_EQ(all, 3 * 85);
}

// Thread n of the grid, thread t of its block, checks so many assertions: that
// with the number i, in line 42 + i, if `check` of i sets %q. The last comes
// first.
std::string AssertKernel(int count,
                         const std::function<std::string(int)>& check) {
  std::string ptx =
      std::string(kHead) +
      ".extern .func __assertfail\n(.param .b64 p0, .param .b64 p1, "
      ".param .b32 p2, .param .b64 p3, .param .b64 p4);\n"
      ".global .align 1 .b8 message" +
      AsBytes("n < 3") + ".global .align 1 .b8 file" + AsBytes("a.cu") +
      ".global .align 1 .b8 function" + AsBytes("void k(int)") +
      ".visible .entry k(.param .u64 out)\n{\n"
      "  .reg .pred %q;\n  .reg .b32 %t, %r, %n, %y;\n"
      "  .reg .b64 %a, %b, %c, %o;\n"
      "  mov.u32 %t, %tid.x;\n  mov.u32 %r, %ctaid.x;\n"
      "  mov.u32 %n, %ntid.x;\n  mad.lo.u32 %n, %r, %n, %t;\n"
      "  mov.u64 %a, message;\n  cvta.global.u64 %a, %a;\n"
      "  mov.u64 %b, file;\n  cvta.global.u64 %b, %b;\n"
      "  mov.u64 %c, function;\n  cvta.global.u64 %c, %c;\n";
  for (int i = count - 1; i >= 0; --i) {
    ptx += fmt::format(
        "  {}  @!%q bra GOOD{};\n  {{\n"
        "  .param .b64 param0;\n  st.param.b64 [param0+0], %a;\n"
        "  .param .b64 param1;\n  st.param.b64 [param1+0], %b;\n"
        "  .param .b32 param2;\n  st.param.b32 [param2+0], {};\n"
        "  .param .b64 param3;\n  st.param.b64 [param3+0], %c;\n"
        "  .param .b64 param4;\n  st.param.b64 [param4+0], 1;\n"
        "  call.uni __assertfail, (param0, param1, param2, param3, param4);\n"
        "  }}\nGOOD{}:\n",
        check(i), i, 42 + i, i);
  }
  return ptx +
         "  ld.param.u64 %o, [out];\n  mad.wide.u32 %o, %n, 4, %o;\n"
         "  st.global.u32 [%o], 1;\n  ret;\n}\n";
}

// Thread 69 of the grid fails the last. Many of them in a module are calls, few
// are in place.
class Assertions : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ServiceExec, Assertions,
                         ::testing::Values(1, 3, 8, 40));

TEST_P(Assertions, FirstFailedOneIsRecorded) {
  const std::string ptx = AssertKernel(GetParam(), [](int i) {
    return fmt::format("setp.eq.u32 %q, %n, {};\n", i == 0 ? 69 : 1000 + i);
  });
  auto module = PtxModule::Compile(ptx);
  ASSERT_TRUE(module) << module.error().ToString();
  Services services(**module, 64, 0);
  Buffer out((*module)->device(), 4 * 128);
  std::memset(out.as<void>(), 0, out.size());
  Launch launch;
  launch.grid = {2, 1, 1};
  launch.block = {64, 1, 1};
  launch.params = {out.address()};
  ASSERT_TRUE((*module)->Run("k", launch));
  const std::uint32_t* record = services.record();
  EXPECT_EQ(record[0], 2u);
  EXPECT_EQ(record[1], 42u);
  const std::vector<std::uint32_t> where(record + 2, record + 8);
  EXPECT_EQ(where, (std::vector<std::uint32_t>{1, 0, 0, 5, 0, 0}));
  std::uint64_t texts[4];
  std::memcpy(texts, record + 8, sizeof texts);
  EXPECT_STREQ(reinterpret_cast<const char*>(texts[0]), "k");
  EXPECT_STREQ(reinterpret_cast<const char*>(texts[1]), "n < 3");
  EXPECT_STREQ(reinterpret_cast<const char*>(texts[2]), "a.cu");
  EXPECT_STREQ(reinterpret_cast<const char*>(texts[3]), "void k(int)");
  // Thread 69 ended, with what was left of its warp; other warps ran on.
  for (int i = 0; i < 128; ++i) {
    if (i >= 64 && i < 96 && i != 69) continue;
    EXPECT_EQ(out.as<int>()[i], i == 69 ? 0 : 1) << i;
  }
}

// All lanes but the last fail, each another one or one that several fail.
class FewAssertions : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ServiceExec, FewAssertions,
                         ::testing::Values(1, 3, 8, 31));

TEST_P(FewAssertions, EachThreadThatFailsIsNamed) {
  constexpr std::uint32_t kLanes = 32;
  const std::string ptx = AssertKernel(GetParam(), [](int i) {
    return fmt::format(
        "rem.u32 %y, %n, {};\n  setp.eq.u32 %q, %y, {};\n"
        "  setp.ne.and.u32 %q, %n, {}, %q;\n",
        GetParam(), i, kLanes - 1);
  });
  auto module = PtxModule::Compile(ptx);
  ASSERT_TRUE(module) << module.error().ToString();
  Services services(**module, 8192, 0);
  Buffer out((*module)->device(), 4 * kLanes);
  std::memset(out.as<void>(), 0, out.size());
  Launch launch;
  launch.block = {kLanes, 1, 1};
  launch.params = {out.address()};
  ASSERT_TRUE((*module)->Run("k", launch));
  // Its size; a length and a word of the file's name, the line, a length and
  // two words of the function's, the block, the thread, the message.
  constexpr std::uint64_t kLine = 3, kThread = 10, kWords = 15;
  ASSERT_EQ(services.written(), kWords * (kLanes - 1));
  std::vector<std::uint64_t> threads;
  for (std::uint64_t at = 0; at < services.written(); at += kWords) {
    ASSERT_EQ(services.word(at), formats::kAssertionRecord | kWords * 8);
    const std::uint64_t thread = services.word(at + kThread);
    threads.push_back(thread);
    EXPECT_EQ(services.word(at + kLine), 42 + thread % GetParam());
  }
  std::sort(threads.begin(), threads.end());
  for (std::uint32_t i = 0; i + 1 < kLanes; ++i) EXPECT_EQ(threads[i], i);
  EXPECT_EQ(out.as<int>()[kLanes - 1], 1);
}

constexpr char kHeapKernels[] =
    ".extern .func (.param .b64 func_retval0) malloc (.param .b64 p0);\n"
    ".extern .func (.param .b64 func_retval0) __cuda_syscall_aligned_malloc\n"
    "(.param .b64 p0, .param .b64 p1);\n"
    ".extern .func free (.param .b64 p0);\n"
    ".visible .entry make(.param .u64 out, .param .u64 size, "
    ".param .u64 step)\n{\n"
    "  .reg .b32 %t;\n  .reg .b64 %o, %n, %s, %w;\n"
    "  mov.u32 %t, %tid.x;\n  cvt.u64.u32 %w, %t;\n"
    "  ld.param.u64 %n, [size];\n  ld.param.u64 %s, [step];\n"
    "  mad.lo.u64 %n, %w, %s, %n;\n  {\n"
    "  .param .b64 param0;\n  st.param.b64 [param0+0], %n;\n"
    "  .param .b64 retval0;\n  call.uni (retval0), malloc, (param0);\n"
    "  ld.param.b64 %s, [retval0+0];\n  }\n"
    "  ld.param.u64 %o, [out];\n  mad.wide.u32 %o, %t, 8, %o;\n"
    "  st.global.u64 [%o], %s;\n  ret;\n}\n"
    ".visible .entry make_aligned(.param .u64 out, .param .u64 size, "
    ".param .u64 align)\n{\n"
    "  .reg .b32 %t;\n  .reg .b64 %o, %n, %s;\n"
    "  mov.u32 %t, %tid.x;\n"
    "  ld.param.u64 %n, [size];\n  ld.param.u64 %s, [align];\n  {\n"
    "  .param .b64 param0;\n  st.param.b64 [param0+0], %n;\n"
    "  .param .b64 param1;\n  st.param.b64 [param1+0], %s;\n"
    "  .param .b64 retval0;\n"
    "  call.uni (retval0), __cuda_syscall_aligned_malloc, (param0, param1);\n"
    "  ld.param.b64 %s, [retval0+0];\n  }\n"
    "  ld.param.u64 %o, [out];\n  mad.wide.u32 %o, %t, 8, %o;\n"
    "  st.global.u64 [%o], %s;\n  ret;\n}\n"
    ".visible .entry drop(.param .u64 in)\n{\n"
    "  .reg .b32 %t;\n  .reg .b64 %o, %s;\n"
    "  mov.u32 %t, %tid.x;\n"
    "  ld.param.u64 %o, [in];\n  mad.wide.u32 %o, %t, 8, %o;\n"
    "  ld.global.u64 %s, [%o];\n  {\n"
    "  .param .b64 param0;\n  st.param.b64 [param0+0], %s;\n"
    "  call.uni free, (param0);\n  }\n  ret;\n}\n";

class HeapExec : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kThreads = 96;
  static constexpr std::uint64_t kBytes = 64 << 10;

  void SetUp() override {
    auto module = PtxModule::Compile(std::string(kHead) + kHeapKernels);
    ASSERT_TRUE(module) << module.error().ToString();
    module_ = std::move(*module);
    services_ = std::make_unique<Services>(*module_, 64, kBytes);
    pointers_ = std::make_unique<Buffer>(module_->device(), 8 * kThreads);
  }
  std::vector<std::uint64_t> Make(std::uint32_t threads, std::uint64_t size,
                                  std::uint64_t step,
                                  const char* kernel = "make") {
    Launch launch;
    launch.block = {threads, 1, 1};
    launch.params = {pointers_->address(), size, step};
    const Status status = module_->Run(kernel, launch);
    EXPECT_TRUE(status) << status.error().ToString();
    const auto* out = pointers_->as<std::uint64_t>();
    return {out, out + threads};
  }
  void Drop(const std::vector<std::uint64_t>& blocks) {
    std::copy(blocks.begin(), blocks.end(), pointers_->as<std::uint64_t>());
    Launch launch;
    launch.block = {static_cast<std::uint32_t>(blocks.size()), 1, 1};
    launch.params = {pointers_->address()};
    const Status status = module_->Run("drop", launch);
    EXPECT_TRUE(status) << status.error().ToString();
  }
  // All there, in the heap, aligned, and none over another; `size(i)` bytes.
  template <typename Size>
  void ExpectApart(const std::vector<std::uint64_t>& blocks, Size size,
                   std::uint64_t align = 16) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_GE(blocks[i], services_->heap_start()) << i;
      EXPECT_LE(blocks[i] + size(i), services_->heap_end()) << i;
      EXPECT_EQ(blocks[i] % align, 0u) << i;
      ranges.emplace_back(blocks[i], blocks[i] + size(i));
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    }
    for (std::uint64_t block : blocks) {
      if (block == 0) continue;
      std::memset(reinterpret_cast<void*>(block), 0xee, size(0));
    }
  }

  std::unique_ptr<PtxModule> module_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Buffer> pointers_;
};

TEST_F(HeapExec, BlocksOfManySizesAreReused) {
  // 96 threads with 1 to 571 bytes take 27 KiB; 30 rounds would not fit.
  for (int round = 0; round < 30; ++round) {
    const auto blocks = Make(kThreads, 1, 6);
    ExpectApart(blocks, [](std::size_t i) { return i == 0 ? 1 : 1 + 6 * i; });
    Drop(blocks);
  }
  // A size at a time: what was given back serves other sizes.
  for (std::uint64_t size : {16, 100, 200, 350, 40, 16}) {
    const auto blocks = Make(kThreads, size, 0);
    ExpectApart(blocks, [size](std::size_t) { return size; });
    Drop(blocks);
  }
}

TEST_F(HeapExec, FullHeapAnswersNull) {
  const auto blocks = Make(kThreads, 1024, 0);
  const auto got = static_cast<std::size_t>(std::count_if(
      blocks.begin(), blocks.end(), [](std::uint64_t b) { return b != 0; }));
  // 64 KiB in all; a fifth may go to size classes.
  EXPECT_GE(got, 50u);
  EXPECT_LE(got, 63u);
  Drop(blocks);  // null among them
  EXPECT_NE(Make(1, 1024, 0)[0], 0u);
  EXPECT_EQ(Make(1, kBytes, 0)[0], 0u);
  EXPECT_EQ(Make(1, ~std::uint64_t{0}, 0)[0], 0u);
}

TEST_F(HeapExec, WholeHeapAndSplit) {
  const auto whole = Make(1, kBytes - 16, 0);
  ASSERT_NE(whole[0], 0u);
  EXPECT_EQ(Make(1, 16, 0)[0], 0u);
  Drop(whole);
  // The one large block serves many small ones.
  const auto blocks = Make(kThreads, 400, 0);
  ExpectApart(blocks, [](std::size_t) { return 400; });
}

TEST_F(HeapExec, AlignedBlocksCanBeFreed) {
  for (int round = 0; round < 30; ++round) {
    const auto blocks = Make(32, 100, 256, "make_aligned");
    ExpectApart(blocks, [](std::size_t) { return 100; }, 256);
    Drop(blocks);
  }
}

TEST_F(HeapExec, FreeingTwiceOrElsewhereIsHarmless) {
  const auto block = Make(1, 64, 0);
  Drop({block[0], block[0], block[0]});
  const auto pair = Make(2, 64, 0);
  EXPECT_NE(pair[0], pair[1]);
  Drop({pointers_->address(), pair[0] + 8, services_->heap_start(),
        services_->heap_end()});
  ExpectApart(Make(kThreads, 64, 0), [](std::size_t) { return 64; });
}

TEST(ServiceExec, DeclarationsThatAreNotCudasAreRefused) {
  const auto refused = PtxModule::Compile(
      std::string(kHead) +
      ".extern .func malloc (.param .b32 p0);\n"
      ".visible .entry k()\n{\n  .reg .b64 %r;\n  {\n"
      "  .param .b32 param0;\n  st.param.b32 [param0+0], 8;\n"
      "  call.uni malloc, (param0);\n  }\n  ret;\n}\n");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().ToString().find("'malloc' is not declared as "
                                            "CUDA's"),
            std::string::npos)
      << refused.error().ToString();
}

}  // namespace
}  // namespace cerberus::exec
