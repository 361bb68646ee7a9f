// Any bytes as a program: opened, modules listed, planned, applied, and the
// result verified. The result must be as planned; a file that lies may still
// be refused when it is read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rewriter/rewriter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;            // NOLINT
  using namespace cerberus::rewriter;  // NOLINT
  const auto binary = Binary::FromBytes({data, size}, "fuzz");
  if (!binary) return 0;
  (void)ExtractModules(*binary);
  PlanOptions options;
  options.search_paths = {"a"};
  options.kernel_name = "k";
  options.runpath = {"/r"};
  options.keep_fatbin = size % 2 == 1;
  const auto plan = PlanConversion(*binary, options);
  // The gap before the segment can be as large as the file's bss.
  if (!plan || plan->output_size() > (1 << 24)) return 0;
  Bytes out(data, data + size);
  for (const Plan::Edit& edit : plan->edits) {
    std::copy(edit.bytes.begin(), edit.bytes.end(),
              out.begin() + static_cast<std::ptrdiff_t>(edit.offset));
  }
  out.resize(plan->append_offset);
  out.insert(out.end(), plan->appended.begin(), plan->appended.end());
  const auto verified = VerifyConversion(*binary, *plan, out, "fuzz");
  if (!verified && verified.error().code == DiagCode::kInternal) {
    std::fprintf(stderr, "%s\n", verified.error().ToString().c_str());
    std::abort();
  }
  return 0;
}
