#include "libraries/cublaslt/matmul.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "libraries/common/pointers.h"
#include "libraries/common/work.h"
#include "libraries/cublas/math.h"
#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/layout.h"
#include "libraries/cublaslt/scales.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::As;
using cublas::Complex32;
using cublas::Complex64;
using cublas::Index;
using cublas::kIsComplex;
using cublas::Real;
using cublas::Wide;

// op(A) as T, by columns.
template <typename T>
std::vector<T> Converted(const Layout& layout, Operation op, const Memory& a) {
  const Index rows = RowsOf(layout, op), columns = ColumnsOf(layout, op);
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) {
      T value = As<T>(IsTurned(op) ? LoadAt(layout, a, j, i)
                                   : LoadAt(layout, a, i, j));
      if (op == cublas::kC || op == cublas::kConj)
        value = cublas::ConjOf(value);
      out[static_cast<std::size_t>(i + j * rows)] = value;
    }
  }
  return out;
}

double GeluSlope(double x) {
  constexpr double kRoot = 0.7978845608028654;
  const double t = std::tanh(kRoot * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * kRoot * (1 + 3 * 0.044715 * x * x);
}

// The matrices of a batch, mapped.
class Matrices {
 public:
  Matrices() = default;
  // Errors are in failed(): an array of pointers that cannot be read.
  Matrices(Work& work, const void* first, const Layout& layout, bool out);
  bool failed() const { return array_ && array_->failed(); }
  Memory operator[](std::size_t batch) const {
    return array_ ? Memory{(*array_)[static_cast<Index>(batch)]}
                  : places_[batch];
  }

 private:
  std::vector<Memory> places_;
  std::optional<Pointers<std::byte>> array_;  // instead
};

// What the work needs, with pointers that the host may follow.
struct Job {
  MatmulDesc desc;
  Layouts layouts;
  Complex64 alpha = 0, beta = 0;  // if the host's
  const void* alphas = nullptr;   // if the device's: one, or one a row
  const void* betas = nullptr;
  std::size_t batches = 1;
  Matrices a, b, c, d;
  Scales scales_of_a, scales_of_b;
  std::vector<void*> aux;
  std::vector<const void*> bias;

  Index m() const { return static_cast<Index>(layouts.d.rows); }
  Index n() const { return static_cast<Index>(layouts.d.columns); }
  Complex64 Alpha(std::size_t batch, Index row) const {
    if (alphas == nullptr) return alpha;
    return cublas::Load(
        desc.scale, alphas,
        HasAlphaByRow(desc)
            ? static_cast<Index>(batch) * desc.alpha_stride + row
            : 0);
  }
  Complex64 Beta(Index row) const {
    if (betas == nullptr) return beta;
    return cublas::Load(desc.scale, betas,
                        desc.pointer_mode == kDeviceVector ? row : 0);
  }
  DataType BiasType() const { return cublaslt::BiasType(desc, layouts); }
  DataType AuxType() const { return cublaslt::AuxType(desc, layouts.d); }
  bool Has(std::uint32_t bits) const { return cublaslt::Has(desc, bits); }
};

double ScaleOf(const float* scale) { return scale != nullptr ? *scale : 1; }

// What lies in a triangle that is not asked for is not written.
bool IsWritten(cublas::Fill fill, Index i, Index j) {
  switch (fill) {
    case cublas::kLower: return i >= j;
    case cublas::kUpper: return i <= j;
    default: return true;
  }
}

// Of a matrix of `rows` rows: columns, or rows, are the outer ones.
template <typename T>
void MultiplyByScales(const Scales& scales, Index batch, bool outer_is_column,
                      Index rows, std::vector<T>* matrix) {
  if (!HasScalesOfElements(scales)) return;
  for (Index inner = 0; inner < scales.inner; ++inner) {
    for (Index outer = 0; outer < scales.outer; ++outer) {
      const Index at =
          outer_is_column ? inner + outer * rows : outer + inner * rows;
      (*matrix)[static_cast<std::size_t>(at)] *=
          static_cast<Real<T>>(ScaleOf(scales, batch, outer, inner));
    }
  }
}

// One element's way through the epilogue. Real types only have one.
// `*largest_aux` is of what went to the auxiliary buffer.
double Finish(const Job& job, std::size_t batch, Index i, Index j, double x,
              double* largest_aux) {
  const bool relu_mask = job.Has(kRelu | kDRelu);
  const Index at = i + j * job.desc.aux_ld;
  auto* bits =
      static_cast<std::uint8_t*>(job.aux.empty() ? nullptr : job.aux[batch]);
  if (job.Has(kDRelu) && (bits[at / 8] >> (at % 8) & 1) == 0) x = 0;
  if (job.Has(kDGelu)) {
    x *= GeluSlope(cublas::Load(job.AuxType(), bits, at).real());
  }
  if (job.Has(kBias)) {
    x += cublas::Load(job.BiasType(), job.bias[batch], i).real();
  }
  if (job.Has(kAux) && !job.Has(kDRelu | kDGelu)) {
    if (relu_mask) {
      const auto bit = static_cast<std::uint8_t>(1 << (at % 8));
      if (x > 0) bits[at / 8] |= bit;
      else bits[at / 8] &= static_cast<std::uint8_t>(~bit);
    } else {
      cublas::Store(job.AuxType(), bits, at,
                    x * ScaleOf(job.desc.scale_of_aux));
      *largest_aux = std::max(*largest_aux, std::abs(x));
    }
  }
  if (job.Has(kRelu)) x = x > 0 || std::isnan(x) ? x : 0;
  if (job.Has(kGelu)) x = cublas::Gelu(x);
  return x;
}

// The gradient of the bias: sums over the columns of D, of op(A) over k, of
// op(B) over k.
template <typename T>
void StoreGradient(const Job& job, std::size_t batch, const std::vector<T>& of,
                   Index rows, Index columns, bool by_row) {
  void* to = const_cast<void*>(job.bias[batch]);
  for (Index i = 0; i < (by_row ? rows : columns); ++i) {
    T sum(0);
    for (Index j = 0; j < (by_row ? columns : rows); ++j) {
      sum += of[static_cast<std::size_t>(by_row ? i + j * rows : j + i * rows)];
    }
    cublas::Store(job.BiasType(), to, i, Wide(sum));
  }
}

template <typename T>
void RunBatch(const Job& job, std::size_t batch) {
  const MatmulDesc& desc = job.desc;
  const Layouts& l = job.layouts;
  const Index m = job.m(), n = job.n(), k = ColumnsOf(l.a, desc.a);
  std::vector<T> a = Converted<T>(l.a, desc.a, job.a[batch]);
  std::vector<T> b = Converted<T>(l.b, desc.b, job.b[batch]);
  const auto number = static_cast<Index>(batch);
  MultiplyByScales(job.scales_of_a, number, false, m, &a);
  MultiplyByScales(job.scales_of_b, number, true, k, &b);
  std::vector<T> sum(static_cast<std::size_t>(m * n), T(0));
  cublas::Gemm<T>(cublas::kN, cublas::kN, m, n, k, T(1), a.data(),
                  std::max<Index>(m, 1), b.data(), std::max<Index>(k, 1), T(0),
                  sum.data(), std::max<Index>(m, 1));
  const double scale =
      ScaleOfAll(job.scales_of_a, number) * ScaleOfAll(job.scales_of_b, number);
  const double of_c = ScaleOf(desc.scale_of_c), of_d = ScaleOf(desc.scale_of_d);
  double largest = 0, largest_aux = 0;
  const Memory d = job.d[batch];
  const bool in_blocks = desc.scales_out != nullptr;
  std::vector<double> columns(in_blocks ? static_cast<std::size_t>(m * n)
                                        : std::size_t{0});
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      const auto place = static_cast<std::size_t>(i + j * m);
      if (!IsWritten(desc.fill, i, j)) continue;
      T& at = sum[place];
      T x = cublas::Mul(As<T>(job.Alpha(batch, i) * scale), at);
      if (const Complex64 beta = job.Beta(i); beta != Complex64(0)) {
        const Complex64 c = LoadAt(l.c, job.c[batch], i, j);
        x += cublas::Mul(As<T>(beta * of_c), As<T>(c));
      }
      if constexpr (!kIsComplex<T>) {
        x = static_cast<T>(
            Finish(job, batch, i, j, static_cast<double>(x), &largest_aux));
      }
      at = x;
      largest = std::max(largest, static_cast<double>(std::abs(x)));
      const Complex64 out = Wide(x) * of_d;
      if (in_blocks) columns[place] = out.real();
      else StoreAt(l.d, d, i, j, out);
    }
  }
  if (in_blocks) {
    StoreInBlocks(l.d, d, static_cast<ScaleMode>(desc.scale_modes[5]),
                  desc.scales_out, number, columns.data());
  }
  const auto note = [batch](float* to, double found) {
    if (to == nullptr) return;
    *to = std::max(batch == 0 ? 0.0f : *to, static_cast<float>(found));
  };
  note(desc.amax_of_d, largest);
  if (job.Has(kAux)) note(desc.amax_of_aux, largest_aux);
  if (job.Has(kBiasGradient)) StoreGradient(job, batch, sum, m, n, true);
  if (job.Has(kBiasGradientA)) StoreGradient(job, batch, a, m, k, true);
  if (job.Has(kBiasGradientB)) StoreGradient(job, batch, b, k, n, false);
}

// Exact sums of 8-bit integers: doubles hold them.
void RunJob(const Job& job) {
  for (std::size_t batch = 0; batch < job.batches; ++batch) {
    switch (job.desc.scale) {
      case cublas::kC32F: RunBatch<Complex32>(job, batch); break;
      case cublas::kC64F: RunBatch<Complex64>(job, batch); break;
      case cublas::kR64F:
      case cublas::kR32I: RunBatch<double>(job, batch); break;
      default:
        if (job.desc.compute == cublas::k32I ||
            job.desc.compute == cublas::k32IPedantic) {
          RunBatch<double>(job, batch);
        } else {
          RunBatch<float>(job, batch);
        }
    }
  }
}

Matrices::Matrices(Work& work, const void* first, const Layout& layout,
                   bool out) {
  if (first == nullptr) {
    places_.resize(static_cast<std::size_t>(Batches(layout)));
    return;
  }
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(first));
  if (layout.batch_mode == kPointerArray) {
    array_.emplace(work, reinterpret_cast<std::byte* const*>(begin),
                   Batches(layout), [&](std::byte* p, Index) {
                     return MapMatrix(work, p, layout, out).all;
                   });
    return;
  }
  // Elements of planes are counted in parts.
  const DataType type =
      layout.plane_offset != 0 ? cublas::PartType(layout.type) : layout.type;
  const auto step =
      static_cast<Index>(cublas::BytesOf(
          type, static_cast<std::size_t>(std::abs(layout.batch_offset)))) *
      (layout.batch_offset < 0 ? -1 : 1);
  for (Index batch = 0; batch < Batches(layout); ++batch) {
    places_.push_back(MapMatrix(work, begin + batch * step, layout, out));
  }
}

bool IsKnownEpilogue(std::uint32_t epilogue) {
  switch (epilogue) {
    case 0:
    case kDefault:
    case kRelu:
    case kRelu | kAux:
    case kBias:
    case kRelu | kBias:
    case kRelu | kAux | kBias:
    case kDRelu:
    case kDRelu | kAux:
    case kDRelu | kAux | kBiasGradient:
    case kGelu:
    case kGelu | kAux:
    case kGelu | kBias:
    case kGelu | kAux | kBias:
    case kDGelu:
    case kDGelu | kAux:
    case kDGelu | kAux | kBiasGradient:
    case kBiasGradientA:
    case kBiasGradientB: return true;
    default: return false;
  }
}

}  // namespace

Status CheckMatmul(const MatmulDesc& desc, const Layouts& l) {
  for (const Layout* layout : {&l.a, &l.b, &l.c, &l.d}) {
    if (const Status bad = CheckLayout(*layout)) return bad;
  }
  const Index m = static_cast<Index>(l.d.rows);
  const Index n = static_cast<Index>(l.d.columns);
  if (RowsOf(l.a, desc.a) != m || ColumnsOf(l.b, desc.b) != n ||
      ColumnsOf(l.a, desc.a) != RowsOf(l.b, desc.b) || l.c.rows != l.d.rows ||
      l.c.columns != l.d.columns || Batches(l.a) != Batches(l.d) ||
      Batches(l.b) != Batches(l.d) || Batches(l.c) != Batches(l.d)) {
    return cublas::kInvalidValue;
  }
  const bool complex = cublas::IsComplexType(desc.scale);
  if (desc.c != cublas::kN || desc.fill < cublas::kLower ||
      desc.fill > cublas::kFull || !IsKnownEpilogue(desc.epilogue) ||
      (complex && desc.epilogue > kDefault) ||
      cublas::IsComplexType(l.a.type) != complex ||
      cublas::IsComplexType(l.b.type) != complex ||
      cublas::IsComplexType(l.d.type) != complex || desc.pointer_mode < kHost ||
      desc.pointer_mode > kAlphaVectorBetaHost || desc.compute < cublas::k16F ||
      desc.compute > cublas::k64FEmulatedFixedPoint) {
    return cublas::kNotSupported;
  }
  if (const Status bad = CheckScales(desc, l.a.type, l.b.type, l.d)) return bad;
  const bool needs_aux = (desc.epilogue & (kAux | kDRelu | kDGelu)) != 0;
  if (needs_aux && (desc.aux_ld < m)) return cublas::kInvalidValue;
  return cublas::kSuccess;
}

namespace {

void MapScales(Work& work, Job* job) {
  MatmulDesc& desc = job->desc;
  const Index k = ColumnsOf(job->layouts.a, desc.a);
  const Index batches = Batches(job->layouts.d);
  job->scales_of_a = {static_cast<ScaleMode>(desc.scale_modes[0]),
                      desc.scale_of_a, job->m(), k};
  job->scales_of_b = {static_cast<ScaleMode>(desc.scale_modes[1]),
                      desc.scale_of_b, job->n(), k};
  for (Scales* scales : {&job->scales_of_a, &job->scales_of_b}) {
    scales->values = work.In(static_cast<const std::byte*>(scales->values),
                             BytesOf(*scales, batches));
  }
  for (const float** scale :
       {&desc.scale_of_c, &desc.scale_of_d, &desc.scale_of_aux}) {
    *scale = work.In(*scale, sizeof(float));
  }
  const Scales out = {static_cast<ScaleMode>(desc.scale_modes[5]), nullptr,
                      job->n(), job->m()};
  desc.scales_out = out.mode == kScalar
                        ? nullptr
                        : work.InOut(static_cast<std::byte*>(desc.scales_out),
                                     BytesOf(out, batches));
}

}  // namespace

Status CheckOperands(const MatmulDesc& desc, const Operands& operands) {
  const bool needs_bias = Has(desc, kBias) || HasGradient(desc);
  const bool needs_aux = Has(desc, kAux | kDRelu | kDGelu);
  const bool needs_beta = desc.pointer_mode != kAlphaVectorBetaZero;
  const bool all = operands.alpha != nullptr && operands.a != nullptr &&
                   operands.b != nullptr && operands.d != nullptr &&
                   (!needs_bias || desc.bias != nullptr) &&
                   (!needs_aux || desc.aux != nullptr) &&
                   (!needs_beta || operands.beta != nullptr);
  return all ? cublas::kSuccess : cublas::kInvalidValue;
}

Status Matmul(const Driver& driver, Stream stream, const MatmulDesc& desc,
              const Layouts& layouts, const Operands& operands) {
  if (const Status bad = CheckMatmul(desc, layouts)) return bad;
  if (const Status bad = CheckOperands(desc, operands)) return bad;
  Job job;
  job.desc = desc;
  job.layouts = layouts;
  const bool gradient = HasGradient(desc);
  const bool needs_aux = job.Has(kAux | kDRelu | kDGelu);
  if (job.m() == 0 || job.n() == 0) return cublas::kSuccess;
  Work work(driver, stream);
  const std::size_t scalar = cublas::SizeOf(desc.scale);
  const auto rows = static_cast<std::size_t>(job.m());
  if (desc.pointer_mode == kHost) {
    job.alpha = cublas::Load(desc.scale, operands.alpha, 0);
  } else {
    const std::size_t all =
        rows + static_cast<std::size_t>(desc.alpha_stride) *
                   static_cast<std::size_t>(Batches(layouts.d) - 1);
    job.alphas =
        work.In(operands.alpha, scalar * (HasAlphaByRow(desc) ? all : 1));
  }
  if (HasHostBeta(desc)) {
    job.beta = cublas::Load(desc.scale, operands.beta, 0);
  } else if (desc.pointer_mode != kAlphaVectorBetaZero) {
    job.betas =
        work.In(operands.beta,
                scalar * (desc.pointer_mode == kDeviceVector ? rows : 1));
  }
  MapScales(work, &job);
  for (float** largest : {&job.desc.amax_of_d, &job.desc.amax_of_aux}) {
    *largest = work.InOut(*largest, sizeof(float));
  }
  using In = const std::byte;
  const std::size_t bias_size = cublas::SizeOf(job.BiasType());
  const std::size_t aux_count =
      static_cast<std::size_t>(desc.aux_ld) * static_cast<std::size_t>(job.n());
  const bool bits = job.Has(kRelu | kDRelu);
  const std::size_t aux_size = cublas::SizeOf(job.AuxType());
  job.batches = static_cast<std::size_t>(Batches(layouts.d));
  job.a = Matrices(work, operands.a, layouts.a, false);
  job.b = Matrices(work, operands.b, layouts.b, false);
  job.c = Matrices(work, operands.c, layouts.c, false);
  job.d = Matrices(work, operands.d, layouts.d, true);
  if (job.a.failed() || job.b.failed() || job.c.failed() || job.d.failed()) {
    return cublas::kExecutionFailed;
  }
  for (Index batch = 0; batch < Batches(layouts.d); ++batch) {
    if (job.Has(kBias) || gradient) {
      auto* bias = static_cast<std::byte*>(const_cast<void*>(desc.bias)) +
                   batch * desc.bias_stride * static_cast<Index>(bias_size);
      const std::size_t length =
          job.Has(kBiasGradientB) ? static_cast<std::size_t>(job.n()) : rows;
      job.bias.push_back(gradient
                             ? work.InOut(bias, bias_size * length)
                             : const_cast<std::byte*>(work.In(
                                   const_cast<In*>(bias), bias_size * length)));
    }
    if (needs_aux) {
      const Index step = bits ? desc.aux_stride / 8
                              : desc.aux_stride * static_cast<Index>(aux_size);
      job.aux.push_back(
          work.InOut(static_cast<std::byte*>(desc.aux) + batch * step,
                     bits ? (aux_count + 7) / 8 : aux_count * aux_size));
    }
  }
  return work.Run([job = std::move(job)] { RunJob(job); }, /*wait=*/false)
             ? cublas::kSuccess
             : cublas::kExecutionFailed;
}

Status CheckTransform(const TransformDesc& desc, const Layouts& l,
                      const Operands& operands) {
  for (const Layout* layout : {&l.a, &l.b, &l.c}) {
    if (const Status bad = CheckLayout(*layout)) return bad;
  }
  if (desc.pointer_mode != kHost && desc.pointer_mode != kDevice) {
    return cublas::kNotSupported;
  }
  const bool has_b = operands.HasB();
  const auto m = static_cast<Index>(l.c.rows);
  const auto n = static_cast<Index>(l.c.columns);
  if (operands.alpha == nullptr || operands.a == nullptr ||
      operands.d == nullptr || RowsOf(l.a, desc.a) != m ||
      ColumnsOf(l.a, desc.a) != n ||
      (has_b && (RowsOf(l.b, desc.b) != m || ColumnsOf(l.b, desc.b) != n))) {
    return cublas::kInvalidValue;
  }
  return cublas::kSuccess;
}

Status Transform(const Driver& driver, Stream stream, const TransformDesc& desc,
                 const Layouts& told, const Operands& operands) {
  if (const Status bad = CheckTransform(desc, told, operands)) return bad;
  // Transforms alone take strides of batches in planes for those of whole
  // complex numbers (the header, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET).
  Layouts l = told;
  for (Layout* layout : {&l.a, &l.b, &l.c}) {
    if (layout->plane_offset != 0) layout->batch_offset *= 2;
  }
  const bool has_b = operands.HasB();
  const auto m = static_cast<Index>(l.c.rows);
  const auto n = static_cast<Index>(l.c.columns);
  Work work(driver, stream);
  const bool host = desc.pointer_mode == kHost;
  const std::size_t scalar = cublas::SizeOf(desc.scale);
  const Complex64 alpha =
      host ? cublas::Load(desc.scale, operands.alpha, 0) : Complex64(0);
  const Complex64 beta =
      host && has_b ? cublas::Load(desc.scale, operands.beta, 0) : Complex64(0);
  const void* alphas = host ? nullptr : work.In(operands.alpha, scalar);
  const void* betas = host || !has_b ? nullptr : work.In(operands.beta, scalar);
  const Matrices as(work, operands.a, l.a, false);
  const Matrices bs(work, has_b ? operands.b : nullptr, l.b, false);
  const Matrices cs(work, operands.d, l.c, true);
  if (as.failed() || bs.failed() || cs.failed()) {
    return cublas::kExecutionFailed;
  }
  const auto run = [=] {
    const Complex64 fa = host ? alpha : cublas::Load(desc.scale, alphas, 0);
    const Complex64 fb =
        betas != nullptr ? cublas::Load(desc.scale, betas, 0) : beta;
    for (std::size_t batch = 0; batch < static_cast<std::size_t>(Batches(l.c));
         ++batch) {
      const auto a = Converted<Complex64>(l.a, desc.a, as[batch]);
      std::vector<Complex64> b;
      if (has_b && fb != Complex64(0)) {
        b = Converted<Complex64>(l.b, desc.b, bs[batch]);
      }
      for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m; ++i) {
          const auto at = static_cast<std::size_t>(i + j * m);
          Complex64 value = cublas::Mul(fa, a[at]);
          if (!b.empty()) value += cublas::Mul(fb, b[at]);
          StoreAt(l.c, cs[batch], i, j, value);
        }
      }
    }
  };
  return work.Run(run, /*wait=*/false) ? cublas::kSuccess
                                       : cublas::kExecutionFailed;
}

}  // namespace cerberus::libraries::cublaslt
