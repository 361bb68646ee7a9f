// The system as a whole: its start and end, clocks, extensions, errors.
#include <algorithm>
#include <cstring>

#include "emulator/hsa/executable.h"
#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {
namespace {

struct Named {
  Status status;
  const char* name;
  const char* text;
};
constexpr Named kStatusTexts[] = {
    {kSuccess, "HSA_STATUS_SUCCESS", "The call succeeded"},
    {kInfoBreak, "HSA_STATUS_INFO_BREAK", "A callback ended the traversal"},
    {kError, "HSA_STATUS_ERROR", "An error without a name of its own"},
    {kErrorInvalidArgument, "HSA_STATUS_ERROR_INVALID_ARGUMENT",
     "An argument is not valid"},
    {kErrorInvalidQueueCreation, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION",
     "A queue of that kind or size cannot be made"},
    {kErrorInvalidAllocation, "HSA_STATUS_ERROR_INVALID_ALLOCATION",
     "The address or size of memory is not valid"},
    {kErrorInvalidAgent, "HSA_STATUS_ERROR_INVALID_AGENT",
     "There is no such agent"},
    {kErrorInvalidRegion, "HSA_STATUS_ERROR_INVALID_REGION",
     "There is no such memory region"},
    {kErrorInvalidSignal, "HSA_STATUS_ERROR_INVALID_SIGNAL",
     "There is no such signal"},
    {kErrorInvalidQueue, "HSA_STATUS_ERROR_INVALID_QUEUE",
     "There is no such queue"},
    {kErrorOutOfResources, "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
     "There is not enough memory"},
    {kErrorInvalidPacketFormat, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT",
     "A packet in a queue is not valid"},
    {kErrorResourceFree, "HSA_STATUS_ERROR_RESOURCE_FREE",
     "What is to be freed is in use, or was freed"},
    {kErrorNotInitialized, "HSA_STATUS_ERROR_NOT_INITIALIZED",
     "hsa_init has not been called"},
    {kErrorIncompatibleArguments, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS",
     "The arguments do not fit together"},
    {kErrorInvalidIsa, "HSA_STATUS_ERROR_INVALID_ISA", "There is no such ISA"},
    {kErrorInvalidCodeObject, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT",
     "The code object is not valid, or for another GPU"},
    {kErrorInvalidExecutable, "HSA_STATUS_ERROR_INVALID_EXECUTABLE",
     "There is no such executable"},
    {kErrorFrozenExecutable, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE",
     "The executable is frozen"},
    {kErrorInvalidSymbolName, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME",
     "There is no symbol of that name"},
    {kErrorVariableAlreadyDefined, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED",
     "The variable is defined already"},
    {kErrorVariableUndefined, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED",
     "The variable is not defined"},
    {kErrorException, "HSA_STATUS_ERROR_EXCEPTION",
     "A kernel did what is not allowed"},
    {kErrorInvalidIsaName, "HSA_STATUS_ERROR_INVALID_ISA_NAME",
     "There is no ISA of that name"},
    {kErrorInvalidExecutableSymbol,
     "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL", "There is no such symbol"},
    {kErrorInvalidFile, "HSA_STATUS_ERROR_INVALID_FILE",
     "The file cannot be read"},
    {kErrorInvalidCodeObjectReader,
     "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER",
     "There is no such code object reader"},
    {kErrorInvalidWavefront, "HSA_STATUS_ERROR_INVALID_WAVEFRONT",
     "There is no such wavefront"},
    {kErrorInvalidMemoryPool, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL",
     "There is no such memory pool"},
    {kErrorMemoryFault, "HSA_STATUS_ERROR_MEMORY_FAULT",
     "A kernel accessed memory that it may not"},
};

}  // namespace

const char* NameOf(Status status) {
  for (const Named& row : kStatusTexts) {
    if (row.status == status) return row.name;
  }
  return "an unknown status";
}

void PutExtensions(void* value) {
  std::uint8_t bits[128] = {};
  for (const unsigned extension : {kExtensionImages, kExtensionAmdLoader}) {
    bits[extension / 8] |= 1u << extension % 8;
  }
  std::memcpy(value, bits, sizeof bits);
}

}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_init() { return Runtime::Init(); }
HSA_API Status hsa_shut_down() { return Runtime::ShutDown(); }

HSA_API Status hsa_status_string(Status status, const char** out) {
  if (out == nullptr) return kErrorInvalidArgument;
  for (const Named& row : kStatusTexts) {
    if (row.status != status) continue;
    // "NAME: text", as AMD's runtime writes it.
    static const auto* const lines = [] {
      auto* const all = new std::vector<std::string>;
      for (const Named& r : kStatusTexts) {
        all->push_back(std::string(r.name) + ": " + r.text + ".");
      }
      return all;
    }();
    *out = (*lines)[static_cast<std::size_t>(&row - kStatusTexts)].c_str();
    return kSuccess;
  }
  return kErrorInvalidArgument;
}

HSA_API Status hsa_system_get_info(SystemInfo attribute, void* value) {
  HSA_LIVE(runtime);
  if (value == nullptr) return kErrorInvalidArgument;
  switch (attribute) {
    case kSystemVersionMajor: Put<std::uint16_t>(value, 1); break;
    case kSystemVersionMinor: Put<std::uint16_t>(value, 1); break;
    case kSystemTimestamp: Put<std::uint64_t>(value, Now()); break;
    case kSystemTimestampFrequency: Put(value, kTicksPerSecond); break;
    case kSystemSignalMaxWait:
      Put<std::uint64_t>(value, ~std::uint64_t{0});
      break;
    case kSystemEndianness: Put<std::uint32_t>(value, 0); break;
    case kSystemMachineModel: Put<std::uint32_t>(value, 1); break;
    case kSystemExtensions: PutExtensions(value); break;
    case kSystemBuildVersion:
      Put<const char*>(value, "Cerberus emulator");
      break;
    case kSystemSvmAccessibleByDefault:
    case kSystemMwaitxEnabled:
    case kSystemXnackEnabled: Put<bool>(value, false); break;
    case kSystemSvmSupported:
    case kSystemDmabufSupported:
    case kSystemVirtualMemApiSupported: Put<bool>(value, true); break;
    case kSystemExtVersionMajor: Put<std::uint16_t>(value, 1); break;
    case kSystemExtVersionMinor: Put<std::uint16_t>(value, 0); break;
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

namespace {

bool HasExtension(std::uint16_t extension) {
  return extension == kExtensionAmdLoader || extension == kExtensionImages;
}
std::uint16_t MinorOf(std::uint16_t extension) {
  return extension == kExtensionAmdLoader ? kLoaderMinor : 0;
}

}  // namespace

HSA_API Status hsa_system_extension_supported(std::uint16_t extension,
                                              std::uint16_t major,
                                              std::uint16_t minor,
                                              bool* result) {
  HSA_LIVE(runtime);
  if (result == nullptr) return kErrorInvalidArgument;
  *result =
      HasExtension(extension) && major == 1 && minor <= MinorOf(extension);
  return kSuccess;
}
HSA_API Status hsa_system_major_extension_supported(std::uint16_t extension,
                                                    std::uint16_t major,
                                                    std::uint16_t* minor,
                                                    bool* result) {
  HSA_LIVE(runtime);
  if (result == nullptr || minor == nullptr) return kErrorInvalidArgument;
  *result = HasExtension(extension) && major == 1;
  *minor = *result ? MinorOf(extension) : 0;
  return kSuccess;
}
HSA_API Status hsa_agent_extension_supported(std::uint16_t extension,
                                             Agent agent, std::uint16_t major,
                                             std::uint16_t minor,
                                             bool* result) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  return hsa_system_extension_supported(extension, major, minor, result);
}
HSA_API Status hsa_agent_major_extension_supported(std::uint16_t extension,
                                                   Agent agent,
                                                   std::uint16_t major,
                                                   std::uint16_t* minor,
                                                   bool* result) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  return hsa_system_major_extension_supported(extension, major, minor, result);
}

HSA_API Status hsa_system_get_major_extension_table(std::uint16_t extension,
                                                    std::uint16_t major,
                                                    std::size_t size,
                                                    void* table) {
  HSA_LIVE(runtime);
  if (table == nullptr) return kErrorInvalidArgument;
  // Those of images are called by name.
  if (extension != kExtensionAmdLoader || major != 1) return kError;
  const LoaderTable loader = MakeLoaderTable();
  std::memset(table, 0, size);
  std::memcpy(table, &loader, std::min(size, sizeof loader));
  return kSuccess;
}
HSA_API Status hsa_system_get_extension_table(std::uint16_t extension,
                                              std::uint16_t major,
                                              std::uint16_t minor,
                                              void* table) {
  HSA_LIVE(runtime);
  if (minor > kLoaderMinor) return kError;
  // A table of version 1.0 has three entries, each later one at least more.
  constexpr std::size_t kEntries[] = {3, 5, 6, 7};
  return hsa_system_get_major_extension_table(
      extension, major, kEntries[minor] * sizeof(void*), table);
}

HSA_API Status hsa_extension_get_name(std::uint16_t extension,
                                      const char** out) {
  HSA_LIVE(runtime);
  if (out == nullptr) return kErrorInvalidArgument;
  switch (extension) {
    case kExtensionFinalizer: *out = "HSA_EXTENSION_FINALIZER"; break;
    case kExtensionImages: *out = "HSA_EXTENSION_IMAGES"; break;
    case kExtensionAmdProfiler: *out = "HSA_EXTENSION_AMD_PROFILER"; break;
    case kExtensionAmdLoader: *out = "HSA_EXTENSION_AMD_LOADER"; break;
    case kExtensionAmdAqlprofile: *out = "HSA_EXTENSION_AMD_AQLPROFILE"; break;
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

HSA_API Status hsa_amd_register_system_event_handler(EventCallback callback,
                                                     void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  if (runtime->event_callback != nullptr) return kErrorOutOfResources;
  runtime->event_data = data;
  runtime->event_callback = callback;
  return kSuccess;
}

HSA_API Status hsa_amd_enable_logging(std::uint8_t*, void*) {
  HSA_LIVE(runtime);
  return kSuccess;  // there is nothing to log
}
