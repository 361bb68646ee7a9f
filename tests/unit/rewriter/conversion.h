// The conversion of a file in memory, with all that checks it.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_CONVERSION_H_
#define CERBERUS_TESTS_UNIT_REWRITER_CONVERSION_H_

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "rewriter/plan.h"
#include "rewriter/verify.h"
#include "tests/unit/rewriter/apply_plan.h"

namespace cerberus::rewriter::testing {

inline PlanOptions Options() {
  PlanOptions options;
  options.search_paths = {".kpack/app-@GFXARCH@.kpack", ".kpack/more.kpack"};
  options.kernel_name = "app";
  options.runpath = {"/opt/driver"};
  options.converter_version = "9.8.7";
  options.launch_abi = 5;
  return options;
}

struct Converted {
  Bytes before, after;
  Plan plan;
  ConvertedInfo info;
};

// Plans, applies and verifies; every failure along the way is a test failure.
inline std::optional<Converted> Convert(
    const Bytes& input, const PlanOptions& options = Options()) {
  Converted out;
  out.before = input;
  const auto binary = Binary::FromBytes(out.before, "app");
  if (!binary) {
    ADD_FAILURE() << binary.error().ToString();
    return std::nullopt;
  }
  auto plan = PlanConversion(*binary, options);
  if (!plan) {
    ADD_FAILURE() << plan.error().ToString();
    return std::nullopt;
  }
  out.plan = std::move(*plan);
  out.after = ApplyPlan(out.before, out.plan);
  const auto ok = VerifyConversion(*binary, out.plan, out.after, "app.amd");
  if (!ok) {
    ADD_FAILURE() << ok.error().ToString();
    return std::nullopt;
  }
  auto info = ReadConverted(out.after, "app.amd");
  if (!info) {
    ADD_FAILURE() << info.error().ToString();
    return std::nullopt;
  }
  out.info = std::move(*info);
  return out;
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_CONVERSION_H_
