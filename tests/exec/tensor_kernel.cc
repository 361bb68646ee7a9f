#include "tests/exec/tensor_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace cerberus::exec {

TensorImage RandomImage(std::mt19937_64& random) {
  TensorImage image(kTensorLanes * kTensorColumns);
  for (std::uint32_t& word : image) {
    word = static_cast<std::uint32_t>(random());
  }
  return image;
}

bool Pairs::IsNew(const LoweredSpelling& spelling) {
  std::vector<std::string> words;
  std::istringstream text(spelling.text);
  for (std::string word; std::getline(text, word, '.');) words.push_back(word);
  bool any = false;
  for (const std::string& word : words) {
    for (const std::string& other : words) {
      any |= seen_.emplace(word, other).second;
    }
  }
  return any;
}

std::string Meet(int blocks) {
  return blocks == 1 ? "  bar.sync 0;\n"
                     : "  barrier.cluster.arrive.aligned;\n"
                       "  barrier.cluster.wait.aligned;\n";
}

std::string TensorKernel::Text(const std::string& name) const {
  const std::string group = std::to_string(blocks);
  const std::string meet = Meet(blocks);
  const std::size_t image = kTensorLanes * kTensorColumns * 4;
  const std::size_t in_bytes = image + static_cast<std::size_t>(further) * 4;
  const std::size_t own_bytes =
      static_cast<std::size_t>(words) * kTensorThreads * 4;
  return ".visible .entry " + name + "(.param .u64 in, .param .u64 out)\n" +
         ".reqntid 128\n" +
         (blocks == 1 ? "" : ".reqnctapercluster " + group + "\n") +
         "{\n  .shared .align 16 .b32 place[4];\n"
         "  .shared .align 8 .b64 done;\n" +
         declarations + R"(  .reg .b64 %in, %out, %own, %at, %image, %further;
  .reg .b32 %t, %taddr, %i, %x, %lane, %rank;
  .reg .pred %p, %first;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %ctaid.x;
  mad.wide.u32 %in, %rank, )" +
         std::to_string(in_bytes) + ", %in;\n  mad.wide.u32 %out, %rank, " +
         std::to_string(own_bytes + image) + R"(, %out;
  setp.lt.u32 %p, %t, 32;
  setp.eq.u32 %first, %t, 0;
  @%p tcgen05.alloc.cta_group::)" +
         group + R"(.sync.aligned.shared::cta.b32 [place], 512;
  @%first mbarrier.init.shared::cta.b64 [done], 1;
  setp.eq.and.u32 %first, %rank, 0, %first;
  bar.sync 0;
  ld.shared.b32 %taddr, [place];
  and.b32 %lane, %t, 96;
  shl.b32 %lane, %lane, 16;
  mad.wide.u32 %at, %t, 2048, %in;
  add.u64 %further, %in, )" +
         std::to_string(image) + R"(;
  mov.u32 %i, %lane;
FILL:
  ld.global.b32 %x, [%at];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%i], {%x};
  add.u64 %at, %at, 4;
  add.u32 %i, %i, 1;
  and.b32 %x, %i, 0x1ff;
  setp.ne.u32 %p, %x, 0;
  @%p bra FILL;
  tcgen05.wait::st.sync.aligned;
)" + meet +
         "  mad.wide.u32 %own, %t, " + std::to_string(4 * words) +
         ", %out;\n  add.u64 %image, %out, " + std::to_string(own_bytes) +
         ";\n" + body + "  tcgen05.wait::st.sync.aligned;\n" + meet +
         R"(  mad.wide.u32 %at, %t, 2048, %image;
  mov.u32 %i, %lane;
DUMP:
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x}, [%i];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%at], %x;
  add.u64 %at, %at, 4;
  add.u32 %i, %i, 1;
  and.b32 %x, %i, 0x1ff;
  setp.ne.u32 %p, %x, 0;
  @%p bra DUMP;
  bar.sync 0;
  setp.lt.u32 %p, %t, 32;
  @%p tcgen05.relinquish_alloc_permit.cta_group::)" +
         group + R"(.sync.aligned;
  @%p tcgen05.dealloc.cta_group::)" +
         group + R"(.sync.aligned.b32 %taddr, 512;
  ret;
}
)";
}

void TensorKernel::Run(PtxModule& module, const std::string& kernel,
                       const std::vector<Words>& of_blocks,
                       std::vector<TensorImage>* images, Words* own) const {
  const std::size_t image = kTensorLanes * kTensorColumns;
  const auto count = static_cast<std::size_t>(blocks);
  const std::size_t in_words = image + static_cast<std::size_t>(further);
  const std::size_t own_words =
      static_cast<std::size_t>(words) * kTensorThreads;
  Buffer in(module.device(), count * in_words * 4);
  Buffer out(module.device(), count * (own_words + image) * 4);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t* to = in.as<std::uint32_t>() + i * in_words;
    std::copy((*images)[i].begin(), (*images)[i].end(), to);
    if (further != 0) {
      std::copy(of_blocks[i].begin(), of_blocks[i].end(), to + image);
    }
  }
  Launch launch;
  launch.grid = launch.cluster = {static_cast<std::uint32_t>(blocks), 1, 1};
  launch.block = {kTensorThreads, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  own->clear();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* from =
        out.as<std::uint32_t>() + i * (own_words + image);
    own->insert(own->end(), from, from + own_words);
    (*images)[i].assign(from + own_words, from + own_words + image);
  }
}

std::string CommitAndWait(int blocks) {
  const std::string commit =
      blocks == 1 ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one"
                    ".shared::cluster.b64 [done];\n"
                  : "tcgen05.commit.cta_group::2.mbarrier::arrive::one"
                    ".shared::cluster.multicast::cluster.b64 [done], 3;\n";
  return "  @%first " + commit + WaitForCommit();
}

std::string WaitForCommit(bool first_alone) {
  const std::string skip =
      first_alone ? "  setp.ne.u32 %p, %rank, 0;\n  @%p bra WAITED;\n" : "";
  return skip +
         "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p, [done], 0;\n"
         "  @!%p bra WAIT;\nWAITED:\n"
         "  tcgen05.fence::after_thread_sync;\n";
}

void ExpectAlike(TensorImage& got, TensorImage& want) {
  for (int lane = 0; lane < kTensorLanes; ++lane) {
    for (int column = 0; column < kTensorColumns; ++column) {
      ASSERT_EQ(At(got, lane, column), At(want, lane, column))
          << "lane " << lane << ", column " << column;
    }
  }
}

}  // namespace cerberus::exec
