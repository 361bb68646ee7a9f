// The functions of cufft.def. A plan is a number, which stays its own until it
// is destroyed.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "libraries/common/driver.h"
#include "libraries/cufft/hipfft.h"
#include "libraries/cufft/plan.h"
#include "libraries/cufft/spread.h"

#define FFT_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cufft {
namespace {

using Handle = int;

// More loops of a guru plan than anybody nests.
constexpr int kMostLoops = 64;

struct Plans {
  std::mutex mutex;
  std::map<Handle, std::shared_ptr<Plan>> plans;
  Handle next = 1;
};
Plans& All() {
  static auto& plans = *new Plans;
  return plans;
}
// With one GPU a plan may be either.
bool IsSpread(const Plan& plan) { return plan.gpus.size() > 1; }
bool MaySpread(const Plan* plan) {
  return plan != nullptr && plan->made && !plan->gpus.empty();
}
std::shared_ptr<Plan> Find(Handle handle) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().plans.find(handle);
  return found == All().plans.end() ? nullptr : found->second;
}

Status Create(Handle* handle) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kSetupFailed;
  const std::lock_guard<std::mutex> lock(All().mutex);
  *handle = All().next++;
  All().plans[*handle] = std::make_shared<Plan>();
  return kSuccess;
}
Status Destroy(Handle handle) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  return All().plans.erase(handle) != 0 ? kSuccess : kInvalidPlan;
}

// Plans need no memory of the program's: hipFFT has its own. Of several GPUs
// each has a size.
Status Sized(Status status, std::size_t* bytes, std::size_t gpus = 1) {
  if (status == kSuccess && bytes != nullptr) {
    std::fill_n(bytes, std::max<std::size_t>(1, gpus), 0);
  }
  return status;
}

template <typename N>
std::vector<Index> Sizes(int rank, const N* n) {
  if (rank < 1 || rank > 3 || n == nullptr) return {};
  return {n, n + rank};
}

// As cufftMakePlanMany has it: without inembed or onembed both sides are
// packed.
template <typename N>
Status Make(Plan* plan, int rank, const N* n, const N* in_embed, Index in_step,
            Index in_distance, const N* out_embed, Index out_step,
            Index out_distance, Types types, Index batches) {
  const std::vector<Index> sizes = Sizes(rank, n);
  if (sizes.empty()) return kInvalidSize;
  const bool packed = in_embed == nullptr || out_embed == nullptr;
  const std::vector<Index> in_sizes = Sizes(rank, packed ? n : in_embed);
  const std::vector<Index> out_sizes = Sizes(rank, packed ? n : out_embed);
  const Layout basic;
  return MakePlan(
      plan, sizes,
      packed ? basic : Layout{in_sizes.data(), in_step, in_distance},
      types.input,
      packed ? basic : Layout{out_sizes.data(), out_step, out_distance},
      types.output, batches);
}
// `make` fills a plan of these types.
template <typename F>
Status MakeInHandle(Handle handle, std::optional<Types> types,
                    std::size_t* bytes, const F& make) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr || plan->made) return kInvalidPlan;
  if (!types) return kInvalidType;
  try {
    const Status status = make(plan.get(), *types);
    if (IsSpread(*plan)) {
      if (status == kSuccess &&
          (!plan->input.is_basic || !plan->output.is_basic)) {
        plan->made = false;
        return kNotSupported;
      }
    } else if (status == kSuccess &&
               !HipfftPlan::Make(*FindDriver(), *plan, &plan->hipfft)) {
      return kSetupFailed;
    }
    return Sized(status, bytes, plan->gpus.size());
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
template <typename N>
Status MakeMany(Handle handle, int rank, const N* n, const N* in_embed,
                Index in_step, Index in_distance, const N* out_embed,
                Index out_step, Index out_distance, std::optional<Types> types,
                Index batches, std::size_t* bytes) {
  return MakeInHandle(handle, types, bytes, [&](Plan* plan, const Types& t) {
    return Make(plan, rank, n, in_embed, in_step, in_distance, out_embed,
                out_step, out_distance, t, batches);
  });
}
Status MakeBasic(Handle handle, std::vector<int> n, Type type, int batches,
                 std::size_t* bytes) {
  return MakeMany<int>(handle, static_cast<int>(n.size()), n.data(), nullptr, 1,
                       0, nullptr, 1, 0, TypesOf(type), batches, bytes);
}
Status MakeGuru(Handle handle, int rank, const Axis* axes, int loops,
                const Axis* loop, std::optional<Types> types,
                std::size_t* bytes) {
  if (rank < 1 || rank > 3 || loops < 0 || loops > kMostLoops) {
    return kInvalidSize;
  }
  if (axes == nullptr || (loops > 0 && loop == nullptr)) return kInvalidValue;
  return MakeInHandle(handle, types, bytes, [&](Plan* plan, const Types& t) {
    return MakeGuruPlan(plan, {axes, axes + rank}, {loop, loop + loops},
                        t.input, t.output);
  });
}
// What a plan of these would be.
template <typename N>
Status Check(int rank, const N* n, const N* in_embed, Index in_step,
             Index in_distance, const N* out_embed, Index out_step,
             Index out_distance, std::optional<Types> types, Index batches,
             std::size_t* bytes) {
  if (!types) return kInvalidType;
  Plan plan;
  return Sized(Make(&plan, rank, n, in_embed, in_step, in_distance, out_embed,
                    out_step, out_distance, *types, batches),
               bytes);
}
Status CheckBasic(std::vector<int> n, Type type, int batches,
                  std::size_t* bytes) {
  return Check<int>(static_cast<int>(n.size()), n.data(), nullptr, 1, 0,
                    nullptr, 1, 0, TypesOf(type), batches, bytes);
}

// Makes a plan and gives it up again if that fails.
template <typename F>
Status New(Handle* handle, const F& make) {
  if (const Status bad = Create(handle)) return bad;
  const Status status = make(*handle);
  if (status != kSuccess) Destroy(*handle);
  return status;
}

// Whether it is made, over several GPUs or not, and of these types, if any are
// told.
Status CheckMade(const Plan* plan, bool spread, std::optional<Types> types,
                 int* sign) {
  if (plan == nullptr || !plan->made ||
      (spread ? !MaySpread(plan) : IsSpread(*plan))) {
    return kInvalidPlan;
  }
  if (types && (plan->input.type != types->input ||
                plan->output.type != types->output)) {
    return kInvalidValue;
  }
  // Of real ones the direction is the plan's.
  if (plan->is_real_input()) *sign = -1;
  if (plan->is_real_output()) *sign = 1;
  return *sign == -1 || *sign == 1 ? kSuccess : kInvalidValue;
}
Status Run(Handle handle, const void* input, void* output, int sign,
           std::optional<Types> types) {
  const std::shared_ptr<Plan> plan = Find(handle);
  const Status bad = CheckMade(plan.get(), false, types, &sign);
  if (bad != kSuccess) return bad;
  try {
    return Execute(*FindDriver(), *plan, input, output, sign);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
Status RunSpread(Handle handle, Spread* input, Spread* output, int sign,
                 std::optional<Types> types) {
  const std::shared_ptr<Plan> plan = Find(handle);
  const Status bad = CheckMade(plan.get(), true, types, &sign);
  if (bad != kSuccess) return bad;
  try {
    return ExecuteSpread(*FindDriver(), *plan, input, output, sign);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

// NVFFT_PLAN_PROPERTY_INT64_*, with what they are at first.
struct Property {
  int number;
  std::int64_t value;
};
constexpr Property kProperties[] = {{1, 0}, {2, 1}};
const Property* FindProperty(int number) {
  const auto* const found =
      std::find_if(std::begin(kProperties), std::end(kProperties),
                   [&](const Property& p) { return p.number == number; });
  return found == std::end(kProperties) ? nullptr : found;
}

bool IsPlan(Handle handle) { return Find(handle) != nullptr; }

}  // namespace

FFT_API Status cufftCreate(Handle* handle) { return Create(handle); }
FFT_API Status cufftDestroy(Handle handle) { return Destroy(handle); }

FFT_API Status cufftPlan1d(Handle* handle, int n, Type type, int batches) {
  return New(handle, [&](Handle made) {
    return MakeBasic(made, {n}, type, batches, nullptr);
  });
}
FFT_API Status cufftPlan2d(Handle* handle, int nx, int ny, Type type) {
  return New(handle, [&](Handle made) {
    return MakeBasic(made, {nx, ny}, type, 1, nullptr);
  });
}
FFT_API Status cufftPlan3d(Handle* handle, int nx, int ny, int nz, Type type) {
  return New(handle, [&](Handle made) {
    return MakeBasic(made, {nx, ny, nz}, type, 1, nullptr);
  });
}
FFT_API Status cufftPlanMany(Handle* handle, int rank, int* n, int* in_embed,
                             int in_step, int in_distance, int* out_embed,
                             int out_step, int out_distance, Type type,
                             int batches) {
  return New(handle, [&](Handle made) {
    return MakeMany<int>(made, rank, n, in_embed, in_step, in_distance,
                         out_embed, out_step, out_distance, TypesOf(type),
                         batches, nullptr);
  });
}

FFT_API Status cufftMakePlan1d(Handle handle, int n, Type type, int batches,
                               std::size_t* bytes) {
  return MakeBasic(handle, {n}, type, batches, bytes);
}
FFT_API Status cufftMakePlan2d(Handle handle, int nx, int ny, Type type,
                               std::size_t* bytes) {
  return MakeBasic(handle, {nx, ny}, type, 1, bytes);
}
FFT_API Status cufftMakePlan3d(Handle handle, int nx, int ny, int nz, Type type,
                               std::size_t* bytes) {
  return MakeBasic(handle, {nx, ny, nz}, type, 1, bytes);
}
FFT_API Status cufftMakePlanMany(Handle handle, int rank, int* n, int* in_embed,
                                 int in_step, int in_distance, int* out_embed,
                                 int out_step, int out_distance, Type type,
                                 int batches, std::size_t* bytes) {
  return MakeMany<int>(handle, rank, n, in_embed, in_step, in_distance,
                       out_embed, out_step, out_distance, TypesOf(type),
                       batches, bytes);
}
FFT_API Status cufftMakePlanMany64(Handle handle, int rank, long long* n,
                                   long long* in_embed, long long in_step,
                                   long long in_distance, long long* out_embed,
                                   long long out_step, long long out_distance,
                                   Type type, long long batches,
                                   std::size_t* bytes) {
  return MakeMany<long long>(handle, rank, n, in_embed, in_step, in_distance,
                             out_embed, out_step, out_distance, TypesOf(type),
                             batches, bytes);
}
FFT_API Status cufftXtMakePlanMany(Handle handle, int rank, long long* n,
                                   long long* in_embed, long long in_step,
                                   long long in_distance, DataType input,
                                   long long* out_embed, long long out_step,
                                   long long out_distance, DataType output,
                                   long long batches, std::size_t* bytes,
                                   DataType) {
  return MakeMany<long long>(handle, rank, n, in_embed, in_step, in_distance,
                             out_embed, out_step, out_distance,
                             Types{input, output}, batches, bytes);
}

// What NVIDIA's cuFFTW calls for fftw_plan_guru_dft and its kin; in no header.
// The arguments are as its versions 10.9 (CUDA 11) and 11.4 to 12.5 pass them.
FFT_API Status cufftMakePlanGuru64(Handle handle, int rank, const Axis* axes,
                                   int loops, const Axis* loop, Type type,
                                   std::size_t* bytes) {
  return MakeGuru(handle, rank, axes, loops, loop, TypesOf(type), bytes);
}
FFT_API Status cufftXtMakePlanGuru64(Handle handle, int rank, const Axis* axes,
                                     int loops, const Axis* loop,
                                     DataType input, DataType output, DataType,
                                     std::size_t* bytes) {
  return MakeGuru(handle, rank, axes, loops, loop, Types{input, output}, bytes);
}
// A lock around several calls; each call here has its own.
FFT_API Status cufftEnterCS() { return kSuccess; }
FFT_API Status cufftLeaveCS() { return kSuccess; }

FFT_API Status cufftGetSize(Handle handle, std::size_t* bytes) {
  return Sized(IsPlan(handle) ? kSuccess : kInvalidPlan, bytes);
}
FFT_API Status cufftGetSize1d(Handle handle, int n, Type type, int batches,
                              std::size_t* bytes) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return CheckBasic({n}, type, batches, bytes);
}
FFT_API Status cufftGetSize2d(Handle handle, int nx, int ny, Type type,
                              std::size_t* bytes) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return CheckBasic({nx, ny}, type, 1, bytes);
}
FFT_API Status cufftGetSize3d(Handle handle, int nx, int ny, int nz, Type type,
                              std::size_t* bytes) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return CheckBasic({nx, ny, nz}, type, 1, bytes);
}
FFT_API Status cufftGetSizeMany(Handle handle, int rank, int* n, int* in_embed,
                                int in_step, int in_distance, int* out_embed,
                                int out_step, int out_distance, Type type,
                                int batches, std::size_t* bytes) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return Check<int>(rank, n, in_embed, in_step, in_distance, out_embed,
                    out_step, out_distance, TypesOf(type), batches, bytes);
}
FFT_API Status cufftGetSizeMany64(Handle handle, int rank, long long* n,
                                  long long* in_embed, long long in_step,
                                  long long in_distance, long long* out_embed,
                                  long long out_step, long long out_distance,
                                  Type type, long long batches,
                                  std::size_t* bytes) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return Check<long long>(rank, n, in_embed, in_step, in_distance, out_embed,
                          out_step, out_distance, TypesOf(type), batches,
                          bytes);
}
FFT_API Status cufftXtGetSizeMany(Handle handle, int rank, long long* n,
                                  long long* in_embed, long long in_step,
                                  long long in_distance, DataType input,
                                  long long* out_embed, long long out_step,
                                  long long out_distance, DataType output,
                                  long long batches, std::size_t* bytes,
                                  DataType) {
  if (!IsPlan(handle)) return kInvalidPlan;
  return Check<long long>(rank, n, in_embed, in_step, in_distance, out_embed,
                          out_step, out_distance, Types{input, output}, batches,
                          bytes);
}
FFT_API Status cufftEstimate1d(int n, Type type, int batches,
                               std::size_t* bytes) {
  return CheckBasic({n}, type, batches, bytes);
}
FFT_API Status cufftEstimate2d(int nx, int ny, Type type, std::size_t* bytes) {
  return CheckBasic({nx, ny}, type, 1, bytes);
}
FFT_API Status cufftEstimate3d(int nx, int ny, int nz, Type type,
                               std::size_t* bytes) {
  return CheckBasic({nx, ny, nz}, type, 1, bytes);
}
FFT_API Status cufftEstimateMany(int rank, int* n, int* in_embed, int in_step,
                                 int in_distance, int* out_embed, int out_step,
                                 int out_distance, Type type, int batches,
                                 std::size_t* bytes) {
  return Check<int>(rank, n, in_embed, in_step, in_distance, out_embed,
                    out_step, out_distance, TypesOf(type), batches, bytes);
}

FFT_API Status cufftSetStream(Handle handle, Stream stream) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr) return kInvalidPlan;
  plan->stream = stream;
  return kSuccess;
}
FFT_API Status cufftSetAutoAllocation(Handle handle, int) {
  return IsPlan(handle) ? kSuccess : kInvalidPlan;
}
FFT_API Status cufftSetWorkArea(Handle handle, void*) {
  return IsPlan(handle) ? kSuccess : kInvalidPlan;
}
FFT_API Status cufftXtSetWorkArea(Handle handle, void**) {
  return IsPlan(handle) ? kSuccess : kInvalidPlan;
}
FFT_API Status cufftXtSetWorkAreaPolicy(Handle handle, int, std::size_t*) {
  return IsPlan(handle) ? kSuccess : kInvalidPlan;
}
FFT_API Status cufftXtClearCallback(Handle handle, int) {
  return IsPlan(handle) ? kSuccess : kInvalidPlan;
}
FFT_API Status cufftSetPlanPropertyInt64(Handle handle, int property,
                                         long long value) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr || plan->made) return kInvalidPlan;
  if (FindProperty(property) == nullptr) return kNotSupported;
  plan->properties[property] = value;
  return kSuccess;
}
FFT_API Status cufftGetPlanPropertyInt64(Handle handle, int property,
                                         long long* value) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr) return kInvalidPlan;
  const Property* const known = FindProperty(property);
  if (known == nullptr) return kNotSupported;
  if (value == nullptr) return kInvalidValue;
  const auto set = plan->properties.find(property);
  *value = set == plan->properties.end() ? known->value : set->second;
  return kSuccess;
}
FFT_API Status cufftResetPlanProperty(Handle handle, int property) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr || plan->made) return kInvalidPlan;
  if (FindProperty(property) == nullptr) return kNotSupported;
  plan->properties.erase(property);
  return kSuccess;
}

FFT_API Status cufftXtSetGPUs(Handle handle, int count, int* gpus) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (plan == nullptr || plan->made) return kInvalidPlan;
  if (count < 1 || count > kMostGpus || gpus == nullptr) return kInvalidValue;
  for (int i = 0; i < count; ++i) {
    Context context = nullptr;
    if (FindDriver()->retain_primary(&context, gpus[i]) != 0) {
      return kInvalidDevice;
    }
  }
  plan->gpus.assign(gpus, gpus + count);
  return kSuccess;
}
FFT_API Status cufftXtMalloc(Handle handle, Spread** spread, Format format) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (!MaySpread(plan.get())) return kInvalidPlan;
  try {
    return NewSpread(*FindDriver(), *plan, format, spread);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
FFT_API Status cufftXtFree(Spread* spread) {
  return FreeSpread(*FindDriver(), spread);
}
FFT_API Status cufftXtMemcpy(Handle handle, void* to, void* from,
                             CopyKind kind) {
  const std::shared_ptr<Plan> plan = Find(handle);
  if (!MaySpread(plan.get())) return kInvalidPlan;
  try {
    return CopySpread(*FindDriver(), *plan, to, from, kind);
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}
FFT_API Status cufftXtExecDescriptorC2C(Handle handle, Spread* in, Spread* out,
                                        int sign) {
  return RunSpread(handle, in, out, sign, TypesOf(kC2C));
}
FFT_API Status cufftXtExecDescriptorR2C(Handle handle, Spread* in,
                                        Spread* out) {
  return RunSpread(handle, in, out, -1, TypesOf(kR2C));
}
FFT_API Status cufftXtExecDescriptorC2R(Handle handle, Spread* in,
                                        Spread* out) {
  return RunSpread(handle, in, out, 1, TypesOf(kC2R));
}
FFT_API Status cufftXtExecDescriptorZ2Z(Handle handle, Spread* in, Spread* out,
                                        int sign) {
  return RunSpread(handle, in, out, sign, TypesOf(kZ2Z));
}
FFT_API Status cufftXtExecDescriptorD2Z(Handle handle, Spread* in,
                                        Spread* out) {
  return RunSpread(handle, in, out, -1, TypesOf(kD2Z));
}
FFT_API Status cufftXtExecDescriptorZ2D(Handle handle, Spread* in,
                                        Spread* out) {
  return RunSpread(handle, in, out, 1, TypesOf(kZ2D));
}
FFT_API Status cufftXtExecDescriptor(Handle handle, Spread* in, Spread* out,
                                     int sign) {
  return RunSpread(handle, in, out, sign, std::nullopt);
}

FFT_API Status cufftExecC2C(Handle handle, void* in, void* out, int sign) {
  return Run(handle, in, out, sign, TypesOf(kC2C));
}
FFT_API Status cufftExecR2C(Handle handle, void* in, void* out) {
  return Run(handle, in, out, -1, TypesOf(kR2C));
}
FFT_API Status cufftExecC2R(Handle handle, void* in, void* out) {
  return Run(handle, in, out, 1, TypesOf(kC2R));
}
FFT_API Status cufftExecZ2Z(Handle handle, void* in, void* out, int sign) {
  return Run(handle, in, out, sign, TypesOf(kZ2Z));
}
FFT_API Status cufftExecD2Z(Handle handle, void* in, void* out) {
  return Run(handle, in, out, -1, TypesOf(kD2Z));
}
FFT_API Status cufftExecZ2D(Handle handle, void* in, void* out) {
  return Run(handle, in, out, 1, TypesOf(kZ2D));
}
FFT_API Status cufftXtExec(Handle handle, void* in, void* out, int sign) {
  return Run(handle, in, out, sign, std::nullopt);
}

// For `cerberus doctor`.
FFT_API const char* cufftCerberusProvider() {
  static const std::string text = HipfftPlan::Describe();
  return text.c_str();
}

FFT_API Status cufftGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = CERBERUS_CUFFT_MAJOR * 1000;
  return kSuccess;
}
FFT_API Status cufftGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = property == 0 ? CERBERUS_CUFFT_MAJOR : 0;
  return kSuccess;
}

#define CUFFT_ANSWERED(name)
#define CUFFT_REFUSED(name) \
  FFT_API Status name() { return kNotSupported; }
#include "libraries/cufft/cufft.def"

}  // namespace cerberus::libraries::cufft
