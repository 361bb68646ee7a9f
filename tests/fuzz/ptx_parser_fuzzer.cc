// Any text through parser, checks and printer: nothing crashes, and what
// parses without errors prints to text that parses again to the same.
//
// Inputs are taken as they are; those that begin with '\x02' are bytes for
// the generator.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "ptx_generator.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/parser.h"
#include "ptxc/front/printer.h"

namespace {

using namespace cerberus::ptx;  // NOLINT: the whole file is about it

[[noreturn]] void Fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

// Every diagnostic says where it belongs.
void Expect(const cerberus::Diag& diag) {
  if (diag.where.ptx_line <= 0 || diag.message.empty())
    Fail("a diagnostic without a place", diag.ToString());
}

// The text lies at the end of an allocation of its own, so that reading a
// character too far is seen.
void Run(std::string_view bytes) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const std::string_view text(copy.get(), bytes.size());
  ParseOutcome first = Parse(text, Expect);
  const int errors = Check(*first.module, Expect);
  if (first.errors != 0) return;
  const std::string printed = Print(*first.module);
  ParseOutcome second = Parse(printed, nullptr);
  if (second.errors != 0) Fail("printed text does not parse", printed);
  if (Print(*second.module) != printed)
    Fail("printed twice, it is not the same", printed);
  if (Check(*second.module, nullptr) != errors)
    Fail("printed text has other errors", printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (fuzz::IsGenerated(bytes)) Run(fuzz::ModuleFrom(bytes.substr(1), {}));
  else Run(bytes);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned seed) {
  return fuzz::Mutate(data, size, max_size, seed);
}
