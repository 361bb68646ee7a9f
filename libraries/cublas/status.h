// Names and texts of cublasStatus_t.
#ifndef CERBERUS_LIBRARIES_CUBLAS_STATUS_H_
#define CERBERUS_LIBRARIES_CUBLAS_STATUS_H_

#include "libraries/cublas/abi.h"

namespace cerberus::libraries::cublas {

const char* StatusName(Status status);  // "CUBLAS_STATUS_SUCCESS"
const char* StatusText(Status status);

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_STATUS_H_
