// The functions of libamdhip64 that the face's own tests call.
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_H_

#include "emulator/hip/abi.h"

extern "C" {
hipError_t hipInit(unsigned);
hipError_t hipGetDeviceCount(int*);
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int*);
hipError_t hipDeviceGet(hipDevice_t*, int);
hipError_t hipDeviceGetName(char*, int, hipDevice_t);
hipError_t hipDeviceGetUuid(hipUUID*, hipDevice_t);
hipError_t hipDeviceGetPCIBusId(char*, int, int);
hipError_t hipDeviceGetByPCIBusId(int*, const char*);
hipError_t hipDeviceTotalMem(std::size_t*, hipDevice_t);
hipError_t hipDeviceGetAttribute(int*, std::uint32_t, int);
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000*, int);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600*, int);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipDeviceCanAccessPeer(int*, int, int);
hipError_t hipDeviceEnablePeerAccess(int, unsigned);
hipError_t hipDeviceDisablePeerAccess(int);
hipError_t hipMemcpyPeer(void*, int, const void*, int, std::size_t);
hipError_t hipMemcpyPeerAsync(void*, int, const void*, int, std::size_t,
                              hipStream_t);
hipError_t hipRuntimeGetVersion(int*);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorName(std::uint32_t);
const char* hipGetErrorString(std::uint32_t);
hipError_t hipMalloc(void**, std::size_t);
hipError_t hipFree(void*);
hipError_t hipHostMalloc(void**, std::size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipHostRegister(void*, std::size_t, unsigned);
hipError_t hipHostUnregister(void*);
hipError_t hipHostGetDevicePointer(void**, void*, unsigned);
hipError_t hipHostGetFlags(unsigned*, void*);
hipError_t hipMallocManaged(void**, std::size_t, unsigned);
hipError_t hipMallocPitch(void**, std::size_t*, std::size_t, std::size_t);
hipError_t hipMallocAsync(void**, std::size_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipMemGetInfo(std::size_t*, std::size_t*);
hipError_t hipMemGetAddressRange(hipDeviceptr_t*, std::size_t*, hipDeviceptr_t);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t*, const void*);
hipError_t hipPointerGetAttribute(void*, std::uint32_t, hipDeviceptr_t);
hipError_t hipMemcpy(void*, const void*, std::size_t, std::uint32_t);
hipError_t hipMemcpyAsync(void*, const void*, std::size_t, std::uint32_t,
                          hipStream_t);
hipError_t hipMemcpy2D(void*, std::size_t, const void*, std::size_t,
                       std::size_t, std::size_t, std::uint32_t);
hipError_t hipMemcpy3D(const hipMemcpy3DParms*);
hipError_t hipMemcpyParam2D(const hip_Memcpy2D*);
hipError_t hipDrvMemcpy3D(const void*);
hipError_t hipMemset(void*, int, std::size_t);
hipError_t hipMemsetD16(hipDeviceptr_t, unsigned short, std::size_t);
hipError_t hipMemsetD32(hipDeviceptr_t, int, std::size_t);
hipError_t hipMemset2D(void*, std::size_t, int, std::size_t, std::size_t);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamCreateWithPriority(hipStream_t*, unsigned, int);
hipError_t hipStreamGetPriority(hipStream_t, int*);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipStreamAddCallback(hipStream_t, hipStreamCallback_t, void*,
                                unsigned);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void*);
hipError_t hipStreamBeginCapture(hipStream_t, std::uint32_t);
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t*);
hipError_t hipStreamIsCapturing(hipStream_t, std::uint32_t*);
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t, std::uint32_t*,
                                      unsigned long long*, hipGraph_t*,
                                      const hipGraphNode_t**, std::size_t*);
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t,
                                              const hipGraphNode_t*,
                                              std::size_t, unsigned);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t*, hipGraph_t,
                                const hipGraphNode_t*, std::size_t);
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t, hipGraphNode_t*,
                                       std::size_t*);
hipError_t hipGraphInstantiate(hipGraphExec_t*, hipGraph_t, hipGraphNode_t*,
                               char*, std::size_t);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t);
hipError_t hipGraphDestroy(hipGraph_t);
hipError_t hipGraphGetNodes(hipGraph_t, hipGraphNode_t*, std::size_t*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipModuleLoad(hipModule_t*, const char*);
hipError_t hipModuleLoadData(hipModule_t*, const void*);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*);
hipError_t hipModuleGetGlobal(hipDeviceptr_t*, std::size_t*, hipModule_t,
                              const char*);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, unsigned,
                                 hipStream_t, void**, void**);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned,
                                            unsigned, unsigned, unsigned,
                                            unsigned, unsigned, hipStream_t,
                                            void**);
hipError_t hipFuncGetAttribute(int*, std::uint32_t, hipFunction_t);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int*,
                                                              hipFunction_t,
                                                              int, std::size_t);
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int*, int*, hipFunction_t,
                                                   std::size_t, int);
hipError_t hipMemGetAllocationGranularity(std::size_t*,
                                          const hipMemAllocationProp*,
                                          std::uint32_t);
hipError_t hipMemAddressReserve(void**, std::size_t, std::size_t, void*,
                                unsigned long long);
hipError_t hipMemAddressFree(void*, std::size_t);
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t*, std::size_t,
                        const hipMemAllocationProp*, unsigned long long);
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t);
hipError_t hipMemMap(void*, std::size_t, std::size_t,
                     hipMemGenericAllocationHandle_t, unsigned long long);
hipError_t hipMemUnmap(void*, std::size_t);
hipError_t hipMemSetAccess(void*, std::size_t, const hipMemAccessDesc*,
                           std::size_t);
hipError_t hipMemGetAccess(unsigned long long*, const hipMemLocation*, void*);
hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t*,
                                        void*);
hipError_t hipMemExportToShareableHandle(void*, hipMemGenericAllocationHandle_t,
                                         std::uint32_t, unsigned long long);
hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t*,
                                           void*, std::uint32_t);
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t*, void*);
hipError_t hipIpcOpenMemHandle(void**, hipIpcMemHandle_t, unsigned);
hipError_t hipIpcCloseMemHandle(void*);
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t*, hipEvent_t);
hipError_t hipIpcOpenEventHandle(hipEvent_t*, hipIpcEventHandle_t);
hipError_t hipStreamBatchMemOp(hipStream_t, unsigned,
                               hipStreamBatchMemOpParams*, unsigned);
hipError_t hipStreamGetAttribute(hipStream_t, std::uint32_t,
                                 hipLaunchAttributeValue*);
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t*, const void*, void**);
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG*, hipFunction_t, void**,
                                void**);
hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams*,
                                                       unsigned, unsigned);
hipError_t hipGetProcAddress(const char*, void**, int, std::uint64_t,
                             std::uint32_t*);
hipError_t hipMemsetAsync_spt(void*, int, std::size_t, hipStream_t);
hipError_t hipStreamSynchronize_spt(hipStream_t);
hipError_t hipStreamQuery_spt(hipStream_t);
hipError_t hipEventRecord_spt(hipEvent_t, hipStream_t);
hipError_t hipLaunchHostFunc_spt(hipStream_t, hipHostFn_t, void*);
hipError_t hipMallocArray(hipArray_t*, const hipChannelFormatDesc*, std::size_t,
                          std::size_t, unsigned);
hipError_t hipMemPoolCreate(hipMemPool_t*, const hipMemPoolProps*);
hipError_t hipMemPoolDestroy(hipMemPool_t);
hipError_t hipMallocFromPoolAsync(void**, std::size_t, hipMemPool_t,
                                  hipStream_t);
hipError_t hipMemPoolExportToShareableHandle(void*, hipMemPool_t, std::uint32_t,
                                             unsigned);
hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t*, void*,
                                               std::uint32_t, unsigned);
hipError_t hipMemPoolExportPointer(hipIpcMemHandle_t*, void*);
hipError_t hipMemPoolImportPointer(void**, hipMemPool_t,
                                   const hipIpcMemHandle_t*);
hipError_t hipMemAdvise(const void*, std::size_t, std::uint32_t, int);
hipError_t hipMemPrefetchAsync(const void*, std::size_t, int, hipStream_t);
hipError_t hipMemRangeGetAttribute(void*, std::size_t, std::uint32_t,
                                   const void*, std::size_t);
hipError_t hipMalloc3DArray(hipArray_t*, const hipChannelFormatDesc*, hipExtent,
                            unsigned);
hipError_t hipArrayCreate(hipArray_t*, const HIP_ARRAY_DESCRIPTOR*);
hipError_t hipArray3DCreate(hipArray_t*, const HIP_ARRAY3D_DESCRIPTOR*);
hipError_t hipFreeArray(hipArray_t);
hipError_t hipArrayDestroy(hipArray_t);
hipError_t hipArrayGetInfo(hipChannelFormatDesc*, hipExtent*, unsigned*,
                           hipArray_t);
hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR*, hipArray_t);
hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR*, hipArray_t);
hipError_t hipGetChannelDesc(hipChannelFormatDesc*, hipArray_const_t);
hipError_t hipMallocMipmappedArray(hipMipmappedArray_t*,
                                   const hipChannelFormatDesc*, hipExtent,
                                   unsigned, unsigned);
hipError_t hipFreeMipmappedArray(hipMipmappedArray_t);
hipError_t hipGetMipmappedArrayLevel(hipArray_t*, hipMipmappedArray_const_t,
                                     unsigned);
hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t*,
                                   const HIP_ARRAY3D_DESCRIPTOR*, unsigned);
hipError_t hipMipmappedArrayGetLevel(hipArray_t*, hipMipmappedArray_t,
                                     unsigned);
hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t);
hipError_t hipMemcpy2DToArray(hipArray_t, std::size_t, std::size_t, const void*,
                              std::size_t, std::size_t, std::size_t,
                              std::uint32_t);
hipError_t hipMemcpy2DToArrayAsync(hipArray_t, std::size_t, std::size_t,
                                   const void*, std::size_t, std::size_t,
                                   std::size_t, std::uint32_t, hipStream_t);
hipError_t hipMemcpy2DFromArray(void*, std::size_t, hipArray_const_t,
                                std::size_t, std::size_t, std::size_t,
                                std::size_t, std::uint32_t);
hipError_t hipMemcpy2DFromArrayAsync(void*, std::size_t, hipArray_const_t,
                                     std::size_t, std::size_t, std::size_t,
                                     std::size_t, std::uint32_t, hipStream_t);
hipError_t hipMemcpy2DArrayToArray(hipArray_t, std::size_t, std::size_t,
                                   hipArray_const_t, std::size_t, std::size_t,
                                   std::size_t, std::size_t, std::uint32_t);
hipError_t hipMemcpyToArray(hipArray_t, std::size_t, std::size_t, const void*,
                            std::size_t, std::uint32_t);
hipError_t hipMemcpyFromArray(void*, hipArray_const_t, std::size_t, std::size_t,
                              std::size_t, std::uint32_t);
hipError_t hipMemcpyHtoA(hipArray_t, std::size_t, const void*, std::size_t);
hipError_t hipMemcpyAtoH(void*, hipArray_t, std::size_t, std::size_t);
hipError_t hipMemcpyAtoA(hipArray_t, std::size_t, hipArray_t, std::size_t,
                         std::size_t);
hipError_t hipMemcpyAtoD(hipDeviceptr_t, hipArray_t, std::size_t, std::size_t);
hipError_t hipMemcpyDtoA(hipArray_t, std::size_t, hipDeviceptr_t, std::size_t);
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms*, hipStream_t);
hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms*);
hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms*, hipStream_t);
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D*, hipStream_t);
hipError_t hipDrvMemcpy3DAsync(const void*, hipStream_t);
hipError_t hipCreateTextureObject(hipTextureObject_t*, const hipResourceDesc*,
                                  const hipTextureDesc*,
                                  const hipResourceViewDesc*);
hipError_t hipDestroyTextureObject(hipTextureObject_t);
hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc*,
                                           hipTextureObject_t);
hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc*, hipTextureObject_t);
hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc*,
                                               hipTextureObject_t);
hipError_t hipTexObjectCreate(hipTextureObject_t*, const HIP_RESOURCE_DESC*,
                              const HIP_TEXTURE_DESC*,
                              const HIP_RESOURCE_VIEW_DESC*);
hipError_t hipTexObjectDestroy(hipTextureObject_t);
hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC*, hipTextureObject_t);
hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC*, hipTextureObject_t);
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t*, const hipResourceDesc*);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t);
hipError_t hipBindTexture(...);
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t*, hipDevice_t);
hipError_t hipCtxGetCurrent(hipCtx_t*);
hipError_t hipCtxPushCurrent(hipCtx_t);
hipError_t hipCtxPopCurrent(hipCtx_t*);
}

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_HIP_FACE_H_
