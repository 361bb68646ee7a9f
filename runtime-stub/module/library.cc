// cuModule*, cuLibrary* and cuLink*: from an image to kernels and variables.
#include <algorithm>
#include <memory>
#include <vector>

#include "images/ptx_cubin.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/module/jit_options.h"
#include "runtime-stub/module/module.h"
#include "support/log.h"
#include "support/mapped_file.h"

namespace cerberus::stub {
namespace {

CUresult FindModule(const void* handle, Module** module) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *module = Module::Of(handle);
  return *module != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult Unload(const void* handle) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  return Module::Unload(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

#define CERB_MODULE(name, handle)                              \
  Module* name = nullptr;                                      \
  if (CUresult cerb_module_result = FindModule(handle, &name); \
      cerb_module_result != CUDA_SUCCESS)                      \
  return cerb_module_result

// Loads what may change or go once the call returns; a registered image waits
// for its first use.
CUresult Load(const void* code, Context* home, const JitOptions& options,
              Module** out) {
  Image image;
  if (CUresult r = IdentifyImage(code, &image); r != CUDA_SUCCESS) {
    options.Report(r, ErrorText(r));
    return r;
  }
  const bool lazy = image.stays_mapped;
  Module* module = Module::Create(std::move(image), home);
  if (!lazy) {
    std::string log;
    const CUresult result = module->Prepare(DeviceForQuery(*module), &log);
    options.Report(result, log);
    if (result != CUDA_SUCCESS) {
      Module::Unload(module);
      return result;
    }
  }
  *out = module;
  return CUDA_SUCCESS;
}

CUresult LoadModule(CUmodule* out, const void* code,
                    const JitOptions& options) {
  if (out == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  Module* module = nullptr;
  const CUresult result = Load(code, context, options, &module);
  if (result == CUDA_SUCCESS) *out = module->module_handle();
  return result;
}

CUresult LoadLibrary(CUlibrary* out, const void* code,
                     const JitOptions& options) {
  if (out == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  Module* module = nullptr;
  const CUresult result = Load(code, nullptr, options, &module);
  if (result == CUDA_SUCCESS) *out = module->library_handle();
  return result;
}

// A file's bytes with a NUL behind them, as PTX text needs.
CUresult ReadImageFile(const char* path, Bytes* bytes) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file) {
    Log(LogLevel::kInfo, "%s", file.error().ToString().c_str());
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  bytes->assign(file->bytes().begin(), file->bytes().end());
  // Identifying an image looks at a header's worth of bytes.
  constexpr std::size_t kHeaderBytes = 64;
  bytes->resize(std::max(bytes->size() + 1, kHeaderBytes));
  return CUDA_SUCCESS;
}

CUresult FillKernels(Module* module, void** out, unsigned count) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Kernel*> kernels;
  const CUresult result =
      module->ListKernels(DeviceForQuery(*module), &kernels);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t i = 0; i < kernels.size() && i < count; ++i) {
    out[i] = kernels[i];
  }
  return CUDA_SUCCESS;
}

CUresult CountKernels(Module* module, unsigned* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Kernel*> kernels;
  const CUresult result =
      module->ListKernels(DeviceForQuery(*module), &kernels);
  if (result == CUDA_SUCCESS) *count = static_cast<unsigned>(kernels.size());
  return result;
}

CUresult FindKernel(Module* module, const char* name, Kernel** kernel) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return module->GetKernel(DeviceForQuery(*module), name, kernel);
}

CUresult FindGlobal(const void* handle, const char* name, CUdeviceptr* address,
                    std::size_t* bytes) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_MODULE(module, handle);
  Context* context = nullptr;
  if (CUresult r = UseModule(*module, &context); r != CUDA_SUCCESS) return r;
  return module->GetGlobal(context, name, address, bytes);
}

// What cuLinkCreate begins: PTX modules behind one another, which the
// compiler links.
struct Link {
  Context* context;
  JitOptions options;
  std::string ptx;
  Bytes output;
};

}  // namespace

namespace api {

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = LoadsEagerly() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* code) {
  return LoadModule(module, code, JitOptions());
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* code, unsigned count,
                            CUjit_option* options, void** values) {
  return LoadModule(module, code, JitOptions(count, options, values));
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* code) {
  return LoadModule(module, code, JitOptions());
}
CUresult cuModuleLoad(CUmodule* module, const char* path) {
  Bytes bytes;
  if (CUresult r = ReadImageFile(path, &bytes); r != CUDA_SUCCESS) return r;
  return LoadModule(module, bytes.data(), JitOptions());
}

CUresult cuModuleUnload(CUmodule handle) { return Unload(handle); }

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle,
                             const char* name) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_MODULE(module, handle);
  Kernel* kernel = nullptr;
  const CUresult result = FindKernel(module, name, &kernel);
  if (result == CUDA_SUCCESS) *out = kernel->function_handle();
  return result;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  CERB_MODULE(module, handle);
  return CountKernels(module, count);
}
CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count,
                                    CUmodule handle) {
  CERB_MODULE(module, handle);
  return FillKernels(module, reinterpret_cast<void**>(out), count);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes,
                              CUmodule handle, const char* name) {
  return FindGlobal(handle, name, address, bytes);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code,
                           CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption*, void**, unsigned) {
  return LoadLibrary(library, code, JitOptions(count, options, values));
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                               CUjit_option* options, void** values,
                               unsigned count, CUlibraryOption*, void**,
                               unsigned) {
  Bytes bytes;
  if (CUresult r = ReadImageFile(path, &bytes); r != CUDA_SUCCESS) return r;
  return LoadLibrary(library, bytes.data(), JitOptions(count, options, values));
}
CUresult cuLibraryUnload(CUlibrary handle) { return Unload(handle); }
CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_MODULE(module, handle);
  Kernel* kernel = nullptr;
  const CUresult result = FindKernel(module, name, &kernel);
  if (result == CUDA_SUCCESS) *out = kernel->kernel_handle();
  return result;
}
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  CERB_MODULE(module, handle);
  return CountKernels(module, count);
}
CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count,
                                   CUlibrary handle) {
  CERB_MODULE(module, handle);
  return FillKernels(module, reinterpret_cast<void**>(out), count);
}
CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_MODULE(module, handle);
  CERB_CONTEXT(context);
  if (CUresult r = module->Prepare(context->device); r != CUDA_SUCCESS) {
    return r;
  }
  *out = module->module_handle();
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes,
                            CUlibrary handle, const char* name) {
  return FindGlobal(handle, name, address, bytes);
}
// cudart asks before it has made a context current.
CUresult cuLibraryGetManaged(CUdeviceptr* address, std::size_t* bytes,
                             CUlibrary handle, const char* name) {
  if (CurrentContextOrNull() != nullptr) {
    return FindGlobal(handle, name, address, bytes);
  }
  CERB_MODULE(module, handle);
  if (name == nullptr || (address == nullptr && bytes == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Context* context = GetDevice(0)->primary.get();
  if (CUresult r = Activate(context); r != CUDA_SUCCESS) return r;
  return module->GetGlobal(context, name, address, bytes);
}

// --- linking at run time ---

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values,
                         CUlinkState* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  auto link = std::make_unique<Link>();
  link->context = context;
  link->options = JitOptions(count, options, values);
  *out = reinterpret_cast<CUlinkState>(link.release());
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data,
                          std::size_t size, const char* name, unsigned,
                          CUjit_option*, void**) {
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  auto* link = reinterpret_cast<Link*>(state);
  if (CUresult r = UseContext(link->context); r != CUDA_SUCCESS) return r;
  if (!link->ptx.empty()) link->ptx += '\n';
  const std::string_view text(static_cast<const char*>(data), size);
  const std::string input =
      name != nullptr ? name : "an input of cuLinkAddData";
  switch (type) {
    case CU_JIT_INPUT_PTX:
      link->ptx += text.substr(0, text.find('\0'));
      return CUDA_SUCCESS;
    case CU_JIT_INPUT_FATBINARY:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
      return AppendPtxOf(ByteSpan(static_cast<const std::uint8_t*>(data), size),
                         input, *link->context->device, &link->ptx);
    case CU_JIT_INPUT_CUBIN:
      if (const std::string_view ptx = images::PtxOfCubin(AsBytes(text));
          !ptx.empty()) {
        link->ptx += ptx;
        return CUDA_SUCCESS;
      }
      Log(LogLevel::kError,
          "%s: a cubin (NVIDIA machine code) cannot be linked, only PTX can",
          input.c_str());
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    default:
      Log(LogLevel::kError, "%s: input type %d is not PTX and cannot be linked",
          input.c_str(), static_cast<int>(type));
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type,
                          const char* path, unsigned count,
                          CUjit_option* options, void** values) {
  Bytes bytes;
  if (CUresult r = ReadImageFile(path, &bytes); r != CUDA_SUCCESS) return r;
  return cuLinkAddData_v2(state, type, bytes.data(), bytes.size(), path, count,
                          options, values);
}

// The first ABI differs only in how it was declared.
CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values,
                      CUlinkState* out) {
  return cuLinkCreate_v2(count, options, values, out);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data,
                       std::size_t size, const char* name, unsigned count,
                       CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options,
                          values);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                       unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult cuLinkComplete(CUlinkState state, void** code, std::size_t* size) {
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* link = reinterpret_cast<Link*>(state);
  if (CUresult r = UseContext(link->context); r != CUDA_SUCCESS) return r;
  if (link->ptx.empty()) return CUDA_ERROR_INVALID_VALUE;
  Image image;
  image.name = "PTX text";
  image.ptx = link->ptx;
  Code compiled;
  std::string log;
  const CUresult result =
      FindCode(image, *link->context->device, &compiled, &log);
  link->options.Report(result, log);
  if (result != CUDA_SUCCESS) return result;
  link->output = std::move(compiled.bytes);
  *code = link->output.data();
  if (size != nullptr) *size = link->output.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  delete reinterpret_cast<Link*>(state);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
