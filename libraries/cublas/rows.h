// Takes the rows of cublas.def apart: into CUBLAS_EXPORT(types, name, …),
// CUBLAS_EXPORT_OLD, CUBLAS_EXPORT_OLD_RESULT and CUBLAS_EXPORT_XT, which who
// includes this has defined. `types` is one of S_int, S_long, D_int, …
#define CUBLAS_NS_float S
#define CUBLAS_NS_double D
#define CUBLAS_NS_Complex32 C
#define CUBLAS_NS_Complex64 Z

#define CUBLAS_V2_(P, name, ...)                 \
  CUBLAS_EXPORT(P##_int, name##_v2, __VA_ARGS__) \
  CUBLAS_EXPORT(P##_long, name##_v2_64, __VA_ARGS__)
#define CUBLAS_V2_INT_(P, name, ...) \
  CUBLAS_EXPORT(P##_int, name##_v2, __VA_ARGS__)
#define CUBLAS_NEW_(P, name, ...)           \
  CUBLAS_EXPORT(P##_int, name, __VA_ARGS__) \
  CUBLAS_EXPORT(P##_long, name##_64, __VA_ARGS__)
#define CUBLAS_INT_(P, name, ...) CUBLAS_EXPORT(P##_int, name, __VA_ARGS__)
#define CUBLAS_OLD_(P, name, ...) CUBLAS_EXPORT_OLD(P##_int, name, __VA_ARGS__)
#define CUBLAS_OLD_RESULT_(P, result, name, ...) \
  CUBLAS_EXPORT_OLD_RESULT(P##_int, result, name, __VA_ARGS__)
#define CUBLAS_XT_(P, name, ...) CUBLAS_EXPORT_XT(P##_long, name, __VA_ARGS__)

#define CUBLAS_S_D_(KIND, name, ...)  \
  KIND(S, cublasS##name, __VA_ARGS__) \
  KIND(D, cublasD##name, __VA_ARGS__)
#define CUBLAS_C_Z_(KIND, name, ...)  \
  KIND(C, cublasC##name, __VA_ARGS__) \
  KIND(Z, cublasZ##name, __VA_ARGS__)
#define CUBLAS_ALL_(KIND, ...) \
  CUBLAS_S_D_(KIND, __VA_ARGS__) CUBLAS_C_Z_(KIND, __VA_ARGS__)

#define CUBLAS_SDCZ_V2(...) CUBLAS_ALL_(CUBLAS_V2_, __VA_ARGS__)
#define CUBLAS_SD_V2(...) CUBLAS_S_D_(CUBLAS_V2_, __VA_ARGS__)
#define CUBLAS_CZ_V2(...) CUBLAS_C_Z_(CUBLAS_V2_, __VA_ARGS__)
#define CUBLAS_SDCZ_V2_INT(...) CUBLAS_ALL_(CUBLAS_V2_INT_, __VA_ARGS__)
#define CUBLAS_SD_V2_INT(...) CUBLAS_S_D_(CUBLAS_V2_INT_, __VA_ARGS__)
#define CUBLAS_SDCZ_NEW(...) CUBLAS_ALL_(CUBLAS_NEW_, __VA_ARGS__)
#define CUBLAS_SD_NEW(...) CUBLAS_S_D_(CUBLAS_NEW_, __VA_ARGS__)
#define CUBLAS_CZ_NEW(...) CUBLAS_C_Z_(CUBLAS_NEW_, __VA_ARGS__)
#define CUBLAS_SDCZ_INT(...) CUBLAS_ALL_(CUBLAS_INT_, __VA_ARGS__)
#define CUBLAS_SDCZ_OLD(...) CUBLAS_ALL_(CUBLAS_OLD_, __VA_ARGS__)
#define CUBLAS_SD_OLD(...) CUBLAS_S_D_(CUBLAS_OLD_, __VA_ARGS__)
#define CUBLAS_CZ_OLD(...) CUBLAS_C_Z_(CUBLAS_OLD_, __VA_ARGS__)
#define CUBLAS_SD_OLD_RESULT(result, name, ...)             \
  CUBLAS_OLD_RESULT_(S, result, cublasS##name, __VA_ARGS__) \
  CUBLAS_OLD_RESULT_(D, result, cublasD##name, __VA_ARGS__)
#define CUBLAS_CZ_OLD_RESULT(result, name, ...)             \
  CUBLAS_OLD_RESULT_(C, result, cublasC##name, __VA_ARGS__) \
  CUBLAS_OLD_RESULT_(Z, result, cublasZ##name, __VA_ARGS__)
#define CUBLAS_XT_PREFIXED_(P, name, ...) \
  CUBLAS_XT_(P, cublasXt##P##name, __VA_ARGS__)
#define CUBLAS_CZ_XT(name, ...)             \
  CUBLAS_XT_PREFIXED_(C, name, __VA_ARGS__) \
  CUBLAS_XT_PREFIXED_(Z, name, __VA_ARGS__)
#define CUBLAS_SDCZ_XT(name, ...)           \
  CUBLAS_XT_PREFIXED_(S, name, __VA_ARGS__) \
  CUBLAS_XT_PREFIXED_(D, name, __VA_ARGS__) \
  CUBLAS_CZ_XT(name, __VA_ARGS__)

#define CUBLAS_CALL_(KIND, ...) KIND(__VA_ARGS__)
#define CUBLAS_ONE_V2(T, ...) \
  CUBLAS_CALL_(CUBLAS_V2_, CUBLAS_NS_##T, __VA_ARGS__)
#define CUBLAS_ONE_NEW(T, ...) \
  CUBLAS_CALL_(CUBLAS_NEW_, CUBLAS_NS_##T, __VA_ARGS__)
#define CUBLAS_ONE_INT(T, ...) \
  CUBLAS_CALL_(CUBLAS_INT_, CUBLAS_NS_##T, __VA_ARGS__)
#define CUBLAS_ONE_OLD(T, ...) \
  CUBLAS_CALL_(CUBLAS_OLD_, CUBLAS_NS_##T, __VA_ARGS__)
#define CUBLAS_ONE_OLD_RESULT(result, T, ...) \
  CUBLAS_CALL_(CUBLAS_OLD_RESULT_, CUBLAS_NS_##T, result, __VA_ARGS__)
