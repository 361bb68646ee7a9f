#include "libraries/cublaslt/rocm_matmul.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "libraries/common/kernels.h"
#include "libraries/common/stream_memory.h"
#include "libraries/cublas/rocblas.h"
#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/finish.h"
#include "libraries/cublaslt/rocm_plan.h"
#include "support/log.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Index;
using cublas::Rocblas;

constexpr char kPtx[] = {
#include "finish.ptx.inc"
    0};
Kernels& OwnKernels() {
  static auto& kernels = *new Kernels(kPtx);
  return kernels;
}

const RocmKind& Kind() {
  static const auto& kind = *new RocmKind(Rocblas::Kind("cuBLASLt"));
  return kind;
}

// What computes in each context.
class Handles {
 public:
  static Handles& All() {
    static auto& all = *new Handles;
    return all;
  }
  // Null: the host computes in the current context.
  std::shared_ptr<Rocblas> Get(const Driver& driver) {
    Context context = nullptr;
    if (driver.context(&context) != 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, is_new] = of_contexts_.try_emplace(context);
    if (is_new) {
      const RelaxedCapture relaxed(driver);
      if (!Rocblas::Make(driver, Kind(), &found->second)) return nullptr;
    }
    return found->second;
  }
  void Forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    of_contexts_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<Context, std::shared_ptr<Rocblas>> of_contexts_;
};

DeviceMatrix MatrixOf(const Layout& layout, const void* first) {
  const bool by_rows = layout.order == kRows;
  return {const_cast<void*>(first),
          by_rows ? layout.ld : 1,
          by_rows ? 1 : layout.ld,
          layout.batch_offset,
          layout.type,
          layout.batch_mode == kPointerArray};
}
// Without what lies between its columns.
Layout Dense(const Layout& of, DataType type) {
  Layout dense = of;
  dense.type = type;
  dense.order = kColumns;
  dense.ld = static_cast<Index>(of.rows);
  if (of.batch_offset != 0) {
    dense.batch_offset = static_cast<Index>(of.rows * of.columns);
  }
  return dense;
}

FinishArguments PlainArguments(const DeviceMatrix& x, const DeviceMatrix& d,
                               Index rows, Index columns, Index batches) {
  FinishArguments f = {};
  f.x = x;
  f.d = d;
  f.alpha.value = 1;
  f.epilogue = kDefault;
  f.rows = rows;
  f.columns = columns;
  f.batches = batches;
  return f;
}
bool LaunchFinish(const Driver& driver, Stream stream, void* kernel,
                  const FinishArguments& f) {
  const bool has_bits =
      f.aux.first != nullptr && (f.epilogue & (kRelu | kDRelu));
  const Index each = Index{kFinishThreads} * (has_bits ? kRowsOfByte : 1);
  const Index blocks = (f.rows + each - 1) / each;
  constexpr Index kMost = 65535;
  if (blocks > (Index{1} << 31) - 1) return false;
  return Launch(driver, kernel,
                {static_cast<unsigned>(blocks),
                 static_cast<unsigned>(std::min<Index>(f.columns, kMost)),
                 static_cast<unsigned>(std::min<Index>(f.batches, kMost))},
                kFinishThreads, stream, f);
}

// Memory beside the matrices: the program's, or the stream's.
class Beside {
 public:
  Beside(const Driver& driver, Stream stream, std::size_t bytes,
         Workspace workspace)
      : given_(IsEnough(workspace, bytes)),
        own_(driver, stream, given_ ? 0 : bytes),
        first_(given_ ? static_cast<std::byte*>(workspace.first) : own_.get()) {
  }
  bool has() const { return own_.has(); }
  std::byte* At(std::size_t offset) const { return first_ + offset; }

 private:
  static bool IsEnough(Workspace workspace, std::size_t bytes) {
    constexpr std::uintptr_t kAligned = 16;
    return bytes <= workspace.bytes && workspace.first != nullptr &&
           reinterpret_cast<std::uintptr_t>(workspace.first) % kAligned == 0;
  }
  const bool given_;
  const StreamMemory own_;
  std::byte* const first_;
};

// One product of rocBLAS', by columns.
struct Factor {
  const void* first;
  Layout layout;
  Operation op;
};
struct Product {
  Factor a, b;
  const void* alpha;
  const void* beta;
  const void* c;
  void* d;
  Layout of_c, of_d;
  Index m, n, k, batches;
  ComputeType compute = cublas::k32F;
};

bool Multiply(const cublas::Context& context, const Product& p,
              Status* status) {
  static const int kOne = cublas::RocblasRowOf("cublasGemmEx");
  static const int kStrides =
      cublas::RocblasRowOf("cublasGemmStridedBatchedEx");
  static const int kArrays = cublas::RocblasRowOf("cublasGemmBatchedEx");
  namespace roc = cublas::roc;
  cublas::RocblasArguments of(context);
  const bool arrays = p.of_d.batch_mode == kPointerArray;
  const cublas::RocblasCall call(arrays          ? kArrays
                                 : p.batches > 1 ? kStrides
                                                 : kOne,
                                 context, of, status);
  const roc::Operation opa = of(p.a.op), opb = of(p.b.op);
  const Index m = of(p.m), n = of(p.n), k = of(p.k);
  const roc::DataType ta = of(p.a.layout.type), tb = of(p.b.layout.type),
                      td = of(p.of_d.type),
                      how = of.ComputeOf(p.compute, p.of_d.type);
  const Index lda = of(Index{p.a.layout.ld}), ldb = of(Index{p.b.layout.ld}),
              ldc = of(Index{p.of_c.ld}), ldd = of(Index{p.of_d.ld}),
              count = of(p.batches);
  constexpr auto kStandard = roc::Algorithm::kStandard;
  constexpr auto kNone = roc::Flags::kNone;
  if (arrays) {
    return call(opa, opb, m, n, k, p.alpha, p.a.first, ta, lda, p.b.first, tb,
                ldb, p.beta, p.c, td, ldc, p.d, td, ldd, count, how, kStandard,
                int{0}, kNone);
  }
  if (p.batches == 1) {
    return call(opa, opb, m, n, k, p.alpha, p.a.first, ta, lda, p.b.first, tb,
                ldb, p.beta, p.c, td, ldc, p.d, td, ldd, how, kStandard, int{0},
                kNone);
  }
  return call(opa, opb, m, n, k, p.alpha, p.a.first, ta, lda,
              of(p.a.layout.batch_offset), p.b.first, tb, ldb,
              of(p.b.layout.batch_offset), p.beta, p.c, td, ldc,
              of(p.of_c.batch_offset), p.d, td, ldd, of(p.of_d.batch_offset),
              count, how, kStandard, int{0}, kNone);
}

// A call, in its parts.
class Doing {
 public:
  Doing(const Driver& driver, Stream stream, const MatmulDesc& desc,
        const Layouts& layouts, const Operands& operands)
      : driver_(driver),
        stream_(stream),
        desc_(desc),
        l_(layouts),
        operands_(operands),
        m_(static_cast<Index>(layouts.d.rows)),
        n_(static_cast<Index>(layouts.d.columns)),
        k_(ColumnsOf(layouts.a, desc.a)),
        batches_(Batches(layouts.d)),
        beta_is_zero_(
            desc.pointer_mode == kAlphaVectorBetaZero ||
            (HasHostBeta(desc) && cublas::Load(desc.scale, operands.beta, 0) ==
                                      cublas::Complex64(0))),
        plan_(PlanMatmul(desc, layouts, beta_is_zero_)) {}

  bool Run(std::shared_ptr<Rocblas> rocblas, Workspace workspace,
           Status* status) {
    if (!plan_.fits || !FindKernels()) return false;
    const Beside beside(driver_, stream_, plan_.bytes, workspace);
    if (!beside.has() || !Widen(beside)) return false;
    cublas::Context context;
    context.driver = &driver_;
    context.rocblas = std::move(rocblas);
    context.stream = stream_;
    constexpr int kTf32 = 3;  // CUBLAS_TF32_TENSOR_OP_MATH
    context.math_mode = desc_.compute == cublas::k32FFastTF32 ? kTf32 : 0;
    if (!Multiply(context, ProductOf(beside), status)) return false;
    // D is written from here on, so that the host can do no more.
    if (*status == cublas::kSuccess && !Finish()) {
      *status = cublas::kExecutionFailed;
    }
    return true;
  }

 private:
  bool FindKernels() {
    if (!plan_.finishes) return true;
    Kernels& own = OwnKernels();
    finish_ = own.Find(driver_, plan_.in_double ? "cerberus_finish_f64"
                                                : "cerberus_finish_f32");
    sum_ = finish_;
    if (HasGradient(desc_)) sum_ = own.Find(driver_, "cerberus_sum_rows_f32");
    widen_ = finish_;
    return finish_ != nullptr && sum_ != nullptr &&
           driver_.set_words != nullptr;
  }

  // 8-bit floats to halves.
  bool Widen(const Beside& beside) {
    a_ = {operands_.a, l_.a, MemoryOp(l_.a, desc_.a)};
    b_ = {operands_.b, l_.b, MemoryOp(l_.b, desc_.b)};
    if (!plan_.widens) return true;
    return WidenOne(&a_, l_.a, desc_.a, beside.At(plan_.halves_of_a)) &&
           WidenOne(&b_, l_.b, desc_.b, beside.At(plan_.halves_of_b));
  }
  bool WidenOne(Factor* factor, const Layout& of, Operation op, void* to) {
    const Layout dense = Dense(of, cublas::kR16F);
    const FinishArguments f = PlainArguments(
        MatrixOf(of, factor->first), MatrixOf(dense, to),
        static_cast<Index>(of.rows), static_cast<Index>(of.columns),
        of.batch_offset == 0 ? 1 : batches_);
    *factor = {to, dense, MemoryOp(dense, op)};
    return f.rows == 0 || f.columns == 0 ||
           LaunchFinish(driver_, stream_, widen_, f);
  }

  Product ProductOf(const Beside& beside) {
    sum_layout_ = plan_.in_place ? l_.d : Dense(l_.d, plan_.sum);
    sum_at_ = plan_.in_place ? operands_.d : beside.At(0);
    Product p = {};
    p.a = a_;
    p.b = b_;
    p.m = m_;
    p.n = n_;
    p.k = k_;
    p.batches = batches_;
    p.compute = plan_.compute;
    p.c = p.d = sum_at_;
    p.of_c = p.of_d = sum_layout_;
    if (plan_.has_scalars) {
      p.alpha = operands_.alpha;
      p.beta = operands_.beta;
      if (!beta_is_zero_ && operands_.c != nullptr) {
        p.c = operands_.c;
        p.of_c = l_.c;
      }
    } else {
      cublas::Store(plan_.sum, one_, 0, 1);
      p.alpha = one_;
      p.beta = zero_;
    }
    // By rows: its transpose by columns.
    if (p.of_d.order == kRows) {
      std::swap(p.a, p.b);
      std::swap(p.m, p.n);
      for (Factor* factor : {&p.a, &p.b}) {
        const bool complex = cublas::IsComplexType(factor->layout.type);
        Layout by_columns = factor->layout;
        by_columns.order = kColumns;
        factor->op = complex ? FlippedOp(factor->op)
                             : MemoryOp(by_columns, FlippedOp(factor->op));
      }
    }
    return p;
  }

  DeviceScalar ScalarAt(const void* place, bool of_host, bool by_row) const {
    if (of_host)
      return {cublas::Load(desc_.scale, place, 0).real(), nullptr, 0, 0};
    return {0, place, by_row ? 1 : 0, by_row ? Index{desc_.alpha_stride} : 0};
  }

  bool Finish() {
    if (!plan_.finishes) return true;
    FinishArguments f =
        PlainArguments(MatrixOf(sum_layout_, sum_at_),
                       MatrixOf(l_.d, operands_.d), m_, n_, batches_);
    f.scalar_type = desc_.scale;
    f.epilogue = desc_.epilogue;
    if (!plan_.has_scalars) {
      f.alpha = ScalarAt(operands_.alpha, desc_.pointer_mode == kHost,
                         HasAlphaByRow(desc_));
      if (!beta_is_zero_) {
        f.c = MatrixOf(l_.c, operands_.c);
        f.beta = ScalarAt(operands_.beta, HasHostBeta(desc_),
                          desc_.pointer_mode == kDeviceVector);
      }
    }
    f.bias = desc_.bias;
    f.bias_batch = desc_.bias_stride;
    f.bias_type = BiasType(desc_, l_);
    if (Has(desc_, kAux | kDRelu | kDGelu)) {
      f.aux = {
          desc_.aux, 1, desc_.aux_ld, desc_.aux_stride, AuxType(desc_, l_.d),
          0};
    }
    f.scale_of_a = static_cast<const float*>(desc_.scale_of_a);
    f.scale_of_b = static_cast<const float*>(desc_.scale_of_b);
    f.scale_of_c = desc_.scale_of_c;
    f.scale_of_d = desc_.scale_of_d;
    f.scale_of_aux = desc_.scale_of_aux;
    f.amax_of_d = desc_.amax_of_d;
    f.amax_of_aux = Has(desc_, kAux) ? desc_.amax_of_aux : nullptr;
    if (Has(desc_, kBiasGradient) && !plan_.in_place) f.kept = f.x;
    for (float* largest : {f.amax_of_d, f.amax_of_aux}) {
      if (largest != nullptr &&
          driver_.set_words(reinterpret_cast<std::uint64_t>(largest), 0, 1,
                            stream_) != 0) {
        return false;
      }
    }
    return LaunchFinish(driver_, stream_, finish_, f) && SumGradient(f);
  }

  // Of what D was before it was rounded; of op(A), of the transpose of op(B),
  // over k.
  bool SumGradient(const FinishArguments& f) {
    if (!HasGradient(desc_)) return true;
    RowSumArguments r = {};
    r.x = plan_.in_place ? f.d : f.x;
    r.rows = m_;
    r.columns = n_;
    if (Has(desc_, kBiasGradientA)) {
      r.x = MatrixOf(l_.a, operands_.a);
      if (IsTurned(desc_.a)) std::swap(r.x.row, r.x.column);
      r.columns = k_;
    } else if (Has(desc_, kBiasGradientB)) {
      r.x = MatrixOf(l_.b, operands_.b);
      if (!IsTurned(desc_.b)) std::swap(r.x.row, r.x.column);
      r.rows = n_;
      r.columns = k_;
    }
    r.sums = const_cast<void*>(desc_.bias);
    r.sums_batch = desc_.bias_stride;
    r.sums_type = BiasType(desc_, l_);
    r.batches = batches_;
    constexpr Index kMost = 65535;
    if (r.rows > (Index{1} << 31) - 1) return false;
    return Launch(driver_, sum_,
                  {static_cast<unsigned>(r.rows), 1,
                   static_cast<unsigned>(std::min<Index>(batches_, kMost))},
                  kFinishThreads, stream_, r);
  }

  const Driver& driver_;
  const Stream stream_;
  const MatmulDesc& desc_;
  const Layouts& l_;
  const Operands& operands_;
  const Index m_, n_, k_, batches_;
  const bool beta_is_zero_;
  const RocmPlan plan_;
  void *finish_ = nullptr, *sum_ = nullptr, *widen_ = nullptr;
  Factor a_ = {}, b_ = {};
  Layout sum_layout_ = {};
  void* sum_at_ = nullptr;
  // Of any type.
  alignas(16) std::byte one_[16] = {}, zero_[16] = {};
};

void SayHostComputes(const char* function, std::atomic<bool>* said) {
  if (said->exchange(true)) return;
  Log(LogLevel::kInfo, "%s: the host computes what the GPU does not", function);
}

}  // namespace

bool HasProvider(const Driver& driver) {
  const RocmLibrary* library = nullptr;
  return ChooseRocm(driver, Kind(), &library);
}

std::string DescribeMatmulProvider() { return DescribeProvider(Kind()); }

void ForgetHandles() { Handles::All().Forget(); }

std::size_t RocmWorkspace(const Driver& driver, const MatmulDesc& desc,
                          const Layouts& layouts) {
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, Kind(), &library) || library == nullptr) return 0;
  const RocmPlan plan = PlanMatmul(desc, layouts, /*beta_is_zero=*/false);
  return plan.fits ? plan.bytes : 0;
}

bool RocmMatmul(const Driver& driver, Stream stream, const MatmulDesc& desc,
                const Layouts& layouts, const Operands& operands,
                Workspace workspace, Status* status) {
  if (layouts.d.rows == 0 || layouts.d.columns == 0) return false;
  std::shared_ptr<Rocblas> rocblas = Handles::All().Get(driver);
  if (rocblas == nullptr) return false;
  *status = cublas::kSuccess;
  if (Doing(driver, stream, desc, layouts, operands)
          .Run(std::move(rocblas), workspace, status)) {
    return true;
  }
  static std::atomic<bool> said{false};
  SayHostComputes("cublasLtMatmul", &said);
  return false;
}

bool RocmTransform(const Driver& driver, Stream stream,
                   const TransformDesc& desc, const Layouts& l,
                   const Operands& operands, Status* status) {
  if (l.c.rows == 0 || l.c.columns == 0 ||
      Handles::All().Get(driver) == nullptr) {
    return false;
  }
  const auto simple = [](const Layout& layout) {
    return !cublas::IsComplexType(layout.type) && IsInColumnsOrRows(layout);
  };
  void* kernel = nullptr;
  if (simple(l.a) && simple(l.b) && simple(l.c) &&
      !cublas::IsComplexType(desc.scale)) {
    const bool in_float = desc.scale == cublas::kR32F &&
                          l.a.type != cublas::kR32I &&
                          l.b.type != cublas::kR32I;
    kernel = OwnKernels().Find(
        driver, in_float ? "cerberus_finish_f32" : "cerberus_finish_f64");
  }
  if (kernel == nullptr) {
    static std::atomic<bool> said{false};
    SayHostComputes("cublasLtMatrixTransform", &said);
    return false;
  }
  FinishArguments f =
      PlainArguments(MatrixOf(l.a, operands.a), MatrixOf(l.c, operands.d),
                     static_cast<Index>(l.c.rows),
                     static_cast<Index>(l.c.columns), Batches(l.c));
  if (IsTurned(desc.a)) std::swap(f.x.row, f.x.column);
  f.scalar_type = desc.scale;
  const auto scalar = [&](const void* place) -> DeviceScalar {
    if (desc.pointer_mode != kHost) return {0, place, 0, 0};
    return {cublas::Load(desc.scale, place, 0).real(), nullptr, 0, 0};
  };
  f.alpha = scalar(operands.alpha);
  if (operands.HasB()) {
    f.c = MatrixOf(l.b, operands.b);
    if (IsTurned(desc.b)) std::swap(f.c.row, f.c.column);
    f.beta = scalar(operands.beta);
  }
  *status = LaunchFinish(driver, stream, kernel, f) ? cublas::kSuccess
                                                    : cublas::kExecutionFailed;
  return true;
}

}  // namespace cerberus::libraries::cublaslt
