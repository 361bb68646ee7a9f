// Matrices between memory and the registers of a warp: ldmatrix, stmatrix,
// wmma.load and wmma.store; and movmatrix, which transposes in registers.
#include <algorithm>

#include "ptxc/lower/matrix/matrix.h"

namespace cerberus::ptx {

class MatrixMove : public WarpMatrix {
 public:
  explicit MatrixMove(FunctionLowering& fn) : WarpMatrix(fn) {}

  void LoadMatrices();
  void StoreMatrices();
  void Transpose();
  void LoadFragment();
  void StoreFragment();

 private:
  // ---- ldmatrix and stmatrix ----
  // The address that a lane gave: the start of a row.
  Value* RowFrom(Value* lane) { return FromLane(lane, own_row_); }
  Value* At(Value* row, Value* byte) {
    return fn_.ToPointer(b_.CreateAdd(row, byte), kAsShared);
  }
  Value* LoadBits(Value* row, Value* byte, unsigned bits) {
    return b_.CreateZExtOrTrunc(
        b_.CreateAlignedLoad(b_.getIntNTy(bits), At(row, byte),
                             llvm::Align(bits / 8)),
        b_.getInt32Ty());
  }
  void StoreBits(Value* row, Value* byte, Value* value, unsigned bits) {
    b_.CreateAlignedStore(b_.CreateTrunc(value, b_.getIntNTy(bits)),
                          At(row, byte), llvm::Align(bits / 8));
  }
  Value* LoadElement(Value* row, Value* column);
  void ReadRowAddress(int operand);

  // ---- wmma ----
  struct Place {
    Value* row;
    Value* column;
  };
  struct Memory {
    Value* base;
    Value* stride;
    bool row_major;
    unsigned bits;  // of an element
  };
  struct Fragment {
    unsigned registers;
    unsigned elements;   // in a register
    bool along_columns;  // a register's elements lie side by side in a row
  };
  Fragment FragmentOf(Frag frag, Type type) const;
  Place PlaceOf(Frag frag, const Fragment& f, unsigned index,
                unsigned element) const;
  Memory ReadMemory(int address, int stride, Frag frag, Type type);
  Value* ElementIndex(const Memory& memory, const Place& place);
  Value* ElementPointer(const Memory& memory, const Place& place);
  Value* LoadElementAt(const Memory& memory, const Place& place);
  // Elements of a lane that follow each other in a row or a column.
  struct Run {
    Place first;
    unsigned count;
    bool along_columns;
  };
  std::vector<Run> RunsOf(Frag frag, Type type);
  Place PlaceIn(const Run& run, unsigned element) const;
  void LoadLines(Frag frag, Type type);
  void StoreLines(Type type);

  Value* own_row_ = nullptr;
};

// ---- ldmatrix, stmatrix, movmatrix ------------------------------------------

void MatrixMove::ReadRowAddress(int operand) {
  Value* pointer = fn_.Address(fn_.op(operand), fn_.mods().space()).pointer;
  // Without a space the generic address points into shared memory.
  own_row_ = b_.CreatePtrToInt(
      b_.CreateAddrSpaceCast(
          pointer, llvm::PointerType::get(b_.getContext(), kAsShared)),
      b_.getInt32Ty());
}

// An element of a row of 16 elements of 8, 6 or 4 bits, without gaps.
llvm::Value* MatrixMove::LoadElement(Value* row, Value* column) {
  switch (static_cast<PackFormat>(fn_.mods().second(ModGroup::kPackFormat))) {
    case PackFormat::kB6x16P32: {
      Value* bit = b_.CreateMul(column, I32(6));
      Value* byte = b_.CreateLShr(bit, 3);
      Value* bits = b_.CreateOr(
          LoadBits(row, byte, 8),
          b_.CreateShl(LoadBits(row, b_.CreateAdd(byte, I32(1)), 8), 8));
      return b_.CreateAnd(b_.CreateLShr(bits, b_.CreateAnd(bit, 7)), I32(0x3f));
    }
    case PackFormat::kB4x16P64: {
      Value* bits = LoadBits(row, b_.CreateLShr(column, 1), 8);
      return b_.CreateAnd(
          b_.CreateLShr(bits, b_.CreateShl(b_.CreateAnd(column, 1), 2)),
          I32(0xf));
    }
    default: return LoadBits(row, column, 8);
  }
}

namespace {

unsigned CountOf(Count count) {
  switch (count) {
    case Count::kX4: return 4;
    case Count::kX2: return 2;
    default: return 1;
  }
}

}  // namespace

void MatrixMove::LoadMatrices() {
  ReadRowAddress(1);
  const unsigned count = CountOf(fn_.mods().count());
  const bool transposed = fn_.mods().option() == Option::kTrans;
  Value* two_t = b_.CreateShl(t_, 1);
  Value* four_t = b_.CreateShl(t_, 2);
  Values registers;
  for (unsigned i = 0; i < count; ++i) {
    const auto row = [&](Value* r, unsigned rows) {
      return RowFrom(b_.CreateAdd(r, I32(rows * i)));
    };
    if (fn_.mods().shape() == Shape::kM16n16) {
      // Transposed: a register has column g (g + 8 the second) of rows 4t to
      // 4t + 3.
      Value* words[2] = {I32(0), I32(0)};
      for (unsigned j = 0; j < 4; ++j) {
        Value* from = row(b_.CreateAdd(four_t, I32(j)), 16);
        for (unsigned r = 0; r < 2; ++r) {
          Value* element = LoadElement(from, b_.CreateAdd(g_, I32(8 * r)));
          words[r] = b_.CreateOr(words[r], b_.CreateShl(element, 8 * j));
        }
      }
      registers.push_back(words[0]);
      registers.push_back(words[1]);
    } else if (fn_.mods().shape() == Shape::kM8n16) {
      Value* from = row(g_, 8);
      Value* word = I32(0);
      for (unsigned j = 0; j < 4; ++j) {
        Value* element = LoadElement(from, b_.CreateAdd(four_t, I32(j)));
        word = b_.CreateOr(word, b_.CreateShl(element, 8 * j));
      }
      registers.push_back(word);
    } else if (transposed) {
      Value* byte = b_.CreateShl(g_, 1);
      Value* low = LoadBits(row(two_t, 8), byte, 16);
      Value* high = LoadBits(row(b_.CreateAdd(two_t, I32(1)), 8), byte, 16);
      registers.push_back(b_.CreateOr(low, b_.CreateShl(high, 16)));
    } else {
      registers.push_back(LoadBits(row(g_, 8), four_t, 32));
    }
  }
  WriteFragment(0, registers, Type::kB32);
}

void MatrixMove::StoreMatrices() {
  ReadRowAddress(0);
  const unsigned count = CountOf(fn_.mods().count());
  const bool transposed = fn_.mods().option() == Option::kTrans;
  const Values registers = ReadFragment(1, count, Type::kB32);
  Value* two_t = b_.CreateShl(t_, 1);
  for (unsigned i = 0; i < count; ++i) {
    const auto row = [&](Value* r) {
      return RowFrom(b_.CreateAdd(r, I32(8 * i)));
    };
    Value* word = registers[i];
    if (!transposed) {
      StoreBits(row(g_), b_.CreateShl(t_, 2), word, 32);
      continue;
    }
    for (unsigned j = 0; j < 2; ++j) {
      Value* to = row(b_.CreateAdd(two_t, I32(j)));
      if (fn_.mods().shape() == Shape::kM16n8) {
        // Columns 2t and 2t + 1 of rows g, then of rows g + 8.
        StoreBits(to, g_, b_.CreateLShr(word, 8 * j), 8);
        StoreBits(to, b_.CreateAdd(g_, I32(8)), b_.CreateLShr(word, 16 + 8 * j),
                  8);
      } else {
        StoreBits(to, b_.CreateShl(g_, 1), b_.CreateLShr(word, 16 * j), 16);
      }
    }
  }
}

void MatrixMove::Transpose() {
  // Column g of rows 2t and 2t + 1, which lie in quads 2t and 2t + 1.
  Value* word = fn_.Read(fn_.op(1), Type::kB32);
  Value* lane = b_.CreateAdd(b_.CreateShl(t_, 3), b_.CreateLShr(g_, 1));
  Value* shift = b_.CreateShl(b_.CreateAnd(g_, 1), 4);
  Value* low = b_.CreateLShr(FromLane(lane, word), shift);
  Value* high =
      b_.CreateLShr(FromLane(b_.CreateAdd(lane, I32(4)), word), shift);
  fn_.Write(fn_.op(0),
            b_.CreateOr(b_.CreateAnd(low, I32(0xffff)), b_.CreateShl(high, 16)),
            Type::kB32);
}

// ---- wmma.load, wmma.store --------------------------------------------------

MatrixMove::Fragment MatrixMove::FragmentOf(Frag frag, Type type) const {
  const MatrixShape shape = ShapeOf(fn_.mods().shape());
  if (frag == Frag::kA || frag == Frag::kB) {
    const unsigned bits = ContainerBits(type, true);
    const unsigned elements = bits == 64 ? 1 : 32 / bits;
    const unsigned lines = frag == Frag::kA ? shape.m : shape.n;
    return {lines / 8 * (shape.k / (4 * elements)), elements, frag == Frag::kA};
  }
  const unsigned elements = type == Type::kF16 ? 2 : 1;
  return {shape.m * shape.n / 32 / elements, elements, true};
}

MatrixMove::Place MatrixMove::PlaceOf(Frag frag, const Fragment& f,
                                      unsigned index, unsigned element) const {
  const MatrixShape shape = ShapeOf(fn_.mods().shape());
  const unsigned row_tiles = shape.m / 8;
  if (frag == Frag::kA || frag == Frag::kB) {
    const unsigned k_tiles = shape.k / (4 * f.elements);
    const unsigned lines = frag == Frag::kA ? row_tiles : shape.n / 8;
    for (unsigned tile = 0; tile < lines; ++tile) {
      for (unsigned k = 0; k < k_tiles; ++k) {
        const unsigned at = frag == Frag::kA
                                ? IndexInA(tile, k, row_tiles, k_tiles)
                                : IndexInB(k, tile, k_tiles);
        if (at != index) continue;
        Value* line = b_.CreateAdd(g_, b_.getInt32(8 * tile));
        Value* along = b_.CreateAdd(b_.CreateMul(t_, b_.getInt32(f.elements)),
                                    b_.getInt32(4 * f.elements * k + element));
        return frag == Frag::kA ? Place{line, along} : Place{along, line};
      }
    }
  }
  const unsigned at = index * f.elements + element;
  const unsigned row_tile = at / 2 % row_tiles;
  const unsigned col_tile = at / 2 / row_tiles;
  return {
      b_.CreateAdd(g_, b_.getInt32(8 * row_tile)),
      b_.CreateAdd(b_.CreateShl(t_, 1), b_.getInt32(8 * col_tile + at % 2))};
}

MatrixMove::Memory MatrixMove::ReadMemory(int address, int stride, Frag frag,
                                          Type type) {
  Memory memory;
  memory.base = fn_.Address(fn_.op(address), fn_.mods().space()).pointer;
  memory.row_major = fn_.mods().layout() == Layout::kRow;
  memory.bits = ContainerBits(type, true);
  if (fn_.num_operands() > stride) {
    memory.stride = fn_.Read(fn_.op(stride), Type::kU32);
  } else {
    const MatrixShape shape = ShapeOf(fn_.mods().shape());
    const unsigned rows = frag == Frag::kB ? shape.k : shape.m;
    const unsigned columns = frag == Frag::kA ? shape.k : shape.n;
    memory.stride = I32(memory.row_major ? columns : rows);
  }
  return memory;
}

llvm::Value* MatrixMove::ElementIndex(const Memory& memory,
                                      const Place& place) {
  Value* far = memory.row_major ? place.row : place.column;
  Value* near = memory.row_major ? place.column : place.row;
  llvm::Type* i64 = b_.getInt64Ty();
  return b_.CreateAdd(
      b_.CreateMul(b_.CreateZExt(far, i64), b_.CreateZExt(memory.stride, i64)),
      b_.CreateZExt(near, i64));
}

// The byte in which the element begins.
llvm::Value* MatrixMove::ElementPointer(const Memory& memory,
                                        const Place& place) {
  Value* index = ElementIndex(memory, place);
  Value* byte = memory.bits < 8
                    ? b_.CreateLShr(index, memory.bits == 4 ? 1 : 3)
                    : b_.CreateMul(index, b_.getInt64(memory.bits / 8));
  return b_.CreateGEP(b_.getInt8Ty(), memory.base, byte);
}

// An element in the lower bits of 32.
llvm::Value* MatrixMove::LoadElementAt(const Memory& memory,
                                       const Place& place) {
  const unsigned bits = std::max(memory.bits, 8u);
  Value* element = b_.CreateZExt(
      b_.CreateAlignedLoad(b_.getIntNTy(bits), ElementPointer(memory, place),
                           llvm::Align(bits / 8)),
      b_.getInt32Ty());
  if (memory.bits >= 8) return element;
  Value* index = b_.CreateTrunc(ElementIndex(memory, place), b_.getInt32Ty());
  const unsigned in_byte = 8 / memory.bits;
  Value* shift =
      b_.CreateMul(b_.CreateAnd(index, in_byte - 1), I32(memory.bits));
  return b_.CreateAnd(b_.CreateLShr(element, shift),
                      I32((1u << memory.bits) - 1));
}

// ---- Fragments in lines -----------------------------------------------------

std::vector<MatrixMove::Run> MatrixMove::RunsOf(Frag frag, Type type) {
  Value* line = b_.CreateAnd(lane_, 15);
  Value* half = b_.CreateLShr(lane_, 4);
  if (frag == Frag::kA || frag == Frag::kB) {
    const Lines lines = LinesOf(type);
    const unsigned count = lines.words * 32 / ContainerBits(type, true);
    Value* k = lines.whole ? I32(0) : b_.CreateMul(half, I32(count));
    if (frag == Frag::kA) return {{{line, k}, count, true}};
    return {{{k, WmmaColumn(line)}, count, false}};
  }
  Value* column = b_.CreateShl(half, 2);
  return {{{line, column}, 4, true},
          {{line, b_.CreateAdd(column, I32(8))}, 4, true}};
}

MatrixMove::Place MatrixMove::PlaceIn(const Run& run, unsigned element) const {
  Place place = run.first;
  Value*& along = run.along_columns ? place.column : place.row;
  along = b_.CreateAdd(along, b_.getInt32(element));
  return place;
}

// CUDA C++ Programming Guide, load_matrix_sync: matrices begin at multiples of
// 32 bytes, rows (columns) at multiples of 16.
void MatrixMove::LoadLines(Frag frag, Type type) {
  const Memory memory = ReadMemory(1, 2, frag, type);
  llvm::Type* element = b_.getIntNTy(memory.bits);
  Values registers;
  for (const Run& run : RunsOf(frag, type)) {
    llvm::Type* elements = llvm::FixedVectorType::get(element, run.count);
    const unsigned bytes = run.count * memory.bits / 8;
    Value* of_run = llvm::PoisonValue::get(elements);
    if (run.along_columns == memory.row_major) {
      of_run = b_.CreateAlignedLoad(elements, ElementPointer(memory, run.first),
                                    llvm::Align(std::min(bytes, 16u)));
    } else {
      for (unsigned i = 0; i < run.count; ++i) {
        of_run = b_.CreateInsertElement(
            of_run,
            b_.CreateAlignedLoad(element,
                                 ElementPointer(memory, PlaceIn(run, i)),
                                 llvm::Align(memory.bits / 8)),
            i);
      }
    }
    Value* words = b_.CreateBitCast(
        of_run, llvm::FixedVectorType::get(b_.getInt32Ty(), bytes / 4));
    for (unsigned i = 0; i < bytes / 4; ++i) {
      registers.push_back(b_.CreateExtractElement(words, i));
    }
  }
  WriteFragment(0, registers, Type::kB32);
}

void MatrixMove::StoreLines(Type type) {
  const Memory memory = ReadMemory(0, 2, Frag::kD, type);
  llvm::Type* element = b_.getIntNTy(memory.bits);
  const unsigned per_run = 4 * memory.bits / 32;
  const Values registers = ReadFragment(1, 2 * per_run, Type::kB32);
  unsigned next = 0;
  for (const Run& run : RunsOf(Frag::kD, type)) {
    Value* words = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(b_.getInt32Ty(), per_run));
    for (unsigned i = 0; i < per_run; ++i) {
      words = b_.CreateInsertElement(words, registers[next++], i);
    }
    Value* of_run =
        b_.CreateBitCast(words, llvm::FixedVectorType::get(element, run.count));
    if (memory.row_major) {
      b_.CreateAlignedStore(of_run, ElementPointer(memory, run.first),
                            llvm::Align(4 * per_run));
      continue;
    }
    for (unsigned i = 0; i < run.count; ++i) {
      b_.CreateAlignedStore(b_.CreateExtractElement(of_run, i),
                            ElementPointer(memory, PlaceIn(run, i)),
                            llvm::Align(memory.bits / 8));
    }
  }
}

void MatrixMove::LoadFragment() {
  const Type type = fn_.type();
  const Frag frag = fn_.mods().frag();
  if (InLines(type)) {
    LoadLines(frag, type);
    return;
  }
  const Fragment fragment = FragmentOf(frag, type);
  const Memory memory = ReadMemory(1, 2, frag, type);
  const bool together = fragment.along_columns == memory.row_major;
  const unsigned bits = memory.bits * fragment.elements;
  Values registers;
  for (unsigned i = 0; i < fragment.registers; ++i) {
    if (together || fragment.elements == 1) {
      registers.push_back(b_.CreateAlignedLoad(
          b_.getIntNTy(bits),
          ElementPointer(memory, PlaceOf(frag, fragment, i, 0)),
          llvm::Align(bits / 8)));
      continue;
    }
    Value* word = I32(0);
    for (unsigned e = 0; e < fragment.elements; ++e) {
      word = b_.CreateOr(
          word,
          b_.CreateShl(LoadElementAt(memory, PlaceOf(frag, fragment, i, e)),
                       memory.bits * e));
    }
    registers.push_back(word);
  }
  WriteFragment(0, registers, bits == 64 ? Type::kB64 : Type::kB32);
}

void MatrixMove::StoreFragment() {
  const Type type = fn_.type();
  if (InLines(type)) {
    StoreLines(type);
    return;
  }
  const Fragment fragment = FragmentOf(Frag::kD, type);
  const Memory memory = ReadMemory(0, 2, Frag::kD, type);
  const bool wide = memory.bits == 64;
  const Values registers =
      ReadFragment(1, fragment.registers, wide ? Type::kB64 : Type::kB32);
  for (unsigned i = 0; i < fragment.registers; ++i) {
    for (unsigned e = 0; e < fragment.elements; ++e) {
      Value* element =
          b_.CreateTrunc(b_.CreateLShr(registers[i], memory.bits * e),
                         b_.getIntNTy(memory.bits));
      b_.CreateAlignedStore(
          element, ElementPointer(memory, PlaceOf(Frag::kD, fragment, i, e)),
          llvm::Align(memory.bits / 8));
    }
  }
}

// ---- Lowerings --------------------------------------------------------------

void FunctionLowering::LowerLdmatrix() { MatrixMove(*this).LoadMatrices(); }
void FunctionLowering::LowerStmatrix() { MatrixMove(*this).StoreMatrices(); }
void FunctionLowering::LowerMovmatrix() { MatrixMove(*this).Transpose(); }
void FunctionLowering::LowerWmmaLoad() { MatrixMove(*this).LoadFragment(); }
void FunctionLowering::LowerWmmaStore() { MatrixMove(*this).StoreFragment(); }

}  // namespace cerberus::ptx
