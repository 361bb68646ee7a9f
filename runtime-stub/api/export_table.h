// The tables that cudart asks for by UUID through cuGetExportTable. NVIDIA
// documents none of them; what is here was measured on cudart 11.7 to 13.5.
#ifndef CERBERUS_RUNTIME_STUB_API_EXPORT_TABLE_H_
#define CERBERUS_RUNTIME_STUB_API_EXPORT_TABLE_H_

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// Null for a table that is not offered.
const void* FindExportTable(const CUuuid& id);
// Names it on stderr, once.
void SayUnknownTable(const CUuuid& id);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_EXPORT_TABLE_H_
