// What went wrong, in words.
#ifndef CERBERUS_LIBRARIES_CUDNN_STATUS_H_
#define CERBERUS_LIBRARIES_CUDNN_STATUS_H_

#include "libraries/cudnn/abi.h"

namespace cerberus::libraries::cudnn {

const char* StatusName(Status status);

// Keeps a reason for cudnnGetLastErrorString, of this thread; returns `status`.
Status Failed(Status status, const char* reason);
// Of the last failure; it is forgotten then.
const char* TakeReason();

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_STATUS_H_
