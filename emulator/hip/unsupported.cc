// Calls that HIP has and the emulator does not: texture references, which
// HIP's language has dropped, and pictures of graphics interfaces. A program
// that has them links and is told at the call.
#include "emulator/hip/runtime.h"

using cerberus::emulator::hip::Return;

#define NOT_SUPPORTED(name) \
  HIP_API hipError_t name(...) { return Return(hipErrorNotSupported); }

NOT_SUPPORTED(hipBindTexture)
NOT_SUPPORTED(hipBindTexture2D)
NOT_SUPPORTED(hipBindTextureToArray)
NOT_SUPPORTED(hipBindTextureToMipmappedArray)
NOT_SUPPORTED(hipGetTextureAlignmentOffset)
NOT_SUPPORTED(hipGetTextureReference)
NOT_SUPPORTED(hipModuleGetTexRef)
NOT_SUPPORTED(hipTexRefGetAddress)
NOT_SUPPORTED(hipTexRefGetAddressMode)
NOT_SUPPORTED(hipTexRefGetArray)
NOT_SUPPORTED(hipTexRefGetBorderColor)
NOT_SUPPORTED(hipTexRefGetFilterMode)
NOT_SUPPORTED(hipTexRefGetFlags)
NOT_SUPPORTED(hipTexRefGetFormat)
NOT_SUPPORTED(hipTexRefGetMaxAnisotropy)
NOT_SUPPORTED(hipTexRefGetMipMappedArray)
NOT_SUPPORTED(hipTexRefGetMipmapFilterMode)
NOT_SUPPORTED(hipTexRefGetMipmapLevelBias)
NOT_SUPPORTED(hipTexRefGetMipmapLevelClamp)
NOT_SUPPORTED(hipTexRefSetAddress)
NOT_SUPPORTED(hipTexRefSetAddress2D)
NOT_SUPPORTED(hipTexRefSetAddressMode)
NOT_SUPPORTED(hipTexRefSetArray)
NOT_SUPPORTED(hipTexRefSetBorderColor)
NOT_SUPPORTED(hipTexRefSetFilterMode)
NOT_SUPPORTED(hipTexRefSetFlags)
NOT_SUPPORTED(hipTexRefSetFormat)
NOT_SUPPORTED(hipTexRefSetMaxAnisotropy)
NOT_SUPPORTED(hipTexRefSetMipmapFilterMode)
NOT_SUPPORTED(hipTexRefSetMipmapLevelBias)
NOT_SUPPORTED(hipTexRefSetMipmapLevelClamp)
NOT_SUPPORTED(hipTexRefSetMipmappedArray)
NOT_SUPPORTED(hipUnbindTexture)

NOT_SUPPORTED(hipExternalMemoryGetMappedMipmappedArray)
NOT_SUPPORTED(hipGLGetDevices)
NOT_SUPPORTED(hipGraphicsGLRegisterBuffer)
NOT_SUPPORTED(hipGraphicsGLRegisterImage)
NOT_SUPPORTED(hipGraphicsMapResources)
NOT_SUPPORTED(hipGraphicsResourceGetMappedPointer)
NOT_SUPPORTED(hipGraphicsSubResourceGetMappedArray)
NOT_SUPPORTED(hipGraphicsUnmapResources)
NOT_SUPPORTED(hipGraphicsUnregisterResource)

// Sparse arrays, and the profiler that HIP's own manual calls unsupported.
NOT_SUPPORTED(hipMemMapArrayAsync)
NOT_SUPPORTED(hipProfilerStart)
NOT_SUPPORTED(hipProfilerStop)
