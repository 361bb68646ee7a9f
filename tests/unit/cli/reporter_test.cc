// Messages that many kernels or targets have in common.
#include "cli/reporter.h"

#include <gmock/gmock.h>

namespace cerberus::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Said(bool verbose, const std::vector<Diag>& diags) {
  testing::internal::CaptureStderr();
  {
    ReporterOptions options;
    options.verbose = verbose;
    Reporter reporter(options);
    for (const Diag& diag : diags) reporter.Report(diag);
  }
  return testing::internal::GetCapturedStderr();
}

Diag About(int kernel, const std::string& message) {
  Where where;
  where.kernel = "k" + std::to_string(kernel);
  Diag diag = MakeDiag(DiagCode::kUnsupportedPtx, std::move(where), message);
  diag.severity = Severity::kWarning;
  return diag;
}

TEST(Reporter, WhatHoldsForEachTargetIsSaidOnce) {
  const std::string text = Said(false, {About(1, "a"), About(1, "a")});
  EXPECT_EQ(text, "cerberus: warning: kernel 'k1': a\n");
}

TEST(Reporter, WhatDiffersInNamesIsCounted) {
  std::vector<Diag> diags;
  for (int i = 0; i < 544; ++i) {
    diags.push_back(
        About(i, "calls 'f" + std::to_string(i) + "' and waits for 'x'"));
  }
  diags.push_back(About(600, "something else"));
  const std::string text = Said(false, diags);
  EXPECT_THAT(text, HasSubstr("kernel 'k2': calls 'f2'"));
  EXPECT_THAT(text, Not(HasSubstr("kernel 'k3'")));
  EXPECT_THAT(text, HasSubstr("kernel 'k600': something else\n"));
  EXPECT_THAT(text, HasSubstr("cerberus: 541 more like this: warning: calls "
                              "'...' and waits for '...' (-v shows them)\n"));
  EXPECT_THAT(Said(true, diags), HasSubstr("kernel 'k543': calls 'f543'"));
}

}  // namespace
}  // namespace cerberus::cli
