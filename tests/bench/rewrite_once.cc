// rewrite_once INPUT OUTPUT: a conversion without its compiling, for run.py:
// reads the modules, plans, writes and verifies. The archives it names are
// not made.
#include <cstdio>
#include <string>

#include "rewriter/rewriter.h"
#include "support/output_file.h"

namespace {

using namespace cerberus;
using namespace cerberus::rewriter;

Status Run(const std::string& input, const std::string& output) {
  CERB_TRY(Binary binary, Binary::Open(input));
  CERB_TRY_VOID(ExtractModules(binary));
  PlanOptions options;
  options.search_paths = {".kpack/big-@GFXARCH@.kpack"};
  options.kernel_name = "big";
  options.runpath = {"/opt/cerberus/lib/cerberus"};
  options.converter_version = "bench";
  CERB_TRY(Plan plan, PlanConversion(binary, options));
  CERB_TRY(OutputFile out, OutputFile::Create(output, binary.mode()));
  CERB_TRY_VOID(Rewrite(binary, plan, out));
  CERB_TRY_VOID(VerifyWritten(binary, plan, out));
  return out.Commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Status status = Run(argv[1], argv[2]);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
