// Memory operations in streams and graphs: waiting for words and writing them,
// and batches of copies, sets and hints.
#include <cstdint>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/memory/array.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Flags of CUstreamWaitValue_flags: how to compare, in HIP's numbers too, and
// whether writes of other devices must be flushed first, which HIP does anyway.
constexpr unsigned kCompareMask = 3;
constexpr unsigned kFlush = 1u << 30;
// CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER is a permission, not a demand.
constexpr unsigned kNoMemoryBarrier = 1;

enum : int {
  kWaitValue32 = 1,
  kWriteValue32 = 2,
  kFlushRemoteWrites = 3,
  kWaitValue64 = 4,
  kWriteValue64 = 5,
  kBarrier = 6,
};

CUresult CheckWait(CUdeviceptr address, unsigned flags, std::size_t size) {
  return address == 0 || address % size != 0 ||
                 (flags & ~(kCompareMask | kFlush)) != 0
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}
CUresult CheckWrite(CUdeviceptr address, unsigned flags, std::size_t size) {
  return address == 0 || address % size != 0 || flags > kNoMemoryBarrier
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

hipError_t Perform(const CUstreamBatchMemOpParams& op, hipStream_t stream) {
  void* const address = Pointer(op.value.address);
  const auto word = static_cast<std::uint32_t>(op.value.word);
  const unsigned compare = op.value.flags & kCompareMask;
  switch (op.operation) {
    case kWaitValue32:
      return hip.hipStreamWaitValue32(stream, address, word, compare,
                                      ~std::uint32_t{0});
    case kWaitValue64:
      return hip.hipStreamWaitValue64(stream, address, op.value.word, compare,
                                      ~std::uint64_t{0});
    case kWriteValue32:
      return hip.hipStreamWriteValue32(stream, address, word, 0);
    case kWriteValue64:
      return hip.hipStreamWriteValue64(stream, address, op.value.word, 0);
    default:
      // Operations of one stream see each other's writes in order.
      return hipSuccess;
  }
}

// One operation of a graph's node in HIP's terms, whose numbers are CUDA's.
CUresult HipOperation(const CUstreamBatchMemOpParams& op,
                      CUstreamBatchMemOpParams* out) {
  *out = op;
  CUresult result = CUDA_SUCCESS;
  switch (op.operation) {
    case kWaitValue32:
    case kWaitValue64:
      result = CheckWait(op.value.address, op.value.flags,
                         op.operation == kWaitValue32 ? 4 : 8);
      out->value.flags = op.value.flags & kCompareMask;
      break;
    case kWriteValue32:
    case kWriteValue64:
      result = CheckWrite(op.value.address, op.value.flags,
                          op.operation == kWriteValue32 ? 4 : 8);
      out->value.flags = 0;
      break;
    case kFlushRemoteWrites:
    case kBarrier: break;
    default: result = CUDA_ERROR_INVALID_VALUE;
  }
  return result;
}

constexpr unsigned kMostOperations = 256;

RecordPtr OperationsOf(const CUDA_BATCH_MEM_OP_NODE_PARAMS& params,
                       bool by_host = false) {
  auto record = std::make_shared<NodeRecord>();
  record->type = kOperationsNode;
  record->by_host = by_host;
  record->context = params.ctx;
  record->operations.assign(params.paramArray,
                            params.paramArray + params.count);
  return record;
}

// Operations of a stream that captures become one node.
CUresult CaptureOperations(hipStream_t stream, CUstreamBatchMemOpParams* list,
                           unsigned count) {
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {nullptr, count, list, 0};
  return CaptureNode(stream, [&params](auto... at) {
    return api::cuGraphAddBatchMemOpNode(at..., &params);
  });
}
// One operation of a stream.
CUresult Operate(CUstream handle, int operation, CUdeviceptr address,
                 cuuint64_t word, unsigned flags) {
  CERB_STREAM(context, stream, handle);
  CUstreamBatchMemOpParams op = {}, checked;
  op.value.operation = operation;
  op.value.address = address;
  op.value.word = word;
  op.value.flags = flags;
  if (CUresult r = HipOperation(op, &checked); r != CUDA_SUCCESS) return r;
  return Captures(stream) ? CaptureOperations(stream, &op, 1)
                          : NoteResult(context, Perform(op, stream));
}

// Calls `use` with a node's operations in HIP's terms.
template <typename Use>
CUresult WithOperations(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Use use) {
  CERB_OPTIONAL_CONTEXT(context);
  if (params == nullptr || params->paramArray == nullptr ||
      params->count == 0 || params->count > kMostOperations ||
      params->flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<CUstreamBatchMemOpParams> operations(params->count);
  for (unsigned i = 0; i < params->count; ++i) {
    const CUresult result = HipOperation(params->paramArray[i], &operations[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS there = {nullptr, params->count,
                                         operations.data(), 0};
  return NoteResult(context, use(&there));
}

// Attributes of a batch say how sources may be read ahead and where they are
// likely to be; both are hints. `indices` says where each one's range begins.
CUresult CheckBatch(const CUmemcpyAttributes* attributes,
                    const std::size_t* indices, std::size_t attribute_count,
                    std::size_t count) {
  if (count == 0 || attribute_count == 0 || attributes == nullptr ||
      indices == nullptr || attribute_count > count || indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 1; i < attribute_count; ++i) {
    if (indices[i] <= indices[i - 1] || indices[i] >= count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

std::size_t ElementBytesOf(const CUmemcpy3DOperand& operand) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (api::cuArray3DGetDescriptor_v2(&descriptor, operand.op.array.array) !=
      CUDA_SUCCESS) {
    return 0;
  }
  return ElementBytes(descriptor.Format, descriptor.NumChannels);
}

constexpr int kOperandPointer = 1;
constexpr int kOperandArray = 2;

// One operation as the plain 3-D copy. Lengths are in elements: of the array
// where there is one, else bytes.
CUresult CopyOf(const CUDA_MEMCPY3D_BATCH_OP& op, CUDA_MEMCPY3D* copy) {
  std::size_t element = 1;
  for (const CUmemcpy3DOperand* side : {&op.src, &op.dst}) {
    if (side->type != kOperandPointer && side->type != kOperandArray) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (side->type == kOperandArray) element = ElementBytesOf(*side);
    if (element == 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  *copy = {};
  copy->WidthInBytes = op.extent.width * element;
  copy->Height = op.extent.height;
  copy->Depth = op.extent.depth;
  if (op.src.type == kOperandArray) {
    const auto& array = op.src.op.array;
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = array.array;
    copy->srcXInBytes = array.offset.x * element;
    copy->srcY = array.offset.y;
    copy->srcZ = array.offset.z;
  } else {
    const auto& linear = op.src.op.ptr;
    copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->srcDevice = linear.ptr;
    copy->srcPitch = linear.rowLength * element;
    copy->srcHeight = linear.layerHeight;
  }
  if (op.dst.type == kOperandArray) {
    const auto& array = op.dst.op.array;
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = array.array;
    copy->dstXInBytes = array.offset.x * element;
    copy->dstY = array.offset.y;
    copy->dstZ = array.offset.z;
  } else {
    const auto& linear = op.dst.op.ptr;
    copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->dstDevice = linear.ptr;
    copy->dstPitch = linear.rowLength * element;
    copy->dstHeight = linear.layerHeight;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult RunOperations(Context* context, hipStream_t stream,
                       const NodeRecord& record) {
  for (const CUstreamBatchMemOpParams& op : record.operations) {
    const CUresult result = NoteResult(context, Perform(op, stream));
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address,
                                cuuint32_t value, unsigned flags) {
  return Operate(stream, kWaitValue32, address, value, flags);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address,
                                cuuint64_t value, unsigned flags) {
  return Operate(stream, kWaitValue64, address, value, flags);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned flags) {
  return Operate(stream, kWriteValue32, address, value, flags);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned flags) {
  return Operate(stream, kWriteValue64, address, value, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address,
                             cuuint32_t value, unsigned flags) {
  return cuStreamWaitValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address,
                             cuuint64_t value, unsigned flags) {
  return cuStreamWaitValue64_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                              cuuint32_t value, unsigned flags) {
  return cuStreamWriteValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                              cuuint64_t value, unsigned flags) {
  return cuStreamWriteValue64_v2(stream, address, value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* operations,
                               unsigned flags) {
  CERB_STREAM(context, native, stream);
  if (operations == nullptr || count == 0 || count > kMostOperations ||
      flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Captures(native)) return CaptureOperations(native, operations, count);
  for (unsigned i = 0; i < count; ++i) {
    const auto& op = operations[i].value;
    const CUresult result =
        Operate(stream, op.operation, op.address, op.word, op.flags);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count,
                            CUstreamBatchMemOpParams* operations,
                            unsigned flags) {
  return cuStreamBatchMemOp_v2(stream, count, operations, flags);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph,
                                  const CUgraphNode* after, std::size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool by_host = false;
  const CUresult result = WithOperations(params, [&](const void* there) {
    const hipError_t error = hip.hipGraphAddBatchMemOpNode(
        Native(node), Native(graph), Native(after), count, there);
    by_host = error == hipErrorNotSupported;
    return by_host ? hip.hipGraphAddEmptyNode(Native(node), Native(graph),
                                              Native(after), count)
                   : error;
  });
  if (result != CUDA_SUCCESS) return result;
  if (by_host) NoteSteppedNode();
  RememberNew(*node, OperationsOf(*params, by_host));
  return CUDA_SUCCESS;
}
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  RecordPtr record;
  if (CUresult r = GetRecord(node, kOperationsNode, &record);
      r != CUDA_SUCCESS) {
    return r;
  }
  // They are the node's, and not to be written to.
  const CUstreamBatchMemOpParams* list = record->operations.data();
  *params = {record->context != nullptr ? record->context
             : context != nullptr       ? context->handle()
                                        : nullptr,
             static_cast<unsigned>(record->operations.size()),
             const_cast<CUstreamBatchMemOpParams*>(list), 0};
  return CUDA_SUCCESS;
}
CUresult cuGraphBatchMemOpNodeSetParams(
    CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const RecordPtr record = FindRecord(node);
  const bool by_host = record != nullptr && record->by_host;
  const CUresult result = WithOperations(params, [&](void* there) {
    return by_host ? hipSuccess
                   : hip.hipGraphBatchMemOpNodeSetParams(Native(node), there);
  });
  if (result == CUDA_SUCCESS) Remember(node, OperationsOf(*params, by_host));
  return result;
}
CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec exec, CUgraphNode node,
    const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  if (IsPlanStep(exec, node, kOperationsNode)) {
    result = WithOperations(params, [](const void*) { return hipSuccess; });
    if (result == CUDA_SUCCESS) {
      SetPlanStep(exec, node, OperationsOf(*params, true));
    }
  } else {
    CERB_NODE_OF_EXEC(at, exec, node);
    result = WithOperations(params, [&](const void* there) {
      return hip.hipGraphExecBatchMemOpNodeSetParams(at.exec, at.node, there);
    });
  }
  if (result == CUDA_SUCCESS) {
    CUgraphNodeParams noted = {};
    noted.type = kOperationsNode;
    noted.operations = *params;
    NoteExecNode(exec, node, noted);
  }
  return result;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from,
                               std::size_t* sizes, std::size_t count,
                               CUmemcpyAttributes* attributes,
                               std::size_t* indices,
                               std::size_t attribute_count, CUstream stream) {
  std::size_t failed = 0;
  return cuMemcpyBatchAsync(to, from, sizes, count, attributes, indices,
                            attribute_count, &failed, stream);
}
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from,
                            std::size_t* sizes, std::size_t count,
                            CUmemcpyAttributes* attributes,
                            std::size_t* indices, std::size_t attribute_count,
                            std::size_t* failed, CUstream stream) {
  CERB_STREAM(context, native, stream);
  if (failed != nullptr) *failed = SIZE_MAX;
  // No stream 0 (CUDA Driver API, cuMemcpyBatchAsync).
  if (to == nullptr || from == nullptr || sizes == nullptr ||
      native == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult r = CheckBatch(attributes, indices, attribute_count, count);
      r != CUDA_SUCCESS) {
    return r;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = cuMemcpyAsync(to[i], from[i], sizes[i], stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

// Unlike a batch, one copy may be in stream 0.
CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from,
                                     std::size_t size,
                                     CUmemcpyAttributes* attributes,
                                     CUstream stream) {
  if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuMemcpyAsync(to, from, size, stream);
}
CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* operation,
                                       unsigned long long flags,
                                       CUstream stream) {
  if (operation == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D copy;
  if (CUresult r = CopyOf(*operation, &copy); r != CUDA_SUCCESS) return r;
  return cuMemcpy3DAsync_v2(&copy, stream);
}

CUresult cuMemcpy3DBatchAsync_v2(std::size_t count,
                                 CUDA_MEMCPY3D_BATCH_OP* operations,
                                 unsigned long long flags, CUstream stream) {
  return cuMemcpy3DBatchAsync(count, operations, nullptr, flags, stream);
}
CUresult cuMemcpy3DBatchAsync(std::size_t count,
                              CUDA_MEMCPY3D_BATCH_OP* operations,
                              std::size_t* failed, unsigned long long flags,
                              CUstream stream) {
  CERB_STREAM(context, native, stream);
  if (failed != nullptr) *failed = SIZE_MAX;
  if (operations == nullptr || count == 0 || flags != 0 || native == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    CUDA_MEMCPY3D copy;
    CUresult result = CopyOf(operations[i], &copy);
    if (result == CUDA_SUCCESS) result = cuMemcpy3DAsync_v2(&copy, stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, std::size_t* sizes,
                                 std::size_t count, CUmemLocation* locations,
                                 std::size_t* indices,
                                 std::size_t location_count,
                                 unsigned long long flags, CUstream stream) {
  CERB_STREAM(context, native, stream);
  if (addresses == nullptr || sizes == nullptr || locations == nullptr ||
      indices == nullptr || count == 0 || location_count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (place + 1 < location_count && indices[place + 1] <= i) ++place;
    const CUresult result = cuMemPrefetchAsync_v2(addresses[i], sizes[i],
                                                  locations[place], 0, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
// What is discarded may have any contents, the old ones too.
CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, std::size_t* sizes,
                                std::size_t count, unsigned long long flags,
                                CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemDiscardAndPrefetchBatchAsync(
    CUdeviceptr* addresses, std::size_t* sizes, std::size_t count,
    CUmemLocation* locations, std::size_t* indices, std::size_t location_count,
    unsigned long long flags, CUstream stream) {
  return cuMemPrefetchBatchAsync(addresses, sizes, count, locations, indices,
                                 location_count, flags, stream);
}

}  // namespace api
}  // namespace cerberus::stub
