// The rewriter: what is in a CUDA binary, and how it is pointed elsewhere.
//
//   CERB_TRY(Binary binary, Binary::Open("app"));
//   CERB_TRY(std::vector<Module> modules, ExtractModules(binary));
//   for (const Module& module : modules) {
//     CERB_TRY(PtxChoice choice, ChoosePtx(module.entries, 75));
//     CERB_TRY(std::string ptx, UnpackPtx(*choice.entry));
//     …                                     // compile, put into an archive
//   }
//   CERB_TRY(Plan plan, PlanConversion(binary, options));
//   CERB_TRY(OutputFile out, OutputFile::Create("app.amd", binary.mode()));
//   CERB_TRY_VOID(Rewrite(binary, plan, out));
//   CERB_TRY_VOID(VerifyWritten(binary, plan, out));
//   CERB_TRY_VOID(out.Commit());
//
// Formats: docs/fatbin-format.md (what nvcc wrote), docs/marker-format.md
// (what we write). Everything the rewriter hands out (entries, payloads) is
// a view into the mapped input and lives as long as the Binary.
#ifndef CERBERUS_REWRITER_REWRITER_H_
#define CERBERUS_REWRITER_REWRITER_H_

#include "images/fatbin.h"          // IWYU pragma: export
#include "rewriter/binary.h"        // IWYU pragma: export
#include "rewriter/embedded_ptx.h"  // IWYU pragma: export
#include "rewriter/extract.h"       // IWYU pragma: export
#include "rewriter/plan.h"          // IWYU pragma: export
#include "rewriter/verify.h"        // IWYU pragma: export

#endif  // CERBERUS_REWRITER_REWRITER_H_
