// The driver API's functions as the stub implements them, one declaration
// per row of cuda_api.def that is not UNSUPPORTED.
//
// They live in a namespace under their exported names; the exported symbols
// themselves are jumps through a slot (dispatch.cc).
#ifndef CERBERUS_RUNTIME_STUB_API_API_H_
#define CERBERUS_RUNTIME_STUB_API_API_H_

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub::api {

#define CERB_DECLARE_FORWARD(symbol, signature) CUresult symbol signature;
#define CERB_DECLARE_IMPL(symbol, signature) CUresult symbol signature;
#define CERB_DECLARE_UNSUPPORTED(symbol, signature)
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  CERB_DECLARE_##status(symbol, signature)
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
#undef CERB_DECLARE_UNSUPPORTED
#undef CERB_DECLARE_IMPL
#undef CERB_DECLARE_FORWARD

}  // namespace cerberus::stub::api

#endif  // CERBERUS_RUNTIME_STUB_API_API_H_
