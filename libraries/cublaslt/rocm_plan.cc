#include "libraries/cublaslt/rocm_plan.h"

#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Index;

bool IsDouble(ComputeType compute) {
  return compute == cublas::k64F || compute == cublas::k64FPedantic ||
         compute == cublas::k64FEmulatedFixedPoint;
}
bool IsInteger(ComputeType compute) {
  return compute == cublas::k32I || compute == cublas::k32IPedantic;
}

// What rocBLAS computes itself.
bool IsPlain(const MatmulDesc& desc, const Layouts& l) {
  const cublas::TypedGemm gemm = {desc.a,   desc.b,   0, 0, 0, l.a.type,
                                  l.b.type, l.d.type, 0, 0, 0, desc.compute};
  return desc.pointer_mode == kHost && desc.epilogue <= kDefault &&
         desc.scale_of_a == nullptr && desc.scale_of_b == nullptr &&
         desc.scale_of_c == nullptr && desc.scale_of_d == nullptr &&
         desc.amax_of_d == nullptr && l.c.type == l.d.type &&
         l.c.order == l.d.order && cublas::IsSupported(gemm) &&
         // Integers to floats rocBLAS has not.
         (l.a.type == cublas::kR8I) == (l.d.type == cublas::kR32I) &&
         desc.scale == cublas::ScaleType(desc.compute, l.d.type);
}

// The type of the sum, and how it is computed. False: of no use here.
bool ChooseSum(const MatmulDesc& desc, const Layouts& l, RocmPlan* plan) {
  if (cublas::IsComplexType(l.d.type)) return false;
  plan->widens = IsFloat8(l.a.type) && IsFloat8(l.b.type);
  if (!plan->widens && l.a.type != l.b.type) return false;
  plan->sum = cublas::kR32F;
  // With sums of halves in f32, whatever is asked.
  plan->compute =
      desc.compute == cublas::k16F || desc.compute == cublas::k16FPedantic
          ? cublas::k32F
          : desc.compute;
  const bool is_double = IsDouble(desc.compute);
  switch (l.a.type) {
    case cublas::kR64F: plan->sum = cublas::kR64F; return is_double;
    case cublas::kR8I:
      plan->sum = cublas::kR32I;
      plan->compute = cublas::k32I;
      return !is_double;
    case cublas::kR32F:
    case cublas::kR16F:
    case cublas::kR16BF: return !is_double && !IsInteger(desc.compute);
    default: return plan->widens && !is_double && !IsInteger(desc.compute);
  }
}

// Of RELU's bits those of a byte are one thread's.
bool HasWholeBytes(const MatmulDesc& desc) {
  return desc.aux_ld % 8 == 0 && desc.aux_stride % 8 == 0;
}

std::size_t Padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
std::size_t CountOf(const Layout& layout) {
  const Index batches = layout.batch_offset == 0 ? 1 : Batches(layout);
  return layout.rows * layout.columns * static_cast<std::size_t>(batches);
}

}  // namespace

RocmPlan PlanMatmul(const MatmulDesc& desc, const Layouts& l,
                    bool beta_is_zero) {
  RocmPlan plan;
  int arrays = 0;
  for (const Layout* layout : {&l.a, &l.b, &l.c, &l.d}) {
    if (!IsInColumnsOrRows(*layout)) return plan;
    arrays += layout->batch_mode == kPointerArray ? 1 : 0;
  }
  if (arrays != 0 && arrays != 4) return plan;
  if (desc.fill != cublas::kFull) return plan;
  for (const std::int8_t mode : desc.scale_modes) {
    if (mode != kScalar) return plan;
  }
  if (IsPlain(desc, l)) {
    plan.fits = true;
    plan.sum = l.d.type;
    plan.compute = desc.compute;
    return plan;
  }
  if (!ChooseSum(desc, l, &plan)) return plan;
  plan.finishes = true;
  plan.in_double = plan.sum != cublas::kR32F;
  const bool is_gelu = Has(desc, kGelu | kDGelu);
  if (plan.in_double && (is_gelu || HasGradient(desc))) return plan;
  if (Has(desc, kRelu | kDRelu) && Has(desc, kAux | kDRelu) &&
      !HasWholeBytes(desc)) {
    return plan;
  }
  // rocBLAS' alpha and beta have the type that it computes in.
  plan.has_scalars = desc.pointer_mode == kHost && desc.scale == plan.sum &&
                     l.c.type == plan.sum && l.c.order == l.d.order &&
                     desc.scale_of_a == nullptr && desc.scale_of_b == nullptr &&
                     desc.scale_of_c == nullptr;
  plan.in_place = l.d.type == plan.sum && (plan.has_scalars || beta_is_zero);
  // Sums over what is not yet scaled for D need it as it was.
  if (Has(desc, kBiasGradient) && desc.scale_of_d != nullptr) {
    plan.in_place = false;
  }
  if (!plan.in_place) plan.has_scalars = false;
  if (arrays != 0 && (!plan.in_place || plan.widens)) return plan;
  if (!plan.in_place)
    plan.bytes = Padded(CountOf(l.d) * cublas::SizeOf(plan.sum));
  if (plan.widens) {
    plan.halves_of_a = plan.bytes;
    plan.halves_of_b = plan.halves_of_a + Padded(CountOf(l.a) * 2);
    plan.bytes = plan.halves_of_b + Padded(CountOf(l.b) * 2);
  }
  plan.fits = true;
  return plan;
}

Operation FlippedOp(Operation op) {
  switch (op) {
    case cublas::kN: return cublas::kT;
    case cublas::kT: return cublas::kN;
    case cublas::kC: return cublas::kConj;
    default: return cublas::kC;
  }
}

Operation MemoryOp(const Layout& layout, Operation op) {
  if (layout.order == kRows) op = FlippedOp(op);
  if (cublas::IsComplexType(layout.type)) return op;
  if (op == cublas::kConj) return cublas::kN;
  return op == cublas::kC ? cublas::kT : op;
}

}  // namespace cerberus::libraries::cublaslt
