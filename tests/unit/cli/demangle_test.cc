#include "support/demangle.h"

#include <gtest/gtest.h>

namespace cerberus::cli {
namespace {

TEST(Demangle, NamesOfCppOnly) {
  EXPECT_EQ(Demangle("_Z4scanPii"), "scan(int*, int)");
  // Encodings of types: kernels of C may have such names.
  EXPECT_EQ(Demangle("f"), "f");
  EXPECT_EQ(Demangle("Pi"), "Pi");
}

}  // namespace
}  // namespace cerberus::cli
