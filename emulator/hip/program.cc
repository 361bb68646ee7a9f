// Programs compiled by `clang -x hip`: at their start they register their
// code objects, kernels and variables; `kernel<<<…>>>` becomes a push of the
// launch configuration, a pop, and hipLaunchKernel with a host-side stub.
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/hip/runtime.h"
#include "rocm_kpack/kpack.h"
#include "support/targets/target_id.h"

namespace cerberus::emulator::hip {
namespace {

// __CudaFatBinaryWrapper as clang writes it for HIP, and what splitting makes
// of it: `binary` then leads to a marker (docs/marker-format.md).
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* binary;
  std::uint32_t number;
  std::uint32_t unused;
};
constexpr std::uint32_t kWrapperMagic = 0x48495046;       // "HIPF"
constexpr std::uint32_t kSplitWrapperMagic = 0x4B504948;  // "HIPK"

// One registered fat binary, loaded per device at its first use.
struct ProgramModule {
  const void* binary = nullptr;
  bool is_split = false;
  std::uint32_t number = 0;  // of a split one
  std::map<int, std::unique_ptr<Module>> loaded;
  std::map<int, hipError_t> failed;
};

struct HostFunction {
  ProgramModule* module;
  std::string name;
};
struct HostVariable {
  ProgramModule* module;
  std::string name;
  std::size_t size;
  void** managed;  // where a __managed__ variable's address goes, or null
};

struct Program {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<ProgramModule>> modules;
  std::map<const void*, HostFunction> functions;
  std::map<const void*, HostVariable> variables;
};

Program& TheProgram() {
  static Program* program = new Program;
  return *program;
}

// The code of a split program, as AMD's runtime finds it: by the C interface
// of kpack, for the device's own target id and the more general ones.
hipError_t LoadFromArchive(Gpu* gpu, const ProgramModule& module,
                           std::unique_ptr<Module>* out) {
  static kpack_cache_t cache = [] {
    kpack_cache_t made = nullptr;
    kpack_cache_create(&made);
    return made;
  }();
  char path[PATH_MAX];
  kpack_error_t error =
      kpack_discover_binary_path(module.binary, path, sizeof path, nullptr);
  void* code = nullptr;
  std::size_t size = 0;
  if (error == KPACK_SUCCESS) {
    const Result<TargetId> id = TargetId::Parse(gpu->core->target());
    const std::vector<std::string> order =
        id ? id->LoadOrder() : std::vector<std::string>();
    std::vector<const char*> arches;
    arches.reserve(order.size());
    for (const std::string& arch : order) arches.push_back(arch.c_str());
    error = kpack_load_code_object(cache, module.binary, path, module.number,
                                   arches.data(), arches.size(), &code, &size);
  }
  if (error != KPACK_SUCCESS) {
    Report("no code object for " + std::string(gpu->core->target()) +
           " in the program's kpack archives (kpack error " +
           std::to_string(error) + ")");
    return hipErrorNoBinaryForGpu;
  }
  const hipError_t loaded = LoadModule(gpu, code, out);
  kpack_free_code_object(code);
  return loaded;
}

// Under the program's lock.
hipError_t LoadOn(ProgramModule* module, Gpu* gpu, Module** out) {
  auto loaded = module->loaded.find(gpu->ordinal);
  if (loaded != module->loaded.end()) {
    *out = loaded->second.get();
    return hipSuccess;
  }
  auto failed = module->failed.find(gpu->ordinal);
  if (failed != module->failed.end()) return failed->second;
  std::unique_ptr<Module> made;
  hipError_t error = module->is_split ? LoadFromArchive(gpu, *module, &made)
                                      : LoadModule(gpu, module->binary, &made);
  if (error != hipSuccess) {
    module->failed[gpu->ordinal] = error;
    return error;
  }
  *out = made.get();
  // A __managed__ variable is a pointer in the code object that must hold the
  // address of the memory host and device share.
  for (auto& [host, variable] : TheProgram().variables) {
    if (variable.module != module || variable.managed == nullptr) continue;
    const SymbolInfo* symbol = made->code->FindSymbol(variable.name);
    if (symbol != nullptr && symbol->size == sizeof(void*)) {
      std::memcpy(reinterpret_cast<void*>(symbol->address), variable.managed,
                  sizeof(void*));
    }
  }
  module->loaded[gpu->ordinal] = std::move(made);
  return hipSuccess;
}

}  // namespace

hipError_t FindHostFunction(const void* host, Gpu* gpu, Function** out) {
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  auto found = program.functions.find(host);
  if (found == program.functions.end()) return hipErrorInvalidDeviceFunction;
  Module* module = nullptr;
  hipError_t error = LoadOn(found->second.module, gpu, &module);
  if (error != hipSuccess) return error;
  *out = module->Find(found->second.name.c_str());
  return *out != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction;
}

hipError_t FindHostVariable(const void* host, Gpu* gpu, void** address,
                            std::size_t* size) {
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  auto found = program.variables.find(host);
  if (found == program.variables.end()) return hipErrorInvalidSymbol;
  if (found->second.managed != nullptr) {
    *address = *found->second.managed;
    *size = found->second.size;
    return hipSuccess;
  }
  Module* module = nullptr;
  hipError_t error = LoadOn(found->second.module, gpu, &module);
  if (error != hipSuccess) return error;
  const SymbolInfo* symbol = module->code->FindSymbol(found->second.name);
  if (symbol == nullptr) return hipErrorInvalidSymbol;
  *address = reinterpret_cast<void*>(symbol->address);
  *size = found->second.size;
  return hipSuccess;
}

void ForgetProgramModules(Gpu* gpu) {
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  for (auto& [key, module] : program.modules) {
    auto loaded = module->loaded.find(gpu->ordinal);
    if (loaded != module->loaded.end()) {
      UnloadModule(*loaded->second);
      module->loaded.erase(loaded);
    }
    module->failed.erase(gpu->ordinal);
  }
}

}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;

HIP_API void** __hipRegisterFatBinary(const void* data) {
  const Wrapper* wrapper = static_cast<const Wrapper*>(data);
  if (wrapper == nullptr ||
      (wrapper->magic != kWrapperMagic &&
       wrapper->magic != kSplitWrapperMagic) ||
      wrapper->version != 1) {
    Report("a program registered a fat binary that is not HIP's");
    return nullptr;
  }
  std::unique_ptr<ProgramModule> module = std::make_unique<ProgramModule>();
  module->binary = wrapper->binary;
  module->is_split = wrapper->magic == kSplitWrapperMagic;
  module->number = wrapper->number;
  ProgramModule* raw = module.get();
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  program.modules[raw] = std::move(module);
  return reinterpret_cast<void**>(raw);
}

HIP_API void __hipUnregisterFatBinary(void** handle) {
  // Runs among the program's last destructors; its kernels may still be
  // queued, so what was loaded stays.
  ProgramModule* module = reinterpret_cast<ProgramModule*>(handle);
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  std::erase_if(program.functions, [module](const auto& entry) {
    return entry.second.module == module;
  });
  std::erase_if(program.variables, [module](const auto& entry) {
    return entry.second.module == module;
  });
}

HIP_API void __hipRegisterFunction(void** handle, const void* host, char*,
                                   const char* name, unsigned, void*, void*,
                                   void*, void*, int*) {
  if (handle == nullptr) return;
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  program.functions[host] = {reinterpret_cast<ProgramModule*>(handle), name};
}

HIP_API void __hipRegisterVar(void** handle, void* host, char*,
                              const char* name, int, std::size_t size, int,
                              int) {
  if (handle == nullptr) return;
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  program.variables[host] = {reinterpret_cast<ProgramModule*>(handle), name,
                             size, nullptr};
}

// `pointer` is the host's own copy of the address, `initial` the value the
// variable starts with.
HIP_API void __hipRegisterManagedVar(void* handle, void** pointer,
                                     void* initial, const char* name,
                                     std::size_t size, unsigned) {
  if (handle == nullptr || Runtime::Get().gpus().empty()) return;
  void* memory = nullptr;
  if (Runtime::Get().Allocate(Runtime::Get().gpu(0), size,
                              cerberus::emulator::MemoryKind::kManaged,
                              hipMemAttachGlobal, &memory) != hipSuccess) {
    return;
  }
  std::memcpy(memory, initial, size);
  *pointer = memory;
  Program& program = TheProgram();
  std::lock_guard<std::mutex> lock(program.mutex);
  program.variables[pointer] = {static_cast<ProgramModule*>(handle), name, size,
                                pointer};
}

// Texture and surface references were removed from HIP's language; a program
// that has them can start, and fails where it uses one.
HIP_API void __hipRegisterTexture(void**, void*, char*, const char*, int, int,
                                  int) {}
HIP_API void __hipRegisterSurface(void**, void*, char*, const char*, int, int) {
}

HIP_API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block,
                                              std::size_t shared,
                                              hipStream_t stream) {
  Thread().calls.push_back({grid, block, shared, stream});
  return hipSuccess;
}

HIP_API hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block,
                                             std::size_t* shared,
                                             hipStream_t* stream) {
  std::vector<ThreadState::Call>& calls = Thread().calls;
  if (calls.empty()) return Return(hipErrorMissingConfiguration);
  *grid = calls.back().grid;
  *block = calls.back().block;
  *shared = calls.back().shared;
  *stream = calls.back().stream;
  calls.pop_back();
  return hipSuccess;
}
