// Writes docs/cuda-api-support.md from cuda_api.def to standard output. The
// tests that it names come from the page as it is:
//
//   cerberus_api_doc docs/cuda-api-support.md
//
// tests/tools/noop_coverage.py fills in those of new functions.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

struct Row {
  const char* symbol;
  const char* name;
  int version;
  const char* status;
  const char* note;
};
constexpr Row kRows[] = {
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  {#symbol, #name, version, #status, note},
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
};

struct PerThreadRow {
  const char* symbol;
  const char* base;
};
constexpr PerThreadRow kPerThreadRows[] = {
#define CUDA_API(symbol, name, version, status, context, signature, note)
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  {#symbol, #base},
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
};

// "cuMemAlloc_v2" → "cuMem": the word behind "cu" is the family.
std::string FamilyOf(const char* symbol) {
  std::string family = "cu";
  for (const char* p = symbol + 2; *p != '\0'; ++p) {
    const bool lower = *p >= 'a' && *p <= 'z';
    if (!lower && p != symbol + 2) break;
    family += *p;
  }
  return family;
}

const char* PerThreadOf(const char* symbol) {
  for (const PerThreadRow& row : kPerThreadRows) {
    if (std::strcmp(row.base, symbol) == 0) return row.symbol;
  }
  return nullptr;
}

std::string Version(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

std::string HowOf(const Row& row) {
  const bool missing = std::strcmp(row.status, "UNSUPPORTED") == 0;
  if (missing) return std::string("no: ") + row.note;
  if (row.note[0] == '\0') return "yes, by the stub";
  return std::string(std::strcmp(row.status, "FORWARD") == 0
                         ? "yes, by "
                         : "yes, by the stub over ") +
         row.note;
}

// The last cell of a function's row: the tests that fail without it.
using Tests = std::map<std::string, std::string>;
Tests TestsOfPage(const char* path) {
  Tests tests;
  std::ifstream page(path);
  for (std::string line; std::getline(page, line);) {
    const std::size_t end = line.find("` |", 3);
    const std::size_t last = line.rfind("| ", line.size() - 2);
    if (!line.starts_with("| `") || end == std::string::npos) continue;
    tests[line.substr(3, end - 3)] =
        line.substr(last + 2, line.size() - last - 4);
  }
  return tests;
}

}  // namespace

int main(int argc, char** argv) {
  const Tests tests = argc == 2 ? TestsOfPage(argv[1]) : Tests();
  std::map<std::string, std::vector<const Row*>> families;
  int supported = 0;
  for (const Row& row : kRows) {
    families[FamilyOf(row.symbol)].push_back(&row);
    if (std::strcmp(row.status, "UNSUPPORTED") != 0) ++supported;
  }
  std::printf(
      "# CUDA driver API support\n\n"
      "<!-- Made from runtime-stub/api/cuda_api.def by cerberus_api_doc. "
      "-->\n\n"
      "What the `libcuda.so.1` of Cerberus does with each function of CUDA\n"
      "13.5's driver API. All are exported; those marked *no* answer\n"
      "`CUDA_ERROR_NOT_SUPPORTED`, say so in one line on stderr, and are\n"
      "absent from `cuGetProcAddress`, so that the CUDA runtime treats them\n"
      "as missing from the driver. A variant for the per-thread default\n"
      "stream (`_ptsz`, `_ptds`) does what its base function does.\n\n"
      "*Checked by*: a test that fails if the function does nothing, the "
      "second\n"
      "one if its variant does nothing, or why none can\n"
      "(`tests/tools/noop_coverage.py`).\n\n"
      "%d of %zu functions are supported, and %zu per-thread variants are\n"
      "exported beside them.\n",
      supported, std::size(kRows), std::size(kPerThreadRows));
  for (const auto& [family, rows] : families) {
    std::printf(
        "\n## %s\n\n| function | since | variant | supported | checked by |\n"
        "| --- | --- | --- | --- | --- |\n",
        family.c_str());
    for (const Row* row : rows) {
      const char* variant = PerThreadOf(row->symbol);
      const std::size_t base = std::strlen(row->symbol);
      const auto test = tests.find(row->symbol);
      std::printf("| `%s` | %s | %s | %s | %s |\n", row->symbol,
                  Version(row->version).c_str(),
                  variant != nullptr
                      ? (std::string("`") + (variant + base) + "`").c_str()
                      : "",
                  HowOf(*row).c_str(),
                  test != tests.end() ? test->second.c_str() : "");
    }
  }
  return 0;
}
