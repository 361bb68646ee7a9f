// How a PE file is given one more section without moving what is loaded.
#ifndef CERBERUS_REWRITER_PE_PATCH_PE_H_
#define CERBERUS_REWRITER_PE_PATCH_PE_H_

#include "rewriter/object_change.h"
#include "rewriter/pe/pe.h"
#include "rewriter/plan.h"
#include "support/result.h"

namespace cerberus::rewriter {

// Errors: a layout that the loader of Windows would not take, or that leaves no
// room for a section header.
Result<Plan> PlanPe(const PeFile& pe, const ObjectChange& change);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PE_PATCH_PE_H_
