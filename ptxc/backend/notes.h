// The metadata of a code object that several objects were linked into.
#ifndef CERBERUS_PTXC_BACKEND_NOTES_H_
#define CERBERUS_PTXC_BACKEND_NOTES_H_

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::ptx {

// lld puts the notes of the objects behind one another, but who loads a code
// object reads one, which has to name all kernels (LLVM, AMDGPUUsage, "Code
// Object V3 and Above Metadata"). It takes their place.
Status MergeNotes(Bytes& code_object);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_NOTES_H_
