// What a plan makes of a file, in memory.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_APPLY_PLAN_H_
#define CERBERUS_TESTS_UNIT_REWRITER_APPLY_PLAN_H_

#include <algorithm>

#include "rewriter/plan.h"

namespace cerberus::rewriter::testing {

inline Bytes ApplyPlan(ByteSpan input, const Plan& plan) {
  Bytes out(plan.output_size());
  const auto put = [&](std::uint64_t offset, ByteSpan bytes) {
    std::copy(bytes.begin(), bytes.end(),
              out.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  for (const Plan::Piece& piece : plan.pieces()) {
    put(piece.output_offset, input.subspan(piece.offset, piece.size));
  }
  for (const Plan::Edit& edit : plan.edits) {
    put(plan.OutputOffset(edit.offset), edit.bytes);
  }
  put(plan.append_offset, plan.appended);
  return out;
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_APPLY_PLAN_H_
