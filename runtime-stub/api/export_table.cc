#include "runtime-stub/api/export_table.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "formats/self_report.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/guard.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/device/green_context.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/module/md2.h"
#include "runtime-stub/module/module.h"
#include "support/bytes.h"
#include "support/log.h"
#include "support/targets/target_table.h"
#include "support/version.h"

namespace cerberus::stub {
namespace {

// A table is an array of 8-byte slots; slot 0 is its size in bytes. NVIDIA's
// driver has functions in more slots than are known here. A caller may use
// another one, also behind the size that it was told, so each table goes on to
// kSlots: an unknown slot says so and refuses.
constexpr std::size_t kSlots = 64;
using Table = std::array<void*, kSlots>;

struct TableId {
  std::uint8_t bytes[16];
  const char* name;
};

void SayUnknownSlot(const TableId& id, std::size_t slot) {
  Log(LogLevel::kWarning,
      "slot %zu of cuGetExportTable's table %02x%02x%02x%02x (%s) is called "
      "but not known here: the answer is CUDA_ERROR_NOT_SUPPORTED. The caller "
      "may be of a CUDA newer than this driver",
      slot, id.bytes[0], id.bytes[1], id.bytes[2], id.bytes[3], id.name);
}

// One for each table, so that its many slots have little code.
template <const TableId& kId>
[[gnu::noinline]] CUresult RefuseSlot(std::size_t slot) {
  static std::atomic<std::uint64_t> said;
  static_assert(kSlots <= 64);
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if ((said.fetch_or(bit) & bit) == 0) SayUnknownSlot(kId, slot);
  return CUDA_ERROR_NOT_SUPPORTED;
}

template <const TableId& kId, std::size_t kSlot>
CUresult UnknownSlot() {
  return RefuseSlot<kId>(kSlot);
}

template <typename F>
void* Slot(F* function) {
  return reinterpret_cast<void*>(function);
}
#define CERB_GUARDED_SLOT(function) Slot(Guarded<&function>::Call)
void* Size(std::size_t slots) {
  return reinterpret_cast<void*>(slots * sizeof(void*));
}

template <const TableId& kId, std::size_t... kSlot>
Table UnknownSlots(std::index_sequence<kSlot...>) {
  return {Slot(UnknownSlot<kId, kSlot>)...};
}

struct KnownSlot {
  std::size_t slot;
  void* value;
};
template <const TableId& kId>
Table MakeTable(std::initializer_list<KnownSlot> known) {
  Table table = UnknownSlots<kId>(std::make_index_sequence<kSlots>());
  for (const KnownSlot& k : known) table[k.slot] = k.value;
  return table;
}

// --- cudart interface ---

// The handle of a device's primary context, without making it active: the
// same that cuDevicePrimaryCtxRetain gives.
CUresult GetPrimaryContext(CUcontext* context, CUdevice ordinal) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *context = device->primary->handle();
  return CUDA_SUCCESS;
}

// How cudart 11 hands over a registered image; cudart 9 passes no more than
// LoadWrapper takes.
CUresult LoadRegisteredImage(CUmodule* module, const void* wrapper, void*,
                             void*, unsigned) {
  return LoadWrapper(module, wrapper);
}

// Called by cudart 11 when an object is unregistered. The module is freed by
// cuModuleUnload or at the end of the process.
void ForgetRegisteredImage(const void*) {}

// From 13.1 on cudart asks this once when it starts, with no argument, behind
// cuInit; an error is the result of the program's first call.
CUresult CheckStart() { return CUDA_SUCCESS; }

constexpr TableId kCudartInterfaceId = {
    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39,
     0x12, 0xfd, 0x9d, 0xf9},
    "cudart interface"};
const Table kCudartInterface = MakeTable<kCudartInterfaceId>({
    {0, Size(13)},
    {1, CERB_GUARDED_SLOT(LoadWrapper)},
    {2, Slot(GetPrimaryContext)},
    {6, CERB_GUARDED_SLOT(LoadRegisteredImage)},
    {7, Slot(ForgetRegisteredImage)},
    {12, Slot(CheckStart)},
});

// --- tool callbacks ---

// One flag per runtime callback; non-zero: a tool listens. None ever does.
// cudart 13.5 reads 567, version 11.8 wants to see 1,024.
constexpr std::size_t kCallbackFlags = 1024;
constexpr std::size_t kDomainFlags = 14;
std::uint32_t g_callback_flags[kCallbackFlags];
std::uint32_t g_domain_flags[kDomainFlags];

void GetCallbackFlags(void** flags, std::size_t* count) {
  *flags = g_callback_flags;
  *count = kCallbackFlags;
}
void GetDomainFlags(void** flags, std::size_t* count) {
  *flags = g_domain_flags;
  *count = kDomainFlags;
}

constexpr TableId kToolCallbacksId = {
    {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00,
     0x20, 0x0c, 0x0a, 0x66},
    "tool callbacks"};
const Table kToolCallbacks = MakeTable<kToolCallbacksId>({
    {0, Size(7)},
    {2, Slot(GetCallbackFlags)},
    {6, Slot(GetDomainFlags)},
});

// --- thread-local storage of tools; NVIDIA's libraries ask slot 2 for the
// current context ---

CUresult CurrentContext(CUcontext* context) {
  return context != nullptr ? api::cuCtxGetCurrent(context)
                            : CUDA_ERROR_INVALID_VALUE;
}

constexpr TableId kToolStorageId = {
    {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7,
     0x8a, 0x3a, 0xec, 0xdc},
    "storage of tools"};
const Table kToolStorage = MakeTable<kToolStorageId>({
    {0, Size(4)},
    {2, Slot(CurrentContext)},
});

// --- context-local storage; this table has no size slot ---

CUresult PutStored(CUcontext context, void* key, void* value,
                   void (*destroy)(CUcontext, void*, void*)) {
  return StoreValue(context, key, value, destroy);
}
CUresult DeleteStored(CUcontext context, void* key) {
  return DeleteStoredValue(context, key);
}
CUresult GetStored(void** value, CUcontext context, void* key) {
  return LoadStoredValue(value, context, key);
}

constexpr TableId kContextStorageId = {
    {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3,
     0x55, 0xd8, 0x95, 0x93},
    "storage of contexts"};
const Table kContextStorage = MakeTable<kContextStorageId>({
    {0, CERB_GUARDED_SLOT(PutStored)},
    {1, CERB_GUARDED_SLOT(DeleteStored)},
    {2, CERB_GUARDED_SLOT(GetStored)},
});

// --- context checks ---

CUresult CheckContext(CUcontext context, unsigned* kind, const void** more) {
  constexpr unsigned kPlain = 0, kGreen = 1;
  if (kind != nullptr) *kind = IsGreen(context) ? kGreen : kPlain;
  if (more != nullptr) *more = nullptr;
  return CUDA_SUCCESS;
}
unsigned CheckProcess() { return 0; }

constexpr TableId kContextChecksId = {
    {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5,
     0x00, 0x6d, 0xfa, 0x7e},
    "context checks"};
const Table kContextChecks = MakeTable<kContextChecksId>({
    {0, Size(4)},
    {2, Slot(CheckContext)},
    {3, Slot(CheckProcess)},
});

// --- the handshake: cudart asks whether the driver and it agree on the
// devices they see, and works only with the right answer ---

CUresult Handshake(unsigned version, unsigned long long seconds,
                   unsigned char* out);

constexpr TableId kHandshakeId = {
    {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12,
     0x3c, 0x66, 0xe1, 0xf2},
    "handshake"};
const Table kHandshake = MakeTable<kHandshakeId>({
    {0, Size(3)},
    {1, CERB_GUARDED_SLOT(Handshake)},
});

enum : unsigned { kFixedAnswer = 0, kFixedAnswerWithSize = 1, kHash = 2 };
constexpr Md2Digest kFixed = {0x5c, 0x67, 0xcb, 0x03, 0x1c, 0x18, 0x41, 0x33,
                              0xe8, 0xd1, 0x4c, 0x1f, 0xaa, 0x83, 0xd3, 0x8e};
constexpr std::size_t kFixedSizeByte = 7;
constexpr Md2Digest kKey = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                            0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

// Ids of CUdevice_attribute.
constexpr int kPciDomain = 50;
constexpr int kPciBus = 33;
constexpr int kPciDevice = 34;

// The message whose HMAC is the third answer. Values are those cudart was
// told: it hashes its own copies.
Bytes HandshakeMessage(unsigned version, unsigned long long seconds) {
  Bytes message;
  AppendLe(message, static_cast<std::uint32_t>(PresentedCudaVersion()));
  AppendLe(message, static_cast<std::uint32_t>(version));
  AppendLe(message, static_cast<std::uint32_t>(getpid()));
  AppendLe(message, static_cast<std::uint32_t>(pthread_self()));
  AppendLe(message, reinterpret_cast<std::uint64_t>(kCudartInterface.data()));
  AppendLe(message, reinterpret_cast<std::uint64_t>(kHandshake.data()));
  AppendLe(message, reinterpret_cast<std::uint64_t>(kHandshake[1]));
  AppendLe(message, static_cast<std::uint64_t>(seconds));
  for (int i = 0; i < DeviceCount(); ++i) {
    const Device& device = *GetDevice(i);
    for (char byte : device.uuid.bytes) {
      message.push_back(static_cast<std::uint8_t>(byte));
    }
    for (int id : {kPciDomain, kPciBus, kPciDevice}) {
      AppendLe(message, static_cast<std::uint32_t>(device.attribute(id)));
    }
  }
  return message;
}

CUresult Handshake(unsigned version, unsigned long long seconds,
                   unsigned char* out) {
  Md2Digest answer = kFixed;
  switch (version % 10) {
    case kFixedAnswer: break;
    case kFixedAnswerWithSize:
      answer[kFixedSizeByte] = static_cast<std::uint8_t>(
          reinterpret_cast<std::uintptr_t>(kHandshake[0]));
      break;
    case kHash:
      answer = HmacMd2(kKey, HandshakeMessage(version, seconds));
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(out, answer.data(), answer.size());
  return CUDA_SUCCESS;
}

// --- error log: cudart's own explanation of what it refuses ---

void LogFromCudart(const char* component, unsigned long, const char* format,
                   std::va_list* arguments) {
  if (format == nullptr || arguments == nullptr) return;
  char text[1024];
  std::va_list copy;
  va_copy(copy, *arguments);
  std::vsnprintf(text, sizeof text, format, copy);
  va_end(copy);
  Log(LogLevel::kWarning, "cudart: %s: %s",
      component != nullptr ? component : "", text);
}

constexpr TableId kErrorLogId = {
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46,
     0x9e, 0x7c, 0x0d, 0xd9},
    "error log"};
const Table kErrorLog = MakeTable<kErrorLogId>({
    {0, Size(2)},
    {1, Slot(LogFromCudart)},
});

// --- streams: asked by cuBLAS, which keeps a workspace for each, and by
// cudart from 13.4 on while a tool listens ---

CUresult NothingToSay(unsigned long, void** out) {
  if (out != nullptr) *out = nullptr;
  return CUDA_SUCCESS;
}

// The driver's own object for a stream handle: here the handle, made definite
// where it is the default stream.
CUresult ResolveStream(CUcontext, CUstream stream, CUstream* out,
                       unsigned per_thread) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream == nullptr) {
    stream = per_thread != 0 ? PerThreadStream() : LegacyStream();
  }
  *out = stream;
  return CUDA_SUCCESS;
}
CUresult StreamId(CUcontext, CUstream stream, unsigned long long* id) {
  return api::cuStreamGetId(stream, id);
}

constexpr TableId kStreamsId = {
    {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff,
     0x73, 0x24, 0xc8, 0xf2},
    "streams"};
const Table kStreams = MakeTable<kStreamsId>({
    {0, Size(52)},
    {4, Slot(NothingToSay)},
    {39, Slot(StreamId)},
    {51, Slot(ResolveStream)},
});

// --- tables that must be there, but state no slot but their size, and so offer
// nothing ---

// What CUPTI works through. Without it CUPTI 13.2 looks up the text of the
// error by the same way, until the stack ends, and later ones do not even say
// their version. Now it says what can be said without a driver, and refuses
// the rest.
constexpr TableId kProfilingId = {
    {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6,
     0x6e, 0x6a, 0xed, 0x7f},
    "profiling"};
const Table kProfiling = MakeTable<kProfilingId>({{0, Size(1)}});

// NVIDIA's own libraries ask for it when they start, behind that of streams,
// and give up without it (cuFFTW, whose plans were null). None was seen to call
// slot 7, the only one they know; they look at the size before.
constexpr TableId kLibrariesId = {
    {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82,
     0xaf, 0xf1, 0x99, 0x1e},
    "of NVIDIA's libraries"};
const Table kLibraries = MakeTable<kLibrariesId>({{0, Size(1)}});

// --- ours ---

const char* ReportVersion() { return kVersion; }

const char* ReportProvider() {
  switch (ChosenProvider()) {
    case Provider::kHip: return "hip";
    case Provider::kEmulator: return "emulator";
    default: return "none";
  }
}

const char* ReportLibrary() { return hip.path.c_str(); }

int ReportHipVersion() {
  int version = 0;
  return hip.hipRuntimeGetVersion.set() &&
                 hip.hipRuntimeGetVersion(&version) == hipSuccess
             ? version
             : 0;
}

const char* ReportTarget(int ordinal) {
  static std::string& text = *new std::string;
  const Device* device = GetDevice(ordinal);
  text = device != nullptr ? device->target.ToString() : "";
  return text.c_str();
}

constexpr formats::SelfReport kSelfReport = {sizeof(formats::SelfReport),
                                             ReportVersion,
                                             ReportProvider,
                                             ReportLibrary,
                                             ReportHipVersion,
                                             ReportTarget};

struct TableRow {
  const TableId& id;
  const Table& table;
};
const TableRow kTables[] = {
    {kCudartInterfaceId, kCudartInterface},
    {kToolCallbacksId, kToolCallbacks},
    {kToolStorageId, kToolStorage},
    {kContextStorageId, kContextStorage},
    {kContextChecksId, kContextChecks},
    {kHandshakeId, kHandshake},
    {kErrorLogId, kErrorLog},
    {kStreamsId, kStreams},
    {kProfilingId, kProfiling},
    {kLibrariesId, kLibraries},
};

// NVRTC, nvJitLink and cuDNN ask for the driver's cache of what they compiled
// before (slot 1 opens an entry for PTX or cubins, 3 looks it up, 6 closes it),
// unless told --no-cache. Refused, they compile, and say nothing.
constexpr TableId kCompileCacheId = {
    {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26,
     0xd5, 0x33, 0xe3, 0x28},
    "cache of compiled programs"};

}  // namespace

const void* FindExportTable(const CUuuid& id) {
  if (std::memcmp(formats::kSelfReportId, id.bytes, sizeof id.bytes) == 0) {
    return &kSelfReport;
  }
  for (const TableRow& row : kTables) {
    if (std::memcmp(row.id.bytes, id.bytes, sizeof id.bytes) == 0) {
      return row.table.data();
    }
  }
  return nullptr;
}

void SayUnknownTable(const CUuuid& id) {
  if (std::memcmp(kCompileCacheId.bytes, id.bytes, sizeof id.bytes) == 0) {
    return;
  }
  static std::mutex mutex;
  static auto& said = *new std::set<std::array<std::uint8_t, 16>>;
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), id.bytes, bytes.size());
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!said.insert(bytes).second) return;
  }
  std::string text;
  for (const std::uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  Log(LogLevel::kWarning,
      "cuGetExportTable's table %s is asked for but not known here: the answer "
      "is CUDA_ERROR_INVALID_VALUE. The caller may be of a CUDA newer than "
      "this driver",
      text.c_str());
}

}  // namespace cerberus::stub
