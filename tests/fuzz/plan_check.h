// What must hold of any bytes that open as a program: its modules can be
// listed, their PTX is chosen, unpacked and its kernels are named, and so HIP
// code, or either is refused; its conversion and its split can be planned or
// are refused, and what a plan makes of the file is as planned.
#ifndef CERBERUS_TESTS_FUZZ_PLAN_CHECK_H_
#define CERBERUS_TESTS_FUZZ_PLAN_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "images/cubin.h"
#include "images/fatbin.h"
#include "rewriter/rewriter.h"
#include "tests/unit/rewriter/apply_plan.h"

namespace cerberus::rewriter::testing {

// The result must be as planned; a file that lies may still be refused when it
// is read again.
inline void CheckPlan(const Binary& binary, const Result<Plan>& plan) {
  // The gap before the segment can be as large as the file's bss.
  if (!plan || plan->output_size() > (1 << 26)) return;
  const Bytes out = ApplyPlan(binary.bytes(), *plan);
  const auto verified = VerifyConversion(binary, *plan, out, "fuzz");
  if (!verified && verified.error().code == DiagCode::kInternal) {
    std::fprintf(stderr, "%s\n", verified.error().ToString().c_str());
    std::abort();
  }
  if (!verified) return;
  const auto again = Binary::FromBytes(out, "fuzz");
  if (again && !again->is_converted()) {
    std::fprintf(stderr, "a converted file does not say so\n");
    std::abort();
  }
}

// What a conversion or a split compiles or packs, as far as that.
inline void ReadCode(const Binary& binary) {
  const auto modules = ExtractModules(binary);
  for (const Module& module : modules ? *modules : std::vector<Module>()) {
    (void)ChoosePtx(module.entries, 86);
    (void)ChooseMemberPtx(binary, module, 86);
    (void)images::BlockBounds(module.entries, 86);
    for (const images::FatbinEntry& entry : module.entries) {
      // Small inputs may declare large contents; the cap is tested elsewhere.
      if (entry.unpacked_size <= (1 << 20)) (void)images::KernelNames(entry);
    }
  }
  for (const EmbeddedPtx& text : binary.texts()) {
    (void)images::KernelNames(text.Linked());
  }
  for (const LocatedHipImage& located : binary.hip().images) {
    (void)UnpackHipImage(located.image, "fuzz", located.offset);
  }
}

inline void CheckPlans(ByteSpan bytes, bool keep_fatbin) {
  const auto binary = Binary::FromBytes(bytes, "fuzz");
  if (!binary) return;
  ReadCode(*binary);
  if (!binary->hip().wrappers.empty()) {
    SplitOptions split;
    split.search_paths = {"a"};
    split.kernel_name = "k";
    CheckPlan(*binary, PlanSplit(*binary, split));
  }
  PlanOptions options;
  options.search_paths = {"a"};
  options.kernel_name = "k";
  options.runpath = {"/r"};
  if (!binary->is_pe()) {
    for (const std::string_view name : binary->elf().NeededLibraries()) {
      options.beside_stub.emplace_back(name);
    }
  }
  options.keep_fatbin = keep_fatbin;
  CheckPlan(*binary, PlanConversion(*binary, options));
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_FUZZ_PLAN_CHECK_H_
