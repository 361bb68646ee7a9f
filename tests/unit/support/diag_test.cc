#include "support/diag.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace cerberus {
namespace {

TEST(Diag, PutsThePlaceBeforeTheWords) {
  Where where;
  where.file = "libfoo.so";
  where.section = ".nv_fatbin";
  where.offset = 0x1a40;
  EXPECT_EQ(MakeDiag(DiagCode::kBadFormat, where, "entry is cut").ToString(),
            "libfoo.so: .nv_fatbin+0x1a40: entry is cut");
}

TEST(Diag, NamesKernelPtxAndSourceLine) {
  Where where;
  where.file = "app";
  where.kernel = "scan(int*, int)";
  where.ptx_line = 57;
  where.ptx_column = 9;
  where.source_file = "scan.cu";
  where.source_line = 12;
  EXPECT_EQ(where.ToString(),
            "app:57:9: kernel 'scan(int*, int)' (scan.cu:12)");
}

TEST(Diag, HasNoPrefixWithoutAPlace) {
  EXPECT_EQ(MakeDiag(DiagCode::kUsage, "two outputs").ToString(),
            "two outputs");
}

TEST(Diag, SpeaksErrno) {
  EXPECT_EQ(ErrnoDiag("in", "cannot open", ENOENT).ToString(),
            "in: cannot open: No such file or directory");
}

}  // namespace
}  // namespace cerberus
