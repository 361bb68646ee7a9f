// Reads the input as the text of a cuDNN execution plan. What is taken is
// written as a text that is read again, and written the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "libraries/cudnn/plan_text.h"

using namespace cerberus::libraries::cudnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Descriptor plan(Kind::kExecutionPlan);
  if (ReadPlan(text, &plan) != kSuccess) return 0;
  const std::string written = PlanText(plan);
  Descriptor again(Kind::kExecutionPlan);
  if (ReadPlan(written, &again) != kSuccess || PlanText(again) != written) {
    __builtin_trap();
  }
  return 0;
}
