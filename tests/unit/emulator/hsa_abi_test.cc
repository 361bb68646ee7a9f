// Our declarations of the HSA interface (emulator/hsa/abi.h) against those of
// Debian's libhsa-runtime-dev, number by number and field by field.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

#include "emulator/hsa/abi.h"
#include "emulator/hsa/executable.h"

namespace ours = cerberus::emulator::hsa;

#define SAME_NUMBER(mine, theirs) \
  EXPECT_EQ(static_cast<unsigned>(ours::mine), static_cast<unsigned>(theirs))

#define SAME_FIELD(mine, field, theirs, their_field)                     \
  EXPECT_EQ(offsetof(ours::mine, field), offsetof(theirs, their_field)); \
  EXPECT_EQ(sizeof(ours::mine::field), sizeof(theirs::their_field))

TEST(HsaAbi, Statuses) {
  SAME_NUMBER(kInfoBreak, HSA_STATUS_INFO_BREAK);
  SAME_NUMBER(kError, HSA_STATUS_ERROR);
  SAME_NUMBER(kErrorInvalidArgument, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SAME_NUMBER(kErrorInvalidQueueCreation,
              HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  SAME_NUMBER(kErrorInvalidAllocation, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  SAME_NUMBER(kErrorInvalidAgent, HSA_STATUS_ERROR_INVALID_AGENT);
  SAME_NUMBER(kErrorInvalidRegion, HSA_STATUS_ERROR_INVALID_REGION);
  SAME_NUMBER(kErrorInvalidSignal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  SAME_NUMBER(kErrorInvalidQueue, HSA_STATUS_ERROR_INVALID_QUEUE);
  SAME_NUMBER(kErrorOutOfResources, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  SAME_NUMBER(kErrorInvalidPacketFormat,
              HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  SAME_NUMBER(kErrorNotInitialized, HSA_STATUS_ERROR_NOT_INITIALIZED);
  SAME_NUMBER(kErrorIncompatibleArguments,
              HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  SAME_NUMBER(kErrorInvalidIsa, HSA_STATUS_ERROR_INVALID_ISA);
  SAME_NUMBER(kErrorInvalidCodeObject, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  SAME_NUMBER(kErrorInvalidExecutable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SAME_NUMBER(kErrorFrozenExecutable, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  SAME_NUMBER(kErrorInvalidSymbolName, HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  SAME_NUMBER(kErrorVariableAlreadyDefined,
              HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
  SAME_NUMBER(kErrorVariableUndefined, HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
  SAME_NUMBER(kErrorException, HSA_STATUS_ERROR_EXCEPTION);
  SAME_NUMBER(kErrorInvalidIsaName, HSA_STATUS_ERROR_INVALID_ISA_NAME);
  SAME_NUMBER(kErrorInvalidExecutableSymbol,
              HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  SAME_NUMBER(kErrorInvalidFile, HSA_STATUS_ERROR_INVALID_FILE);
  SAME_NUMBER(kErrorInvalidCodeObjectReader,
              HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  SAME_NUMBER(kErrorInvalidWavefront, HSA_STATUS_ERROR_INVALID_WAVEFRONT);
  SAME_NUMBER(kErrorInvalidMemoryPool, HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  SAME_NUMBER(kErrorMemoryFault, HSA_STATUS_ERROR_MEMORY_FAULT);
}

TEST(HsaAbi, Attributes) {
  SAME_NUMBER(kSystemTimestampFrequency, HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY);
  SAME_NUMBER(kSystemExtensions, HSA_SYSTEM_INFO_EXTENSIONS);
  SAME_NUMBER(kSystemBuildVersion, HSA_AMD_SYSTEM_INFO_BUILD_VERSION);
  SAME_NUMBER(kSystemSvmAccessibleByDefault,
              HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT);
  SAME_NUMBER(kAgentName, HSA_AGENT_INFO_NAME);
  SAME_NUMBER(kAgentWavefrontSize, HSA_AGENT_INFO_WAVEFRONT_SIZE);
  SAME_NUMBER(kAgentGridMaxSize, HSA_AGENT_INFO_GRID_MAX_SIZE);
  SAME_NUMBER(kAgentDevice, HSA_AGENT_INFO_DEVICE);
  SAME_NUMBER(kAgentIsa, HSA_AGENT_INFO_ISA);
  SAME_NUMBER(kAgentVersionMinor, HSA_AGENT_INFO_VERSION_MINOR);
  SAME_NUMBER(kAgentFastF16, HSA_AGENT_INFO_FAST_F16_OPERATION);
  SAME_NUMBER(kAgentChipId, HSA_AMD_AGENT_INFO_CHIP_ID);
  SAME_NUMBER(kAgentComputeUnits, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  SAME_NUMBER(kAgentBdfId, HSA_AMD_AGENT_INFO_BDFID);
  SAME_NUMBER(kAgentProductName, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  SAME_NUMBER(kAgentHdpFlush, HSA_AMD_AGENT_INFO_HDP_FLUSH);
  SAME_NUMBER(kAgentUuid, HSA_AMD_AGENT_INFO_UUID);
  SAME_NUMBER(kAgentCooperativeComputeUnits,
              HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT);
  SAME_NUMBER(kAgentImage1d, HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS);
  SAME_NUMBER(kAgentImage3d, HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS);
  SAME_NUMBER(kAgentImageLayers, HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS);
  SAME_NUMBER(kAgentImagePitchAlignment,
              HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT);
  SAME_NUMBER(kIsaNameLength, HSA_ISA_INFO_NAME_LENGTH);
  SAME_NUMBER(kIsaFbarrierMaxSize, HSA_ISA_INFO_FBARRIER_MAX_SIZE);
  SAME_NUMBER(kPoolAccessibleByAll, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL);
  SAME_NUMBER(kPoolAllocMaxSize, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE);
  SAME_NUMBER(kPoolKernarg, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  SAME_NUMBER(kPoolFineGrained, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  SAME_NUMBER(kPoolCoarseGrained,
              HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  SAME_NUMBER(kRegionAllocMaxPrivateSize,
              HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE);
  SAME_NUMBER(kSegmentGroup, HSA_AMD_SEGMENT_GROUP);
  SAME_NUMBER(kAccessOnRequest,
              HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  SAME_NUMBER(kAgentPoolLinkInfo, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO);
  SAME_NUMBER(kPointerIpc, HSA_EXT_POINTER_TYPE_IPC);
  SAME_NUMBER(kSymbolVariableSize, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE);
  SAME_NUMBER(kSymbolKernelObject, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  SAME_NUMBER(kSymbolPrivateSize,
              HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
  SAME_NUMBER(kSymbolDynamicCallStack,
              HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK);
  SAME_NUMBER(kLoadedUri, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI);
  SAME_NUMBER(kQueueCooperative, HSA_QUEUE_TYPE_COOPERATIVE);
  SAME_NUMBER(kPacketBarrierOr, HSA_PACKET_TYPE_BARRIER_OR);
  SAME_NUMBER(kVendorBarrierValue, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
  SAME_NUMBER(kGte, HSA_SIGNAL_CONDITION_GTE);
  SAME_NUMBER(kMemoryFaultEvent, HSA_AMD_GPU_MEMORY_FAULT_EVENT);
}

TEST(HsaAbi, SignalsAndQueues) {
  EXPECT_EQ(sizeof(ours::SignalBlock), sizeof(amd_signal_t));
  SAME_FIELD(SignalBlock, kind, amd_signal_t, kind);
  SAME_FIELD(SignalBlock, value, amd_signal_t, value);
  SAME_FIELD(SignalBlock, mailbox, amd_signal_t, event_mailbox_ptr);
  SAME_FIELD(SignalBlock, event_id, amd_signal_t, event_id);
  SAME_FIELD(SignalBlock, start, amd_signal_t, start_ts);
  SAME_FIELD(SignalBlock, end, amd_signal_t, end_ts);
  EXPECT_EQ(offsetof(ours::SignalBlock, queue),
            offsetof(amd_signal_t, queue_ptr));
  EXPECT_EQ(sizeof(ours::Queue), sizeof(hsa_queue_t));
  SAME_FIELD(Queue, base, hsa_queue_t, base_address);
  SAME_FIELD(Queue, doorbell, hsa_queue_t, doorbell_signal);
  SAME_FIELD(Queue, size, hsa_queue_t, size);
  SAME_FIELD(Queue, id, hsa_queue_t, id);
  EXPECT_EQ(sizeof(ours::QueueBlock), sizeof(amd_queue_t));
  SAME_FIELD(QueueBlock, write_index, amd_queue_t, write_dispatch_id);
  SAME_FIELD(QueueBlock, shared_aperture_high, amd_queue_t,
             group_segment_aperture_base_hi);
  SAME_FIELD(QueueBlock, private_aperture_high, amd_queue_t,
             private_segment_aperture_base_hi);
  SAME_FIELD(QueueBlock, read_index, amd_queue_t, read_dispatch_id);
  SAME_FIELD(QueueBlock, read_index_offset, amd_queue_t,
             read_dispatch_id_field_base_byte_offset);
  SAME_FIELD(QueueBlock, scratch_base, amd_queue_t,
             scratch_backing_memory_location);
  SAME_FIELD(QueueBlock, properties, amd_queue_t, queue_properties);
  SAME_FIELD(QueueBlock, inactive, amd_queue_t, queue_inactive_signal);
}

TEST(HsaAbi, Packets) {
  using Theirs = hsa_kernel_dispatch_packet_t;
  EXPECT_EQ(sizeof(ours::DispatchPacket), sizeof(Theirs));
  SAME_FIELD(DispatchPacket, setup, Theirs, setup);
  EXPECT_EQ(offsetof(ours::DispatchPacket, group_size),
            offsetof(Theirs, workgroup_size_x));
  EXPECT_EQ(offsetof(ours::DispatchPacket, grid_size),
            offsetof(Theirs, grid_size_x));
  SAME_FIELD(DispatchPacket, private_bytes, Theirs, private_segment_size);
  SAME_FIELD(DispatchPacket, group_bytes, Theirs, group_segment_size);
  SAME_FIELD(DispatchPacket, kernel_object, Theirs, kernel_object);
  SAME_FIELD(DispatchPacket, kernarg, Theirs, kernarg_address);
  SAME_FIELD(DispatchPacket, completion, Theirs, completion_signal);
  EXPECT_EQ(sizeof(ours::BarrierPacket), sizeof(hsa_barrier_and_packet_t));
  SAME_FIELD(BarrierPacket, dependencies, hsa_barrier_and_packet_t, dep_signal);
  SAME_FIELD(BarrierPacket, completion, hsa_barrier_or_packet_t,
             completion_signal);
  using Value = hsa_amd_barrier_value_packet_t;
  EXPECT_EQ(sizeof(ours::BarrierValuePacket), sizeof(Value));
  EXPECT_EQ(offsetof(ours::BarrierValuePacket, format),
            offsetof(hsa_amd_vendor_packet_header_t, AmdFormat));
  SAME_FIELD(BarrierValuePacket, signal, Value, signal);
  SAME_FIELD(BarrierValuePacket, value, Value, value);
  SAME_FIELD(BarrierValuePacket, mask, Value, mask);
  SAME_FIELD(BarrierValuePacket, condition, Value, cond);
  SAME_FIELD(BarrierValuePacket, completion, Value, completion_signal);
}

TEST(HsaAbi, Answers) {
  using Pointer = hsa_amd_pointer_info_t;
  SAME_FIELD(PointerInfo, type, Pointer, type);
  SAME_FIELD(PointerInfo, agent_base, Pointer, agentBaseAddress);
  SAME_FIELD(PointerInfo, host_base, Pointer, hostBaseAddress);
  SAME_FIELD(PointerInfo, bytes, Pointer, sizeInBytes);
  SAME_FIELD(PointerInfo, user_data, Pointer, userData);
  SAME_FIELD(PointerInfo, owner, Pointer, agentOwner);
  SAME_FIELD(PointerInfo, global_flags, Pointer, global_flags);
  using Link = hsa_amd_memory_pool_link_info_t;
  EXPECT_EQ(sizeof(ours::LinkInfo), sizeof(Link));
  SAME_FIELD(LinkInfo, atomics_32, Link, atomic_support_32bit);
  SAME_FIELD(LinkInfo, type, Link, link_type);
  SAME_FIELD(LinkInfo, numa_distance, Link, numa_distance);
  EXPECT_EQ(sizeof(ours::Event), sizeof(hsa_amd_event_t));
  EXPECT_EQ(offsetof(ours::Event, memory_fault.address),
            offsetof(hsa_amd_event_t, memory_fault.virtual_address));
  EXPECT_EQ(offsetof(ours::Event, memory_fault.reason),
            offsetof(hsa_amd_event_t, memory_fault.fault_reason_mask));
  EXPECT_EQ(sizeof(ours::PitchedPointer), sizeof(hsa_pitched_ptr_t));
  EXPECT_EQ(sizeof(ours::Times), sizeof(hsa_amd_profiling_dispatch_time_t));
  EXPECT_EQ(sizeof(ours::LoaderTable), sizeof(hsa_ven_amd_loader_1_03_pfn_t));
  using Loader = hsa_ven_amd_loader_1_03_pfn_t;
  EXPECT_EQ(offsetof(ours::LoaderTable, query_executable),
            offsetof(Loader, hsa_ven_amd_loader_query_executable));
  EXPECT_EQ(offsetof(ours::LoaderTable, iterate_executables),
            offsetof(Loader, hsa_ven_amd_loader_iterate_executables));
}
