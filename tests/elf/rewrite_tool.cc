// Converts one file without compiling anything: what the tests in this folder
// run the rewriter through.
//
//   rewrite_tool [--keep-fatbin] [--plan] INPUT OUTPUT FOLDER...
//   rewrite_tool --check FILE
//   rewrite_tool --unpack FILE FOLDER
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "rewriter/rewriter.h"

namespace {

using namespace cerberus;            // NOLINT
using namespace cerberus::rewriter;  // NOLINT

Status Convert(const std::vector<std::string>& args, PlanOptions options,
               bool print_plan) {
  for (std::size_t i = 2; i < args.size(); ++i) {
    options.runpath.push_back(args[i]);
  }
  CERB_TRY(const Binary binary, Binary::Open(args[0]));
  CERB_TRY(const Plan plan, PlanConversion(binary, options));
  if (print_plan) std::fputs(plan.ToJson().c_str(), stdout);
  CERB_TRY(OutputFile out, OutputFile::Create(args[1], binary.mode()));
  CERB_TRY_VOID(Rewrite(binary, plan, out));
  CERB_TRY_VOID(VerifyWritten(binary, plan, out));
  return out.Commit();
}

// Prints a line for every entry, and puts PTX texts into the folder.
Status UnpackAll(const std::string& path, const std::string& folder) {
  CERB_TRY(const Binary binary, Binary::Open(path));
  CERB_TRY(const std::vector<Module> modules, ExtractModules(binary));
  for (const Module& module : modules) {
    std::vector<images::FatbinEntry> entries = module.entries;
    for (const std::size_t member : module.link_members) {
      for (const images::FatbinEntry& entry :
           binary.fatbins()[member].fatbin.entries) {
        entries.push_back(entry);
      }
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const images::FatbinEntry& entry = entries[i];
      std::string line =
          fmt::format("{} {} {} {} {}", module.index ? *module.index : 9999,
                      images::KindName(entry.kind), entry.ArchName(),
                      images::CompressionName(entry.compression()),
                      entry.is_debug() ? "debug" : "release");
      CERB_TRY(const std::vector<std::string> kernels,
               images::KernelNames(entry));
      for (const std::string& kernel : kernels) line += " " + kernel;
      std::puts(line.c_str());
      if (!entry.is_ptx()) continue;
      CERB_TRY(const std::string text, images::UnpackPtx(entry));
      CERB_TRY_VOID(WriteFile(
          fmt::format("{}/{}.{}.{}.ptx", folder,
                      module.index ? *module.index : 9999, i, entry.ArchName()),
          AsBytes(text)));
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  PlanOptions options;
  options.search_paths = {".kpack/test-@GFXARCH@.kpack"};
  options.kernel_name = "test";
  options.converter_version = "test";
  bool print_plan = false, check = false, unpack = false;
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--keep-fatbin") {
      options.keep_fatbin = true;
    } else if (arg == "--plan") {
      print_plan = true;
    } else if (arg == "--check") {
      check = true;
    } else if (arg == "--unpack") {
      unpack = true;
    } else {
      args.push_back(arg);
    }
  }
  Status status;
  if (unpack && args.size() == 2) {
    status = UnpackAll(args[0], args[1]);
  } else if (check && args.size() == 1) {
    const auto info = ReadConvertedFile(args[0]);
    if (!info) status = Err(info.error());
  } else if (!check && !unpack && args.size() >= 2) {
    status = Convert(args, options, print_plan);
  } else {
    std::fputs("usage: rewrite_tool INPUT OUTPUT FOLDER...\n", stderr);
    return 2;
  }
  if (status) return 0;
  std::fprintf(stderr, "error: %s\n", status.error().ToString().c_str());
  return 1;
}
