#include "libraries/cufft/hipfft.h"

#include <vector>

#include "support/log.h"

namespace cerberus::libraries::cufft {
namespace {

// hipfftResult has cuFFT's numbers, hipfftType cufftType's and hipDataType
// cudaDataType's (AMD, hipFFT documentation, "hipFFT API Usage").
using Result = int;
constexpr Result kNotImplemented = 14;

template <typename... A>
Result Call(const RocmLibrary& library, const char* symbol, A... arguments) {
  Result (*f)(A...) = nullptr;
  return library.Find(symbol, &f) ? f(arguments...) : kNotImplemented;
}

const RocmKind& Kind() {
  static const RocmKind kind = {"cuFFT",
                                "hipFFT",
                                {{0, "libhipfft.so.0"}},
                                &LacksTarget,
                                [](const RocmLibrary& library) -> std::string {
                                  int v = 0;
                                  if (Call(library, "hipfftGetVersion", &v)) {
                                    return "";
                                  }
                                  return std::to_string(v / 10'000) + "." +
                                         std::to_string(v / 100 % 100) + "." +
                                         std::to_string(v % 100);
                                }};
  return kind;
}

// The cufftType of a plan; none for those of halves and others.
std::optional<Type> TypeOf(const Plan& plan) {
  for (const Type type : {kR2C, kC2R, kC2C, kD2Z, kZ2D, kZ2Z}) {
    const std::optional<Types> types = TypesOf(type);
    if (types->input == plan.input.type && types->output == plan.output.type) {
      return type;
    }
  }
  return std::nullopt;
}

// Of real numbers in rows of even length rocFFT reads pairs, as complex ones,
// and takes half of each distance: odd ones are wrong by it (rocFFT 6.1.2).
bool IsInPairs(const Side& side, const Plan& plan) {
  if (cublas::IsComplexType(side.type) || plan.sizes.back() % 2 != 0) {
    return true;
  }
  if (side.is_basic) return true;
  const bool rows =
      plan.sizes.size() == 1 || side.steps[plan.sizes.size() - 2] % 2 == 0;
  return rows && (plan.batches[0] == 1 || side.distances[0] % 2 == 0);
}

using Sizes = std::vector<long long>;
Sizes Copied(const std::vector<Index>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// A side as hipFFT is told it: rows within rows. None where a step is no
// multiple of the next one, as a guru plan may have it.
std::optional<Sizes> EmbedOf(const Side& side) {
  Sizes embed = Copied(side.sizes);
  for (std::size_t d = 1; d < embed.size(); ++d) {
    if (side.steps[d - 1] % side.steps[d] != 0) return std::nullopt;
    embed[d] = side.steps[d - 1] / side.steps[d];
    if (embed[d] < side.sizes[d]) return std::nullopt;
  }
  return embed;
}

}  // namespace

std::string HipfftPlan::Describe() { return DescribeProvider(Kind()); }

bool HipfftPlan::Make(const Driver& driver, const Plan& plan,
                      std::shared_ptr<HipfftPlan>* made) {
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, Kind(), &library)) return false;
  if (library == nullptr) return true;
  std::optional<Sizes> in = EmbedOf(plan.input), out = EmbedOf(plan.output);
  if (!in || !out || plan.batches.size() != 1) {
    Log(LogLevel::kInfo,
        "cuFFT: the host computes a plan of loops or steps that hipFFT has "
        "not");
    return true;
  }
  if (!IsInPairs(plan.input, plan) || !IsInPairs(plan.output, plan)) {
    Log(LogLevel::kInfo, "cuFFT: the host computes a plan of odd distances");
    return true;
  }
  // Makes the context's device HIP's current one, which the plan is for.
  void* stream = nullptr;
  Object* object = nullptr;
  if (driver.hip_stream(plan.stream, &stream) != 0 ||
      Call(*library, "hipfftCreate", &object) != kSuccess) {
    return true;
  }
  std::shared_ptr<HipfftPlan> wrapped(new HipfftPlan(*library, object));
  Sizes n = Copied(plan.sizes);
  long long* const in_embed = plan.input.is_basic ? nullptr : in->data();
  long long* const out_embed = plan.output.is_basic ? nullptr : out->data();
  const auto rank = static_cast<int>(n.size());
  const long long in_step = plan.input.steps.back(),
                  out_step = plan.output.steps.back(),
                  in_distance = plan.input.distances[0],
                  out_distance = plan.output.distances[0],
                  batches = plan.batches[0];
  std::size_t bytes = 0;
  const std::optional<Type> type = TypeOf(plan);
  const Result result =
      type ? Call(*library, "hipfftMakePlanMany64", object, rank, n.data(),
                  in_embed, in_step, in_distance, out_embed, out_step,
                  out_distance, static_cast<int>(*type), batches, &bytes)
           : Call(*library, "hipfftXtMakePlanMany", object, rank, n.data(),
                  in_embed, in_step, in_distance,
                  static_cast<int>(plan.input.type), out_embed, out_step,
                  out_distance, static_cast<int>(plan.output.type), batches,
                  &bytes,
                  // Computed as complex numbers.
                  static_cast<int>(plan.is_real_output() ? plan.input.type
                                                         : plan.output.type));
  if (result != kSuccess) {
    Log(LogLevel::kInfo,
        "cuFFT: the host computes a plan that hipFFT refuses by %d", result);
    return true;
  }
  *made = std::move(wrapped);
  return true;
}

HipfftPlan::~HipfftPlan() { Call(library_, "hipfftDestroy", object_); }

bool HipfftPlan::Execute(const Driver& driver, const Plan& plan,
                         const void* input, void* output, int sign,
                         Status* status) {
  // A plan's stream is no argument of the call.
  const std::lock_guard<std::mutex> lock(mutex_);
  void* stream = nullptr;
  if (driver.hip_stream(plan.stream, &stream) != 0 ||
      Call(library_, "hipfftSetStream", object_, stream) != kSuccess) {
    return false;
  }
  void* const in = const_cast<void*>(input);
  const std::optional<Type> type = TypeOf(plan);
  Result result = kNotImplemented;
  if (!type) {
    result = Call(library_, "hipfftXtExec", object_, in, output, sign);
  } else {
    switch (*type) {
      case kR2C:
        result = Call(library_, "hipfftExecR2C", object_, in, output);
        break;
      case kC2R:
        result = Call(library_, "hipfftExecC2R", object_, in, output);
        break;
      case kC2C:
        result = Call(library_, "hipfftExecC2C", object_, in, output, sign);
        break;
      case kD2Z:
        result = Call(library_, "hipfftExecD2Z", object_, in, output);
        break;
      case kZ2D:
        result = Call(library_, "hipfftExecZ2D", object_, in, output);
        break;
      case kZ2Z:
        result = Call(library_, "hipfftExecZ2Z", object_, in, output, sign);
        break;
    }
  }
  switch (result) {
    case kSuccess: *status = kSuccess; return true;
    case kAllocFailed:
    case kInvalidPlan:
    case kInvalidType:
    case kInvalidValue:
    case kInvalidSize:
    case kNotImplemented:
    case kNotSupported: return false;
    default: *status = kExecFailed; return true;
  }
}

}  // namespace cerberus::libraries::cufft
