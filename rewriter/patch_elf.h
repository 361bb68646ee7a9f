// How an ELF file is given one more segment without moving what is loaded.
#ifndef CERBERUS_REWRITER_PATCH_ELF_H_
#define CERBERUS_REWRITER_PATCH_ELF_H_

#include "rewriter/plan.h"

namespace cerberus::rewriter {

Result<Plan> PlanElf(const Binary& binary, const PlanOptions& options);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PATCH_ELF_H_
