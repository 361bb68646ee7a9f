// Matrix products of a warpgroup, wgmma: four warps, each of which multiplies
// 16 of A's 64 rows with all of B. To a warp it is an mma with many columns:
// rows of A and sums lie in registers alike, and what is in shared memory is
// loaded as such a fragment by its descriptor. It is done when the instruction
// is met; nothing is left to wait for.
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": a matrix in
// shared memory consists of core matrices of 8 rows (of A; columns of B) with
// 16 bytes of K each, or, transposed, of 8 places of K with 16 bytes of rows.
// A line of 2^s · 16 bytes, s = 0 to 3 by the swizzle mode, has 2^s of them
// next to each other; the eight lines of a group follow each other.
#include <algorithm>
#include <charconv>

#include "ptxc/lower/matrix/mma.h"
#include "ptxc/passes/clusters.h"

namespace cerberus::ptx {
namespace {

// "wgmma.mma_async.sync.aligned.m64n256k16…"; zeros if it is no such shape.
MatrixShape ShapeIn(std::string_view spelling) {
  const std::size_t at = spelling.find(".m64n");
  if (at == spelling.npos) return {};
  const char* end = spelling.data() + spelling.size();
  MatrixShape shape = {16, 0, 0};
  const auto n = std::from_chars(spelling.data() + at + 5, end, shape.n);
  if (n.ec != std::errc() || n.ptr == end || *n.ptr != 'k') return {};
  const auto k = std::from_chars(n.ptr + 1, end, shape.k);
  if (k.ec != std::errc() || (k.ptr != end && *k.ptr != '.')) return {};
  return shape;
}

// What the manual has: a step of K is 32 bytes, of sparse A's elements, and N
// a multiple of 8, of integers above 32 one of 16.
bool Exists(const MatrixShape& shape, Type type, bool sparse) {
  const unsigned k = 256 / ContainerBits(type, false) * (sparse ? 2 : 1);
  const bool integers =
      type == Type::kS8 || type == Type::kU8 || type == Type::kB1;
  if (shape.k != k || shape.n == 0 || shape.n > 256) return false;
  return integers && shape.n > 32 ? shape.n % 16 == 0 : shape.n % 8 == 0;
}

}  // namespace

// A matrix in shared memory, by the fields of its descriptor.
class MatrixProduct::InShared {
 public:
  InShared(MatrixProduct& product, Value* descriptor)
      : p_(product), b_(product.b_) {
    Value* low = b_.CreateTrunc(descriptor, b_.getInt32Ty());
    Value* high =
        b_.CreateTrunc(b_.CreateLShr(descriptor, 32), b_.getInt32Ty());
    const auto sixteenths = [&](Value* word, unsigned from) {
      return b_.CreateShl(
          b_.CreateAnd(b_.CreateLShr(word, from), p_.I32(0x3fff)), 4);
    };
    leading_ = sixteenths(low, 16);
    stride_ = sixteenths(high, 0);
    pattern_ =
        b_.CreateShl(b_.CreateAnd(b_.CreateLShr(high, 17), p_.I32(7)), 7);
    // Modes 0 to 3: none, 128, 64 and 32 bytes.
    Value* mode = b_.CreateLShr(high, 30);
    none_ = b_.CreateICmpEQ(mode, p_.I32(0));
    log_ = b_.CreateSelect(none_, p_.I32(0), b_.CreateSub(p_.I32(4), mode));
    mask_ = b_.CreateSub(b_.CreateShl(p_.I32(1), log_), p_.I32(1));
    // The address has 18 bits, which tell the places of one block apart.
    start_ = b_.CreateOr(p_.fn_.Cluster("own"), sixteenths(low, 0));
  }

  // 4 bytes of K of the line `in_group` of a group of eight: word `t` of core
  // matrix `core`.
  Value* Word(Value* group, Value* in_group, unsigned core, Value* t) {
    Value* at = b_.CreateAdd(start_, b_.CreateMul(group, stride_));
    at =
        b_.CreateAdd(at, b_.CreateShl(in_group, b_.CreateAdd(log_, p_.I32(4))));
    at = b_.CreateAdd(
        at, b_.CreateMul(b_.CreateLShr(p_.I32(core), log_), leading_));
    at = b_.CreateAdd(at, b_.CreateShl(b_.CreateAnd(p_.I32(core), mask_), 4));
    at = b_.CreateAdd(at, b_.CreateShl(t, 2));
    return Load(at, b_.getInt32Ty());
  }

  // The same of a transposed matrix, of elements of two bytes: row (column)
  // `line`, places 2t and 2t + 1 of the eight at `core`.
  Value* TransposedWord(Value* line, unsigned core, Value* t) {
    Value* chunk = b_.CreateLShr(line, b_.CreateAdd(log_, p_.I32(3)));
    Value* in_chunk = b_.CreateAnd(
        line, b_.CreateSub(b_.CreateShl(p_.I32(8), log_), p_.I32(1)));
    // Without swizzling the two distances change their roles.
    Value* of_chunk = b_.CreateSelect(none_, stride_, leading_);
    Value* of_core = b_.CreateSelect(none_, leading_, stride_);
    Value* at = b_.CreateAdd(start_, b_.CreateMul(chunk, of_chunk));
    at = b_.CreateAdd(at, b_.CreateMul(p_.I32(core), of_core));
    at = b_.CreateAdd(at, b_.CreateShl(in_chunk, 1));
    Value* word = nullptr;
    for (unsigned i = 0; i < 2; ++i) {
      Value* place = b_.CreateOr(b_.CreateShl(t, 1), p_.I32(i));
      Value* half = Load(
          b_.CreateAdd(at, b_.CreateShl(place, b_.CreateAdd(log_, p_.I32(4)))),
          b_.getInt16Ty());
      half = b_.CreateZExt(half, b_.getInt32Ty());
      word = word ? b_.CreateOr(word, b_.CreateShl(half, 16)) : half;
    }
    return word;
  }

 private:
  // Lines of a group exchange their 16 bytes by the number of the 128 bytes
  // that they are in, counted from where the pattern begins.
  Value* Load(Value* address, llvm::Type* type) {
    Value* row = b_.CreateLShr(b_.CreateSub(address, pattern_), 7);
    Value* swizzled =
        b_.CreateXor(address, b_.CreateShl(b_.CreateAnd(row, mask_), 4));
    return b_.CreateAlignedLoad(type, p_.fn_.ToPointer(swizzled, kAsShared),
                                llvm::Align(type->getIntegerBitWidth() / 8));
  }

  MatrixProduct& p_;
  llvm::IRBuilder<>& b_;
  Value* start_;
  Value* leading_;
  Value* stride_;
  Value* pattern_;
  Value* none_;
  Value* log_;   // s
  Value* mask_;  // 2^s - 1
};

// {d}, a, b, (metadata, selector,) scale-d, then 1 or -1 for A and for B, and
// for each in shared memory whether it is transposed.
void MatrixProduct::RunWarpgroup() {
  const int scale = sparse_ ? 5 : 3;
  const auto immediate = [&](int operand) {
    return fn_.num_operands() > operand
               ? static_cast<std::int64_t>(fn_.op(operand).bits)
               : 0;
  };
  const bool in_registers = fn_.op(1).kind == OperandKind::kVector;
  const bool negates = (immediate(scale + 1) < 0) != (immediate(scale + 2) < 0);
  const bool a_transposed = !in_registers && immediate(scale + 3) != 0;
  const bool b_transposed = immediate(scale + (in_registers ? 3 : 4)) != 0;
  if (in_registers) {
    a_bits_ = ReadFragment(1, row_tiles_ * a_k_tiles_, Type::kB32);
  } else {
    InShared a(*this, fn_.Read(fn_.op(1), Type::kB64));
    Value* warp = b_.CreateAnd(b_.CreateLShr(fn_.Wave("thread"), 5), 3);
    a_bits_.resize(row_tiles_ * a_k_tiles_);
    for (unsigned i = 0; i < row_tiles_; ++i) {
      Value* group = b_.CreateOr(b_.CreateShl(warp, 1), I32(i));
      for (unsigned k = 0; k < a_k_tiles_; ++k) {
        a_bits_[IndexInA(i, k, row_tiles_, a_k_tiles_)] =
            a_transposed ? a.TransposedWord(
                               b_.CreateOr(b_.CreateShl(group, 3), g_), k, t_)
                         : a.Word(group, g_, k, t_);
      }
    }
  }
  InShared b(*this, fn_.Read(fn_.op(2), Type::kB64));
  b_bits_.resize(col_tiles_ * b_k_tiles_);
  for (unsigned j = 0; j < col_tiles_; ++j) {
    for (unsigned k = 0; k < b_k_tiles_; ++k) {
      b_bits_[IndexInB(k, j, b_k_tiles_)] =
          b_transposed ? b.TransposedWord(b_.CreateOr(g_, I32(8 * j)), k, t_)
                       : b.Word(I32(j), g_, k, t_);
    }
  }
  if (negates) {
    const unsigned signs = container_ == 32   ? 0x80000000
                           : container_ == 16 ? 0x80008000
                                              : 0x80808080;
    for (Value*& bits : a_bits_) bits = b_.CreateXor(bits, I32(signs));
  }
  metadata_operand_ = 3;
  Sums sums = ReadSums(0);
  const Operand& adds = fn_.op(scale);
  Value* keep = adds.kind == OperandKind::kRegister
                    ? fn_.ReadPred(adds)
                    : b_.getInt1(immediate(scale) != 0);
  for (Value*& sum : sums) {
    sum = b_.CreateSelect(keep, sum,
                          llvm::Constant::getNullValue(sum->getType()));
  }
  AddByColumns(sums);
  WriteD(sums);
}

// MFMA keeps what it works on in registers of whole waves, for which there is
// no memory when they run out: it gets a few columns at a time.
void MatrixProduct::AddByColumns(Sums& sums) {
  const unsigned most = HasMfma() ? 4 : col_tiles_;
  for (unsigned from = 0; from < col_tiles_; from += most) {
    const unsigned tiles = std::min(most, col_tiles_ - from);
    MatrixProduct part(fn_, {shape_.m, 8 * tiles, shape_.k}, a_type_, b_type_,
                       d_type_, c_type_);
    part.metadata_operand_ = metadata_operand_;
    part.a_bits_ = a_bits_;
    const auto first_b = b_bits_.begin() + from * b_k_tiles_;
    part.b_bits_.assign(first_b, first_b + tiles * b_k_tiles_);
    const auto first = sums.begin() + IndexInC(0, from, row_tiles_);
    Sums of_part(first, first + IndexInC(0, tiles, row_tiles_));
    part.AddProduct(of_part);
    std::copy(of_part.begin(), of_part.end(), first);
  }
}

void FunctionLowering::LowerWgmma() {
  const MatrixShape shape = ShapeIn(form().spelling);
  const bool sparse = form().opcode() == Opcode::kWgmmaMmaAsyncSp;
  if (!Exists(shape, type(1), sparse)) {
    FailUnsupported("wgmma has no such shape for these types");
    return;
  }
  MatrixProduct(*this, shape, type(1), type(2), type(0), type(0))
      .RunWarpgroup();
}

}  // namespace cerberus::ptx
