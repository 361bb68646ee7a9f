// Handles and what is set in them; the functions that answer that they are not
// supported.
#include <dlfcn.h>

#include <cstdio>

#include "libraries/cusolver/api.h"
#include "libraries/cusolver/irs.h"
#include "libraries/cusolver/jacobi.h"
#include "libraries/cusolver/registry.h"
#include "libraries/cusolver/rocsolver.h"
#include "libraries/cusolver/sparse_info.h"

namespace cerberus::libraries::cusolver {

struct DnParams {
  int algorithms[7] = {};  // by cusolverDnFunction_t
};

namespace {

template <typename T>
Status MakeOne(T** made) {
  if (made == nullptr) return kInvalidValue;
  *made = All<T>().Make();
  return *made != nullptr ? kSuccess : kAllocFailed;
}

Status Make(Handle* handle, bool is_dense) {
  if (handle == nullptr) return kInvalidValue;
  const Driver* driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  std::shared_ptr<Rocsolver> rocsolver;
  if (is_dense && !Rocsolver::Make(*driver, &rocsolver)) return kNotInitialized;
  if (const Status bad = MakeOne(handle)) return bad;
  (*handle)->driver = driver;
  (*handle)->rocsolver = std::move(rocsolver);
  return kSuccess;
}
Status Destroy(Handle handle) {
  return All<Context>().Destroy(handle) ? kSuccess : kNotInitialized;
}
Status SetStream(Handle handle, Stream stream) {
  if (!IsAlive(handle)) return kNotInitialized;
  handle->stream = stream;
  return kSuccess;
}
Status GetStream(Handle handle, Stream* stream) {
  if (!IsAlive(handle)) return kNotInitialized;
  if (stream == nullptr) return kInvalidValue;
  *stream = handle->stream;
  return kSuccess;
}

Status Set(Handle h, int Context::* member, int value, bool fine = true) {
  if (!IsAlive(h)) return kNotInitialized;
  if (!fine) return kInvalidValue;
  h->*member = value;
  return kSuccess;
}
Status Get(Handle h, int Context::* member, int* value) {
  if (!IsAlive(h)) return kNotInitialized;
  if (value == nullptr) return kInvalidValue;
  *value = h->*member;
  return kSuccess;
}

// A member of cusolverDnIRSParams_t, if the value is one for it.
template <typename T>
Status Set(IrsParams params, T IrsParameters::* member, T value,
           Status bad = kSuccess) {
  if (!IsAlive(params)) return kIrsParamsNotInitialized;
  if (bad != kSuccess) return bad;
  params->*member = value;
  return kSuccess;
}
template <typename T>
Status Get(IrsInfos infos, T value, T* to) {
  if (!IsAlive(infos)) return kIrsInfosNotInitialized;
  if (to == nullptr) return kInvalidValue;
  *to = value;
  return kSuccess;
}
// cusolverPrecType_t: CUSOLVER_R_8I to CUSOLVER_C_AP.
Status CheckPrecision(int precision) {
  const bool fine = (precision >= 1201 && precision <= 1208) ||
                    (precision >= 1211 && precision <= 1218);
  return fine ? kSuccess : kIrsParamsInvalidPrecision;
}

// Minor version and patch are those of the newest library of each name.
constexpr int kVersion[] = {CERBERUS_CUSOLVER_MAJOR,
                            CERBERUS_CUSOLVER_MAJOR == 11 ? 7 : 4,
                            CERBERUS_CUSOLVER_MAJOR == 11 ? 5 : 1};

}  // namespace

// Of each version of the library.
CUSOLVER_API std::atomic<void*>* cusolverCerberusSlot(int kind) {
  static std::atomic<void*> slots[kKinds] = {};
  return &slots[kind];
}
std::atomic<void*>* Slot(Kind kind) {
  std::atomic<void*>* first = nullptr;
  for (const char* name : {"libcusolver.so.11", "libcusolver.so.12"}) {
    void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const found = dlsym(library, "cusolverCerberusSlot");
    if (found == nullptr) continue;  // NVIDIA's own
    auto* const slot =
        reinterpret_cast<std::atomic<void*>* (*)(int)>(found)(kind);
    if (slot->load() != nullptr) return slot;
    if (first == nullptr) first = slot;
  }
  return first != nullptr ? first : cusolverCerberusSlot(kind);
}

bool IsAlive(Handle handle) { return All<Context>().Has(handle); }
bool IsAlive(IrsParams params) { return All<IrsParameters>().Has(params); }
bool IsAlive(IrsInfos infos) { return All<IrsInformation>().Has(infos); }
bool IsAlive(SparseInfo info) { return All<SparseInformation>().Has(info); }
bool IsAlive(Jacobi jacobi) { return All<JacobiParameters>().Has(jacobi); }

// For `cerberus doctor`.
CUSOLVER_API const char* cusolverCerberusProvider() {
  static const std::string text = Rocsolver::Describe();
  return text.c_str();
}

CUSOLVER_API Status cusolverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];
  return kSuccess;
}
CUSOLVER_API Status cusolverGetProperty(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  *value = kVersion[property];
  return kSuccess;
}

CUSOLVER_API Status cusolverDnCreate(Handle* handle) {
  return Make(handle, /*is_dense=*/true);
}
CUSOLVER_API Status cusolverDnDestroy(Handle handle) { return Destroy(handle); }
CUSOLVER_API Status cusolverDnSetStream(Handle h, Stream stream) {
  return SetStream(h, stream);
}
CUSOLVER_API Status cusolverDnGetStream(Handle h, Stream* stream) {
  return GetStream(h, stream);
}
CUSOLVER_API Status cusolverSpCreate(Handle* handle) {
  return Make(handle, /*is_dense=*/false);
}
CUSOLVER_API Status cusolverSpDestroy(Handle handle) { return Destroy(handle); }
CUSOLVER_API Status cusolverSpSetStream(Handle h, Stream stream) {
  return SetStream(h, stream);
}
CUSOLVER_API Status cusolverSpGetStream(Handle h, Stream* stream) {
  return GetStream(h, stream);
}

// What is kept and told again; it changes no result here.
CUSOLVER_API Status cusolverDnSetDeterministicMode(Handle h, int mode) {
  return Set(h, &Context::deterministic, mode, mode == 1 || mode == 2);
}
CUSOLVER_API Status cusolverDnGetDeterministicMode(Handle h, int* mode) {
  return Get(h, &Context::deterministic, mode);
}
#define CUSOLVER_SETTING(Name, member)                            \
  CUSOLVER_API Status cusolverDnSet##Name(Handle h, int value) {  \
    return Set(h, &Context::member, value);                       \
  }                                                               \
  CUSOLVER_API Status cusolverDnGet##Name(Handle h, int* value) { \
    return Get(h, &Context::member, value);                       \
  }
CUSOLVER_SETTING(MathMode, math_mode)
CUSOLVER_SETTING(EmulationStrategy, emulation_strategy)
CUSOLVER_SETTING(EmulationSpecialValuesSupport, special_values)
CUSOLVER_SETTING(FixedPointEmulationMantissaControl, mantissa_control)
CUSOLVER_SETTING(FixedPointEmulationMaxMantissaBitCount, max_mantissa_bits)
CUSOLVER_SETTING(FixedPointEmulationMantissaBitOffset, mantissa_offset)
#undef CUSOLVER_SETTING

CUSOLVER_API Status cusolverDnCreateParams(Params* params) {
  return MakeOne(params);
}
CUSOLVER_API Status cusolverDnDestroyParams(Params params) {
  return All<DnParams>().Destroy(params) ? kSuccess : kInvalidValue;
}
CUSOLVER_API Status cusolverDnSetAdvOptions(Params params, int function,
                                            int algorithm) {
  if (!All<DnParams>().Has(params) || function < 0 || function > 6 ||
      algorithm < 0 || algorithm > 2) {
    return kInvalidValue;
  }
  params->algorithms[function] = algorithm;
  return kSuccess;
}

// --- syevjInfo_t and gesvdjInfo_t
#define CUSOLVER_JACOBI(Type, type)                                            \
  CUSOLVER_API Status cusolverDnCreate##Type##Info(Jacobi* info) {             \
    return MakeOne(info);                                                      \
  }                                                                            \
  CUSOLVER_API Status cusolverDnDestroy##Type##Info(Jacobi info) {             \
    return All<JacobiParameters>().Destroy(info) ? kSuccess : kInvalidValue;   \
  }                                                                            \
  CUSOLVER_API Status cusolverDnX##type##SetTolerance(Jacobi info, double) {   \
    return IsAlive(info) ? kSuccess : kInvalidValue;                           \
  }                                                                            \
  CUSOLVER_API Status cusolverDnX##type##SetMaxSweeps(Jacobi info, int most) { \
    return IsAlive(info) && most >= 0 ? kSuccess : kInvalidValue;              \
  }                                                                            \
  CUSOLVER_API Status cusolverDnX##type##SetSortEig(Jacobi info, int) {        \
    return IsAlive(info) ? kSuccess : kInvalidValue;                           \
  }                                                                            \
  CUSOLVER_API Status cusolverDnX##type##GetResidual(Handle h, Jacobi info,    \
                                                     double* residual) {       \
    return GetOutcome(h, info, residual, &JacobiOutcome::residual);            \
  }                                                                            \
  CUSOLVER_API Status cusolverDnX##type##GetSweeps(Handle h, Jacobi info,      \
                                                   int* sweeps) {              \
    return GetOutcome(h, info, sweeps, &JacobiOutcome::sweeps);                \
  }
namespace {
template <typename T>
Status GetOutcome(Handle h, Jacobi info, T* to, T JacobiOutcome::* member) {
  if (!IsAlive(h)) return kNotInitialized;
  if (!IsAlive(info) || to == nullptr) return kInvalidValue;
  // That of many matrices NVIDIA does not tell.
  if (info->outcome == nullptr) return kNotSupported;
  if (h->driver->synchronize(h->stream) != 0) return kExecutionFailed;
  *to = info->outcome.get()->*member;
  return kSuccess;
}
}  // namespace
CUSOLVER_JACOBI(Syevj, syevj)
CUSOLVER_JACOBI(Gesvdj, gesvdj)
#undef CUSOLVER_JACOBI

// --- Factors of sparse matrices
#define CUSOLVER_SPARSE_INFO(Name)                                            \
  CUSOLVER_API Status cusolverSpCreate##Name(SparseInfo* info) {              \
    return MakeOne(info);                                                     \
  }                                                                           \
  CUSOLVER_API Status cusolverSpDestroy##Name(SparseInfo info) {              \
    return All<SparseInformation>().Destroy(info) ? kSuccess : kInvalidValue; \
  }
CUSOLVER_SPARSE_INFO(CsrqrInfo)
CUSOLVER_SPARSE_INFO(CsrqrInfoHost)
CUSOLVER_SPARSE_INFO(CsrcholInfo)
CUSOLVER_SPARSE_INFO(CsrcholInfoHost)
CUSOLVER_SPARSE_INFO(CsrluInfoHost)
#undef CUSOLVER_SPARSE_INFO

// --- cusolverDnIRS…
CUSOLVER_API Status cusolverDnIRSParamsCreate(IrsParams* params) {
  return MakeOne(params);
}
CUSOLVER_API Status cusolverDnIRSParamsDestroy(IrsParams params) {
  return All<IrsParameters>().Destroy(params) ? kSuccess
                                              : kIrsParamsNotInitialized;
}
CUSOLVER_API Status cusolverDnIRSParamsSetRefinementSolver(IrsParams params,
                                                           int solver) {
  return Set(params, &IrsParameters::refinement, solver,
             solver >= 1100 && solver <= 1106 ? kSuccess
                                              : kIrsParamsInvalidRefinement);
}
CUSOLVER_API Status cusolverDnIRSParamsSetSolverMainPrecision(IrsParams params,
                                                              int precision) {
  return Set(params, &IrsParameters::main_precision, precision,
             CheckPrecision(precision));
}
CUSOLVER_API Status
cusolverDnIRSParamsSetSolverLowestPrecision(IrsParams params, int precision) {
  return Set(params, &IrsParameters::lowest_precision, precision,
             CheckPrecision(precision));
}
CUSOLVER_API Status cusolverDnIRSParamsSetSolverPrecisions(IrsParams params,
                                                           int main,
                                                           int lowest) {
  if (const Status bad =
          cusolverDnIRSParamsSetSolverMainPrecision(params, main)) {
    return bad;
  }
  return cusolverDnIRSParamsSetSolverLowestPrecision(params, lowest);
}
CUSOLVER_API Status cusolverDnIRSParamsSetTol(IrsParams params, double value) {
  return Set(params, &IrsParameters::tolerance, value);
}
CUSOLVER_API Status cusolverDnIRSParamsSetTolInner(IrsParams params,
                                                   double value) {
  return Set(params, &IrsParameters::inner_tolerance, value);
}
CUSOLVER_API Status cusolverDnIRSParamsSetMaxIters(IrsParams params, int most) {
  return Set(params, &IrsParameters::max_iterations, most,
             most >= 0 ? kSuccess : kIrsParamsInvalidIterations);
}
CUSOLVER_API Status cusolverDnIRSParamsSetMaxItersInner(IrsParams params,
                                                        int most) {
  return Set(params, &IrsParameters::max_inner_iterations, most,
             most >= 0 ? kSuccess : kIrsParamsInvalidIterations);
}
CUSOLVER_API Status cusolverDnIRSParamsGetMaxIters(IrsParams params,
                                                   int* most) {
  if (!IsAlive(params)) return kIrsParamsNotInitialized;
  if (most == nullptr) return kInvalidValue;
  *most = params->max_iterations;
  return kSuccess;
}
CUSOLVER_API Status cusolverDnIRSParamsEnableFallback(IrsParams params) {
  return Set(params, &IrsParameters::fallback, true);
}
CUSOLVER_API Status cusolverDnIRSParamsDisableFallback(IrsParams params) {
  return Set(params, &IrsParameters::fallback, false);
}
CUSOLVER_API Status cusolverDnIRSInfosCreate(IrsInfos* infos) {
  return MakeOne(infos);
}
CUSOLVER_API Status cusolverDnIRSInfosDestroy(IrsInfos infos) {
  return All<IrsInformation>().Destroy(infos) ? kSuccess
                                              : kIrsInfosNotInitialized;
}
CUSOLVER_API Status cusolverDnIRSInfosGetNiters(IrsInfos infos, int* count) {
  return Get(infos, IsAlive(infos) ? infos->iterations : 0, count);
}
CUSOLVER_API Status cusolverDnIRSInfosGetOuterNiters(IrsInfos infos,
                                                     int* count) {
  return Get(infos, IsAlive(infos) ? infos->outer_iterations : 0, count);
}
CUSOLVER_API Status cusolverDnIRSInfosGetMaxIters(IrsInfos infos, int* most) {
  return Get(infos, IsAlive(infos) ? infos->max_iterations : 0, most);
}
CUSOLVER_API Status cusolverDnIRSInfosRequestResidual(IrsInfos infos) {
  if (!IsAlive(infos)) return kIrsInfosNotInitialized;
  infos->with_history = true;
  return kSuccess;
}
// Without iterations there is no history.
CUSOLVER_API Status cusolverDnIRSInfosGetResidualHistory(IrsInfos infos,
                                                         void** history) {
  return Get(infos, static_cast<void*>(nullptr), history);
}

// --- Nothing is logged.
using LogCallback = void (*)(int level, const char* function, const char* text);
CUSOLVER_API Status cusolverDnLoggerSetCallback(LogCallback) {
  return kSuccess;
}
CUSOLVER_API Status cusolverDnLoggerSetFile(std::FILE*) { return kSuccess; }
CUSOLVER_API Status cusolverDnLoggerOpenFile(const char* file) {
  return file != nullptr ? kSuccess : kInvalidValue;
}
CUSOLVER_API Status cusolverDnLoggerSetLevel(int level) {
  return level >= 0 && level <= 5 ? kSuccess : kInvalidValue;
}
CUSOLVER_API Status cusolverDnLoggerSetMask(int mask) {
  return mask >= 0 ? kSuccess : kInvalidValue;
}
CUSOLVER_API Status cusolverDnLoggerForceDisable() { return kSuccess; }

#define CUSOLVER_HELPER(name)
#define CUSOLVER_REFUSED(name) \
  CUSOLVER_API Status name() { return kNotSupported; }
#include "libraries/cusolver/others.def"

}  // namespace cerberus::libraries::cusolver
