#include "libraries/cufft/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "libraries/common/work.h"
#include "libraries/cufft/hipfft.h"

namespace cerberus::libraries::cufft {
namespace {

bool IsComplex(DataType type) { return cublas::IsComplexType(type); }
// Bytes of a real part: the precision.
std::size_t Precision(DataType type) {
  return cublas::SizeOf(type) / (IsComplex(type) ? 2 : 1);
}

// The first dimensions count up, the last one fastest.
bool Next(const std::vector<Index>& sizes, std::vector<Index>* at) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++(*at)[d] < sizes[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

// The product of the sizes, or -1 if it does not fit.
Index Product(const std::vector<Index>& sizes) {
  Index product = 1;
  for (const Index size : sizes) {
    if (size < 1 || product > std::numeric_limits<Index>::max() / 64 / size) {
      return -1;
    }
    product *= size;
  }
  return product;
}

// One batch: a dense array of the transform's sizes.
class Array {
 public:
  explicit Array(const std::vector<Index>& sizes)
      : sizes_(sizes), data_(static_cast<std::size_t>(Product(sizes))) {}

  Complex& At(const std::vector<Index>& at) {
    Index place = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      place = place * sizes_[d] + at[d];
    }
    return data_[static_cast<std::size_t>(place)];
  }

  void Run(int sign) {
    Index inner = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; inner *= sizes_[d]) {
      const std::shared_ptr<const Transform> transform =
          TransformOf(static_cast<std::size_t>(sizes_[d]));
      std::vector<Complex> line(static_cast<std::size_t>(sizes_[d]));
      const Index block = inner * sizes_[d];
      const auto total = static_cast<Index>(data_.size());
      for (Index first = 0; first < total; first += block) {
        for (Index i = 0; i < inner; ++i) {
          Complex* begin = data_.data() + first + i;
          for (Index k = 0; k < sizes_[d]; ++k) {
            line[static_cast<std::size_t>(k)] = begin[k * inner];
          }
          transform->Run(line.data(), sign);
          for (Index k = 0; k < sizes_[d]; ++k) {
            begin[k * inner] = line[static_cast<std::size_t>(k)];
          }
        }
      }
    }
  }

 private:
  const std::vector<Index> sizes_;
  std::vector<Complex> data_;
};

// The transform whose arrays begin at `from` and `to`.
void RunBatch(const Plan& plan, const void* input, Index from, void* output,
              Index to, int sign) {
  Array array(plan.sizes);
  std::vector<Index> at(plan.sizes.size(), 0);
  do {
    array.At(at) =
        cublas::Load(plan.input.type, input, from + plan.input.PlaceOf(at));
    // The other half of a real result's transform is the conjugate of this.
    if (!plan.is_real_output()) continue;
    std::vector<Index> mirror(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) {
      mirror[d] = (plan.sizes[d] - at[d]) % plan.sizes[d];
    }
    if (mirror == at) {
      // Of its own mirror only the real part counts.
      array.At(at) = array.At(at).real();
    } else if (mirror.back() >= plan.input.sizes.back()) {
      array.At(mirror) = std::conj(array.At(at));
    }
  } while (Next(plan.input.sizes, &at));
  array.Run(sign);
  std::fill(at.begin(), at.end(), 0);
  do {
    cublas::Store(plan.output.type, output, to + plan.output.PlaceOf(at),
                  array.At(at));
  } while (Next(plan.output.sizes, &at));
}

Index Sum(const std::vector<Index>& at, const std::vector<Index>& steps) {
  return std::inner_product(at.begin(), at.end(), steps.begin(), Index{0});
}

void RunBatches(const Plan& plan, const void* input, void* output, int sign) {
  std::vector<Index> batch(plan.batches.size(), 0);
  do {
    RunBatch(plan, input, Sum(batch, plan.input.distances), output,
             Sum(batch, plan.output.distances), sign);
  } while (Next(plan.batches, &batch));
}

// Of an array whose last dimensions have `embed` elements each.
std::vector<Index> StepsOf(const std::vector<Index>& embed, Index stride) {
  std::vector<Index> steps(embed.size(), stride);
  for (std::size_t d = embed.size() - 1; d-- > 0;) {
    steps[d] = steps[d + 1] * embed[d + 1];
  }
  return steps;
}

// In place a packed real array has room for the complex one: two more a row.
Plan PlanInPlace(const Plan& plan) {
  Plan run = plan;
  for (Side* side : {&run.input, &run.output}) {
    const Side& other = side == &run.input ? run.output : run.input;
    if (!IsComplex(side->type) && side->is_basic) {
      std::vector<Index> rows = side->sizes;
      rows.back() = 2 * (run.sizes.back() / 2 + 1);
      side->steps = StepsOf(rows, 1);
      side->distances = {2 * other.distances[0]};
    }
  }
  return run;
}

// A side without a layout: of real transforms the complex one has half a row.
Side SideOf(const std::vector<Index>& sizes, DataType type, DataType other) {
  Side side;
  side.type = type;
  side.sizes = sizes;
  const bool half = IsComplex(type) && !IsComplex(other);
  if (half) side.sizes.back() = sizes.back() / 2 + 1;
  return side;
}
// What plans of all kinds have and must be, but for the layouts.
Status Begin(Plan* plan, const std::vector<Index>& sizes, DataType input,
             DataType output, const std::vector<Index>& batches) {
  if (sizes.empty() || sizes.size() > 3 || Product(sizes) < 0 ||
      Product(batches) < 0) {
    return kInvalidSize;
  }
  if ((!IsComplex(input) && !IsComplex(output)) ||
      Precision(input) != Precision(output)) {
    return kInvalidType;
  }
  plan->sizes = sizes;
  plan->batches = batches;
  plan->input = SideOf(sizes, input, output);
  plan->output = SideOf(sizes, output, input);
  return kSuccess;
}
Status Finish(Plan* plan) {
  if (!plan->input.Span(plan->batches) || !plan->output.Span(plan->batches)) {
    return kInvalidSize;
  }
  plan->made = true;
  return kSuccess;
}

}  // namespace

Index Side::PlaceOf(const std::vector<Index>& at) const {
  return Sum(at, steps);
}
std::optional<Index> Side::Span(const std::vector<Index>& batches) const {
  // So many that no size in bytes overflows.
  constexpr Index kMost = std::numeric_limits<Index>::max() / 64;
  Index span = 1;
  const auto add = [&](Index count, Index step) {
    Index more = 0;
    return !__builtin_mul_overflow(count - 1, step, &more) &&
           !__builtin_add_overflow(span, more, &span) && span <= kMost;
  };
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!add(sizes[d], steps[d])) return std::nullopt;
  }
  for (std::size_t d = 0; d < batches.size(); ++d) {
    if (!add(batches[d], distances[d])) return std::nullopt;
  }
  return span;
}

std::optional<Types> TypesOf(Type type) {
  switch (type) {
    case kR2C: return Types{cublas::kR32F, cublas::kC32F};
    case kC2R: return Types{cublas::kC32F, cublas::kR32F};
    case kC2C: return Types{cublas::kC32F, cublas::kC32F};
    case kD2Z: return Types{cublas::kR64F, cublas::kC64F};
    case kZ2D: return Types{cublas::kC64F, cublas::kR64F};
    case kZ2Z: return Types{cublas::kC64F, cublas::kC64F};
  }
  return std::nullopt;
}

Status MakePlan(Plan* plan, const std::vector<Index>& sizes,
                const Layout& input, DataType input_type, const Layout& output,
                DataType output_type, Index batches) {
  if (const Status bad =
          Begin(plan, sizes, input_type, output_type, {batches})) {
    return bad;
  }
  for (Side* side : {&plan->input, &plan->output}) {
    const Layout& layout = side == &plan->input ? input : output;
    if (layout.embed == nullptr) {
      side->steps = StepsOf(side->sizes, 1);
      side->distances = {Product(side->sizes)};
      continue;
    }
    if (layout.stride < 1 || layout.distance < 0) return kInvalidValue;
    const std::vector<Index> embed(layout.embed, layout.embed + sizes.size());
    for (std::size_t d = 1; d < sizes.size(); ++d) {
      if (embed[d] < side->sizes[d]) return kInvalidSize;
    }
    std::vector<Index> row = embed;
    row[0] = layout.stride;
    if (Product(row) < 0) return kInvalidSize;
    side->steps = StepsOf(embed, layout.stride);
    side->distances = {layout.distance};
    side->is_basic = false;
  }
  return Finish(plan);
}

Status MakeGuruPlan(Plan* plan, const std::vector<Axis>& axes,
                    const std::vector<Axis>& loops, DataType input_type,
                    DataType output_type) {
  std::vector<Index> sizes, batches;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  for (const Axis& loop : loops) batches.push_back(loop.size);
  if (const Status bad = Begin(plan, sizes, input_type, output_type, batches)) {
    return bad;
  }
  for (Side* side : {&plan->input, &plan->output}) {
    const auto step = side == &plan->input ? &Axis::input : &Axis::output;
    for (const Axis& axis : axes) {
      if (axis.size > 1 && axis.*step < 1) return kInvalidValue;
      side->steps.push_back(std::max<Index>(1, axis.*step));
    }
    for (const Axis& loop : loops) {
      if (loop.*step < 0) return kInvalidValue;
      side->distances.push_back(loop.*step);
    }
    side->is_basic = false;
  }
  return Finish(plan);
}

void Compute(const Plan& plan, const void* input, void* output, int sign) {
  RunBatches(input == output ? PlanInPlace(plan) : plan, input, output, sign);
}

Status Execute(const Driver& driver, const Plan& plan, const void* input,
               void* output, int sign) {
  if (input == nullptr || output == nullptr) return kInvalidValue;
  Status status = kSuccess;
  if (plan.hipfft != nullptr &&
      plan.hipfft->Execute(driver, plan, input, output, sign, &status)) {
    return status;
  }
  Plan run = input == output ? PlanInPlace(plan) : plan;
  Work work(driver, run.stream);
  const std::byte* in =
      work.In(static_cast<const std::byte*>(input),
              static_cast<std::size_t>(*run.input.Span(run.batches)) *
                  cublas::SizeOf(run.input.type));
  std::byte* out =
      work.InOut(static_cast<std::byte*>(output),
                 static_cast<std::size_t>(*run.output.Span(run.batches)) *
                     cublas::SizeOf(run.output.type));
  const auto body = [run = std::move(run), in, out, sign] {
    RunBatches(run, in, out, sign);
  };
  return work.Run(body, /*wait=*/false) ? kSuccess : kExecFailed;
}

}  // namespace cerberus::libraries::cufft
