// Products with sums in tensor memory, tcgen05.mma: every spelling, with A in
// shared and in tensor memory, all types and layouts, of one block and of a
// pair, against matrices multiplied on the host.
//
// PTX ISA 9.0, "TensorCore 5th Generation Family Instructions": "Matrix and
// Data Movement Shape", "Instruction descriptor", "Shared memory descriptor",
// "Data Path Layout Organization", "Block Scaling", "Sparse Matrices".
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/matrix_reference.h"
#include "tests/exec/spellings.h"
#include "tests/exec/tensor_kernel.h"

namespace cerberus::exec {
namespace {

using ptx::MmaKind;
using ptx::Type;

constexpr int kSharedBytes = 16384;  // of each of A and B, in each block
// Where operands are in tensor memory.
constexpr int kColumnOfA = 64, kScalesOfA = 80, kScalesOfB = 88;
constexpr int kColumnOfMetadata = 96;

// A matrix in shared memory, by lines (rows of A, columns of B) of K.
struct Layout {
  int swizzle = 0;       // lines of 16 << swizzle bytes
  bool atom_32 = false;  // exchanged by 32 bytes
  bool transposed = false;
  int leading = 0, stride = 0;
  int bits = 0;  // of an element, as it is stored

  // The byte of element k of a line; for 4 bits that of a pair.
  int At(int line, int k) const {
    int at = 0;
    if (transposed) {
      const int size = bits / 8;
      const int run = (16 / size) << swizzle;
      const int places = atom_32 ? 4 : 8;
      const int of_run = swizzle == 0 ? stride : leading;
      const int of_places = swizzle == 0 ? leading : stride;
      at = line % run * size + line / run * of_run +
           k % places * (16 << swizzle) + k / places * of_places;
    } else {
      const int byte = k * bits / 8;
      at = line % 8 * (16 << swizzle) + line / 8 * stride + byte % 16 +
           (swizzle == 0 ? byte / 16 * leading : byte / 16 * 16);
    }
    if (atom_32) return at ^ (at >> 7 & 3) << 5;
    return at ^ (at >> 7 & ((1 << swizzle) - 1)) << 4;
  }
  std::uint64_t Descriptor() const {
    constexpr std::uint64_t kModes[] = {0, 6, 4, 2};
    const std::uint64_t mode = atom_32 ? 1 : kModes[swizzle];
    return static_cast<std::uint64_t>(leading >> 4) << 16 |
           static_cast<std::uint64_t>(stride >> 4) << 32 |
           std::uint64_t{1} << 46 | mode << 61;
  }
};

// For lines of `bytes` of K.
Layout MakeLayout(int swizzle, bool transposed, bool atom_32, int bytes,
                  int bits) {
  Layout layout;
  layout.swizzle = atom_32 ? 3 : swizzle;
  layout.atom_32 = atom_32;
  layout.transposed = transposed;
  layout.bits = bits;
  const int width = 16 << layout.swizzle;
  if (transposed) {
    const int k = bytes * 8 / bits;
    if (layout.swizzle == 0) {
      layout.leading = 128;
      layout.stride = 128 * ((k + 7) / 8) + 128;
    } else {
      layout.stride = (atom_32 ? 4 : 8) * width;
      layout.leading = layout.stride * (k / (atom_32 ? 4 : 8));
    }
  } else if (layout.swizzle == 0) {
    layout.leading = 128;
    layout.stride = 128 * (bytes / 16) + 128;
  } else {
    layout.stride = 8 * width;
  }
  return layout;
}

struct Case {
  std::string spelling, commit;
  MmaKind kind = MmaKind::kF16;
  int blocks = 1;  // of the pair
  bool weights = false, sparse = false, shifts = false, in_memory = false;
  int scales = 0;  // blocks of K with a scale
  bool exponents = false;
  int m = 0, n = 0, k = 0;
  Type a = Type::kNone, b = Type::kNone, d = Type::kNone;
  bool negates_a = false, negates_b = false, adds = true, saturates = false;
  int selector = 0;
  int divides = 0;                      // D by a power of two
  std::array<std::uint32_t, 8> mask{};  // lanes that stay
  bool has_mask = false, has_divides = false, has_zeros = false;
  std::uint64_t zeros = 0;
  std::uint32_t further_bits = 0;            // of the instruction descriptor
  int scale_bytes_a = 0, scale_bytes_b = 0;  // the first in a column
  Layout at_a, at_b;

  bool quads() const {
    return kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
  }
  bool small() const {
    return kind == MmaKind::kF8f6f4 || kind == MmaKind::kMxf8f6f4;
  }
  int rows() const { return m / blocks; }
  int stored_k() const { return sparse ? k / 2 : k; }
  // Of an element in memory.
  int bits() const {
    switch (kind) {
      case MmaKind::kF16: return 16;
      case MmaKind::kTf32: return 32;
      default: return quads() ? 4 : 8;
    }
  }
  // How many parts of D's columns lie below each other.
  int fold() const {
    if (weights) return 128 / m;
    return blocks == 2 && m == 128 && !sparse ? 2 : 1;
  }
  bool scattered() const {
    if (weights) return false;
    return blocks == 1 ? m == 64 : m == 128 && sparse;
  }
  int LaneOfRow(int row) const {
    return scattered() ? row / 16 * 32 + row % 16 : row;
  }
  int LaneOfD(int row, int column) const {
    return LaneOfRow(row) + column / (n / fold()) * rows();
  }
  int ColumnOfD(int column) const { return column % (n / fold()); }
};

// Of an element's code: the table counts 8 where there are 6.
int CodeBits(Type type) {
  return type == Type::kE2M3 || type == Type::kE3M2 ? 6 : ptx::BitsOf(type);
}

int NumberOfType(const Case& c, Type type) {
  switch (type) {
    case Type::kBF16:
    case Type::kS8:
    case Type::kE5M2: return 1;
    case Type::kTF32: return 2;
    case Type::kE2M3: return 3;
    case Type::kE3M2: return 4;
    case Type::kE2M1: return c.quads() ? 1 : 5;
    default: return 0;
  }
}

std::uint32_t Instruction(const Case& c) {
  std::uint32_t bits = c.further_bits;
  const auto put = [&](int from, bool condition, int value = 1) {
    if (condition) bits |= static_cast<std::uint32_t>(value) << from;
  };
  put(0, c.sparse, c.selector);
  put(2, c.sparse);
  if (c.scales != 0) {
    put(4, true, c.scale_bytes_b);
    put(23, c.exponents);
    put(29, true, c.scale_bytes_a);
  } else {
    put(3, c.saturates);
    put(4, true, c.d == Type::kF16 ? 0 : c.d == Type::kF32 ? 1 : 2);
  }
  put(7, true, NumberOfType(c, c.a));
  put(10, true, NumberOfType(c, c.b));
  put(13, c.negates_a);
  put(14, c.negates_b);
  put(15, !c.in_memory && c.at_a.transposed);
  put(16, c.at_b.transposed);
  put(17, true, c.n / 8);
  put(24, true, c.m / 16);
  return bits;
}

TensorKernel KernelOf(const Case& c) {
  TensorKernel k;
  k.blocks = c.blocks;
  k.further = 2 * kSharedBytes / 4;
  k.declarations =
      "  .shared .align 1024 .b8 a[16384];\n"
      "  .shared .align 1024 .b8 b[16384];\n  .reg .b64 %da, %db, %zeros;\n"
      "  .reg .b32 %r<6>, %d, %ta, %meta, %sa, %sb, %m<8>;\n"
      "  .reg .pred %adds;\n";
  k.body = R"(  mov.u32 %i, %t;
SHARE:
  mad.wide.u32 %at, %i, 4, %further;
  ld.global.b32 %x, [%at];
  ld.global.b32 %r0, [%at+16384];
  shl.b32 %r1, %i, 2;
  mov.u32 %r2, a;
  mov.u32 %r3, b;
  add.u32 %r2, %r2, %r1;
  add.u32 %r3, %r3, %r1;
  st.shared.b32 [%r2], %x;
  st.shared.b32 [%r3], %r0;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 4096;
  @%p bra SHARE;
  fence.proxy.async;
  tcgen05.fence::before_thread_sync;
)" + Meet(c.blocks);
  const auto descriptor = [&](const char* to, const char* variable,
                              const Layout& layout) {
    k.body += "  mov.u32 %r0, " + std::string(variable) +
              ";\n  and.b32 %r0, %r0, 0x3ffff;\n  shr.u32 %r0, %r0, 4;\n"
              "  cvt.u64.u32 %" +
              to + ", %r0;\n  or.b64 %" + to + ", %" + to + ", " +
              std::to_string(layout.Descriptor()) + ";\n";
  };
  descriptor("da", "a", c.at_a);
  descriptor("db", "b", c.at_b);
  const auto number = [](auto value) { return std::to_string(value); };
  k.body += "  add.u32 %ta, %taddr, " + number(kColumnOfA) +
            ";\n  add.u32 %sa, %taddr, " + number(kScalesOfA) +
            ";\n  add.u32 %sb, %taddr, " + number(kScalesOfB) +
            ";\n  add.u32 %meta, %taddr, " + number(kColumnOfMetadata) +
            ";\n  mov.u32 %r4, " + number(Instruction(c)) + ";\n" +
            (c.adds ? "  setp.eq.u32 %adds, 0, 0;\n"
                    : "  setp.ne.u32 %adds, 0, 0;\n") +
            "  mov.b64 %zeros, " + number(c.zeros) + ";\n";
  std::string list;
  for (int i = 0; i < 4 * c.blocks; ++i) {
    k.body += "  mov.u32 %m" + number(i) + ", " +
              number(c.mask[static_cast<std::size_t>(i)]) + ";\n";
    list += (i == 0 ? "%m" : ", %m") + number(i);
  }
  k.body +=
      "  @%first " + c.spelling + " [%taddr], " +
      (c.in_memory ? "[%ta]" : "%da") + ", %db, " +
      (c.sparse ? "[%meta], " : "") + "%r4, " +
      (c.scales != 0 ? "[%sa], [%sb], " : "") +
      (c.has_mask ? "{" + list + "}, " : "") + "%adds" +
      (c.has_divides ? ", " + number(c.divides) : "") +
      (c.has_zeros ? ", %zeros" : "") + ";\n  @%first " + c.commit + " [done]" +
      (c.commit.find("multicast") != std::string::npos ? ", 3" : "") + ";\n";
  // A commit of the pair without .multicast tells the first block alone.
  k.body += WaitForCommit(c.blocks == 2 &&
                          c.commit.find("multicast") == std::string::npos);
  return k;
}

// ---- Operands in memory -----------------------------------------------------

// Elements of 16 bytes of K: 4 and 6 bits, of kinds with 8, lie packed at the
// start of their 16 bytes; in tensor memory each has a byte.
void PutShared(const Case& c, const Layout& layout, Type type,
               std::uint8_t* bytes, int line, int k, Code code) {
  const int bits = CodeBits(type);
  if (c.small() && bits < 8) {
    std::uint8_t* chunk = bytes + layout.At(line, k / 16 * 16);
    for (int i = 0; i < bits; ++i) {
      const int at = k % 16 * bits + i;
      chunk[at / 8] =
          static_cast<std::uint8_t>(chunk[at / 8] | (code >> i & 1) << at % 8);
    }
  } else if (bits == 4) {
    std::uint8_t* at = bytes + layout.At(line, k);
    *at = static_cast<std::uint8_t>(*at | code << (k % 2 * 4));
  } else {
    std::memcpy(bytes + layout.At(line, k), &code,
                static_cast<std::size_t>(bits / 8));
  }
}

void PutInMemory(const Case& c, TensorImage& image, int lane, int k,
                 Code code) {
  if (c.small() && CodeBits(c.a) == 4) code <<= 2;
  const int at = k * c.bits();
  std::uint32_t& word = At(image, lane, kColumnOfA + at / 32);
  const std::uint32_t mask =
      c.bits() == 32 ? ~0u : ((1u << c.bits()) - 1) << at % 32;
  word = (word & ~mask) | static_cast<std::uint32_t>(code) << at % 32;
}

// The matrix that sparse A's stored elements are taken from, and the four
// indices' bits of each group of a row.
Matrix Expand(const Case& c, const Matrix& stored,
              std::vector<std::vector<unsigned>>* indices,
              std::mt19937_64& random) {
  Matrix full(stored.rows, c.k, c.a);
  constexpr unsigned kIndices[] = {0b0100, 0b1000, 0b1001,
                                   0b1100, 0b1101, 0b1110};
  const int run = c.quads() ? 2 : 1;  // elements that stay together
  for (int row = 0; row < stored.rows; ++row) {
    std::vector<unsigned> of_row;
    if (c.a == Type::kTF32) {
      for (int g = 0; g < stored.columns; ++g) {
        const bool second = random() % 2 != 0;
        of_row.push_back(second ? 0b1110 : 0b0100);
        full.at(row, 2 * g + second) = stored.at(row, g);
      }
    } else {
      for (int g = 0; g < stored.columns / (2 * run); ++g) {
        const unsigned index = kIndices[random() % 6];
        of_row.push_back(index);
        for (int e = 0; e < 2 * run; ++e) {
          const auto from = static_cast<int>(index >> (2 * (e / run)) & 3);
          full.at(row, 4 * run * g + from * run + e % run) =
              stored.at(row, 2 * run * g + e);
        }
      }
    }
    indices->push_back(std::move(of_row));
  }
  return full;
}

void PutMetadata(const Case& c, TensorImage& image, int row,
                 const std::vector<unsigned>& of_row) {
  for (std::size_t g = 0; g < of_row.size(); ++g) {
    const int group = static_cast<int>(g);
    int lane = 0, bit = 0, column = kColumnOfMetadata + c.selector;
    if (c.bits() >= 16) {
      // Halves of K lie eight lanes apart, rows 8 to 15 above 0 to 7.
      lane = row / 16 * (c.scattered() ? 32 : 16) + group / 4 * 8 + row % 8;
      bit = row / 8 % 2 * 16 + group % 4 * 4;
    } else {
      lane = c.LaneOfRow(row);
      column += group / 8;
      bit = group % 8 * 4;
    }
    std::uint32_t& word = At(image, lane, column);
    word = (word & ~(0xfu << bit)) | of_row[g] << bit;
  }
}

double ScaleValue(const Case& c, std::uint32_t code) {
  if (c.exponents) return std::ldexp(1.0, static_cast<int>(code) - 127);
  const int exponent = static_cast<int>(code >> 3 & 15);
  const double fraction = code & 7;
  return exponent == 0 ? std::ldexp(fraction, -9)
                       : std::ldexp(8 + fraction, exponent - 10);
}

// A scale of a line, in all four warps' lanes, or those of the half that its
// columns are in.
void PutScale(TensorImage& image, int first_column, int line, int byte,
              std::uint32_t code, int from_warp, int warps) {
  for (int warp = from_warp; warp < from_warp + warps; ++warp) {
    std::uint32_t& word =
        At(image, 32 * warp + line % 32, first_column + line / 32);
    word = (word & ~(0xffu << 8 * byte)) | code << 8 * byte;
  }
}

// Whether .ws takes a column of B for zeros.
bool IsZero(const Case& c, int column) {
  if ((c.zeros >> 39 & 1) == 0) return false;
  const int skipped = static_cast<int>(c.zeros >> 40 & 0xff) + 1;
  const int used = static_cast<int>(c.zeros >> 48 & 0xff) + 1;
  const int width = c.n / c.fold();
  const int part = column / width;
  bool uses = (c.zeros >> (32 + part) & 1) == 0;
  int count = static_cast<int>(c.zeros >> 8 * part & 0xff);
  for (int i = 0; i < column % width; ++i) {
    if (++count >= (uses ? used : skipped)) {
      uses = !uses;
      count = 0;
    }
  }
  return !uses;
}

Matrix Negated(Matrix matrix) {
  for (Code& code : matrix.codes) {
    code ^= Code{1} << (CodeBits(matrix.type) - 1);
  }
  return matrix;
}

void RunAndCheck(const Case& c, const TensorKernel& kernel, Data data,
                 PtxModule& module, const std::string& name,
                 std::mt19937_64& random) {
  Matrix stored(c.m, c.stored_k(), c.a), b(c.k, c.n, c.b), d(c.m, c.n, c.d);
  Fill(stored, data, random);
  Fill(b, data, random);
  Fill(d, data, random);
  std::vector<std::vector<unsigned>> indices;
  Matrix a = c.sparse ? Expand(c, stored, &indices, random) : stored;
  const auto blocks = static_cast<std::size_t>(c.blocks);
  std::vector<TensorImage> images(blocks);
  std::vector<Words> shared(blocks, Words(2 * kSharedBytes / 4));
  for (TensorImage& image : images) image = RandomImage(random);
  const auto bytes_of = [&](int block) {
    return reinterpret_cast<std::uint8_t*>(
        shared[static_cast<std::size_t>(block)].data());
  };
  const auto image_of = [&](int block) -> TensorImage& {
    return images[static_cast<std::size_t>(block)];
  };
  for (int row = 0; row < c.m; ++row) {
    const int block = row / c.rows(), line = row % c.rows();
    for (int k = 0; k < c.stored_k(); ++k) {
      if (c.in_memory) {
        PutInMemory(c, image_of(block), c.LaneOfRow(line), k,
                    stored.at(row, k));
      } else {
        PutShared(c, c.at_a, c.a, bytes_of(block), line, k, stored.at(row, k));
      }
    }
    if (c.sparse) {
      PutMetadata(c, image_of(block), line,
                  indices[static_cast<std::size_t>(row)]);
    }
  }
  const int width = c.n / c.blocks;  // of B, in each block
  for (int column = 0; column < c.n; ++column) {
    for (int k = 0; k < c.k; ++k) {
      PutShared(c, c.at_b, c.b, bytes_of(column / width) + kSharedBytes,
                column % width, k, b.at(k, column));
      if (IsZero(c, column)) b.at(k, column) = 0;
    }
  }
  ProductRules rules;
  rules.result = c.d;
  rules.satfinite = c.saturates;
  const auto scale = [&]() {
    return c.exponents ? 124 + static_cast<std::uint32_t>(random() % 7)
                       : 0x28 + static_cast<std::uint32_t>(random() % 32);
  };
  for (int row = 0; c.scales != 0 && row < c.m; ++row) {
    rules.scale_a.emplace_back();
    for (int i = 0; i < c.scales; ++i) {
      const std::uint32_t code = scale();
      rules.scale_a.back().push_back(ScaleValue(c, code));
      PutScale(image_of(row / c.rows()), kScalesOfA, row % c.rows(),
               c.scale_bytes_a + i, code, 0, 4);
    }
  }
  for (int column = 0; c.scales != 0 && column < c.n; ++column) {
    rules.scale_b.emplace_back();
    for (int i = 0; i < c.scales; ++i) {
      const std::uint32_t code = scale();
      rules.scale_b.back().push_back(ScaleValue(c, code));
      for (int block = 0; block < c.blocks; ++block) {
        const bool halves = c.fold() == 2;
        PutScale(image_of(block), kScalesOfB,
                 halves ? c.ColumnOfD(column) : column, c.scale_bytes_b + i,
                 code, halves ? column / (c.n / 2) * 2 : 0, halves ? 2 : 4);
      }
    }
  }
  for (int row = 0; row < c.m; ++row) {
    const int block = row / c.rows(), line = row % c.rows();
    for (int column = 0; column < c.n; ++column) {
      At(image_of(block), c.LaneOfD(line, column), c.ColumnOfD(column)) =
          static_cast<std::uint32_t>(d.at(row, column));
    }
  }
  std::vector<TensorImage> want = images;
  Words own;
  kernel.Run(module, name, shared, &images, &own);
  if (testing::Test::HasFatalFailure()) return;
  // Rows come from the one behind them, the last from itself.
  if (c.shifts) {
    Matrix shifted = a;
    for (int row = 0; row < c.m; ++row) {
      const bool last = row % c.rows() == c.rows() - 1;
      for (int k = 0; k < c.k; ++k) {
        shifted.at(row, k) = a.at(last ? row : row + 1, k);
      }
    }
    a = shifted;
  }
  // Lanes of the mask stay as they were: rows that are left out here.
  std::vector<int> rows;
  for (int row = 0; row < c.m; ++row) {
    const int lane = c.LaneOfD(row % c.rows(), 0);
    const int of_mask = 4 * (row / c.rows()) + lane / 32;
    const std::uint32_t word = c.mask[static_cast<std::size_t>(of_mask)];
    if ((word >> lane % 32 & 1) == 0) rows.push_back(row);
  }
  const auto count = static_cast<int>(rows.size());
  Matrix left(count, c.k, c.a), before(count, c.n, c.d), got(count, c.n, c.d);
  for (int i = 0; i < count; ++i) {
    const int row = rows[static_cast<std::size_t>(i)];
    const int block = row / c.rows(), line = row % c.rows();
    for (int k = 0; k < c.k; ++k) left.at(i, k) = a.at(row, k);
    for (int column = 0; column < c.n; ++column) {
      const int lane = c.LaneOfD(line, column), at = c.ColumnOfD(column);
      got.at(i, column) = At(image_of(block), lane, at);
      At(want[static_cast<std::size_t>(block)], lane, at) =
          At(image_of(block), lane, at);
      Code code = c.adds ? d.at(row, column) : 0;
      if (c.divides != 0) {
        code = std::bit_cast<std::uint32_t>(
            std::ldexp(std::bit_cast<float>(static_cast<std::uint32_t>(code)),
                       -c.divides));
      }
      before.at(i, column) = code;
    }
    if (c.scales != 0) {
      rules.scale_a[static_cast<std::size_t>(i)] =
          rules.scale_a[static_cast<std::size_t>(row)];
    }
  }
  EXPECT_EQ(
      CheckProduct(c.negates_a ? Negated(left) : left,
                   c.negates_b ? Negated(b) : b, before, got, rules, data),
      "");
  for (std::size_t i = 0; i < images.size(); ++i) {
    ExpectAlike(images[i], want[i]);
  }
}

// ---- Cases ------------------------------------------------------------------

Type SmallType(int which) {
  constexpr Type kTypes[] = {Type::kE4M3, Type::kE5M2, Type::kE2M3, Type::kE3M2,
                             Type::kE2M1};
  return kTypes[which % 5];
}

void ChooseTypes(int which, Case* c) {
  switch (c->kind) {
    case MmaKind::kF16:
      c->a = c->b = which % 3 == 0 ? Type::kBF16 : Type::kF16;
      c->d = c->a == Type::kF16 && which % 2 != 0 ? Type::kF16 : Type::kF32;
      break;
    case MmaKind::kTf32: c->a = c->b = Type::kTF32; break;
    case MmaKind::kI8:
      c->a = which % 2 != 0 ? Type::kS8 : Type::kU8;
      c->b = which / 2 % 2 != 0 ? Type::kS8 : Type::kU8;
      c->d = Type::kS32;
      break;
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4:
      c->a = SmallType(which);
      c->b = SmallType(which / 5 + which % 3);
      break;
    default: c->a = c->b = Type::kE2M1;
  }
  if (c->d == Type::kNone) c->d = Type::kF32;
}

// Mostly small ones: one lane works for all.
void ChooseShape(int which, Case* c) {
  c->k = 256 / c->bits() * (c->sparse ? 2 : 1);
  if (c->weights) {
    constexpr int kRows[] = {32, 32, 32, 64, 32, 128, 32};
    c->m = kRows[which % 7];
    c->n = 64;
    return;
  }
  const bool whole = c->scales != 0 || c->shifts || which % 5 == 0;
  c->m = whole ? 128 * c->blocks : c->blocks == 2 ? 128 : 64;
  c->n = 8 * c->blocks * (which % 7 == 1 ? 3 : which % 4 == 2 ? 2 : 1);
}

void ChooseLayouts(int which, Case* c) {
  const auto may_transpose = [&](Type type) {
    return !c->quads() && CodeBits(type) >= 8;
  };
  const bool t32 = c->kind == MmaKind::kTf32;
  bool transposed = may_transpose(c->a) && which / 2 % 2 != 0;
  c->at_a = MakeLayout(which % 4, transposed, t32 && transposed, 32, c->bits());
  const int columns = c->n / c->blocks;
  transposed = may_transpose(c->b) && which / 3 % 2 != 0;
  int swizzle = (which + which / 4) % 4;
  // Rows of 64 bytes need lines as long.
  if (c->sparse && !transposed && swizzle == 1) swizzle = 2;
  c->at_b = MakeLayout(swizzle, transposed, t32 && transposed,
                       c->sparse ? 64 : 32, c->bits());
  // A transposed line has whole lines of columns.
  const int run = (128 / c->bits()) << c->at_b.swizzle;
  if (transposed && columns % run != 0) {
    c->at_b = MakeLayout(0, columns % (128 / c->bits()) == 0, false,
                         c->sparse ? 64 : 32, c->bits());
  }
}

Case MakeCase(const LoweredSpelling& s, int which,
              const std::vector<LoweredSpelling>& commits) {
  Case c;
  ptx::InstForm form;
  std::string error;
  EXPECT_TRUE(ptx::ResolveForm(s.text, -1, &form, &error)) << error;
  c.spelling = s.text;
  c.kind = form.mods.mma_kind();
  c.blocks = form.mods.cta_group() == ptx::CtaGroup::kTwo ? 2 : 1;
  c.weights = s.Has("ws");
  c.sparse = s.Has("sp");
  c.shifts = s.Has("ashift");
  if (s.Has("block_scale")) {
    c.scales = s.Has("scale_vec::4X") || s.Has("block16") ? 4
               : s.Has("scale_vec::2X")                   ? 2
               : s.Has("scale_vec::1X") || !c.quads()     ? 1
                                                          : 2;
    if (s.Has("block32")) c.scales = c.quads() ? 2 : 1;
    c.exponents = c.kind != MmaKind::kMxf4nvf4 || which % 2 == 0;
    const int step = c.scales == 1 ? 1 : c.scales;
    c.scale_bytes_a = which % (4 / step) * step;
    c.scale_bytes_b = which / 2 % (4 / step) * step;
  }
  c.in_memory = c.shifts || which % 4 == 3;
  ChooseTypes(which, &c);
  ChooseShape(which, &c);
  ChooseLayouts(which, &c);
  if (c.d != Type::kS32) {
    c.negates_a = which % 5 == 1;
    c.negates_b = which % 7 == 2;
  } else {
    c.saturates = which % 2 != 0;
  }
  c.adds = which % 6 != 5;
  if (c.sparse) c.selector = c.bits() >= 16 ? which % 2 : 0;
  if (c.weights) {
    c.has_zeros = which % 2 != 0;
    if (c.has_zeros && which % 4 == 1) {
      // Spans of 5 and 3 columns, from the middle of one.
      c.zeros = std::uint64_t{0x00040285} << 32 | 0x01020002;
    }
  } else if (c.scales == 0) {
    c.has_divides = c.d == Type::kF32 && which % 3 == 0 &&
                    (c.kind == MmaKind::kF16 || c.kind == MmaKind::kTf32);
    if (c.has_divides) c.divides = 1 + which % 4;
    c.has_mask = !c.has_divides && which % 2 == 0;
    if (c.has_mask && which % 4 == 2 && c.fold() == 1) {
      for (std::size_t i = 0; i < 4 * static_cast<std::size_t>(c.blocks); ++i) {
        c.mask[i] = 0x80010010u << i;
      }
    }
  }
  std::vector<std::string> fitting;
  for (const LoweredSpelling& commit : commits) {
    if (commit.Has("cta_group::2") == (c.blocks == 2)) {
      fitting.push_back(commit.text);
    }
  }
  c.commit = fitting[static_cast<std::size_t>(which) % fitting.size()];
  return c;
}

void RunAll(const char* opcode, int turns) {
  KernelBatch batch{std::string(kTensorHeader)};
  std::mt19937_64 random(61);
  const std::vector<LoweredSpelling> commits =
      LoweredSpellingsOf("tcgen05.commit");
  Pairs pairs;
  int which = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
    if (!pairs.IsNew(s)) continue;
    for (int turn = 0; turn < turns; ++turn) {
      const Case c = MakeCase(s, which++, commits);
      // What of B a sparse row does not meet takes no part, infinite or not;
      // the reference multiplies it by zero.
      const Data data = kAllData[which % (c.sparse ? 2 : 3)];
      const TensorKernel kernel = KernelOf(c);
      batch.Add(
          c.spelling + (c.in_memory ? ", A in tensor memory" : "") + ", M " +
              std::to_string(c.m) + ", N " + std::to_string(c.n) + ", A " +
              std::to_string(c.at_a.swizzle) + (c.at_a.transposed ? "t" : "") +
              ", B " + std::to_string(c.at_b.swizzle) +
              (c.at_b.transposed ? "t" : "") + ", number " +
              std::to_string(which - 1),
          kernel.Text(batch.NextName()),
          [c, kernel, data, &random](PtxModule& module,
                                     const std::string& name) {
            RunAndCheck(c, kernel, data, module, name, random);
          });
    }
  }
  EXPECT_GT(which, 0);
}

// K of 96, and columns of B that a zero-column mask moves.
TEST(TensorProductExec, WhatIsNotDoneEndsTheKernel) {
  std::mt19937_64 random(62);
  const std::vector<LoweredSpelling> commits =
      LoweredSpellingsOf("tcgen05.commit");
  for (const char* opcode : {"tcgen05.mma", "tcgen05.mma.ws"}) {
    const bool weights = std::string(opcode) == "tcgen05.mma.ws";
    const std::vector<LoweredSpelling> all = LoweredSpellingsOf(opcode);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const LoweredSpelling& s) {
          return weights || (s.Has("kind::mxf4") && s.Has("cta_group::1"));
        });
    ASSERT_NE(found, all.end());
    Case c = MakeCase(*found, 1, commits);
    if (weights) {
      c.has_zeros = true;
      c.zeros = std::uint64_t{1} << 56;
    } else {
      c.further_bits = 1u << 31;
    }
    const TensorKernel kernel = KernelOf(c);
    const auto module =
        PtxModule::Compile(std::string(kTensorHeader) + kernel.Text("k"));
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer in((*module)->device(), 1 << 20), out((*module)->device(), 1 << 20);
    Launch launch;
    launch.block = {kTensorThreads, 1, 1};
    launch.params = {in.address(), out.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().ToString().find("trap"), std::string::npos)
        << status.error().ToString();
  }
}

TEST(TensorProductExec, Dense) { RunAll("tcgen05.mma", 1); }
TEST(TensorProductExec, Sparse) { RunAll("tcgen05.mma.sp", 1); }
TEST(TensorProductExec, Weights) { RunAll("tcgen05.mma.ws", 1); }
TEST(TensorProductExec, SparseWeights) { RunAll("tcgen05.mma.ws.sp", 1); }

}  // namespace
}  // namespace cerberus::exec
