#include "libraries/cufft/plan.h"

#include <algorithm>
#include <limits>

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

void RunBatch(const Plan& plan, const void* input, void* output, int sign,
              Index batch) {
  Array array(plan.sizes);
  std::vector<Index> at(plan.sizes.size(), 0);
  const Index from = batch * plan.input.distance;
  const Index to = batch * plan.output.distance;
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

void RunBatches(const Plan& plan, const void* input, void* output, int sign) {
  for (Index batch = 0; batch < plan.batches; ++batch) {
    RunBatch(plan, input, output, sign, batch);
  }
}

// In place a packed real array has room for the complex one: two more a row.
Plan PlanInPlace(const Plan& plan) {
  Plan run = plan;
  for (Side* side : {&run.input, &run.output}) {
    const Side& other = side == &run.input ? run.output : run.input;
    if (!IsComplex(side->type) && side->is_basic) {
      side->embed.back() = 2 * (run.sizes.back() / 2 + 1);
      side->distance = 2 * other.distance;
    }
  }
  return run;
}

}  // namespace

Index Side::PlaceOf(const std::vector<Index>& at) const {
  Index place = 0;
  for (std::size_t d = 0; d < at.size(); ++d) place = place * embed[d] + at[d];
  return place * stride;
}
Index Side::Span(Index batches) const {
  std::vector<Index> last = sizes;
  for (Index& at : last) --at;
  return PlaceOf(last) + 1 + (batches - 1) * distance;
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
  if (sizes.empty() || sizes.size() > 3 || Product(sizes) < 0) {
    return kInvalidSize;
  }
  if (batches < 1) return kInvalidSize;
  const bool complex_in = IsComplex(input_type);
  const bool complex_out = IsComplex(output_type);
  if ((!complex_in && !complex_out) ||
      Precision(input_type) != Precision(output_type)) {
    return kInvalidType;
  }
  const auto side = [&](const Layout& layout, DataType type) {
    Side made;
    made.type = type;
    made.sizes = sizes;
    const bool half = (!complex_in || !complex_out) && IsComplex(type);
    if (half) made.sizes.back() = sizes.back() / 2 + 1;
    made.embed = made.sizes;
    if (layout.embed != nullptr) {
      made.embed.assign(layout.embed, layout.embed + sizes.size());
      made.stride = layout.stride;
      made.distance = layout.distance;
      made.is_basic = false;
    } else {
      made.distance = Product(made.sizes);
    }
    return made;
  };
  plan->sizes = sizes;
  plan->batches = batches;
  plan->input = side(input, input_type);
  plan->output = side(output, output_type);
  for (const Side* s : {&plan->input, &plan->output}) {
    if (s->stride < 1 || s->distance < 0) return kInvalidValue;
    for (std::size_t d = 1; d < sizes.size(); ++d) {
      if (s->embed[d] < s->sizes[d]) return kInvalidSize;
    }
  }
  plan->made = true;
  return kSuccess;
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
              static_cast<std::size_t>(run.input.Span(run.batches)) *
                  cublas::SizeOf(run.input.type));
  std::byte* out =
      work.InOut(static_cast<std::byte*>(output),
                 static_cast<std::size_t>(run.output.Span(run.batches)) *
                     cublas::SizeOf(run.output.type));
  const auto body = [run = std::move(run), in, out, sign] {
    RunBatches(run, in, out, sign);
  };
  return work.Run(body, /*wait=*/false) ? kSuccess : kExecFailed;
}

}  // namespace cerberus::libraries::cufft
