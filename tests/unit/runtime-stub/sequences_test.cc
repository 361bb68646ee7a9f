// The sequences, with the functions themselves and with their per-thread
// variants.
#include "sequences.h"

#include "emulated.h"

namespace cerberus::stub {
namespace {

class SequencesTest : public EmulatedTest,
                      public ::testing::WithParamInterface<Sequence> {};

TEST_P(SequencesTest, Plain) {
  EXPECT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
}

TEST_P(SequencesTest, PerThread) {
  const PerThreadVariants variants;
  EXPECT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Area, SequencesTest,
                         ::testing::ValuesIn(Sequences().begin(),
                                             Sequences().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace cerberus::stub
