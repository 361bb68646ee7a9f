#include "ptxc/lower/services.h"

namespace cerberus::ptx {
namespace {

// devlib/services.h
constexpr Service kServices[] = {
    {"vprintf", Service::kPlain, "vprintf", 4, {8, 8}, 0},
    {"__assertfail", Service::kFault, "report_assert", 0, {8, 8, 4, 8, 8}, 0},
    {"malloc", Service::kPlain, "malloc", 8, {8}, 0},
    {"__cuda_syscall_aligned_malloc",
     Service::kPlain,
     "aligned_malloc",
     8,
     {8, 8},
     0},
    {"free", Service::kPlain, "free", 0, {8}, 0},
};

constexpr char kSynchronizes[] =
    "a kernel cannot wait for those that it launches, which begin when it has "
    "ended; CUDA 12 has no such function any more";
constexpr char kGraph[] = "nodes of graphs are not changed from the device";

// devlib/launches.h
constexpr Service::Kind kRuntime = Service::kRuntime;
constexpr Service::Kind kUnsupported = Service::kUnsupported;
constexpr Service kDeviceRuntime[] = {
    {"GetParameterBuffer", kRuntime, "rt_buffer", 8, {8, 8}, 0},
    {"GetParameterBufferV2", kRuntime, "rt_buffer_v2", 8, {8, 12, 12, 4}, 0},
    {"LaunchDevice", kRuntime, "rt_launch", 4, {8, 8, 12, 12, 4, 8}, 6},
    {"LaunchDeviceV2", kRuntime, "rt_launch_v2", 4, {8, 8}, 2},
    {"StreamCreateWithFlags", kRuntime, "rt_stream_create", 4, {8, 4}, 0},
    {"StreamDestroy", kRuntime, "rt_destroy", 4, {8}, 0},
    {"StreamWaitEvent", kRuntime, "rt_stream_wait", 4, {8, 8, 4}, 1},
    {"EventCreateWithFlags", kRuntime, "rt_event_create", 4, {8, 4}, 0},
    {"EventDestroy", kRuntime, "rt_destroy", 4, {8}, 0},
    {"EventRecord", kRuntime, "rt_event_record", 4, {8, 8}, 2},
    {"EventRecordWithFlags",
     kRuntime,
     "rt_event_record_flags",
     4,
     {8, 8, 4},
     2},
    {"MemcpyAsync", kRuntime, "rt_copy", 4, {8, 8, 8, 4, 8}, 5},
    {"Memcpy2DAsync", kRuntime, "rt_copy_2d", 4, {8, 8, 8, 8, 8, 8, 4, 8}, 8},
    {"Memcpy3DAsync", kRuntime, "rt_copy_3d", 4, {8, 8}, 2},
    {"MemsetAsync", kRuntime, "rt_fill", 4, {8, 4, 8, 8}, 4},
    {"Memset2DAsync", kRuntime, "rt_fill_2d", 4, {8, 8, 4, 8, 8, 8}, 6},
    {"Memset3DAsync", kRuntime, "rt_fill_3d", 4, {32, 4, 24, 8}, 4},
    {"Malloc", Service::kHeap, "rt_malloc", 4, {8, 8}, 0},
    {"Free", Service::kHeap, "rt_free", 4, {8}, 0},
    {"GetLastError", kRuntime, "rt_last_error", 4, {}, 0},
    {"PeekAtLastError", kRuntime, "rt_peek_error", 4, {}, 0},
    {"GetErrorName", kRuntime, "rt_error_name", 8, {4}, 0},
    {"GetErrorString", kRuntime, "rt_error_text", 8, {4}, 0},
    {"GetDevice", kRuntime, "rt_device", 4, {8}, 0},
    {"GetDeviceCount", kRuntime, "rt_device_count", 4, {8}, 0},
    {"DeviceGetAttribute", kRuntime, "rt_attribute", 4, {8, 4, 4}, 0},
    {"DeviceGetLimit", kRuntime, "rt_limit", 4, {8, 4}, 0},
    {"DeviceGetCacheConfig", kRuntime, "rt_preference", 4, {8}, 0},
    {"DeviceGetSharedMemConfig", kRuntime, "rt_preference", 4, {8}, 0},
    {"RuntimeGetVersion", kRuntime, "rt_version", 4, {8}, 0},
    {"FuncGetAttributes", kRuntime, "rt_function", 4, {8, 8}, 0},
    {"OccupancyMaxActiveBlocksPerMultiprocessor",
     kRuntime,
     "rt_occupancy",
     4,
     {8, 8, 4, 8},
     0},
    {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
     kRuntime,
     "rt_occupancy_flags",
     4,
     {8, 8, 4, 8, 4},
     0},
    {"DeviceSynchronize", kUnsupported, kSynchronizes, 4, {}, 0},
    {"GraphSetConditional",
     Service::kDirect,
     "rt_set_conditional",
     0,
     {8, 4},
     0},
    {"GraphLaunch", kRuntime, "rt_graph_launch", 4, {8, 8}, 0},
    {"GraphKernelNodeSetParam", kUnsupported, kGraph, 4, {8, 8, 8, 8}, 0},
    {"GraphKernelNodeSetEnabled", kUnsupported, kGraph, 4, {8, 1}, 0},
    {"GraphKernelNodeSetGridDim", kUnsupported, kGraph, 4, {8, 12}, 0},
    {"GraphKernelNodeUpdatesApply", kUnsupported, kGraph, 4, {8, 8}, 0},
};

bool Consume(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

}  // namespace

const Service* FindService(std::string_view name, bool* per_thread) {
  for (const Service& row : kServices) {
    if (row.name == name) return &row;
  }
  constexpr std::string_view kPerThread = "_ptsz";
  if (name == "__cudaDeviceSynchronizeDeprecationAvoidance") {
    name = "cudaDeviceSynchronize";
  }
  // Those of CUDA 12, and those of programs made for the ones before.
  if (!Consume(&name, "__cudaCDP2") && !Consume(&name, "cuda")) return nullptr;
  const bool ends = name.size() > kPerThread.size() &&
                    name.substr(name.size() - kPerThread.size()) == kPerThread;
  if (ends) name.remove_suffix(kPerThread.size());
  if (per_thread != nullptr) *per_thread = ends;
  for (const Service& row : kDeviceRuntime) {
    if (row.name == name && (!ends || row.stream != 0)) return &row;
  }
  return nullptr;
}

}  // namespace cerberus::ptx
