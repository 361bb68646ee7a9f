// The kernels of finish.h, compiled to PTX when Cerberus is built; the driver
// compiles that for its GPU, as any program's. They do what matmul.cc does
// behind a sum, in the precision of the sum: f32, or f64.
#include "libraries/cublaslt/finish.h"

#pragma clang force_cuda_host_device begin

namespace cerberus::libraries::cublaslt {
namespace {

// cudaDataType, and bits of Epilogue (descriptors.h).
enum {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kR8U = 8,
  kR32I = 10,
  kR16BF = 14,
  kR8E4M3 = 28,
  kR8E5M2 = 29,
};
enum : unsigned {
  kRelu = 2,
  kBias = 4,
  kDRelu = 8,
  kGelu = 32,
  kDGelu = 64,
  kAux = 128,
};

using Byte = unsigned char;

unsigned BitsOf(float value) { return __builtin_bit_cast(unsigned, value); }
float FloatOf(unsigned bits) { return __builtin_bit_cast(float, bits); }

int SizeOf(int type) {
  switch (type) {
    case kR64F: return 8;
    case kR32F:
    case kR32I: return 4;
    case kR16F:
    case kR16BF: return 2;
    default: return 1;
  }
}

// OCP's E4M3: no infinities, one NaN; below 2^-6 in steps of 2^-9.
float FromE4M3(Byte bits) {
  const unsigned sign = (bits & 0x80u) << 24;
  const unsigned rest = bits & 0x7fu;
  if (rest == 0x7f) return FloatOf(sign | 0x7fc00000u);
  const float value = rest < 8 ? static_cast<float>(rest) * 0x1p-9f
                               : FloatOf((rest << 20) + ((127u - 7) << 23));
  return FloatOf(sign | BitsOf(value));
}
// E5M2 is the upper half of an IEEE binary16.
float FromE5M2(Byte bits) {
  const auto half = static_cast<unsigned short>(bits << 8);
  return static_cast<float>(__builtin_bit_cast(_Float16, half));
}
// To nearest, ties to even; what is too large becomes the largest number.
Byte ToFloat8(float value, int fraction, int least, float largest,
              unsigned largest_bits) {
  const unsigned sign = BitsOf(value) >> 24 & 0x80u;
  if (value != value) return static_cast<Byte>(sign | 0x7fu);
  const float size = __builtin_fabsf(value);
  if (size >= largest) return static_cast<Byte>(sign | largest_bits);
  const int told = static_cast<int>(BitsOf(size) >> 23) - 127;
  const int exponent = told > least ? told : least;
  const float units =
      FloatOf(static_cast<unsigned>(127 - exponent + fraction) << 23);
  const auto count = static_cast<unsigned>(__builtin_rintf(size * units));
  // With the hidden bit in the exponent's lowest place, carries come out right.
  const unsigned bits =
      count + (static_cast<unsigned>(exponent - least) << fraction);
  return static_cast<Byte>(sign | (bits < largest_bits ? bits : largest_bits));
}
unsigned short ToBfloat16(float value) {
  const unsigned bits = BitsOf(value);
  if (value != value) return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T, typename R>
T Saturated(R value, R least, R largest) {
  if (value != value) return 0;
  const R rounded = __builtin_elementwise_rint(value);
  return static_cast<T>(rounded < least     ? least
                        : rounded > largest ? largest
                                            : rounded);
}

template <typename R>
R Load(int type, const void* from, Int64 i) {
  const auto at = [&](auto zero) {
    return static_cast<const decltype(zero)*>(from)[i];
  };
  switch (type) {
    case kR32F: return static_cast<R>(at(0.0f));
    case kR64F: return static_cast<R>(at(0.0));
    case kR16F: return static_cast<R>(at(static_cast<_Float16>(0)));
    case kR16BF:
      return static_cast<R>(FloatOf(
          static_cast<unsigned>(at(static_cast<unsigned short>(0))) << 16));
    case kR32I: return static_cast<R>(at(0));
    case kR8I: return static_cast<R>(at(static_cast<signed char>(0)));
    case kR8U: return static_cast<R>(at(Byte{0}));
    case kR8E4M3: return static_cast<R>(FromE4M3(at(Byte{0})));
    default: return static_cast<R>(FromE5M2(at(Byte{0})));
  }
}

template <typename R>
void Store(int type, void* to, Int64 i, R value) {
  const auto put = [&](auto number) {
    static_cast<decltype(number)*>(to)[i] = number;
  };
  const auto single = static_cast<float>(value);
  switch (type) {
    case kR32F: return put(single);
    case kR64F: return put(static_cast<double>(value));
    case kR16F: return put(static_cast<_Float16>(single));
    case kR16BF: return put(ToBfloat16(single));
    case kR32I: return put(Saturated<int, double>(value, -0x1p31, 0x1p31 - 1));
    case kR8I: return put(Saturated<signed char, R>(value, -128, 127));
    case kR8U: return put(Saturated<Byte, R>(value, 0, 255));
    case kR8E4M3: return put(ToFloat8(single, 3, -6, 448, 0x7e));
    default: return put(ToFloat8(single, 2, -14, 57344, 0x7b));
  }
}

struct Place {
  void* base;
  Int64 at;
};
Place PlaceOf(const DeviceMatrix& matrix, Int64 i, Int64 j, Int64 batch) {
  const Int64 at = i * matrix.row + j * matrix.column;
  if (matrix.is_array != 0) {
    return {static_cast<void* const*>(matrix.first)[batch], at};
  }
  return {matrix.first, at + batch * matrix.batch};
}
template <typename R>
R Get(const DeviceMatrix& matrix, Int64 i, Int64 j, Int64 batch) {
  const Place place = PlaceOf(matrix, i, j, batch);
  return Load<R>(matrix.type, place.base, place.at);
}
template <typename R>
void Put(const DeviceMatrix& matrix, Int64 i, Int64 j, Int64 batch, R value) {
  const Place place = PlaceOf(matrix, i, j, batch);
  Store<R>(matrix.type, place.base, place.at, value);
}

template <typename R>
R ScalarOf(const DeviceScalar& scalar, int type, Int64 row, Int64 batch) {
  if (scalar.later == nullptr) return static_cast<R>(scalar.value);
  return Load<R>(type, scalar.later, row * scalar.row + batch * scalar.batch);
}
float ScaleOf(const float* scale) { return scale != nullptr ? *scale : 1; }

// 1 / (1 + exp(-x)), where tanh would be 2 of it at 2 x, less 1: so that GELU
// keeps its digits where it comes near 0.
float Logistic(float x) {
  constexpr float kLog2OfE = 1.44269504f;
  return 1 / (1 + __nvvm_ex2_approx_f(-x * kLog2OfE));
}
constexpr float kRoot = 0.797884561f;  // sqrt(2 / pi)
float Gelu(float x) {
  return x * Logistic(2 * kRoot * (x + 0.044715f * x * x * x));
}
float GeluSlope(float x) {
  const float s = Logistic(2 * kRoot * (x + 0.044715f * x * x * x));
  return s + 2 * x * s * (1 - s) * kRoot * (1 + 3 * 0.044715f * x * x);
}

// Of numbers that are not negative; their bits are in their order.
void NoteLargest(float* largest, float size) {
  if (largest == nullptr || !(size > *largest)) return;
  __atomic_fetch_max(reinterpret_cast<unsigned*>(largest), BitsOf(size),
                     __ATOMIC_RELAXED);
}

// One element; `bits`: of the byte of the auxiliary buffer that is RELU's.
template <typename R>
void FinishOne(const FinishArguments& f, Int64 i, Int64 j, Int64 batch,
               unsigned bit, Byte* bits) {
  const auto has = [&](unsigned what) { return (f.epilogue & what) != 0; };
  R x = Get<R>(f.x, i, j, batch) *
        (ScalarOf<R>(f.alpha, f.scalar_type, i, batch) *
         static_cast<R>(ScaleOf(f.scale_of_a) * ScaleOf(f.scale_of_b)));
  const R beta = ScalarOf<R>(f.beta, f.scalar_type, i, 0);
  if (f.c.first != nullptr && beta != 0) {
    x +=
        beta * static_cast<R>(ScaleOf(f.scale_of_c)) * Get<R>(f.c, i, j, batch);
  }
  if (has(kDRelu) && (*bits & bit) == 0) x = 0;
  if (has(kDGelu)) {
    x *= GeluSlope(Get<float>(f.aux, i, j, batch));
  }
  if (has(kBias)) x += Load<R>(f.bias_type, f.bias, batch * f.bias_batch + i);
  if (has(kAux) && has(kRelu)) {
    *bits = static_cast<Byte>(x > 0 ? *bits | bit : *bits & ~bit);
  } else if (has(kAux) && !has(kDRelu | kDGelu)) {
    Put<R>(f.aux, i, j, batch, x * static_cast<R>(ScaleOf(f.scale_of_aux)));
    NoteLargest(f.amax_of_aux, static_cast<float>(x < 0 ? -x : x));
  }
  if (has(kRelu) && x < 0) x = 0;
  if (has(kGelu)) x = static_cast<R>(Gelu(static_cast<float>(x)));
  if (f.kept.first != nullptr) Put<R>(f.kept, i, j, batch, x);
  NoteLargest(f.amax_of_d, static_cast<float>(x < 0 ? -x : x));
  Put<R>(f.d, i, j, batch, x * static_cast<R>(ScaleOf(f.scale_of_d)));
}

// Blocks: rows, columns, batches. Grids end at 65535 in the last two.
template <typename R>
void FinishAll(const FinishArguments& f) {
  const bool has_bits =
      f.aux.first != nullptr && (f.epilogue & (kRelu | kDRelu)) != 0;
  const Int64 rows = has_bits ? kRowsOfByte : 1;
  const Int64 first =
      rows *
      (static_cast<Int64>(__nvvm_read_ptx_sreg_ctaid_x()) * kFinishThreads +
       __nvvm_read_ptx_sreg_tid_x());
  for (Int64 batch = __nvvm_read_ptx_sreg_ctaid_z(); batch < f.batches;
       batch += __nvvm_read_ptx_sreg_nctaid_z()) {
    for (Int64 j = __nvvm_read_ptx_sreg_ctaid_y(); j < f.columns;
         j += __nvvm_read_ptx_sreg_nctaid_y()) {
      Byte* byte = nullptr;
      if (has_bits) {
        const Place place = PlaceOf(f.aux, first, j, batch);
        byte = static_cast<Byte*>(place.base) + place.at / 8;
      }
      for (Int64 i = first; i < first + rows && i < f.rows; ++i) {
        FinishOne<R>(f, i, j, batch, 1u << (i - first), byte);
      }
    }
  }
}

// A block for a row: its threads take columns in turn, and meet in pairs.
template <typename R>
void SumRows(const RowSumArguments& r, R* parts) {
  const unsigned thread = __nvvm_read_ptx_sreg_tid_x();
  for (Int64 batch = __nvvm_read_ptx_sreg_ctaid_z(); batch < r.batches;
       batch += __nvvm_read_ptx_sreg_nctaid_z()) {
    const Int64 i = __nvvm_read_ptx_sreg_ctaid_x();
    R sum = 0;
    for (Int64 j = thread; j < r.columns; j += kFinishThreads) {
      sum += Get<R>(r.x, i, j, batch);
    }
    parts[thread] = sum;
    for (unsigned half = kFinishThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half) parts[thread] += parts[thread + half];
    }
    __syncthreads();
    if (thread == 0) {
      Store<R>(r.sums_type, r.sums, batch * r.sums_batch + i, parts[0]);
    }
    __syncthreads();
  }
}

}  // namespace

#pragma clang force_cuda_host_device end

#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))

KERNEL void cerberus_finish_f32(FinishArguments f) { FinishAll<float>(f); }
KERNEL void cerberus_finish_f64(FinishArguments f) { FinishAll<double>(f); }
KERNEL void cerberus_sum_rows_f32(RowSumArguments r) {
  SHARED static float parts[kFinishThreads];
  SumRows<float>(r, parts);
}
KERNEL void cerberus_sum_rows_f64(RowSumArguments r) {
  SHARED static double parts[kFinishThreads];
  SumRows<double>(r, parts);
}

}  // namespace cerberus::libraries::cublaslt
