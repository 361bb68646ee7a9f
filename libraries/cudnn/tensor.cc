#include "libraries/cudnn/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cudnn {
namespace {

// A tensor's dimensions in the order of an Array's, with a vectorized one as
// two, and strides in elements.
struct Layout {
  Sizes sizes, strides;
};
Layout LayoutOf(const Tensor& tensor) {
  Layout layout{tensor.sizes, tensor.strides};
  if (tensor.vector_count > 1) {
    for (Index& stride : layout.strides) stride *= tensor.vector_count;
    const auto at = static_cast<std::ptrdiff_t>(tensor.vector_dimension);
    Index& vectors = layout.sizes[tensor.vector_dimension];
    vectors = (vectors + tensor.vector_count - 1) / tensor.vector_count;
    layout.sizes.insert(layout.sizes.begin() + at + 1, tensor.vector_count);
    layout.strides.insert(layout.strides.begin() + at + 1, 1);
  }
  return layout;
}

// Calls f(place in memory, stride, elements, place in the array) for each run
// along the last dimension.
template <typename F>
void ForEachRow(const Layout& layout, const F& f) {
  if (std::find(layout.sizes.begin(), layout.sizes.end(), 0) !=
      layout.sizes.end()) {
    return;
  }
  if (layout.sizes.empty()) return f(0, 1, 1, 0);
  Sizes outer(layout.sizes.begin(), layout.sizes.end() - 1);
  Sizes place(outer.size(), 0);
  const Index length = layout.sizes.back();
  Index row = 0;
  do {
    Index offset = 0;
    for (std::size_t d = 0; d < place.size(); ++d) {
      offset += place[d] * layout.strides[d];
    }
    f(offset, layout.strides.back(), length, row++ * length);
  } while (NextPlace(outer, &place));
}

// How one type is read and written: Load(memory, i), Store(memory, i, value).
template <typename T>
struct Plain {
  static double Load(const void* memory, Index i) {
    T value;
    std::memcpy(&value, static_cast<const T*>(memory) + i, sizeof value);
    return static_cast<double>(value);
  }
  static void Store(void* memory, Index i, double value) {
    T stored;
    if constexpr (std::is_floating_point_v<T>) {
      stored = static_cast<T>(value);
    } else {
      // Integers are rounded to nearest and saturate; NaN is zero.
      const double rounded = std::nearbyint(value);
      using Limits = std::numeric_limits<T>;
      if (std::isnan(value)) {
        stored = 0;
      } else if (rounded <= static_cast<double>(Limits::min())) {
        stored = Limits::min();
      } else if (rounded >= static_cast<double>(Limits::max())) {
        stored = Limits::max();
      } else {
        stored = static_cast<T>(rounded);
      }
    }
    std::memcpy(static_cast<T*>(memory) + i, &stored, sizeof stored);
  }
};
std::vector<float> MakeHalves() {
  std::vector<float> all(65536);
  for (std::size_t bits = 0; bits < all.size(); ++bits) {
    all[bits] = cublas::FromHalf(static_cast<std::uint16_t>(bits));
  }
  return all;
}
struct Half {
  // As cublas::ToHalf, which takes ten times as long: of what is a normal
  // number as a half, too, the exponent is moved and 13 bits are rounded off.
  static std::uint16_t Round(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t size = all & 0x7fffffff;
    if (size < 0x38800000 || size >= 0x477ff000) return cublas::ToHalf(value);
    const std::uint32_t moved = size - (112u << 23);
    const std::uint32_t rounded = moved + 0xfff + (moved >> 13 & 1);
    return static_cast<std::uint16_t>((all >> 16 & 0x8000) | rounded >> 13);
  }
  static double Load(const void* memory, Index i) {
    static const std::vector<float> table = MakeHalves();
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const std::uint16_t*>(memory) + i, 2);
    return table[bits];
  }
  static void Store(void* memory, Index i, double value) {
    const std::uint16_t bits = Round(static_cast<float>(value));
    std::memcpy(static_cast<std::uint16_t*>(memory) + i, &bits, 2);
  }
};
struct Bfloat16 {
  static double Load(const void* memory, Index i) {
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const std::uint16_t*>(memory) + i, 2);
    return cublas::FromBfloat16(bits);
  }
  static void Store(void* memory, Index i, double value) {
    const std::uint16_t bits = cublas::ToBfloat16(static_cast<float>(value));
    std::memcpy(static_cast<std::uint16_t*>(memory) + i, &bits, 2);
  }
};
template <cublas::DataType kType>
struct Float8 {
  static double Load(const void* memory, Index i) {
    return cublas::FromFloat8(kType,
                              static_cast<const std::uint8_t*>(memory)[i]);
  }
  static void Store(void* memory, Index i, double value) {
    static_cast<std::uint8_t*>(memory)[i] =
        cublas::ToFloat8(kType, static_cast<float>(value));
  }
};
// Rounded up, as block scales are.
struct E8M0 {
  static double Load(const void* memory, Index i) {
    return cublas::FromE8M0(static_cast<const std::uint8_t*>(memory)[i]);
  }
  static void Store(void* memory, Index i, double value) {
    static_cast<std::uint8_t*>(memory)[i] = cublas::ToE8M0(value);
  }
};
// Eight in a byte, the first in the lowest bit.
struct Bit {
  static double Load(const void* memory, Index i) {
    return static_cast<const std::uint8_t*>(memory)[i / 8] >> (i % 8) & 1;
  }
  static void Store(void* memory, Index i, double value) {
    std::uint8_t& byte = static_cast<std::uint8_t*>(memory)[i / 8];
    const auto bit = static_cast<std::uint8_t>(1 << (i % 8));
    byte = static_cast<std::uint8_t>(value != 0 ? byte | bit : byte & ~bit);
  }
};
struct Byte {
  static double Load(const void* memory, Index i) {
    return static_cast<const std::uint8_t*>(memory)[i] != 0 ? 1 : 0;
  }
  static void Store(void* memory, Index i, double value) {
    static_cast<std::uint8_t*>(memory)[i] = value != 0 ? 1 : 0;
  }
};

// Calls f with the reader and writer of a type.
template <typename F>
void WithType(DataType type, const F& f) {
  switch (type) {
    case kFloat: return f(Plain<float>());
    case kDouble: return f(Plain<double>());
    case kHalf: return f(Half());
    case kBfloat16: return f(Bfloat16());
    case kInt8: return f(Plain<std::int8_t>());
    case kUint8: return f(Plain<std::uint8_t>());
    case kInt32: return f(Plain<std::int32_t>());
    case kUint32: return f(Plain<std::uint32_t>());
    case kInt64: return f(Plain<std::int64_t>());
    case kBoolean: return f(Bit());
    case kByteBoolean: return f(Byte());
    case kE4M3: return f(Float8<cublas::kR8E4M3>());
    case kE5M2: return f(Float8<cublas::kR8E5M2>());
    case kE8M0: return f(E8M0());
    default: return;  // no tensor has it
  }
}

// Calls f(place in memory, place in the array) for each element of a ragged
// tensor that there is.
template <typename F>
void ForEachOfRagged(const Tensor& tensor, const Sizes& starts, const F& f) {
  Sizes place(tensor.sizes.size(), 0);
  Index to = 0;
  do {
    Index offset = 0;
    for (std::size_t d = 1; d < place.size(); ++d) {
      offset += place[d] * tensor.strides[d];
    }
    const auto which = static_cast<std::size_t>(place[0]);
    if (starts[which] >= 0 && offset < starts[which + 1] - starts[which]) {
      f(starts[which] + offset, to);
    }
    ++to;
  } while (NextPlace(tensor.sizes, &place));
}

struct Piece {
  std::size_t bytes, count, stride;
};
// The memory of a tensor as equal columns if it is such with gaps of one size,
// else as a whole.
Piece PieceOf(const Tensor& tensor) {
  const Piece whole{tensor.SpanBytes(), 1, 0};
  const auto size = static_cast<Index>(BitsOf(tensor.type) / 8);
  if (tensor.type == kBoolean || whole.bytes == 0) return whole;
  const Layout layout = LayoutOf(tensor);
  std::vector<std::pair<Index, Index>> dimensions;  // stride, size
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] > 1) {
      dimensions.emplace_back(layout.strides[d], layout.sizes[d]);
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  // What lies without gaps from the innermost on, then what follows with one.
  Index inner = 1, outer = 1, stride = 0;
  for (const auto& [step, count] : dimensions) {
    if (stride == 0 && step == inner) {
      inner *= count;
    } else if (stride == 0 && step > inner) {
      stride = step;
      outer = count;
    } else if (stride != 0 && step == stride * outer) {
      outer *= count;
    } else {
      return whole;
    }
  }
  return {static_cast<std::size_t>(inner * size),
          static_cast<std::size_t>(outer),
          static_cast<std::size_t>(stride * size)};
}

}  // namespace

Index ProductOf(const Sizes& sizes) {
  Index product = 1;
  for (const Index size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return -1;
  }
  return product;
}
Sizes PackedStrides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * sizes[d];
  }
  return strides;
}
bool NextPlace(const Sizes& sizes, Sizes* place) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++(*place)[d] < sizes[d]) return true;
    (*place)[d] = 0;
  }
  return false;
}

int BitsOf(DataType type) {
  switch (type) {
    case kBoolean: return 1;
    case kInt8:
    case kUint8:
    case kE4M3:
    case kE5M2:
    case kE8M0:
    case kByteBoolean: return 8;
    case kHalf:
    case kBfloat16: return 16;
    case kFloat:
    case kInt32:
    case kUint32: return 32;
    case kDouble:
    case kInt64: return 64;
    default: return 0;
  }
}
bool IsFloating(DataType type) {
  switch (type) {
    case kFloat:
    case kDouble:
    case kHalf:
    case kBfloat16:
    case kE4M3:
    case kE5M2:
    case kE8M0: return true;
    default: return false;
  }
}

bool Tensor::IsAddressable() const {
  if (sizes.empty() || sizes.size() != strides.size() || count() <= 0 ||
      vector_count < 1 || vector_dimension >= sizes.size()) {
    return false;
  }
  Index last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    Index reach = 0;
    if (strides[d] < 0 ||
        __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  constexpr Index kMost = Index{1} << 47;
  return last < kMost && count() < kMost && vector_count < 1024 &&
         last * vector_count < kMost;
}

std::size_t Tensor::SpanBytes() const {
  const Layout layout = LayoutOf(*this);
  Index last = 0;
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] == 0) return 0;
    last += (layout.sizes[d] - 1) * layout.strides[d];
  }
  const auto bits = static_cast<std::size_t>(BitsOf(type));
  return (static_cast<std::size_t>(last + 1) * bits + 7) / 8;
}

Array Tensor::Read(const void* memory) const {
  const Layout layout = LayoutOf(*this);
  Array array;
  array.sizes = layout.sizes;
  array.values.resize(static_cast<std::size_t>(ProductOf(layout.sizes)));
  WithType(type, [&](auto reader) {
    ForEachRow(layout, [&](Index from, Index step, Index length, Index to) {
      double* values = array.values.data() + to;
      for (Index i = 0; i < length; ++i) {
        values[i] = decltype(reader)::Load(memory, from + i * step);
      }
    });
  });
  array.sizes = sizes;
  return array;
}
void Tensor::Write(void* memory, const Array& array) const {
  WithType(type, [&](auto writer) {
    ForEachRow(LayoutOf(*this),
               [&](Index to, Index step, Index length, Index from) {
                 const double* values = array.values.data() + from;
                 for (Index i = 0; i < length; ++i) {
                   decltype(writer)::Store(memory, to + i * step, values[i]);
                 }
               });
  });
}

Array Tensor::ReadRagged(const void* memory, const Sizes& starts) const {
  Array array(sizes);
  WithType(type, [&](auto reader) {
    ForEachOfRagged(*this, starts, [&](Index from, Index to) {
      array[to] = decltype(reader)::Load(memory, from);
    });
  });
  return array;
}
void Tensor::WriteRagged(void* memory, const Sizes& starts,
                         const Array& array) const {
  WithType(type, [&](auto writer) {
    ForEachOfRagged(*this, starts, [&](Index to, Index from) {
      decltype(writer)::Store(memory, to, array[from]);
    });
  });
}

const void* MapIn(Work& work, const Tensor& tensor, const void* memory) {
  const Piece piece = PieceOf(tensor);
  return work.In(static_cast<const std::byte*>(memory), piece.bytes,
                 piece.count, piece.stride);
}
void* MapInOut(Work& work, const Tensor& tensor, void* memory) {
  const Piece piece = PieceOf(tensor);
  return work.InOut(static_cast<std::byte*>(memory), piece.bytes, piece.count,
                    piece.stride);
}

void RoundTo(DataType type, Array* array) {
  if (type == kDouble) return;
  WithType(type, [&](auto converter) {
    std::uint64_t room = 0;
    for (double& value : array->values) {
      decltype(converter)::Store(&room, 0, value);
      value = decltype(converter)::Load(&room, 0);
    }
  });
}

bool CanBroadcast(const Sizes& from, const Sizes& to) {
  if (from.size() != to.size()) return false;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != to[d] && from[d] != 1) return false;
  }
  return true;
}
Array Broadcast(const Array& array, const Sizes& sizes) {
  if (array.sizes == sizes) return array;
  Array out(sizes);
  Layout layout{sizes, PackedStrides(array.sizes)};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (array.sizes[d] == 1) layout.strides[d] = 0;
  }
  ForEachRow(layout, [&](Index from, Index step, Index length, Index to) {
    for (Index i = 0; i < length; ++i) out[to + i] = array[from + i * step];
  });
  return out;
}

}  // namespace cerberus::libraries::cudnn
