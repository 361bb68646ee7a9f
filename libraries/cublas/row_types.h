// What T, R and I are in the rows of cublas.def, whose first argument names one
// of these namespaces (rows.h). To be included within a namespace that has
// Real, Index, Complex32 and Complex64; once there.
#define CUBLAS_TYPES(P, Type) \
  namespace P##_int {         \
    using T = Type;           \
    using R = Real<Type>;     \
    using I = int;            \
  }                           \
  namespace P##_long {        \
    using T = Type;           \
    using R = Real<Type>;     \
    using I = Index;          \
  }
CUBLAS_TYPES(S, float)
CUBLAS_TYPES(D, double)
CUBLAS_TYPES(C, Complex32)
CUBLAS_TYPES(Z, Complex64)
#undef CUBLAS_TYPES
