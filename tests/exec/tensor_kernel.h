// Kernels that fill tensor memory, do something with it, and tell what it then
// is: of one block, or of a pair.
#ifndef CERBERUS_TESTS_EXEC_TENSOR_KERNEL_H_
#define CERBERUS_TESTS_EXEC_TENSOR_KERNEL_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {

inline constexpr std::string_view kTensorHeader =
    ".version 9.0\n.target sm_103a\n.address_size 64\n";
inline constexpr int kTensorLanes = 128, kTensorColumns = 512;
inline constexpr int kTensorThreads = 128;

// All of a block's tensor memory, [lane][column].
using TensorImage = std::vector<std::uint32_t>;
using Words = std::vector<std::uint32_t>;

inline std::uint32_t& At(TensorImage& image, int lane, int column) {
  const int at = lane * kTensorColumns + column;
  return image[static_cast<std::size_t>(at)];
}
TensorImage RandomImage(std::mt19937_64& random);

// Of many spellings so many that each two suffixes meet.
class Pairs {
 public:
  bool IsNew(const LoweredSpelling& spelling);

 private:
  std::set<std::pair<std::string, std::string>> seen_;
};

// k(in, out), of `blocks` blocks with 128 threads each. In each, the tensor
// memory is filled from `in`, 128 lanes of 512 words, behind which %further
// are `further` words of the block's own. Then `body` runs; %own is where each
// thread may leave `words` words. %t is the thread, %lane the first of its
// warp's lanes as part of an address, %taddr the address of all columns, %first
// whether the thread is the first of all. `body` ends with what it waits for;
// [done] is an mbarrier for one arrival.
struct TensorKernel {
  int blocks = 1;
  std::string declarations, body;
  int further = 0, words = 0;

  std::string Text(const std::string& name) const;
  // `images` and `further` by block; images are changed, `own` are the words
  // of all threads.
  void Run(PtxModule& module, const std::string& kernel,
           const std::vector<Words>& of_blocks,
           std::vector<TensorImage>* images, Words* own) const;
};

// All threads of all blocks meet.
std::string Meet(int blocks);

// Of the first thread: all that was asked for is to be told to [done] of all
// blocks, and all threads wait for it.
std::string CommitAndWait(int blocks);
// All threads wait for [done]; with `first_alone` those of the first block.
std::string WaitForCommit(bool first_alone = false);

// Expects them to be alike, and says where they are not.
void ExpectAlike(TensorImage& got, TensorImage& want);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_TENSOR_KERNEL_H_
