#include "emulator/hsa/executable.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {
namespace {

// The bytes are the caller's until the reader is destroyed, unless they were
// read from a file.
struct ReaderState {
  ByteSpan bytes;
  std::vector<std::uint8_t> owned;
};

struct Executable;
struct SymbolState;
struct Loaded {
  Executable* executable = nullptr;
  AgentState* agent = nullptr;
  CodeObject* code = nullptr;
  ByteSpan storage;
  std::unordered_map<std::string_view, const KernelInfo*> kernels;  // by symbol
  // What iterating gives, once somebody has.
  std::vector<SymbolState*> symbols;
};
struct SymbolState {
  AgentState* agent = nullptr;
  std::string name;
  const KernelInfo* kernel = nullptr;
  const SymbolInfo* variable = nullptr;
  // A variable that the program defined itself.
  std::uint64_t defined = 0;
};
struct Executable {
  bool frozen = false;
  std::vector<std::unique_ptr<Loaded>> loaded;
  std::map<std::pair<AgentState*, std::string>, std::unique_ptr<SymbolState>>
      symbols;

  // A symbol as the code objects have it: "k.kd" for kernel k.
  SymbolState* Find(AgentState* agent, const std::string& name);
  // HIP 5.7 asks for them once for each kernel, of which Tensile has 14,000.
  const std::vector<SymbolState*>& SymbolsOf(Loaded* loaded);
};

struct Tables {
  std::mutex mutex;
  std::set<ReaderState*> readers;
  std::set<Executable*> executables;
};
Tables& All() {
  static Tables* const tables = new Tables;
  return *tables;
}

// Under the lock of All().
Executable* FindExecutable(ExecutableHandle handle) {
  auto* const e = reinterpret_cast<Executable*>(handle.handle);
  return All().executables.count(e) != 0 ? e : nullptr;
}
ReaderState* FindReader(Reader handle) {
  auto* const r = reinterpret_cast<ReaderState*>(handle.handle);
  return All().readers.count(r) != 0 ? r : nullptr;
}

SymbolState* Executable::Find(AgentState* agent, const std::string& name) {
  const auto key = std::make_pair(agent, name);
  const auto known = symbols.find(key);
  if (known != symbols.end()) return known->second.get();
  auto found = std::make_unique<SymbolState>();
  found->agent = agent;
  found->name = name;
  for (const auto& l : loaded) {
    if (l->agent != agent) continue;
    const auto kernel = l->kernels.find(name);
    if (kernel != l->kernels.end()) found->kernel = kernel->second;
    if (found->kernel == nullptr) {
      const SymbolInfo* const symbol = l->code->FindSymbol(name);
      if (symbol != nullptr && symbol->is_variable) found->variable = symbol;
    }
    if (found->kernel != nullptr || found->variable != nullptr) {
      return symbols.emplace(key, std::move(found)).first->second.get();
    }
  }
  return nullptr;
}

const std::vector<SymbolState*>& Executable::SymbolsOf(Loaded* l) {
  if (!l->symbols.empty()) return l->symbols;
  const auto add = [&](const std::string& name) {
    SymbolState* const symbol = Find(l->agent, name);
    if (symbol != nullptr) l->symbols.push_back(symbol);
  };
  for (const auto& kernel : l->code->kernels()) add(kernel.symbol);
  for (const auto& symbol : l->code->symbols()) {
    if (symbol.is_variable) add(symbol.name);
  }
  return l->symbols;
}

Status Load(AgentState* agent, ReaderState* reader, Executable* executable,
            LoadedCodeObject* out) {
  if (!agent->gpu()) return kErrorInvalidAgent;
  const Result<CodeObject*> code = agent->core->LoadCodeObject(reader->bytes);
  if (!code) {
    Report(code.error().ToString());
    return kErrorInvalidCodeObject;
  }
  auto loaded = std::make_unique<Loaded>();
  loaded->executable = executable;
  loaded->agent = agent;
  loaded->code = *code;
  loaded->storage = reader->bytes;
  for (const KernelInfo& kernel : loaded->code->kernels()) {
    loaded->kernels.emplace(kernel.symbol, &kernel);
  }
  if (out != nullptr) {
    out->handle = reinterpret_cast<std::uint64_t>(loaded.get());
  }
  executable->loaded.push_back(std::move(loaded));
  return kSuccess;
}

Status ReadFile(int file, std::size_t offset, std::size_t size, Reader* out) {
  if (out == nullptr) return kErrorInvalidArgument;
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    return kErrorInvalidFile;
  }
  const auto length = static_cast<std::size_t>(info.st_size);
  if (offset > length || size > length - offset) return kErrorInvalidArgument;
  if (size == 0) size = length - offset;
  auto reader = std::make_unique<ReaderState>();
  reader->owned.resize(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = pread(file, reader->owned.data() + at, size - at,
                            static_cast<off_t>(offset + at));
    if (n <= 0) return kErrorInvalidFile;
    at += static_cast<std::size_t>(n);
  }
  reader->bytes = ByteSpan(reader->owned.data(), size);
  std::lock_guard<std::mutex> lock(All().mutex);
  out->handle = reinterpret_cast<std::uint64_t>(reader.get());
  All().readers.insert(reader.release());
  return kSuccess;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_code_object_reader_create_from_memory(const void* bytes,
                                                         std::size_t size,
                                                         Reader* out) {
  HSA_LIVE(runtime);
  if (bytes == nullptr || size == 0 || out == nullptr) {
    return kErrorInvalidArgument;
  }
  auto reader = std::make_unique<ReaderState>();
  reader->bytes =
      cerberus::ByteSpan(static_cast<const std::uint8_t*>(bytes), size);
  std::lock_guard<std::mutex> lock(All().mutex);
  out->handle = reinterpret_cast<std::uint64_t>(reader.get());
  All().readers.insert(reader.release());
  return kSuccess;
}
HSA_API Status hsa_code_object_reader_create_from_file(int file, Reader* out) {
  HSA_LIVE(runtime);
  return ReadFile(file, 0, 0, out);
}
HSA_API Status hsa_code_object_reader_destroy(Reader handle) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  ReaderState* const reader = FindReader(handle);
  if (reader == nullptr) return kErrorInvalidCodeObjectReader;
  All().readers.erase(reader);
  delete reader;
  return kSuccess;
}

HSA_API Status hsa_executable_create_alt(std::uint32_t profile,
                                         std::uint32_t rounding, const char*,
                                         ExecutableHandle* out) {
  HSA_LIVE(runtime);
  if (out == nullptr || profile > 1 || rounding > 2) {
    return kErrorInvalidArgument;
  }
  auto* const executable = new Executable;
  std::lock_guard<std::mutex> lock(All().mutex);
  All().executables.insert(executable);
  out->handle = reinterpret_cast<std::uint64_t>(executable);
  return kSuccess;
}
HSA_API Status hsa_executable_create(std::uint32_t profile, std::uint32_t state,
                                     const char* options,
                                     ExecutableHandle* out) {
  if (state > 1) return kErrorInvalidArgument;
  return hsa_executable_create_alt(profile, 0, options, out);
}

HSA_API Status hsa_executable_destroy(ExecutableHandle handle) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  for (const auto& loaded : executable->loaded) {
    (void)loaded->agent->core->UnloadCodeObject(loaded->code);
  }
  All().executables.erase(executable);
  delete executable;
  return kSuccess;
}

HSA_API Status hsa_executable_load_agent_code_object(ExecutableHandle handle,
                                                     Agent agent_handle,
                                                     Reader reader_handle,
                                                     const char*,
                                                     LoadedCodeObject* out) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(agent_handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  if (executable->frozen) return kErrorFrozenExecutable;
  ReaderState* const reader = FindReader(reader_handle);
  if (reader == nullptr) return kErrorInvalidCodeObjectReader;
  return Load(agent, reader, executable, out);
}

HSA_API Status hsa_executable_freeze(ExecutableHandle handle, const char*) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  if (executable->frozen) return kErrorFrozenExecutable;
  executable->frozen = true;
  return kSuccess;
}

HSA_API Status hsa_executable_get_info(ExecutableHandle handle,
                                       std::uint32_t attribute, void* value) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  if (value == nullptr) return kErrorInvalidArgument;
  switch (attribute) {
    case 1: Put<std::uint32_t>(value, 0); break;  // the base profile
    case 2: Put<std::uint32_t>(value, executable->frozen); break;
    case 3: Put<std::uint32_t>(value, 2); break;  // rounds to nearest
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

HSA_API Status hsa_executable_validate(ExecutableHandle handle,
                                       std::uint32_t* result) {
  HSA_LIVE(runtime);
  std::lock_guard<std::mutex> lock(All().mutex);
  if (FindExecutable(handle) == nullptr) return kErrorInvalidExecutable;
  if (result == nullptr) return kErrorInvalidArgument;
  *result = 0;
  return kSuccess;
}
HSA_API Status hsa_executable_validate_alt(ExecutableHandle handle, const char*,
                                           std::uint32_t* result) {
  return hsa_executable_validate(handle, result);
}

HSA_API Status hsa_executable_agent_global_variable_define(
    ExecutableHandle handle, Agent agent_handle, const char* name,
    void* address) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(agent_handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (name == nullptr) return kErrorInvalidArgument;
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  if (executable->frozen) return kErrorFrozenExecutable;
  if (executable->Find(agent, name) != nullptr) {
    return kErrorVariableAlreadyDefined;
  }
  auto symbol = std::make_unique<SymbolState>();
  symbol->agent = agent;
  symbol->name = name;
  symbol->defined = reinterpret_cast<std::uint64_t>(address);
  executable->symbols[{agent, name}] = std::move(symbol);
  return kSuccess;
}

HSA_API Status hsa_executable_get_symbol_by_name(ExecutableHandle handle,
                                                 const char* name,
                                                 const Agent* agent_handle,
                                                 Symbol* out) {
  HSA_LIVE(runtime);
  if (name == nullptr || out == nullptr) return kErrorInvalidArgument;
  std::lock_guard<std::mutex> lock(All().mutex);
  Executable* const executable = FindExecutable(handle);
  if (executable == nullptr) return kErrorInvalidExecutable;
  for (const auto& agent : runtime->agents()) {
    if (agent_handle != nullptr &&
        agent->handle().handle != agent_handle->handle) {
      continue;
    }
    SymbolState* const symbol = executable->Find(agent.get(), name);
    if (symbol == nullptr) continue;
    out->handle = reinterpret_cast<std::uint64_t>(symbol);
    return kSuccess;
  }
  return kErrorInvalidSymbolName;
}
HSA_API Status hsa_executable_get_symbol(ExecutableHandle handle, const char*,
                                         const char* name, Agent agent,
                                         std::int32_t, Symbol* out) {
  return hsa_executable_get_symbol_by_name(handle, name, &agent, out);
}

namespace {

// Of a kernel; false: an attribute that kernels do not have.
bool KernelSymbolInfo(const cerberus::emulator::KernelInfo& k,
                      SymbolInfoKind attribute, void* value) {
  switch (attribute) {
    case kSymbolKernelObject: Put(value, k.descriptor); return true;
    case kSymbolKernargSize: Put(value, k.kernarg_size); return true;
    case kSymbolKernargAlignment:
      Put<std::uint32_t>(value, std::max(16u, k.kernarg_alignment));
      return true;
    case kSymbolGroupSize: Put(value, k.lds_size); return true;
    case kSymbolPrivateSize: Put(value, k.private_size); return true;
    case kSymbolDynamicCallStack: Put(value, k.dynamic_stack); return true;
    case kSymbolCallConvention: Put<std::uint32_t>(value, 0); return true;
    default: return false;
  }
}

bool VariableSymbolInfo(const SymbolState& s, SymbolInfoKind attribute,
                        void* value) {
  switch (attribute) {
    case kSymbolVariableAddress:
      Put<std::uint64_t>(
          value, s.variable != nullptr ? s.variable->address : s.defined);
      return true;
    case kSymbolVariableSize:
      Put<std::uint32_t>(value,
                         s.variable != nullptr
                             ? static_cast<std::uint32_t>(s.variable->size)
                             : 0);
      return true;
    case kSymbolVariableAllocation: Put<std::uint32_t>(value, 0); return true;
    case kSymbolVariableSegment: Put<std::uint32_t>(value, 0); return true;
    case kSymbolVariableAlignment: Put<std::uint32_t>(value, 8); return true;
    case kSymbolVariableIsConst: Put<bool>(value, false); return true;
    default: return false;
  }
}

}  // namespace

HSA_API Status hsa_executable_symbol_get_info(Symbol handle,
                                              SymbolInfoKind attribute,
                                              void* value) {
  HSA_LIVE(runtime);
  const auto* const s = reinterpret_cast<const SymbolState*>(handle.handle);
  if (s == nullptr) return kErrorInvalidExecutableSymbol;
  if (value == nullptr) return kErrorInvalidArgument;
  switch (attribute) {
    case kSymbolType:
      Put<std::uint32_t>(value, s->kernel != nullptr ? kKernel : kVariable);
      return kSuccess;
    case kSymbolNameLength:
      Put<std::uint32_t>(value, static_cast<std::uint32_t>(s->name.size()));
      return kSuccess;
    case kSymbolName:
      std::memcpy(value, s->name.data(), s->name.size());
      return kSuccess;
    case kSymbolModuleNameLength: Put<std::uint32_t>(value, 0); return kSuccess;
    case kSymbolModuleName: return kSuccess;
    case kSymbolLinkage: Put<std::uint32_t>(value, 1); return kSuccess;
    case kSymbolIsDefinition: Put<bool>(value, true); return kSuccess;
    case kSymbolAgent: Put(value, s->agent->handle()); return kSuccess;
    default: break;
  }
  const bool known = s->kernel != nullptr
                         ? KernelSymbolInfo(*s->kernel, attribute, value)
                         : VariableSymbolInfo(*s, attribute, value);
  return known ? kSuccess : kErrorInvalidArgument;
}

HSA_API Status hsa_executable_iterate_agent_symbols(
    ExecutableHandle handle, Agent agent_handle,
    Status (*callback)(ExecutableHandle, Agent, Symbol, void*), void* data) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(agent_handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (callback == nullptr) return kErrorInvalidArgument;
  std::vector<SymbolState*> all;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    Executable* const executable = FindExecutable(handle);
    if (executable == nullptr) return kErrorInvalidExecutable;
    for (const auto& loaded : executable->loaded) {
      if (loaded->agent != agent) continue;
      const auto& symbols = executable->SymbolsOf(loaded.get());
      all.insert(all.end(), symbols.begin(), symbols.end());
    }
  }
  for (SymbolState* symbol : all) {
    const Status status = callback(
        handle, agent_handle, {reinterpret_cast<std::uint64_t>(symbol)}, data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_executable_iterate_program_symbols(
    ExecutableHandle, Status (*)(ExecutableHandle, Symbol, void*), void*) {
  HSA_LIVE(runtime);
  return kSuccess;  // AMD's code objects have none
}

namespace {

struct EachSymbol {
  Status (*callback)(ExecutableHandle, Symbol, void*);
  void* data;
};

}  // namespace

HSA_API Status hsa_executable_iterate_symbols(
    ExecutableHandle handle,
    Status (*callback)(ExecutableHandle, Symbol, void*), void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  EachSymbol each = {callback, data};
  const auto call = [](ExecutableHandle executable, Agent, Symbol symbol,
                       void* to) {
    const auto* const e = static_cast<const EachSymbol*>(to);
    return e->callback(executable, symbol, e->data);
  };
  for (const auto& agent : runtime->agents()) {
    const Status status = hsa_executable_iterate_agent_symbols(
        handle, agent->handle(), call, &each);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

// --- the loader extension
// ------------------------------------------------------

namespace {

// Device memory is the host's.
Status QueryHostAddress(const void* device, const void** host) {
  if (device == nullptr || host == nullptr) return kErrorInvalidArgument;
  *host = device;
  return kSuccess;
}

Status QuerySegmentDescriptors(void*, std::size_t*) {
  return Refuse("hsa_ven_amd_loader_query_segment_descriptors",
                "debuggers do not attach to the emulated GPU");
}

Status QueryExecutable(const void*, ExecutableHandle*) {
  return Refuse("hsa_ven_amd_loader_query_executable",
                "debuggers do not attach to the emulated GPU");
}

Status IterateLoaded(ExecutableHandle handle,
                     Status (*callback)(ExecutableHandle, LoadedCodeObject,
                                        void*),
                     void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  std::vector<Loaded*> all;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    Executable* const executable = FindExecutable(handle);
    if (executable == nullptr) return kErrorInvalidExecutable;
    for (const auto& loaded : executable->loaded) all.push_back(loaded.get());
  }
  for (Loaded* loaded : all) {
    const Status status =
        callback(handle, {reinterpret_cast<std::uint64_t>(loaded)}, data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

// "memory://PID#offset=ADDRESS&size=SIZE" (AMDGPUUsage, "Loaded Code Object
// Path Uniform Resource Identifier").
std::string UriOf(const Loaded& loaded) {
  char text[96];
  std::snprintf(text, sizeof text, "memory://%d#offset=0x%llx&size=%zu",
                static_cast<int>(getpid()),
                static_cast<unsigned long long>(
                    reinterpret_cast<std::uint64_t>(loaded.storage.data())),
                loaded.storage.size());
  return text;
}

Status LoadedObjectInfo(LoadedCodeObject handle, LoadedInfo attribute,
                        void* value) {
  HSA_LIVE(runtime);
  const auto* const l = reinterpret_cast<const Loaded*>(handle.handle);
  if (l == nullptr || value == nullptr) return kErrorInvalidArgument;
  switch (attribute) {
    case kLoadedExecutable:
      Put<ExecutableHandle>(value,
                            {reinterpret_cast<std::uint64_t>(l->executable)});
      break;
    case kLoadedKind: Put<std::uint32_t>(value, 2); break;  // an agent's
    case kLoadedAgent: Put(value, l->agent->handle()); break;
    case kLoadedStorageType: Put<std::uint32_t>(value, 2); break;  // memory
    case kLoadedStorageBase:
      Put<std::uint64_t>(value,
                         reinterpret_cast<std::uint64_t>(l->storage.data()));
      break;
    case kLoadedStorageSize:
      Put<std::uint64_t>(value, l->storage.size());
      break;
    case kLoadedUriLength:
      Put<std::uint32_t>(value, static_cast<std::uint32_t>(UriOf(*l).size()));
      break;
    case kLoadedUri: {
      const std::string uri = UriOf(*l);
      std::memcpy(value, uri.data(), uri.size());
      break;
    }
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

Status ReaderFromFile(int file, std::size_t offset, std::size_t size,
                      Reader* out) {
  HSA_LIVE(runtime);
  if (size == 0) return kErrorInvalidArgument;
  return ReadFile(file, offset, size, out);
}

Status IterateExecutables(Status (*callback)(ExecutableHandle, void*),
                          void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  std::vector<Executable*> all;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    all.assign(All().executables.begin(), All().executables.end());
  }
  for (Executable* executable : all) {
    const Status status =
        callback({reinterpret_cast<std::uint64_t>(executable)}, data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

}  // namespace

LoaderTable cerberus::emulator::hsa::MakeLoaderTable() {
  return {QueryHostAddress,  QuerySegmentDescriptors, QueryExecutable,
          IterateLoaded,     LoadedObjectInfo,        ReaderFromFile,
          IterateExecutables};
}
