// Sparse products, triangular systems and conversions by rocSPARSE.
#include <cstdint>
#include <vector>

#include "libraries/cusparse/rocsparse_arguments.h"
#include "libraries/cusparse/solve.h"

namespace cerberus::libraries::cusparse {
namespace {

constexpr int kDefaultAlgorithm = 0;
// Of rocsparse_spmat_attribute.
constexpr int kFillMode = 0, kDiagonalType = 1;

// A factor that is not nothing, for stages that read none.
const void* AnyFactor() {
  static constexpr double kOne[2] = {1, 0};
  return kOne;
}
// Of real numbers it only transposes.
roc::Operation TurnOf(Operation op, DataType type) {
  return op == cublas::kC && !cublas::IsComplexType(type)
             ? roc::Operation::kTranspose
             : OperationOf(op);
}

// Whether each row has its columns in order and an element on the diagonal, as
// rocSPARSE takes for granted.
template <typename Offset, typename Column>
bool IsOrdered(const SpMat& a, const std::vector<Offset>& offsets,
               const std::vector<Column>& columns) {
  for (Index i = 0; i < a.rows; ++i) {
    const auto begin = std::int64_t{offsets[Size(i)]} - a.base;
    const auto end = std::int64_t{offsets[Size(i) + 1]} - a.base;
    if (begin < 0 || end < begin || end > a.nnz) return false;
    bool has_diagonal = a.diag() == cublas::kUnit;
    for (auto p = begin; p < end; ++p) {
      const auto j = std::int64_t{columns[Size(p)]} - a.base;
      if (p > begin && columns[Size(p)] <= columns[Size(p) - 1]) return false;
      has_diagonal = has_diagonal || j == i;
    }
    if (!has_diagonal) return false;
  }
  return true;
}
template <typename T>
bool ReadAll(const Context& context, const Indices& from, Index count,
             std::vector<T>* to) {
  to->resize(Size(count));
  return context.driver->copy(reinterpret_cast<std::uint64_t>(to->data()),
                              reinterpret_cast<std::uint64_t>(from.array),
                              to->size() * sizeof(T), context.stream) == 0;
}
// Waits for the stream.
template <typename Offset, typename Column>
bool IsOrderedAs(const Context& context, const SpMat& a) {
  std::vector<Offset> offsets;
  std::vector<Column> columns;
  return ReadAll(context, a.major, a.rows + 1, &offsets) &&
         ReadAll(context, a.minor, a.nnz, &columns) &&
         context.driver->synchronize(context.stream) == 0 &&
         IsOrdered(a, offsets, columns);
}
bool IsOrdered(const Context& context, const SpMat& a) {
  if (IsCaptured(*context.driver, context.stream)) return false;
  if (a.major.type == k64Bit) {
    return a.minor.type == k64Bit
               ? IsOrderedAs<std::int64_t, std::int64_t>(context, a)
               : IsOrderedAs<std::int64_t, std::int32_t>(context, a);
  }
  return a.minor.type == k32Bit &&
         IsOrderedAs<std::int32_t, std::int32_t>(context, a);
}

bool IsVector(const DnMat& m) {
  return m.columns == 1 && m.batches == 1 &&
         (m.order == kByColumns || m.ld == 1);
}
DnVec VectorOf(const DnMat& m) { return {m.rows, m.values, m.type}; }

}  // namespace

// A triangle that rocSPARSE has analysed, with what it keeps for that.
class Rocsparse::Triangle {
 public:
  Triangle(const Rocsparse& owner, const Context& context, const System& system)
      : f_(owner.f_),
        driver_(*context.driver),
        system_(system),
        is_vector_(system.opb == cublas::kN && IsVector(system.b) &&
                   IsVector(system.x)),
        matrix_(f_.destroy_matrix) {}
  ~Triangle() {
    if (memory_ != 0) driver_.free(memory_);
  }
  Triangle(const Triangle&) = delete;
  Triangle& operator=(const Triangle&) = delete;

  bool Analyse(const Context& context, roc::Handle handle, const void* alpha);
  // Whether it is the system that was analysed, but for its numbers.
  bool IsOf(const System& s) const;
  bool Solve(roc::Handle handle, const void* alpha, const System& s,
             Status* status);

 private:
  roc::Status Call(roc::Handle handle, const void* alpha, const System& s,
                   roc::SolveStage stage, std::size_t* bytes) const;

  const Functions f_;
  const Driver& driver_;
  const System system_;
  const bool is_vector_;
  Descriptor<roc::Matrix> matrix_;
  std::uint64_t memory_ = 0;
};

roc::Status Rocsparse::Triangle::Call(roc::Handle handle, const void* alpha,
                                      const System& s, roc::SolveStage stage,
                                      std::size_t* bytes) const {
  const Functions& f = f_;
  void* const memory = reinterpret_cast<void*>(memory_);
  if (is_vector_) {
    Descriptor<roc::Vector> b(f.destroy_vector), x(f.destroy_vector);
    return Wrap(f, VectorOf(s.b), &b) && Wrap(f, VectorOf(s.x), &x)
               ? f.spsv(handle, TurnOf(s.opa, s.compute), alpha, matrix_.get(),
                        b.get(), x.get(), TypeOf(s.compute), kDefaultAlgorithm,
                        stage, bytes, memory)
               : roc::Status::kNotImplemented;
  }
  Descriptor<roc::Dense> b(f.destroy_dense), x(f.destroy_dense);
  return Wrap(f, s.b, &b) && Wrap(f, s.x, &x)
             ? f.spsm(handle, TurnOf(s.opa, s.compute),
                      TurnOf(s.opb, s.compute), alpha, matrix_.get(), b.get(),
                      x.get(), TypeOf(s.compute), kDefaultAlgorithm, stage,
                      bytes, memory)
             : roc::Status::kNotImplemented;
}

bool Rocsparse::Triangle::Analyse(const Context& context, roc::Handle handle,
                                  const void* alpha) {
  const Functions& f = f_;
  // rocSPARSE 5.7.1 takes right sides by rows for those by columns.
  const bool by_columns = system_.opb == cublas::kN &&
                          system_.b.order == kByColumns &&
                          system_.x.order == kByColumns;
  const bool has =
      f.set_attribute != nullptr && f.set_values != nullptr &&
      (is_vector_ ? f.spsv != nullptr : by_columns && f.spsm != nullptr);
  const int fill = system_.a.fill(), diagonal = system_.a.diag();
  std::size_t bytes = 0;
  return has && system_.a.format == kCsr && Wrap(f, system_.a, &matrix_) &&
         IsOrdered(context, system_.a) &&
         f.set_attribute(matrix_.get(), kFillMode, &fill, sizeof fill) ==
             roc::Status::kSuccess &&
         f.set_attribute(matrix_.get(), kDiagonalType, &diagonal,
                         sizeof diagonal) == roc::Status::kSuccess &&
         Call(handle, alpha, system_, roc::SolveStage::kBufferSize, &bytes) ==
             roc::Status::kSuccess &&
         driver_.allocate(&memory_, RoomFor(bytes)) == 0 &&
         Call(handle, alpha, system_, roc::SolveStage::kAnalyse, &bytes) ==
             roc::Status::kSuccess;
}

bool Rocsparse::Triangle::IsOf(const System& s) const {
  const auto same = [](const DnMat& a, const DnMat& b) {
    return a.rows == b.rows && a.columns == b.columns && a.ld == b.ld &&
           a.order == b.order && a.batches == b.batches;
  };
  const SpMat &a = system_.a, &b = s.a;
  return s.opa == system_.opa && s.opb == system_.opb &&
         s.compute == system_.compute && s.update == nullptr &&
         a.format == b.format && a.rows == b.rows && a.columns == b.columns &&
         a.nnz == b.nnz && a.major.array == b.major.array &&
         a.minor.array == b.minor.array && a.fill() == b.fill() &&
         a.diag() == b.diag() && a.base == b.base && a.type == b.type &&
         a.batches == b.batches && same(system_.b, s.b) && same(system_.x, s.x);
}

bool Rocsparse::Triangle::Solve(roc::Handle handle, const void* alpha,
                                const System& s, Status* status) {
  if (f_.set_values(matrix_.get(), s.a.values) != roc::Status::kSuccess) {
    return false;
  }
  std::size_t bytes = 0;
  return IsTaken(Call(handle, alpha, s, roc::SolveStage::kCompute, &bytes),
                 status);
}

std::shared_ptr<Rocsparse::Triangle> Rocsparse::Analyse(const Context& context,
                                                        const void* alpha,
                                                        const System& system) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  retired_.clear();
  const roc::Handle handle = Follow(context);
  const auto triangle = std::make_shared<Triangle>(*this, context, system);
  if (!Said(system.x.columns == 1 ? "SpSV" : "SpSM", &said,
            handle != nullptr && triangle->Analyse(context, handle, alpha))) {
    return nullptr;
  }
  const std::weak_ptr<Rocsparse> owner = context.rocsparse;
  return {triangle.get(), [owner, triangle](Triangle*) {
            const auto alive = owner.lock();
            if (alive == nullptr) return;
            const std::lock_guard<std::mutex> lock(alive->mutex_);
            alive->retired_.push_back(triangle);
          }};
}
bool Rocsparse::Solve(const Context& context, const void* alpha,
                      const System& system, Triangle* triangle,
                      Status* status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const roc::Handle handle = triangle->IsOf(system) ? Follow(context) : nullptr;
  return handle != nullptr && triangle->Solve(handle, alpha, system, status);
}

// --- Sparse products
// C, whose offsets the structure's stages write.
bool Rocsparse::MultiplySparse(const Context& context, const void* alpha,
                               const SpMat& a, const SpMat& b, const void* beta,
                               const SpMat& c, DataType compute,
                               ProductPart part, Index* nnz, Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool computes = part == kWhole;
  // What C had would have to be added at places of its own.
  const bool adds =
      computes && (context.pointer_mode == cublas::kDevicePointers ||
                   cublas::Load(compute, beta, 0) != Complex64(0));
  const bool has = f_.spgemm != nullptr && f_.get_size != nullptr && !adds &&
                   !(computes && IsZero(context, compute, alpha));
  const roc::Handle handle = has ? Follow(context) : nullptr;
  const auto take = [&] {
    Descriptor<roc::Matrix> pa(f_.destroy_matrix), pb(f_.destroy_matrix),
        pc(f_.destroy_matrix);
    // Offsets that nobody else asks for yet.
    const StreamMemory own(
        *context.driver, context.stream,
        part == kCount ? Size(c.rows + 1) * c.major.bytes() : 0);
    void* const offsets = part == kCount ? own.get() : c.major.array;
    const Index known = part == kCount ? 0 : c.nnz;
    if (!own.has() || !Wrap(f_, a, &pa) || !Wrap(f_, b, &pb) || c.rows == 0 ||
        c.columns == 0 || (part != kCount && c.nnz == 0) ||
        !pc.Make(f_.create_csr, c.rows, c.columns, known, offsets,
                 part == kCount ? nullptr : c.minor.array,
                 part == kCount ? nullptr : c.values, IndexOf(c.major),
                 IndexOf(c.minor), BaseOf(c.base), TypeOf(c.type))) {
      return false;
    }
    const auto call = [&](roc::ProductStage stage, std::size_t* bytes,
                          void* memory) {
      constexpr auto kNo = roc::Operation::kNone;
      return f_.spgemm(handle, kNo, kNo, computes ? alpha : AnyFactor(),
                       pa.get(), pb.get(), nullptr, pc.get(), pc.get(),
                       TypeOf(compute), kDefaultAlgorithm, stage, bytes,
                       memory);
    };
    std::size_t bytes = 0;
    if (call(roc::ProductStage::kBufferSize, &bytes, nullptr) !=
        roc::Status::kSuccess) {
      return false;
    }
    const StreamMemory memory = WorkMemory(context, bytes);
    if (!memory.has()) return false;
    if (call(roc::ProductStage::kNonzeros, &bytes, memory.get()) !=
        roc::Status::kSuccess) {
      return false;
    }
    Index rows = 0, columns = 0;
    if (f_.get_size(pc.get(), &rows, &columns, nnz) != roc::Status::kSuccess ||
        (part != kCount && *nnz != c.nnz)) {
      return false;
    }
    if (part == kCount) {
      *status = kSuccess;
      return context.driver->synchronize(context.stream) == 0;
    }
    return IsTaken(call(computes ? roc::ProductStage::kCompute
                                 : roc::ProductStage::kSymbolic,
                        &bytes, memory.get()),
                   status);
  };
  return Said("SpGEMM", &said, handle != nullptr && take());
}

// --- Conversions
bool Rocsparse::ToDense(const Context& context, const SpMat& a, const DnMat& b,
                        Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  const roc::Handle handle = f_.to_dense != nullptr ? Follow(context) : nullptr;
  Descriptor<roc::Matrix> pa(f_.destroy_matrix);
  Descriptor<roc::Dense> pb(f_.destroy_dense);
  const auto call = [&](void* memory, std::size_t* bytes) {
    return f_.to_dense(handle, pa.get(), pb.get(), kDefaultAlgorithm, bytes,
                       memory);
  };
  return Said("SparseToDense", &said,
              handle != nullptr && Wrap(f_, a, &pa) && Wrap(f_, b, &pb) &&
                  WithMemory(context, call, status));
}

bool Rocsparse::ToSparse(const Context& context, const DnMat& a, const SpMat& b,
                         bool counts, Index* nnz, Status* status) {
  static std::atomic<bool> said{false};
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool has = f_.to_sparse != nullptr && f_.get_size != nullptr;
  const roc::Handle handle = has ? Follow(context) : nullptr;
  const auto take = [&] {
    Descriptor<roc::Dense> pa(f_.destroy_dense);
    Descriptor<roc::Matrix> pb(f_.destroy_matrix);
    SpMat sized = b;
    if (counts) sized.nnz = 0;
    const auto type = TypeOf(b.type);
    const auto made =
        b.format == kCoo
            ? b.major.type == b.minor.type &&
                  pb.Make(f_.create_coo, b.rows, b.columns, sized.nnz,
                          b.major.array, b.minor.array, b.values,
                          IndexOf(b.major), BaseOf(b.base), type)
            : b.major.array != nullptr &&
                  pb.Make(b.format == kCsr ? f_.create_csr : f_.create_csc,
                          b.rows, b.columns, sized.nnz, b.major.array,
                          b.minor.array, b.values, IndexOf(b.major),
                          IndexOf(b.minor), BaseOf(b.base), type);
    if (!made || !Wrap(f_, a, &pa) || b.batches != 1) return false;
    std::size_t bytes = 0;
    const auto call = [&](std::size_t* size, void* memory) {
      return f_.to_sparse(handle, pa.get(), pb.get(), kDefaultAlgorithm, size,
                          memory);
    };
    if (call(&bytes, nullptr) != roc::Status::kSuccess) return false;
    const StreamMemory memory = WorkMemory(context, bytes);
    // What it has found it keeps in this memory, which is gone between calls.
    if (!memory.has() || call(nullptr, memory.get()) != roc::Status::kSuccess) {
      return false;
    }
    Index rows = 0, columns = 0;
    if (f_.get_size(pb.get(), &rows, &columns, nnz) != roc::Status::kSuccess ||
        (!counts && *nnz != b.nnz)) {
      return false;
    }
    *status = kSuccess;
    return counts || IsTaken(call(&bytes, memory.get()), status);
  };
  return Said("DenseToSparse", &said, handle != nullptr && take());
}

}  // namespace cerberus::libraries::cusparse
