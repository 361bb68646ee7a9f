// Matrix instructions: WMMA and SWMMAC (RDNA3 ISA, section 7.9; RDNA4 ISA,
// section 7.12), MFMA and SMFMAC (CDNA3 ISA, section 7). They ignore EXEC.
//
// Every instruction is D = A * B + C on blocks of M x N with depth K. What
// differs is where the elements lie in the registers; AMD's matrix instruction
// calculator publishes the same layouts. Sums are made in the order of K, each
// step fused and rounded to the accumulator's type.
#include <cmath>
#include <vector>

#include "emulator/decode/decode.h"
#include "emulator/device/launch.h"
#include "emulator/execute/semantics.h"
#include "emulator/vector/float_math.h"
#include "emulator/vector/matrix_op.h"

namespace cerberus::emulator {

int BitsOf(MatrixElement e) {
  switch (e) {
    case MatrixElement::kF64: return 64;
    case MatrixElement::kF32:
    case MatrixElement::kXf32: return 32;
    case MatrixElement::kF16:
    case MatrixElement::kBf16: return 16;
    case MatrixElement::kI8:
    case MatrixElement::kFp8:
    case MatrixElement::kBf8: return 8;
    case MatrixElement::kFp6:
    case MatrixElement::kBf6: return 6;
    case MatrixElement::kI4:
    case MatrixElement::kFp4: return 4;
  }
  return 32;
}

namespace {

struct TypeName {
  std::string_view name;
  MatrixElement element;
};
constexpr TypeName kTypeNames[] = {
    {"xf32", MatrixElement::kXf32}, {"bf16", MatrixElement::kBf16},
    {"f16", MatrixElement::kF16},   {"f32", MatrixElement::kF32},
    {"f64", MatrixElement::kF64},   {"i8", MatrixElement::kI8},
    {"iu8", MatrixElement::kI8},    {"iu4", MatrixElement::kI4},
    {"fp8", MatrixElement::kFp8},   {"bf8", MatrixElement::kBf8},
};

bool ElementOf(std::string_view name, MatrixElement* e) {
  for (const TypeName& t : kTypeNames) {
    if (t.name == name) {
      *e = t.element;
      return true;
    }
  }
  return false;
}

// "f32_32x32x8_f16", "f32_32x32x4bf16_1k", "f32_16x16x32_fp8_bf8": result
// type, shape, types of A and B.
bool ParseShape(std::string_view s, MatrixOp* op, bool* f8f6f4) {
  *f8f6f4 = false;
  const std::size_t first = s.find('_');
  if (first == std::string_view::npos) return false;
  const std::string_view result = s.substr(0, first);
  if (result == "f64") op->d = MatrixResult::kF64;
  else if (result == "f32") op->d = MatrixResult::kF32;
  else if (result == "i32") op->d = MatrixResult::kI32;
  else if (result == "f16") op->d = MatrixResult::kF16;
  else if (result == "bf16") op->d = MatrixResult::kBf16;
  else return false;
  s.remove_prefix(first + 1);
  int* const dims[] = {&op->m, &op->n, &op->k};
  for (int i = 0; i < 3; ++i) {
    int v = 0;
    while (!s.empty() && s[0] >= '0' && s[0] <= '9') {
      v = v * 10 + (s[0] - '0');
      s.remove_prefix(1);
    }
    if (v == 0 || v > 128) return false;
    *dims[i] = v;
    if (i < 2) {
      if (s.empty() || s[0] != 'x') return false;
      s.remove_prefix(1);
    }
  }
  if (s.starts_with("_")) s.remove_prefix(1);
  // "_2b", the number of blocks, follows from the registers too.
  if (const std::size_t b = s.find("b_");
      b != std::string_view::npos && b <= 2 && s[0] >= '0' && s[0] <= '9') {
    s.remove_prefix(b + 2);
  }
  if (s.ends_with("_1k")) s.remove_suffix(3);
  if (s == "f8f6f4") {
    *f8f6f4 = true;
    return true;
  }
  const std::size_t split = s.find('_');
  return ElementOf(s.substr(0, split), &op->a) &&
         ElementOf(split == std::string_view::npos ? s : s.substr(split + 1),
                   &op->b);
}

// `bits` bits at a bit position of a lane's registers.
u64 Extract(const u32* rows, u32 n, u32 lane, int index, int bits) {
  const int bit = index * bits, word = bit / 32, shift = bit % 32;
  u64 v = rows[static_cast<u32>(word) * n + lane];
  if (shift + bits > 32) {
    v |= static_cast<u64>(rows[static_cast<u32>(word + 1) * n + lane]) << 32;
  }
  v >>= shift;
  return bits == 64 ? v : v & ((u64{1} << bits) - 1);
}

double SmallFloat(u64 v, int exponent_bits, int mantissa_bits, int bias) {
  const int sign_bit = exponent_bits + mantissa_bits;
  const double sign = (v >> sign_bit & 1) != 0 ? -1 : 1;
  const int e =
      static_cast<int>(v >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double m = static_cast<double>(v & ((u64{1} << mantissa_bits) - 1)) /
                   (1 << mantissa_bits);
  return sign *
         (e == 0 ? std::ldexp(m, 1 - bias) : std::ldexp(1 + m, e - bias));
}

double Value(u64 v, MatrixElement e, bool is_signed, bool fnuz) {
  switch (e) {
    case MatrixElement::kF64: return F64(v);
    case MatrixElement::kF32: return F32(static_cast<u32>(v));
    // 19 bits of an f32 take part.
    case MatrixElement::kXf32: return F32(static_cast<u32>(v) & 0xffffe000);
    case MatrixElement::kF16: return HalfToFloat(static_cast<u16>(v));
    case MatrixElement::kBf16: return Bf16ToFloat(static_cast<u16>(v));
    case MatrixElement::kI8:
      return is_signed ? static_cast<i8>(v) : static_cast<double>(v & 255);
    case MatrixElement::kI4:
      return is_signed ? (static_cast<i32>(v << 28) >> 28)
                       : static_cast<double>(v & 15);
    case MatrixElement::kFp8: return Fp8ToFloat(static_cast<u8>(v), {3, fnuz});
    case MatrixElement::kBf8: return Fp8ToFloat(static_cast<u8>(v), {2, fnuz});
    case MatrixElement::kFp6: return SmallFloat(v, 2, 3, 1);
    case MatrixElement::kBf6: return SmallFloat(v, 3, 2, 3);
    case MatrixElement::kFp4: return SmallFloat(v, 2, 1, 1);
  }
  return 0;
}

// Zero of the same sign for what is smaller than the format's normal numbers.
double Flushed(double v, MatrixElement e) {
  return std::fabs(v) < (e == MatrixElement::kF16 ? 0x1p-14 : 0x1p-126)
             ? std::copysign(0.0, v)
             : v;
}

// The lane that B's pattern makes `lane` read (CDNA3 ISA, BLGP).
u32 PatternLane(int blgp, u32 lane) {
  switch (blgp) {
    case 1: return lane & 31;
    case 2: return (lane & 31) + 32;
    case 3: return (lane + 16) & 63;
    case 4: return lane & 15;
    case 5: return (lane & 15) + 16;
    case 6: return (lane & 15) + 32;
    case 7: return (lane & 15) + 48;
    default: return lane;
  }
}

MatrixPlace At(int lane, int index) {
  return {static_cast<u16>(lane), static_cast<u16>(index)};
}

// Where row (or column) `i` at depth `k` of a block lies, if every lane holds
// `per_lane` elements of one row.
MatrixPlace InputPlace(const MatrixOp& op, int rows, int i, int k, int block,
                       int per_lane) {
  if (op.family == MatrixFamily::kWmma11) return At(i, k);
  if (op.a == MatrixElement::kF64) {
    // One element a lane: K counts groups of 16 lanes.
    return At(i + rows * block + 16 * k, 0);
  }
  return At(i + rows * (k / per_lane) + rows * block, k % per_lane);
}

MatrixPlace OutputPlace(const MatrixOp& op, int i, int j, int block,
                        u32 lanes) {
  const int groups = static_cast<int>(lanes) / 16;
  switch (op.family) {
    case MatrixFamily::kWmma11: return At(16 * (i % groups) + j, i / groups);
    case MatrixFamily::kWmma12: {
      const int per = 16 / groups;
      return At(16 * (i / per) + j, i % per);
    }
    case MatrixFamily::kMfma: break;
  }
  if (op.d == MatrixResult::kF64) {
    if (op.m == 4) return At(16 * i + 4 * block + j, 0);
    return At(16 * (i % 4) + j, i / 4);
  }
  const int per_block = op.m * op.n / 64;
  switch (op.m) {
    case 32:
      return At(32 * (i / 4 % 2) + j, per_block * block + 4 * (i / 8) + i % 4);
    case 16: return At(16 * (i / 4) + j, per_block * block + i % 4);
    default:  // 4: sixteen blocks
      return At(4 * block + j, i);
  }
}

// The rows of an operand; a constant is the same in all of them.
const u32* Rows(Wave& w, const Operand& o, std::vector<u32>* storage, int regs,
                bool wide) {
  if (o.vgpr()) return w.Vgpr(o);
  storage->resize(static_cast<std::size_t>(regs) * w.lanes);
  const u64 v = o.kind == Kind::kImm ? o.imm : ReadScalar64(w, o);
  for (int r = 0; r < regs; ++r) {
    const u32 word = static_cast<u32>(wide && (r & 1) != 0 ? v >> 32 : v);
    std::fill_n(storage->begin() + static_cast<std::ptrdiff_t>(r) * w.lanes,
                w.lanes, word);
  }
  return storage->data();
}

double ScaleOf(u32 word, int byte) {
  const u32 e = word >> (8 * byte) & 255;
  return e == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(e) - 127);
}

// Elements of A that take part in a row's sum.
int DepthOfA(const MatrixOp& x) { return x.sparse ? x.k / 2 : x.k; }

void Prepare(MatrixOp* x, int lanes) {
  const bool gfx11 = x->family == MatrixFamily::kWmma11;
  const int a_depth = DepthOfA(*x);
  // Elements of A and B that one lane holds.
  const int a_per = gfx11 ? x->k : x->m * a_depth * x->blocks / lanes;
  const int b_per = gfx11 ? x->k : x->n * x->k * x->blocks / lanes;
  const u32 last = static_cast<u32>(lanes - 1);
  for (int block = 0; block < x->blocks; ++block) {
    int a_block = block;
    if (x->cbsz != 0 && !x->sparse) {
      a_block = (block & ~((1 << x->cbsz) - 1)) + x->abid;
    }
    for (int i = 0; i < x->m; ++i) {
      for (int k = 0; k < a_depth; ++k) {
        MatrixPlace p = InputPlace(*x, x->m, i, k, a_block, a_per);
        p.lane = static_cast<u16>(p.lane & last);
        x->a_places.push_back(p);
      }
    }
    for (int k = 0; k < x->k; ++k) {
      for (int j = 0; j < x->n; ++j) {
        MatrixPlace p = InputPlace(*x, x->n, j, k, block, b_per);
        p.lane = static_cast<u16>(PatternLane(x->blgp, p.lane & last) & last);
        x->b_places.push_back(p);
      }
    }
    for (int i = 0; i < x->m; ++i) {
      for (int j = 0; j < x->n; ++j) {
        x->d_places.push_back(
            OutputPlace(*x, i, j, block, static_cast<u32>(lanes)));
      }
    }
  }
}

// The elements at `places` as numbers.
void Gather(const MatrixOp& x, const u32* rows, u32 n,
            const MatrixPlace* places, std::size_t count, MatrixElement e,
            bool is_signed, double* out) {
  const int bits = BitsOf(e);
  switch (e) {
    case MatrixElement::kF16:
      for (std::size_t i = 0; i < count; ++i) {
        const MatrixPlace p = places[i];
        out[i] = HalfToFloat(static_cast<u16>(rows[p.index / 2u * n + p.lane] >>
                                              (p.index % 2u * 16)));
      }
      break;
    case MatrixElement::kBf16:
      for (std::size_t i = 0; i < count; ++i) {
        const MatrixPlace p = places[i];
        out[i] = Bf16ToFloat(static_cast<u16>(rows[p.index / 2u * n + p.lane] >>
                                              (p.index % 2u * 16)));
      }
      break;
    case MatrixElement::kF32:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = F32(rows[places[i].index * n + places[i].lane]);
      }
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) {
        const MatrixPlace p = places[i];
        out[i] = Value(Extract(rows, n, p.lane, p.index, bits), e, is_signed,
                       x.fnuz);
      }
      break;
  }
  if (x.flush) {
    for (std::size_t i = 0; i < count; ++i) out[i] = Flushed(out[i], e);
  }
}

void Scale(const u32* scales, int byte, const MatrixPlace* places,
           std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] *= ScaleOf(scales[places[i].lane], byte);
  }
}

void Negate(std::vector<double>* values) {
  for (double& v : *values) v = -v;
}

// A sparse row holds two of every four elements; two bits of the index
// register say which.
void Spread(const MatrixOp& x, const u32* index, int a_per,
            const MatrixPlace* places, const std::vector<double>& packed,
            std::vector<double>* a) {
  std::fill(a->begin(), a->end(), 0.0);
  const int depth = DepthOfA(x), base = x.index_key * 2 * a_per;
  for (int i = 0; i < x.m; ++i) {
    for (int k = 0; k < depth; ++k) {
      const std::size_t from = static_cast<std::size_t>(i * depth + k);
      const MatrixPlace p = places[from];
      const int at =
          4 * (k / 2) +
          static_cast<int>(index[p.lane] >> ((base + 2 * p.index) & 31) & 3);
      (*a)[static_cast<std::size_t>(i * x.k + at)] = packed[from];
    }
  }
}

// The element of C, or its place in D, as bits.
u64 InputBits(const MatrixOp& x, const u32* rows, u32 n, MatrixPlace p,
              int d_bits) {
  const bool half = x.d == MatrixResult::kF16 || x.d == MatrixResult::kBf16;
  return half && x.family == MatrixFamily::kWmma11
             ? Extract(rows, n, p.lane, 2 * p.index + x.result_hi, 16)
             : Extract(rows, n, p.lane, p.index, d_bits);
}

double SumStart(const MatrixOp& x, u64 bits) {
  const u32 word = static_cast<u32>(bits);
  double sum = 0;
  switch (x.d) {
    case MatrixResult::kI32: return static_cast<i32>(word);
    case MatrixResult::kF64: sum = F64(bits); break;
    case MatrixResult::kF32: sum = F32(word); break;
    case MatrixResult::kF16: sum = HalfToFloat(static_cast<u16>(word)); break;
    case MatrixResult::kBf16: sum = Bf16ToFloat(static_cast<u16>(word)); break;
  }
  if (x.d != MatrixResult::kF64 && x.src_c.neg_hi) sum = std::fabs(sum);
  if (x.src_c.neg) sum = -sum;
  return x.flush && x.d != MatrixResult::kF64
             ? Flushed(sum, MatrixElement::kF32)
             : sum;
}

u64 SumBits(const MatrixOp& x, double sum, const Mode& mode) {
  if (x.d == MatrixResult::kF64) return Bits(sum);
  if (x.d == MatrixResult::kI32) {
    i64 v = static_cast<i64>(sum);
    if (x.clamp) v = std::max<i64>(std::min<i64>(v, INT32_MAX), INT32_MIN);
    return static_cast<u32>(v);
  }
  if (x.flush) sum = Flushed(sum, MatrixElement::kF32);
  const float v = static_cast<float>(sum);
  return x.d == MatrixResult::kF32   ? Bits(v)
         : x.d == MatrixResult::kF16 ? FloatToHalf(v, mode.round64)
                                     : FloatToBf16(v);
}

void ExecMatrix(Wave& w, const Op& op) {
  const MatrixOp& x = *static_cast<const MatrixOp*>(op.data);
  const u32 n = w.lanes;
  ApplyEnv(w, x.d == MatrixResult::kF64 ? Env::kF64 : Env::kF32);
  const int a_bits = BitsOf(x.a), b_bits = BitsOf(x.b);
  std::vector<u32> a_store, b_store, c_store;
  const u32* const a_rows = Rows(w, x.src_a, &a_store, 16, a_bits == 64);
  const u32* const b_rows = Rows(w, x.src_b, &b_store, 16, b_bits == 64);
  const u32* const c_rows =
      x.src_c.kind == Kind::kNone
          ? w.Vgpr(op.dst)
          : Rows(w, x.src_c, &c_store, 32, x.d == MatrixResult::kF64);
  const bool half = x.d == MatrixResult::kF16 || x.d == MatrixResult::kBf16;
  // gfx12 packs 16-bit results, gfx11 keeps one in a register.
  const bool packed = half && x.family == MatrixFamily::kWmma12;
  const int d_bits = x.d == MatrixResult::kF64 ? 64 : packed ? 16 : 32;
  std::vector<u32> out(static_cast<std::size_t>(op.dst.regs) * n);
  std::memcpy(out.data(), w.Vgpr(op.dst), out.size() * 4);

  const std::size_t block_a = static_cast<std::size_t>(x.m * DepthOfA(x));
  const std::size_t block_b = static_cast<std::size_t>(x.k * x.n);
  const std::size_t block_d = static_cast<std::size_t>(x.m * x.n);
  std::vector<double> elements(block_a), b(block_b), sums(block_d);
  std::vector<double> a(static_cast<std::size_t>(x.m * x.k));
  for (int block = 0; block < x.blocks; ++block) {
    const MatrixPlace* const pa =
        &x.a_places[static_cast<std::size_t>(block) * block_a];
    const MatrixPlace* const pb =
        &x.b_places[static_cast<std::size_t>(block) * block_b];
    const MatrixPlace* const pd =
        &x.d_places[static_cast<std::size_t>(block) * block_d];
    Gather(x, a_rows, n, pa, block_a, x.a, x.a_signed, elements.data());
    Gather(x, b_rows, n, pb, block_b, x.b, x.b_signed, b.data());
    if (x.scaled) {
      Scale(w.Vgpr(x.scale_a), x.scale_a_byte, pa, block_a, elements.data());
      Scale(w.Vgpr(x.scale_b), x.scale_b_byte, pb, block_b, b.data());
    }
    if (x.src_a.neg) Negate(&elements);
    if (x.src_b.neg) Negate(&b);
    if (x.sparse) {
      const int a_per =
          x.family == MatrixFamily::kWmma11
              ? x.k
              : static_cast<int>(block_a) * x.blocks / static_cast<int>(n);
      Spread(x, w.Vgpr(x.index), a_per, pa, elements, &a);
    } else {
      a.swap(elements);
    }
    for (std::size_t i = 0; i < block_d; ++i) {
      sums[i] = SumStart(x, InputBits(x, c_rows, n, pd[i], d_bits));
    }
    // Whole numbers of 8 bits: their sums are exact in f64.
    const bool wide = x.d == MatrixResult::kF64 || x.d == MatrixResult::kI32;
    HostMatrixSum(wide)(a.data(), b.data(), sums.data(), x.m, x.n, x.k);
    if (!x.sparse) a.swap(elements);
    for (std::size_t i = 0; i < block_d; ++i) {
      const u64 bits = SumBits(x, sums[i], w.mode);
      const MatrixPlace p = pd[i];
      const u32 at = p.index;
      if (d_bits == 64) {
        out[2 * at * n + p.lane] = static_cast<u32>(bits);
        out[(2 * at + 1) * n + p.lane] = static_cast<u32>(bits >> 32);
      } else if (packed || half) {
        u32& word = packed ? out[at / 2 * n + p.lane] : out[at * n + p.lane];
        const bool hi = packed ? (at & 1) != 0 : x.result_hi;
        const u32 h = static_cast<u32>(bits) & 0xffff;
        word = hi ? (word & 0xffff) | h << 16 : (word & 0xffff0000) | h;
      } else {
        out[at * n + p.lane] = static_cast<u32>(bits);
      }
    }
  }
  std::memcpy(w.Vgpr(op.dst), out.data(), out.size() * 4);
  CountMatrix(w, x);
}

bool ParseName(std::string_view name, Gen gen, MatrixOp* x, bool* f8f6f4) {
  *f8f6f4 = false;
  std::string_view rest;
  if (name.starts_with("v_mfma_scale_")) {
    x->scaled = true;
    rest = name.substr(13);
  } else if (name.starts_with("v_mfma_")) {
    rest = name.substr(7);
  } else if (name.starts_with("v_smfmac_")) {
    x->sparse = true;
    rest = name.substr(9);
  } else if (name.starts_with("v_wmma_")) {
    rest = name.substr(7);
  } else if (name.starts_with("v_swmmac_")) {
    x->sparse = true;
    rest = name.substr(9);
  } else {
    return false;
  }
  if (name.find("wmma") != std::string_view::npos) {
    x->family =
        gen == Gen::kGfx12 ? MatrixFamily::kWmma12 : MatrixFamily::kWmma11;
  }
  x->fnuz = gen == Gen::kGfx940;
  return ParseShape(rest, x, f8f6f4);
}

// Half an instruction: with the MFMA behind it, it is v_mfma_scale_*. Alone it
// changes nothing.
constexpr std::string_view kLoadScale = "v_mfma_ld_scale_b32";

MatrixElement FormatOf(int code) {
  static constexpr MatrixElement kFormats[] = {
      MatrixElement::kFp8, MatrixElement::kBf8, MatrixElement::kFp6,
      MatrixElement::kBf6, MatrixElement::kFp4};
  return kFormats[code < 5 ? code : 0];
}

void ReadOperands(const Text& text, Program& program, MatrixOp* x, Op* op) {
  const auto operand = [&](std::size_t i, Type type) {
    return i < text.operands.size()
               ? program.ParseOperand(text.operands[i], type)
               : Operand{};
  };
  const Type c_type = x->d == MatrixResult::kF64    ? Type::kF64
                      : x->d == MatrixResult::kI32  ? Type::kI32
                      : x->d == MatrixResult::kF16  ? Type::kF16
                      : x->d == MatrixResult::kBf16 ? Type::kBf16
                                                    : Type::kF32;
  op->dst = operand(0, Type::kWide);
  x->src_a = operand(1, Type::kWide);
  x->src_b = operand(2, Type::kWide);
  if (x->sparse) x->index = operand(3, Type::kB32);
  else x->src_c = operand(3, c_type);
  if (x->scaled) {
    x->scale_a = operand(4, Type::kB32);
    x->scale_b = operand(5, Type::kB32);
  }
}

void ReadModifiers(const Text& text, const Program& program, bool f8f6f4,
                   MatrixOp* x) {
  const auto list = [&](std::string_view name) {
    const std::string* v = text.Find(name);
    std::vector<int> bits = v == nullptr ? std::vector<int>() : ParseList(*v);
    bits.resize(3, 0);
    return bits;
  };
  x->cbsz = static_cast<int>(text.Number("cbsz", 0) & 7);
  x->abid = static_cast<int>(text.Number("abid", 0) & 15);
  x->blgp = static_cast<int>(text.Number("blgp", 0) & 7);
  x->clamp = text.Has("clamp");
  const std::vector<int> neg_lo = list("neg_lo"), neg_hi = list("neg_hi"),
                         op_sel = list("op_sel"), op_sel_hi = list("op_sel_hi"),
                         neg = list("neg");
  if (x->a == MatrixElement::kI8 || x->a == MatrixElement::kI4) {
    if (x->family != MatrixFamily::kMfma) {
      x->a_signed = neg_lo[0] != 0;
      x->b_signed = neg_lo[1] != 0;
    }
  } else {
    // WMMA: neg_lo and neg_hi negate the even and odd elements; both are the
    // same in what compilers write.
    x->src_a.neg = neg_lo[0] != 0 || neg[0] != 0;
    x->src_b.neg = neg_lo[1] != 0 || neg[1] != 0;
    x->src_c.neg = neg_lo[2] != 0 || neg[2] != 0;
    x->src_c.neg_hi = neg_hi[2] != 0;
  }
  if (f8f6f4) {
    x->a = FormatOf(x->cbsz);
    x->b = FormatOf(x->blgp);
    x->cbsz = x->blgp = 0;
    x->scale_a_byte = op_sel[0] | op_sel_hi[0] << 1;
    x->scale_b_byte = op_sel[1] | op_sel_hi[1] << 1;
  }
  if (x->sparse) {
    x->index_key = x->family == MatrixFamily::kMfma
                       ? (x->cbsz == 0 ? x->abid : 0)
                       : static_cast<int>(text.Number("index_key", 0));
  }
  x->flush = program.gen() == Gen::kGfx90a &&
             (x->a == MatrixElement::kF16 || x->a == MatrixElement::kBf16);
  x->result_hi = x->family == MatrixFamily::kWmma11 && op_sel[2] != 0;
}

// Shapes that the registers do not hold mean that the text was misread.
bool IsWhole(const MatrixOp& x, const Op& op, int wave_lanes) {
  const auto too_small = [&](const Operand& o, int rows, int depth,
                             MatrixElement e) {
    const int lanes = x.family == MatrixFamily::kWmma11 ? 16 : wave_lanes;
    return o.vgpr() &&
           rows * depth * x.blocks * BitsOf(e) > o.regs * 32 * lanes;
  };
  if (!op.dst.vgpr() || x.blocks < 1 ||
      too_small(x.src_a, x.m, x.sparse ? x.k / 2 : x.k, x.a) ||
      too_small(x.src_b, x.n, x.k, x.b)) {
    return false;
  }
  if (x.scaled && (!x.scale_a.vgpr() || !x.scale_b.vgpr())) return false;
  return x.sparse ? x.index.vgpr() : x.src_c.kind != Kind::kNone;
}

}  // namespace

bool KnowsMatrix(std::string_view name, Gen gen) {
  if (name == kLoadScale) return true;
  MatrixOp x;
  bool f8f6f4;
  return ParseName(name, gen, &x, &f8f6f4);
}

bool DecodeMatrix(const Text& text, Program& program, Op* op) {
  if (text.mnemonic == kLoadScale) {
    op->klass = OpClass::kMatrix;
    op->handler.store([](Wave&, const Op&) {}, std::memory_order_relaxed);
    return true;
  }
  MatrixOp x;
  bool f8f6f4 = false;
  if (!ParseName(text.mnemonic, program.gen(), &x, &f8f6f4)) return false;
  op->klass = OpClass::kMatrix;
  ReadOperands(text, program, &x, op);
  ReadModifiers(text, program, f8f6f4, &x);
  if (x.family == MatrixFamily::kMfma) {
    const int words = x.d == MatrixResult::kF64 ? 2 : 1;
    x.blocks = op->dst.regs * 64 / words / (x.m * x.n);
  }
  const int lanes = static_cast<int>(program.lanes());
  const bool whole = IsWhole(x, *op, lanes);
  if (whole) {
    Prepare(&x, lanes);
    PrepareRuns(&x, *op, lanes);
  }
  op->src[0] = x.src_a;
  op->src[1] = x.src_b;
  op->src[2] = x.sparse ? x.index : x.src_c;
  op->nsrc = 3;
  op->data = program.Keep(x);
  op->handler.store(!whole               ? ExecUnimplemented
                    : x.runs.length != 0 ? ExecRuns
                                         : ExecMatrix,
                    std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
