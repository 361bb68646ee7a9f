// The table as a whole: each version of the library has all of it, and a
// function that no test has called is a failure.
#include <dlfcn.h>

#include <string>

#include "libraries/cublas/rows.h"
#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries::tests {
namespace {

#define CUBLAS_EXPORT(types, name, ...) #name,
#define CUBLAS_EXPORT_OLD(types, name, ...) #name,
#define CUBLAS_EXPORT_OLD_RESULT(types, result, name, ...) #name,
#define CUBLAS_EXPORT_XT(types, name, ...) #name,
#define CUBLAS_HELPER(name) #name,
#define CUBLAS_REFUSED(name) #name,
const char* const kNames[] = {
#include "libraries/cublas/cublas.def"
};

TEST(CublasTable, IsExportedByEachVersion) {
  CublasHandle();  // makes a context current
  for (const int major : {11, 12, 13}) {
    const std::string file = "libcublas.so." + std::to_string(major);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const char* name : kNames) {
      EXPECT_NE(libraries::ExportedBy(library, file, name), nullptr)
          << file << ": " << name;
    }
    int version = 0;
    EXPECT_EQ(reinterpret_cast<int (*)(int*)>(
                  dlsym(library, "cublasGetVersion"))(&version),
              kSuccess);
    EXPECT_EQ(version / 10000, major);
    dlclose(library);
  }
}

class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const char* name : kNames) {
      if (CalledNames().count(name) == 0) missing += std::string(" ") + name;
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace
}  // namespace cerberus::libraries::tests
