#include "libraries/nccl/reduce.h"

#include <cstring>
#include <type_traits>

#include "libraries/cublas/typed.h"

namespace cerberus::libraries::nccl {
namespace {

// How an element lies in memory, and the type that is computed in.
template <typename T>
struct Plain {
  using Value = T;
  static T Get(const void* array, std::size_t i) {
    T value;
    std::memcpy(&value, static_cast<const T*>(array) + i, sizeof value);
    return value;
  }
  static void Put(void* array, std::size_t i, T value) {
    std::memcpy(static_cast<T*>(array) + i, &value, sizeof value);
  }
};
template <cublas::DataType kType>
struct Small {
  using Value = float;
  static float Get(const void* array, std::size_t i) {
    return static_cast<float>(
        cublas::Load(kType, array, static_cast<cublas::Index>(i)).real());
  }
  static void Put(void* array, std::size_t i, float value) {
    cublas::Store(kType, array, static_cast<cublas::Index>(i), value);
  }
};

// Integers wrap around, as on the GPU.
template <typename V>
V Sum(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    using U = std::make_unsigned_t<V>;
    return static_cast<V>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename V>
V Product(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    // Wide enough that 8 bits are not promoted to a signed int.
    return static_cast<V>(static_cast<std::uint64_t>(a) *
                          static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename V>
V Combined(Op op, V a, V b) {
  switch (op) {
    case kProd: return Product(a, b);
    // What is no number stays.
    case kMax: return a > b || a != a ? a : b;
    case kMin: return a < b || a != a ? a : b;
    default: return Sum(a, b);
  }
}

template <typename E>
void ReduceAs(const Reduction& r, const std::vector<const void*>& ins,
              const std::vector<void*>& outs, std::size_t count) {
  using V = typename E::Value;
  std::vector<V> factors;
  factors.reserve(r.factors.size());
  for (const void* factor : r.factors) factors.push_back(E::Get(factor, 0));
  const auto element = [&](std::size_t rank, std::size_t i) {
    const V value = E::Get(ins[rank], i);
    return factors.empty() ? value : Product(factors[rank], value);
  };
  for (std::size_t i = 0; i < count; ++i) {
    V value = element(0, i);
    for (std::size_t rank = 1; rank < ins.size(); ++rank) {
      value = Combined(r.op, value, element(rank, i));
    }
    if (r.op == kAvg) value /= static_cast<V>(ins.size());
    for (void* out : outs) E::Put(out, i, value);
  }
}

}  // namespace

std::size_t SizeOf(Type type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kFloat8E4M3:
    case kFloat8E5M2: return 1;
    case kFloat16:
    case kBfloat16: return 2;
    case kInt32:
    case kUint32:
    case kFloat32: return 4;
    case kInt64:
    case kUint64:
    case kFloat64: return 8;
  }
  return 0;
}

void Reduce(const Reduction& r, const std::vector<const void*>& ins,
            const std::vector<void*>& outs, std::size_t count) {
  switch (r.type) {
    case kInt8: return ReduceAs<Plain<std::int8_t>>(r, ins, outs, count);
    case kUint8: return ReduceAs<Plain<std::uint8_t>>(r, ins, outs, count);
    case kInt32: return ReduceAs<Plain<std::int32_t>>(r, ins, outs, count);
    case kUint32: return ReduceAs<Plain<std::uint32_t>>(r, ins, outs, count);
    case kInt64: return ReduceAs<Plain<std::int64_t>>(r, ins, outs, count);
    case kUint64: return ReduceAs<Plain<std::uint64_t>>(r, ins, outs, count);
    case kFloat32: return ReduceAs<Plain<float>>(r, ins, outs, count);
    case kFloat64: return ReduceAs<Plain<double>>(r, ins, outs, count);
    case kFloat16: return ReduceAs<Small<cublas::kR16F>>(r, ins, outs, count);
    case kBfloat16: return ReduceAs<Small<cublas::kR16BF>>(r, ins, outs, count);
    case kFloat8E4M3:
      return ReduceAs<Small<cublas::kR8E4M3>>(r, ins, outs, count);
    case kFloat8E5M2:
      return ReduceAs<Small<cublas::kR8E5M2>>(r, ins, outs, count);
  }
}

}  // namespace cerberus::libraries::nccl
