// libnvJitLink.so.12 and .13: NVIDIA's linker of device code, which runs in
// the process and knows no driver. Given PTX it would make machine code of an
// NVIDIA GPU, so that the driver stub never sees the PTX. This one hands its
// inputs to the stub's cuLink* and gives out what those make, which the stub
// loads as any image.
//
// There is no nvJitLinkVersion, as in 12.0 to 12.2: cuda.core, and Numba above
// it, hand LTO IR to one that has it, which is closed, and else link PTX by
// cuLink*.
//
// Functions, results and input types: nvJitLink documentation, "API". The
// headers of each version call the functions by names with the version in them,
// which the build makes.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "formats/fatbin.h"
#include "runtime-stub/api/api.h"

namespace {

enum Result : int {
  kSuccess = 0,
  kInvalidInput = 3,
  kPtxCompile = 4,
  kInternal = 6,
  kUnrecognizedInput = 8,
};

enum InputType : int {
  kCubin = 1,
  kPtx = 2,
  kLtoIr = 3,
  kFatbin = 4,
  kObject = 5,
  kLibrary = 6,
  kAny = 10,
};

namespace api = cerberus::stub::api;

// The stub beside this library, or the one that the process has.
struct Driver {
  Driver() {
    library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    Find(init, "cuInit");
    Find(get_current, "cuCtxGetCurrent");
    Find(push, "cuCtxPushCurrent_v2");
    Find(pop, "cuCtxPopCurrent_v2");
    Find(retain, "cuDevicePrimaryCtxRetain");
    Find(release, "cuDevicePrimaryCtxRelease_v2");
    Find(create, "cuLinkCreate_v2");
    Find(add_data, "cuLinkAddData_v2");
    Find(add_file, "cuLinkAddFile_v2");
    Find(complete, "cuLinkComplete");
    Find(destroy, "cuLinkDestroy");
    ok = destroy != nullptr && create != nullptr && init != nullptr &&
         init(0) == CUDA_SUCCESS;
  }
  template <typename Function>
  void Find(Function*& out, const char* name) {
    out = reinterpret_cast<Function*>(::dlsym(library, name));
  }

  void* library = nullptr;
  bool ok = false;
  decltype(api::cuInit)* init = nullptr;
  decltype(api::cuCtxGetCurrent)* get_current = nullptr;
  decltype(api::cuCtxPushCurrent_v2)* push = nullptr;
  decltype(api::cuCtxPopCurrent_v2)* pop = nullptr;
  decltype(api::cuDevicePrimaryCtxRetain)* retain = nullptr;
  decltype(api::cuDevicePrimaryCtxRelease_v2)* release = nullptr;
  decltype(api::cuLinkCreate_v2)* create = nullptr;
  decltype(api::cuLinkAddData_v2)* add_data = nullptr;
  decltype(api::cuLinkAddFile_v2)* add_file = nullptr;
  decltype(api::cuLinkComplete)* complete = nullptr;
  decltype(api::cuLinkDestroy)* destroy = nullptr;
};

const Driver& TheDriver() {
  static const Driver driver;
  return driver;
}

// Unlike the driver, nvJitLink works without a context: a caller without one
// links for the first GPU.
class CurrentContext {
 public:
  CurrentContext() {
    const Driver& driver = TheDriver();
    CUcontext current = nullptr;
    driver.get_current(&current);
    if (current != nullptr) return;
    if (driver.retain(&current, 0) != CUDA_SUCCESS) return;
    retained_ = driver.push(current) == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    if (!retained_) return;
    CUcontext popped = nullptr;
    TheDriver().pop(&popped);
    TheDriver().release(0);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  bool retained_ = false;
};

// What a nvJitLinkHandle points to.
struct Link {
  CUlinkState state = nullptr;
  void* code = nullptr;
  std::size_t size = 0;
  std::string error;
  // cuLinkComplete writes here, by options that have to stay until then.
  char log[16384] = "";
  CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER,
                             CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[2] = {log, reinterpret_cast<void*>(sizeof log)};
};

// Results are for programs; the caller of a Python package reads the log.
Result Fail(Link* link, Result result, std::string_view why) {
  link->error = "cerberus: ";
  link->error += why;
  return result;
}

// The driver's name for the kind of an input, or -1 for what has no PTX. A
// cubin may hold some; the driver looks.
int DriverInput(int type, const void* data, std::size_t size) {
  switch (type) {
    case kPtx: return CU_JIT_INPUT_PTX;
    case kCubin: return CU_JIT_INPUT_CUBIN;
    case kFatbin: return CU_JIT_INPUT_FATBINARY;
    case kAny: {
      std::uint32_t magic = 0;
      if (size >= sizeof magic) std::memcpy(&magic, data, sizeof magic);
      if (magic == cerberus::formats::kFatbinMagic)
        return CU_JIT_INPUT_FATBINARY;
      if (magic == 0x464c457fu) return CU_JIT_INPUT_CUBIN;
      return CU_JIT_INPUT_PTX;
    }
    default: return -1;
  }
}

}  // namespace

extern "C" {

int nvJitLinkCreate(Link** out, std::uint32_t, const char**) {
  if (out == nullptr) return kInvalidInput;
  const Driver& driver = TheDriver();
  if (!driver.ok) return kInternal;
  auto* link = new (std::nothrow) Link;
  if (link == nullptr) return kInternal;
  const CurrentContext context;
  if (driver.create(2, link->options, link->values, &link->state) !=
      CUDA_SUCCESS) {
    delete link;
    return kInternal;
  }
  *out = link;
  return kSuccess;
}

int nvJitLinkDestroy(Link** handle) {
  if (handle == nullptr || *handle == nullptr) return kInvalidInput;
  TheDriver().destroy((*handle)->state);
  delete *handle;
  *handle = nullptr;
  return kSuccess;
}

int nvJitLinkAddData(Link* link, int type, const void* data, std::size_t size,
                     const char* name) {
  if (link == nullptr || data == nullptr) return kInvalidInput;
  const int input = DriverInput(type, data, size);
  if (input < 0) {
    return Fail(link, kUnrecognizedInput,
                std::string(name != nullptr ? name : "an input") +
                    " holds machine code or LTO IR of NVIDIA, not PTX");
  }
  const CurrentContext context;
  if (TheDriver().add_data(link->state, CUjitInputType(input),
                           const_cast<void*>(data), size, name, 0, nullptr,
                           nullptr) != CUDA_SUCCESS) {
    return Fail(link, kInvalidInput, "an input was refused");
  }
  return kSuccess;
}

int nvJitLinkAddFile(Link* link, int type, const char* path) {
  if (link == nullptr || path == nullptr) return kInvalidInput;
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return Fail(link, kInvalidInput, path);
  std::string bytes;
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof part, file)) {
    bytes.append(part, n);
  }
  std::fclose(file);
  return nvJitLinkAddData(link, type, bytes.data(), bytes.size(), path);
}

int nvJitLinkComplete(Link* link) {
  if (link == nullptr) return kInvalidInput;
  const CurrentContext context;
  if (TheDriver().complete(link->state, &link->code, &link->size) !=
      CUDA_SUCCESS) {
    return Fail(link, kPtxCompile, link->log);
  }
  return kSuccess;
}

int nvJitLinkGetLinkedCubinSize(Link* link, std::size_t* size) {
  if (link == nullptr || size == nullptr) return kInvalidInput;
  *size = link->size;
  return link->size != 0 ? kSuccess : kInternal;
}
int nvJitLinkGetLinkedCubin(Link* link, void* out) {
  if (link == nullptr || out == nullptr) return kInvalidInput;
  std::memcpy(out, link->code, link->size);
  return kSuccess;
}

// PTX is given out after linking LTO IR only, which ends before.
int nvJitLinkGetLinkedPtxSize(Link*, std::size_t*) { return kInternal; }
int nvJitLinkGetLinkedPtx(Link*, char*) { return kInternal; }

int nvJitLinkGetErrorLogSize(Link* link, std::size_t* size) {
  if (link == nullptr || size == nullptr) return kInvalidInput;
  *size = link->error.size() + 1;
  return kSuccess;
}
int nvJitLinkGetErrorLog(Link* link, char* out) {
  if (link == nullptr || out == nullptr) return kInvalidInput;
  std::memcpy(out, link->error.c_str(), link->error.size() + 1);
  return kSuccess;
}
int nvJitLinkGetInfoLogSize(Link* link, std::size_t* size) {
  if (link == nullptr || size == nullptr) return kInvalidInput;
  *size = 1;
  return kSuccess;
}
int nvJitLinkGetInfoLog(Link* link, char* out) {
  if (link == nullptr || out == nullptr) return kInvalidInput;
  *out = '\0';
  return kSuccess;
}

}  // extern "C"
