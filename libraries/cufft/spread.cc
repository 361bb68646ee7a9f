#include "libraries/cufft/spread.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "libraries/common/alive.h"

namespace cerberus::libraries::cufft {
namespace {

using Bytes = std::vector<std::byte>;

// In CUDA_XT_DESCRIPTOR_VERSION's way: of the runtime besides.
constexpr int kVersion = 0x01000000 + 13000;

// This thread's context is the device's primary one, and then again what it
// was.
class OnDevice {
 public:
  OnDevice(const Driver& driver, int device) : driver_(driver) {
    driver_.context(&before_);
    Context primary = nullptr;
    good_ = driver_.retain_primary(&primary, device) == 0 &&
            driver_.set_context(primary) == 0;
  }
  ~OnDevice() { driver_.set_context(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  bool good() const { return good_; }

 private:
  const Driver& driver_;
  Context before_ = nullptr;
  bool good_ = false;
};

bool IsKnown(Format format) {
  return format >= kInput && format <= k1dInputShuffled;
}
bool IsShuffled(Format format) {
  return format == kOutput || format == kInPlaceShuffled;
}

// A plan's array, in complex numbers: both sides have as many bytes.
struct Shape {
  Index batches, x, y, z, element;

  explicit Shape(const Plan& plan) {
    const Side& side = plan.is_real_input() ? plan.output : plan.input;
    const std::vector<Index>& n = side.sizes;
    batches = plan.batches[0];
    x = n[0];
    y = n.size() > 1 ? n[1] : 1;
    z = n.size() > 2 ? n[2] : 1;
    element = static_cast<Index>(cublas::SizeOf(side.type));
    dimensions = n.size();
  }
  std::size_t dimensions;
  Index count() const { return batches * x * y * z; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(count() * element);
  }
};

// What GPU `which` of `gpus` has of n: from where, how many.
struct Share {
  Index first, count;
  Share(Index n, Index gpus, Index which)
      : first(which * (n / gpus) + std::min(which, n % gpus)),
        count(n / gpus + (which < n % gpus ? 1 : 0)) {}
};

// Calls `run`(place at the GPU, place in natural order, elements) for all that
// one has, and returns how many elements these are.
template <typename F>
Index ForEachRun(const Shape& s, Format format, Index gpus, Index which,
                 const F& run) {
  if (s.batches > 1 || s.dimensions == 1 || !IsShuffled(format)) {
    const bool many = s.batches > 1;
    const Index each = (many ? s.x : 1) * s.y * s.z;
    const Share share(many ? s.batches : s.x, gpus, which);
    run(Index{0}, share.first * each, share.count * each);
    return share.count * each;
  }
  const Share share(s.y, gpus, which);
  for (Index x = 0; x < s.x; ++x) {
    if (s.dimensions == 3) {
      run(x * share.count * s.z, (x * s.y + share.first) * s.z,
          share.count * s.z);
      continue;
    }
    for (Index y = 0; y < share.count; ++y) {
      run(y * s.x + x, x * s.y + share.first + y, Index{1});
    }
  }
  return s.x * share.count * s.z;
}
Index CountAt(const Shape& s, Format format, Index gpus, Index which) {
  return ForEachRun(s, format, gpus, which, [](Index, Index, Index) {});
}

bool Copy(const Driver& driver, void* to, const void* from, std::size_t bytes) {
  return bytes == 0 || (driver.copy(reinterpret_cast<std::uint64_t>(to),
                                    reinterpret_cast<std::uint64_t>(from),
                                    bytes, nullptr) == 0 &&
                        driver.synchronize(nullptr) == 0);
}

// All that the GPUs have, into `natural` or out of it.
Status Move(const Driver& driver, const Shape& shape, const Spread& spread,
            std::byte* natural, bool out) {
  const SpreadMemory& memory = *spread.memory;
  for (int i = 0; i < memory.count; ++i) {
    const OnDevice on(driver, memory.gpus[i]);
    if (!on.good()) return kInternalError;
    Bytes local(static_cast<std::size_t>(
        CountAt(shape, spread.format, memory.count, i) * shape.element));
    if (local.size() > memory.size[i]) return kInvalidValue;
    // What another stream of the device still does comes first.
    if (out && !Copy(driver, local.data(), memory.data[i], local.size())) {
      return kExecFailed;
    }
    ForEachRun(shape, spread.format, memory.count, i,
               [&](Index at, Index place, Index count) {
                 std::byte* const here = local.data() + at * shape.element;
                 std::byte* const there = natural + place * shape.element;
                 std::memcpy(out ? there : here, out ? here : there,
                             static_cast<std::size_t>(count * shape.element));
               });
    if (!out && !Copy(driver, memory.data[i], local.data(), local.size())) {
      return kExecFailed;
    }
  }
  return kSuccess;
}

// Null if it has no such format, or other GPUs than the plan. It may be the
// program's own, over memory of its own, as cupy's are.
Spread* Find(const Plan& plan, void* pointer) {
  auto* const spread = static_cast<Spread*>(pointer);
  if (spread == nullptr || spread->memory == nullptr ||
      !IsKnown(spread->format) ||
      spread->memory->count != static_cast<int>(plan.gpus.size())) {
    return nullptr;
  }
  return spread;
}

}  // namespace

Status NewSpread(const Driver& driver, const Plan& plan, Format format,
                 Spread** made) {
  if (made == nullptr || !IsKnown(format)) return kInvalidValue;
  auto memory = std::make_unique<SpreadMemory>();
  memory->version = kVersion;
  const Shape shape(plan);
  const auto gpus = static_cast<Index>(plan.gpus.size());
  Spread* const spread =
      Alive<Spread>::All().Make({kVersion, memory.get(), 0, format, nullptr});
  if (spread == nullptr) return kAllocFailed;
  SpreadMemory& all = *memory.release();
  for (Index i = 0; i < gpus; ++i) {
    const int device = plan.gpus[static_cast<std::size_t>(i)];
    const OnDevice on(driver, device);
    const Index count = std::max(CountAt(shape, kInPlace, gpus, i),
                                 CountAt(shape, kInPlaceShuffled, gpus, i));
    const auto bytes = static_cast<std::size_t>(count * shape.element);
    std::uint64_t address = 0;
    if (!on.good() || (bytes != 0 && driver.allocate(&address, bytes) != 0)) {
      FreeSpread(driver, spread);
      return kAllocFailed;
    }
    all.gpus[i] = device;
    all.data[i] = reinterpret_cast<void*>(address);
    all.size[i] = bytes;
    all.count = static_cast<int>(i) + 1;
  }
  *made = spread;
  return kSuccess;
}

Status FreeSpread(const Driver& driver, Spread* spread) {
  if (!Alive<Spread>::All().Has(spread)) return kInvalidValue;
  const std::unique_ptr<SpreadMemory> memory(spread->memory);
  Alive<Spread>::All().Destroy(spread);
  for (int i = 0; i < memory->count; ++i) {
    const OnDevice on(driver, memory->gpus[i]);
    if (memory->data[i] != nullptr) {
      driver.free(reinterpret_cast<std::uint64_t>(memory->data[i]));
    }
  }
  return kSuccess;
}

Status CopySpread(const Driver& driver, const Plan& plan, void* to, void* from,
                  CopyKind kind) {
  if (to == nullptr || from == nullptr) return kInvalidValue;
  const Shape shape(plan);
  Spread* const target = kind == kToHost ? nullptr : Find(plan, to);
  Spread* const source = kind == kToDevice ? nullptr : Find(plan, from);
  switch (kind) {
    case kToDevice:
      if (target == nullptr) return kInvalidValue;
      return Move(driver, shape, *target, static_cast<std::byte*>(from),
                  /*out=*/false);
    case kToHost:
      if (source == nullptr) return kInvalidValue;
      return Move(driver, shape, *source, static_cast<std::byte*>(to),
                  /*out=*/true);
    case kOnDevice: break;
    default: return kInvalidValue;
  }
  if (source == nullptr || target == nullptr) return kInvalidValue;
  Bytes natural(shape.bytes());
  const Status status =
      Move(driver, shape, *source, natural.data(), /*out=*/true);
  if (status != kSuccess) return status;
  return Move(driver, shape, *target, natural.data(), /*out=*/false);
}

Status ExecuteSpread(const Driver& driver, const Plan& plan, Spread* input,
                     Spread* output, int sign) {
  const Spread* const source = Find(plan, input);
  Spread* const target = Find(plan, output);
  if (source == nullptr || target == nullptr) return kInvalidValue;
  const Shape shape(plan);
  Bytes natural(shape.bytes());
  Status status = Move(driver, shape, *source, natural.data(), /*out=*/true);
  if (status != kSuccess) return status;
  Compute(plan, natural.data(), natural.data(), sign);
  // In place what was in natural order is shuffled then, and the other way
  // round.
  if (input == output) {
    target->format = IsShuffled(source->format) ? kInPlace : kInPlaceShuffled;
  }
  return Move(driver, shape, *target, natural.data(), /*out=*/false);
}

}  // namespace cerberus::libraries::cufft
