// The calls a program makes before it has a device.
#include <cstring>

#include "runtime-stub/api/api.h"
#include "runtime-stub/api/dispatch.h"
#include "runtime-stub/api/export_table.h"
#include "runtime-stub/api/nvidia.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/device/provider.h"
#include "support/log.h"
#include "support/targets/target_table.h"

namespace cerberus::stub {
namespace {

// The calls that may come first decide which driver the process gets. If it
// is NVIDIA's, the slots lead there from now on, and the call under way is
// passed on by hand.
template <typename F>
F* HandedOver(const char* symbol) {
  if (ChosenProvider() != Provider::kNvidia) return nullptr;
  F* function = nullptr;
  void* address = NvidiaFunction(symbol);
  std::memcpy(&function, &address, sizeof function);
  return function;
}

CUresult GetProcAddress(const char* name, void** function, int version,
                        cuuint64_t flags, int* status) {
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *function = nullptr;
  const bool per_thread =
      flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const ProcLookup found = FindProc(name, version, per_thread, function);
  if (status != nullptr) {
    *status = found == ProcLookup::kFound ? CU_GET_PROC_ADDRESS_SUCCESS
              : found == ProcLookup::kVersionTooOld
                  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  if (found == ProcLookup::kFound) return CUDA_SUCCESS;
  // cudart asks for "" first, and for hundreds of names it never calls.
  Log(LogLevel::kDebug, "cuGetProcAddress: no %s for CUDA %d", name, version);
  // With a status to tell it by, a missing function is no error (CUDA Driver
  // API, "Driver Entry Point Access"); CUDA 11.3's form had none.
  return status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

namespace api {

CUresult cuInit(unsigned flags) {
  if (auto* driver = HandedOver<CUresult(unsigned)>("cuInit")) {
    return driver(flags);
  }
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return InitDevices();
}

CUresult cuDriverGetVersion(int* version) {
  if (auto* driver = HandedOver<CUresult(int*)>("cuDriverGetVersion")) {
    return driver(version);
  }
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = PresentedCudaVersion();
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* name, void** function, int version,
                          cuuint64_t flags) {
  using V1 = CUresult(const char*, void**, int, cuuint64_t);
  if (auto* driver = HandedOver<V1>("cuGetProcAddress")) {
    return driver(name, function, version, flags);
  }
  return GetProcAddress(name, function, version, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  using V2 = CUresult(const char*, void**, int, cuuint64_t, int*);
  if (auto* driver = HandedOver<V2>("cuGetProcAddress_v2")) {
    return driver(name, function, version, flags, status);
  }
  return GetProcAddress(name, function, version, flags, status);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  using GetTable = CUresult(const void**, const CUuuid*);
  if (auto* driver = HandedOver<GetTable>("cuGetExportTable")) {
    return driver(table, id);
  }
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = FindExportTable(*id);
  if (*table == nullptr) SayUnknownTable(*id);
  return *table != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Profilers of AMD attach below HIP, without these calls.
CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace api
}  // namespace cerberus::stub
