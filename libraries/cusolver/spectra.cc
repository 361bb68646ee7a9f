// The functions of spectra.def.
#include "libraries/cusolver/spectra.h"

#include "libraries/cusolver/types.h"

namespace cerberus::libraries::cusolver {
namespace {

// That of two matrices: 0, which EigenCall takes for one, is none.
int OfTwo(int itype) { return itype == 0 ? -1 : itype; }
// Whether values or vectors of a matrix may be of a type: its own, or its
// complex one.
bool IsValue(DataType type, DataType of_value) {
  return of_value == type || of_value == ComplexTypeOf(type);
}

Status XSyevd(Handle h, EigMode mode, Fill fill, Index n, DataType type,
              void* a, Index lda, DataType type_w, void* w, DataType compute,
              int* info) {
  if (!AreTypes(compute, type) || type_w != RealTypeOf(type)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    return SyevdCall<T>(h, 0, mode, fill, n, static_cast<T*>(a), lda,
                        static_cast<T*>(nullptr), 1, static_cast<Real<T>*>(w),
                        info);
  });
}
Status XSyevdx(Handle h, int itype, EigMode mode, EigRange range, Fill fill,
               Index n, DataType type, void* a, Index lda, DataType type_b,
               void* b, Index ldb, const void* vl, const void* vu, Index il,
               Index iu, std::int64_t* found, DataType type_w, void* w,
               DataType compute, int* info) {
  const bool has_bounds = vl != nullptr && vu != nullptr;
  if (!AreTypes(compute, type, type_b) || type_w != RealTypeOf(type) ||
      (range == kRangeValue && !has_bounds)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    using R = Real<T>;
    Range<R> wanted{range, 0, 0, il, iu};
    if (has_bounds) {
      wanted.vl = *static_cast<const R*>(vl);
      wanted.vu = *static_cast<const R*>(vu);
    }
    return EigenCall<T>(h, itype, mode, wanted, fill, n, static_cast<T*>(a),
                        lda, static_cast<T*>(b), ldb, found, static_cast<R*>(w),
                        info);
  });
}
Status XSyevBatched(Handle h, EigMode mode, Fill fill, Index n, DataType type,
                    void* a, Index lda, DataType type_w, void* w,
                    DataType compute, int* infos, Index count) {
  if (!AreTypes(compute, type) || type_w != RealTypeOf(type)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    return SyevBatched<T>(h, mode, fill, n, static_cast<T*>(a), lda,
                          static_cast<Real<T>*>(w), infos, count);
  });
}
Status XSygvBatched(Handle h, int itype, EigMode mode, Fill fill, Index n,
                    DataType type, void* a, Index lda, Index step_a,
                    DataType type_b, void* b, Index ldb, Index step_b,
                    DataType type_w, void* w, Index step_w, DataType compute,
                    Index count, int* infos) {
  if (!AreTypes(compute, type, type_b) || type_w != RealTypeOf(type)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    return SygvBatched<T>(h, itype, mode, fill, n, static_cast<T*>(a), lda,
                          step_a, static_cast<T*>(b), ldb, step_b,
                          static_cast<Real<T>*>(w), step_w, infos, count);
  });
}
Status XStedc(Handle h, EigComp comp, Index n, DataType type, void* d, void* e,
              DataType type_z, void* z, Index ldz, DataType compute,
              int* info) {
  if (!AreTypes(type, RealTypeOf(type_z)) || IsComplexType(type) ||
      RealTypeOf(compute) != type) {
    return kInvalidValue;
  }
  return WithType(type_z, [&]<typename T>() {
    return StedcCall<T>(h, comp, n, static_cast<Real<T>*>(d),
                        static_cast<Real<T>*>(e), static_cast<T*>(z), ldz,
                        info);
  });
}

Status XGeev(Handle h, EigMode left, EigMode right, Index n, DataType type,
             void* a, Index lda, DataType type_w, void* w, DataType type_vl,
             void* vl, Index ldvl, DataType type_vr, void* vr, Index ldvr,
             DataType compute, int* info) {
  // Of vectors that are not wanted the type does not matter.
  const DataType type_v = right == kWithVectors  ? type_vr
                          : left == kWithVectors ? type_vl
                                                 : type;
  if (!AreTypes(compute, type) || !IsValue(type, type_w) ||
      !IsValue(type, type_v) || (left == kWithVectors && type_vl != type_v)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    const auto with_vectors = [&]<typename W, typename V>(W* values, V*) {
      return GeevCall<T>(h, left, right, n, static_cast<T*>(a), lda, values,
                         static_cast<V*>(vl), ldvl, static_cast<V*>(vr), ldvr,
                         info);
    };
    using C = std::complex<Real<T>>;
    const auto with_values = [&]<typename W>(W* values) {
      return type_v == type ? with_vectors(values, static_cast<T*>(nullptr))
                            : with_vectors(values, static_cast<C*>(nullptr));
    };
    return type_w == type ? with_values(static_cast<T*>(w))
                          : with_values(static_cast<C*>(w));
  });
}

bool AreSingularTypes(DataType type, DataType type_s, DataType type_u,
                      DataType type_v, DataType compute) {
  return AreTypes(compute, type, type_u, type_v) && type_s == RealTypeOf(type);
}
Status XGesvd(Handle h, signed char job_u, signed char job_v, Index m, Index n,
              DataType type, void* a, Index lda, DataType type_s, void* s,
              DataType type_u, void* u, Index ldu, DataType type_v, void* vh,
              Index ldvh, DataType compute, int* info) {
  if (!AreSingularTypes(type, type_s, type_u, type_v, compute)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    return GesvdCall<T>(h, job_u, job_v, m, n, static_cast<T*>(a), lda,
                        static_cast<Real<T>*>(s), static_cast<T*>(u), ldu,
                        static_cast<T*>(vh), ldvh, info);
  });
}
Status XGesvdp(Handle h, EigMode mode, int econ, Index m, Index n,
               DataType type, void* a, Index lda, DataType type_s, void* s,
               DataType type_u, void* u, Index ldu, DataType type_v, void* v,
               Index ldv, DataType compute, int* info, double* error) {
  if (!AreSingularTypes(type, type_s, type_u, type_v, compute)) {
    return kInvalidValue;
  }
  // How much the matrix was disturbed, lest its polar factors be none; it was
  // not.
  if (error != nullptr) *error = 0;
  return WithType(type, [&]<typename T>() {
    return GesvdjCall<T>(h, mode, econ, m, n, static_cast<T*>(a), lda,
                         static_cast<Real<T>*>(s), static_cast<T*>(u), ldu,
                         static_cast<T*>(v), ldv, info, nullptr);
  });
}
Status XGesvdr(Handle h, signed char job_u, signed char job_v, Index m, Index n,
               Index k, Index p, Index iterations, DataType type, void* a,
               Index lda, DataType type_s, void* s, DataType type_u, void* u,
               Index ldu, DataType type_v, void* v, Index ldv, DataType compute,
               int* info) {
  if (!AreSingularTypes(type, type_s, type_u, type_v, compute)) {
    return kInvalidValue;
  }
  return WithType(type, [&]<typename T>() {
    return GesvdrCall<T>(h, job_u, job_v, m, n, k, p, iterations,
                         static_cast<T*>(a), lda, static_cast<Real<T>*>(s),
                         static_cast<T*>(u), ldu, static_cast<T*>(v), ldv,
                         info);
  });
}

}  // namespace

#include "libraries/cusolver/spectra.def"

}  // namespace cerberus::libraries::cusolver
