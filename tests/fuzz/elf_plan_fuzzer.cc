// Any bytes as a program: opened, modules listed, its conversion or its split
// planned and applied, and the result verified. The result must be as planned;
// a file that lies may still be refused when it is read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rewriter/rewriter.h"

namespace {

using namespace cerberus;            // NOLINT
using namespace cerberus::rewriter;  // NOLINT

void Apply(const Binary& binary, const Result<Plan>& plan) {
  // The gap before the segment can be as large as the file's bss.
  if (!plan || plan->output_size() > (1 << 24)) return;
  Bytes out;
  std::uint64_t at = 0;
  const auto keep = [&](std::uint64_t to) {
    const ByteSpan part = binary.bytes().subspan(at, to - at);
    out.insert(out.end(), part.begin(), part.end());
  };
  for (const Plan::Cut& cut : plan->cuts) {
    keep(cut.offset);
    at = cut.offset + cut.size;
  }
  keep(binary.bytes().size());
  for (const Plan::Edit& edit : plan->edits) {
    std::copy(edit.bytes.begin(), edit.bytes.end(),
              out.begin() +
                  static_cast<std::ptrdiff_t>(plan->OutputOffset(edit.offset)));
  }
  out.resize(plan->append_offset);
  out.insert(out.end(), plan->appended.begin(), plan->appended.end());
  const auto verified = VerifyConversion(binary, *plan, out, "fuzz");
  if (!verified && verified.error().code == DiagCode::kInternal) {
    std::fprintf(stderr, "%s\n", verified.error().ToString().c_str());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto binary = Binary::FromBytes({data, size}, "fuzz");
  if (!binary) return 0;
  (void)ExtractModules(*binary);
  if (!binary->hip().wrappers.empty()) {
    SplitOptions split;
    split.search_paths = {"a"};
    split.kernel_name = "k";
    Apply(*binary, PlanSplit(*binary, split));
  }
  PlanOptions options;
  options.search_paths = {"a"};
  options.kernel_name = "k";
  options.runpath = {"/r"};
  options.keep_fatbin = size % 2 == 1;
  Apply(*binary, PlanConversion(*binary, options));
  return 0;
}
