// Matrix instructions whose elements stand in consecutive lanes, so that they
// go from the registers to sums and back without being looked for one by one.
#include <algorithm>
#include <utility>

#include "emulator/device/launch.h"
#include "emulator/vector/matrix_op.h"

namespace cerberus::emulator {
namespace {

bool RunElementOf(MatrixElement e, RunProduct::Element* out) {
  switch (e) {
    case MatrixElement::kF32: *out = RunProduct::Element::kF32; return true;
    case MatrixElement::kF16: *out = RunProduct::Element::kF16; return true;
    case MatrixElement::kBf16: *out = RunProduct::Element::kBf16; return true;
    default: return false;
  }
}

// The elements next to each other in memory, `length` at a time, as runs.
// False if some are not in consecutive lanes of one register.
bool ToRuns(const std::vector<MatrixPlace>& places, int bits, int length,
            int lanes, std::vector<Run>* runs) {
  const std::size_t step = static_cast<std::size_t>(length);
  for (std::size_t at = 0; at < places.size(); at += step) {
    const MatrixPlace first = places[at];
    if (first.lane + length > lanes) return false;
    for (std::size_t i = 0; i < step; ++i) {
      const MatrixPlace p = places[at + i];
      if (p.index != first.index || p.lane != first.lane + i) return false;
    }
    const int bit = first.index * bits;
    runs->push_back({static_cast<u16>(bit / 32 * lanes + first.lane),
                     static_cast<u16>(bit % 32)});
  }
  return true;
}

}  // namespace

void PrepareRuns(MatrixOp* x, const Op& op, int lanes) {
  RunProduct r;
  const Operand& c = x->src_c;
  const bool signs = x->src_a.neg || x->src_b.neg || c.neg || c.neg_hi;
  if (x->d != MatrixResult::kF32 || x->sparse || x->scaled || signs ||
      x->a != x->b || !RunElementOf(x->a, &r.element) || x->m != x->n ||
      (x->m != 4 && x->m != 16 && x->m != 32) ||
      x->m * x->n * x->blocks > RunProduct::kMost ||
      x->m * x->k > RunProduct::kMost || !x->src_a.vgpr() || !x->src_b.vgpr() ||
      x->m * x->n * x->blocks != op.dst.regs * lanes) {
    return;
  }
  r.flush = x->flush;
  r.m = x->m, r.n = x->n, r.k = x->k, r.blocks = x->blocks;
  const int length = x->m == 4 ? 4 : 16;
  std::vector<MatrixPlace> columns;  // A's
  const auto rows = static_cast<std::size_t>(x->m),
             depth = static_cast<std::size_t>(x->k),
             blocks = static_cast<std::size_t>(x->blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t i = 0; i < rows; ++i) {
        columns.push_back(x->a_places[(block * rows + i) * depth + k]);
      }
    }
  }
  const int bits = BitsOf(x->a);
  if (ToRuns(columns, bits, length, lanes, &r.a) &&
      ToRuns(x->b_places, bits, length, lanes, &r.b) &&
      ToRuns(x->d_places, 32, length, lanes, &r.d)) {
    r.length = length;
    x->runs = std::move(r);
  }
}

void CountMatrix(Wave& w, const MatrixOp& x) {
  w.group->stats.matrix_operations +=
      static_cast<u64>(x.m) * static_cast<u64>(x.n * x.k * x.blocks);
}

void ExecRuns(Wave& w, const Op& op) {
  static const MatrixRuns multiply = HostMatrixRuns();
  const MatrixOp& x = *static_cast<const MatrixOp*>(op.data);
  ApplyEnv(w, Env::kF32);
  alignas(64) u32 constant[RunProduct::kMost];
  const u32* c = constant;
  if (x.src_c.vgpr()) {
    c = w.Vgpr(x.src_c);
  } else {
    const u32 v = ReadScalar(w, x.src_c);
    std::fill_n(constant, op.dst.regs * w.lanes, v);
  }
  multiply(x.runs, w.Vgpr(x.src_a), w.Vgpr(x.src_b), c, w.Vgpr(op.dst));
  CountMatrix(w, x);
}

}  // namespace cerberus::emulator
