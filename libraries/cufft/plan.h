// What a cuFFT plan is: dimensions, layouts of input and output, types.
#ifndef CERBERUS_LIBRARIES_CUFFT_PLAN_H_
#define CERBERUS_LIBRARIES_CUFFT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "libraries/common/driver.h"
#include "libraries/cublas/typed.h"
#include "libraries/cufft/transform.h"

namespace cerberus::libraries::cufft {

enum Status : int {
  kSuccess = 0,
  kInvalidPlan = 1,
  kAllocFailed = 2,
  kInvalidType = 3,
  kInvalidValue = 4,
  kInternalError = 5,
  kExecFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kInvalidDevice = 11,
  kNotSupported = 16,
};

// cufftType.
enum Type : int {
  kR2C = 0x2a,
  kC2R = 0x2c,
  kC2C = 0x29,
  kD2Z = 0x6a,
  kZ2D = 0x6c,
  kZ2Z = 0x69,
};

using cublas::DataType;
using Index = std::int64_t;

// Where the elements of one side lie: element (x0, x1, …) of batch (b0, b1, …)
// at x0 * steps[0] + x1 * steps[1] + … + b0 * distances[0] + ….
struct Side {
  DataType type;
  std::vector<Index>
      sizes;  // of a batch, by dimension; halved for R2C's output
  std::vector<Index> steps;
  std::vector<Index> distances;
  bool is_basic = true;  // no layout was given

  Index PlaceOf(const std::vector<Index>& at) const;
  // Elements from the first to behind the last; none if they are too many.
  std::optional<Index> Span(const std::vector<Index>& batches) const;
};

class HipfftPlan;

struct Plan {
  std::vector<Index> sizes;  // of the transform, the slowest first
  // Loops of transforms, the inner ones last: one, or of guru plans any number.
  std::vector<Index> batches;
  Side input, output;
  Stream stream = nullptr;
  bool made = false;
  // Over several, if there is more than one (spread.h).
  std::vector<int> gpus;
  // Of cufftSetPlanPropertyInt64; they change nothing.
  std::map<int, std::int64_t> properties;
  // What computes on the GPU; null: nothing, the host does.
  std::shared_ptr<HipfftPlan> hipfft;

  bool is_real_input() const { return !cublas::IsComplexType(input.type); }
  bool is_real_output() const { return !cublas::IsComplexType(output.type); }
};

// As cufftMakePlanMany has it: element (x0, x1, …) of batch b at
// ((x0 * embed[1] + x1) * embed[2] + …) * stride + b * distance.
struct Layout {
  const Index* embed = nullptr;  // null: packed, whatever stride and distance
  Index stride = 1, distance = 1;
};
// A dimension or a loop of a guru plan: how many, and from one to the next, in
// elements of either side. As fftw_iodim64 has it.
struct Axis {
  Index size, input, output;
};

// Fills a plan. Types are of the elements; `input` and `output` must be of one
// precision, and one of them real only if the other is complex.
Status MakePlan(Plan* plan, const std::vector<Index>& sizes,
                const Layout& input, DataType input_type, const Layout& output,
                DataType output_type, Index batches);

// A plan of up to three axes and any number of loops, the inner ones last. A
// step is at least 1 (of an axis of one element it does not matter), one from
// transform to transform at least 0.
Status MakeGuruPlan(Plan* plan, const std::vector<Axis>& axes,
                    const std::vector<Axis>& loops, DataType input_type,
                    DataType output_type);

// The types of a cufftType; none if it is none.
struct Types {
  DataType input, output;
};
std::optional<Types> TypesOf(Type type);

// At once, in memory of the host.
void Compute(const Plan& plan, const void* input, void* output, int sign);

// In the order of the plan's stream. `sign`: -1 forward, 1 inverse.
Status Execute(const Driver& driver, const Plan& plan, const void* input,
               void* output, int sign);

}  // namespace cerberus::libraries::cufft

#endif  // CERBERUS_LIBRARIES_CUFFT_PLAN_H_
