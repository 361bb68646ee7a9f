// Takes the rows of a table apart, into CUSOLVER_EXPORT(type, name, …), which
// who includes this has defined. `type` is S, D, C, Z, or X if the type is told
// at run time.
#define CUSOLVER_SDCZ(name, ...)                     \
  CUSOLVER_EXPORT(S, cusolverDnS##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnD##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverDnC##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZ##name, __VA_ARGS__)
// Named after real and after complex matrices.
#define CUSOLVER_SD_CZ(real, complex, ...)              \
  CUSOLVER_EXPORT(S, cusolverDnS##real, __VA_ARGS__)    \
  CUSOLVER_EXPORT(D, cusolverDnD##real, __VA_ARGS__)    \
  CUSOLVER_EXPORT(C, cusolverDnC##complex, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZ##complex, __VA_ARGS__)
// Named after the precisions of the result and of the first guess.
#define CUSOLVER_MIXED(name, ...)                     \
  CUSOLVER_EXPORT(S, cusolverDnSS##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(S, cusolverDnSH##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(S, cusolverDnSB##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(S, cusolverDnSX##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnDD##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnDS##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnDH##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnDB##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverDnDX##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverDnCC##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverDnCK##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverDnCE##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverDnCY##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZZ##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZC##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZK##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZE##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverDnZY##name, __VA_ARGS__)
#define CUSOLVER_SP(name, ...)                       \
  CUSOLVER_EXPORT(S, cusolverSpS##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(D, cusolverSpD##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(C, cusolverSpC##name, __VA_ARGS__) \
  CUSOLVER_EXPORT(Z, cusolverSpZ##name, __VA_ARGS__)
#define CUSOLVER_X(...) CUSOLVER_EXPORT(X, __VA_ARGS__)
