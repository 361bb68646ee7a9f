// The table as a whole: each version of the library has all of it, and a
// function that no test has called is a failure.
#include <dlfcn.h>

#include <string>

#include "tests/unit/libraries/cusparse.h"
#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries::tests::sparse {
namespace {

#define CUSPARSE_ANSWERED(name) #name,
#define CUSPARSE_SD(name) "cusparseS" #name, "cusparseD" #name,
#define CUSPARSE_SDCZ(name) \
  CUSPARSE_SD(name) "cusparseC" #name, "cusparseZ" #name,
#define CUSPARSE_HSD(name) CUSPARSE_SD(name) "cusparseH" #name,
#define CUSPARSE_REFUSED(name)
const char* const kAnswered[] = {
#include "libraries/cusparse/cusparse.def"
};
#undef CUSPARSE_ANSWERED
#undef CUSPARSE_SD
#undef CUSPARSE_SDCZ
#undef CUSPARSE_HSD
#undef CUSPARSE_REFUSED
#define CUSPARSE_ANSWERED(name)
#define CUSPARSE_SD(name)
#define CUSPARSE_SDCZ(name)
#define CUSPARSE_HSD(name)
#define CUSPARSE_REFUSED(name) #name,
const char* const kRefused[] = {
#include "libraries/cusparse/cusparse.def"
};

TEST(CusparseTable, IsExportedByEachVersion) {
  SparseHandle();  // makes a context current
  for (const int major : {11, 12}) {
    const std::string file = "libcusparse.so." + std::to_string(major);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const auto& names :
         {std::vector<const char*>(std::begin(kAnswered), std::end(kAnswered)),
          std::vector<const char*>(std::begin(kRefused), std::end(kRefused))}) {
      for (const char* name : names) {
        EXPECT_NE(libraries::ExportedBy(library, file, name), nullptr)
            << file << ": " << name;
      }
    }
    int part = 0;
    EXPECT_EQ(reinterpret_cast<int (*)(int, int*)>(
                  dlsym(library, "cusparseGetProperty"))(0, &part),
              kSuccess);
    EXPECT_EQ(part, major);
    dlclose(library);
  }
}

TEST(CusparseTable, WhatIsNotAnsweredSaysSo) {
  for (const char* name : kRefused) EXPECT_EQ(Call(name), kNotSupported);
}

class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const char* name : kAnswered) {
      if (AskedNames().count(name) == 0) missing += std::string(" ") + name;
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
