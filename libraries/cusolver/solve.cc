// The functions of solve.def.
#include "libraries/cusolver/solve.h"

#include "libraries/cusolver/irs.h"
#include "libraries/cusolver/types.h"

namespace cerberus::libraries::cusolver {
namespace {

Status XGetrf(Handle h, Index m, Index n, DataType type, void* a, Index lda,
              std::int64_t* pivots, DataType compute, int* info) {
  if (!AreTypes(compute, type)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return GetrfCall<T>(h, m, n, static_cast<T*>(a), lda, pivots, info);
  });
}
Status XGetrs(Handle h, Operation op, Index n, Index columns, DataType type,
              const void* a, Index lda, const std::int64_t* pivots,
              DataType type_b, void* b, Index ldb, int* info) {
  if (!AreTypes(type, type_b)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return GetrsCall<T>(h, op, n, columns, static_cast<const T*>(a), lda,
                        pivots, static_cast<T*>(b), ldb, info);
  });
}
Status XPotrf(Handle h, Fill fill, Index n, DataType type, void* a, Index lda,
              DataType compute, int* info) {
  if (!AreTypes(compute, type)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return TriangleCall<Potrf<T>, Roc::kPotrf>(h, fill, n, static_cast<T*>(a),
                                               lda, info);
  });
}
Status XPotrs(Handle h, Fill fill, Index n, Index columns, DataType type,
              const void* a, Index lda, DataType type_b, void* b, Index ldb,
              int* info) {
  if (!AreTypes(type, type_b)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return PotrsCall<T>(h, fill, n, columns, static_cast<const T*>(a), lda,
                        static_cast<T*>(b), ldb, info);
  });
}
Status XGeqrf(Handle h, Index m, Index n, DataType type, void* a, Index lda,
              DataType type_tau, void* tau, DataType compute, int* info) {
  if (!AreTypes(compute, type, type_tau)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return GeqrfCall<T>(h, m, n, static_cast<T*>(a), lda, static_cast<T*>(tau),
                        info);
  });
}
Status XTrtri(Handle h, Fill fill, Diag diag, Index n, DataType type, void* a,
              Index lda, int* info) {
  return WithType(type, [&]<typename T>() {
    return TrtriCall<T>(h, fill, diag, n, static_cast<T*>(a), lda, info);
  });
}
template <bool kHermitian>
Status XSytrf(Handle h, Fill fill, Index n, DataType type, void* a, Index lda,
              std::int64_t* pivots, DataType compute, int* info) {
  if (!AreTypes(compute, type)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return SytrfCall<kHermitian, T>(h, fill, n, static_cast<T*>(a), lda, pivots,
                                    info);
  });
}
template <bool kHermitian>
Status XSytrs(Handle h, Fill fill, Index n, Index columns, DataType type,
              const void* a, Index lda, const std::int64_t* pivots,
              DataType type_b, void* b, Index ldb, int* info) {
  if (!AreTypes(type, type_b)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return SytrsCall<kHermitian, T>(h, fill, n, columns,
                                    static_cast<const T*>(a), lda, pivots,
                                    static_cast<T*>(b), ldb, info);
  });
}
Status XLarft(Handle h, int direct, int storev, Index n, Index k, DataType type,
              const void* v, Index ldv, DataType type_tau, const void* tau,
              DataType type_t, void* t, Index ldt, DataType compute) {
  if (!AreTypes(compute, type, type_tau, type_t)) return kInvalidValue;
  return WithType(type, [&]<typename T>() {
    return LarftCall<T>(h, direct, storev, n, k, static_cast<const T*>(v), ldv,
                        static_cast<const T*>(tau), static_cast<T*>(t), ldt);
  });
}

// In the order in which NVIDIA's documentation lists what may be wrong.
Status CheckIrs(IrsParams params) {
  if (!IsAlive(params)) return kIrsParamsNotInitialized;
  if (!TypeOfPrecision(params->main_precision)) {
    return kIrsParamsInvalidPrecision;
  }
  if (params->refinement == IrsParameters().refinement) {
    return kIrsParamsInvalidRefinement;
  }
  return kSuccess;
}
Status AskIrs(IrsParams params, bool fine, std::size_t* size) {
  if (const Status bad = CheckIrs(params)) return bad;
  return Ask(fine, size);
}
Status BeginIrs(IrsParams params, IrsInfos infos) {
  if (const Status bad = CheckIrs(params)) return bad;
  if (!IsAlive(infos)) return kIrsInfosNotInitialized;
  infos->iterations = infos->outer_iterations = 0;
  infos->max_iterations = params->max_iterations;
  return kSuccess;
}
Status IrsGesv(Handle h, IrsParams params, IrsInfos infos, Index n,
               Index columns, void* a, Index lda, void* b, Index ldb, void* x,
               Index ldx, int* iterations, int* info) {
  if (const Status bad = BeginIrs(params, infos)) return bad;
  return WithType(*TypeOfPrecision(params->main_precision), [&]<typename T>() {
    return GesvCall<T>(h, n, columns, static_cast<const T*>(a), lda, nullptr,
                       static_cast<const T*>(b), ldb, static_cast<T*>(x), ldx,
                       iterations, info);
  });
}
Status IrsGels(Handle h, IrsParams params, IrsInfos infos, Index m, Index n,
               Index columns, void* a, Index lda, void* b, Index ldb, void* x,
               Index ldx, int* iterations, int* info) {
  if (const Status bad = BeginIrs(params, infos)) return bad;
  return WithType(*TypeOfPrecision(params->main_precision), [&]<typename T>() {
    return GelsCall<T>(h, m, n, columns, static_cast<const T*>(a), lda,
                       static_cast<const T*>(b), ldb, static_cast<T*>(x), ldx,
                       iterations, info);
  });
}

}  // namespace

#include "libraries/cusolver/solve.def"

}  // namespace cerberus::libraries::cusolver
