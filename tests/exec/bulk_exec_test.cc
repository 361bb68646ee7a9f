// Bulk copies.
//
// PTX ISA 9.0, "Data Movement and Conversion Instructions: Bulk copy".
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace cerberus::exec
