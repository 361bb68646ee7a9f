// A function of the table that no test has called is a failure.
#include <set>
#include <string>

#include "libraries/cublas/rows.h"
#include "tests/unit/libraries/cublas.h"

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
