#include "ptxc/front/check/sema.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ptx_text.h"
#include "ptxc/front/parse/parser.h"

namespace cerberus::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Checked {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

Checked CheckText(const std::string& text) {
  Checked result;
  const DiagSink sink = [&](const Diag& diag) {
    (diag.severity == Severity::kError ? result.errors : result.warnings)
        .push_back(diag.ToString());
  };
  ParseOutcome outcome = Parse(text, sink);
  Check(*outcome.module, sink);
  return result;
}

Checked CheckLine(const std::string& line) {
  return CheckText(testing::ModuleWith({line}));
}

// Whatever came before, each function that is left out has a reason.
TEST(Sema, SaysTheFirstErrorOfEachFunctionBehindTheLimit) {
  std::vector<std::string> lines(103, "mov.u32 %rd1, 0;");
  const std::string text =
      testing::ModuleWith(lines) +
      ".entry other() {\n.reg .b64 %rd<2>;\nmov.u32 %rd1, 0;\nret;\n}\n";
  const Checked checked = CheckText(text);
  ASSERT_EQ(checked.errors.size(), 102u);
  EXPECT_THAT(checked.errors[100],
              HasSubstr("more than 100 errors; only their number is counted"));
  EXPECT_THAT(checked.errors[100], HasSubstr(": kernel 'kernel': "));
  EXPECT_THAT(checked.errors[101], HasSubstr(": kernel 'other': "));
}

// What ptxas 13.0 accepts.
class Accepted : public ::testing::TestWithParam<const char*> {};

TEST_P(Accepted, HasNoErrors) {
  EXPECT_THAT(CheckLine(GetParam()).errors, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, Accepted,
    ::testing::Values(
        // Bits hold anything of their size; floats may live in them.
        "mov.b32 %r1, 0f3F800000;", "mov.f32 %f1, %r1;", "mov.b32 %r1, %f1;",
        "st.global.u32 [%rd1+4], %r1 + 1;", "mul.wide.u32 %rd1, %r1+4, 8;",
        "add.f32 %r1, %r2, %r3;", "add.f32 %f1, %f2, 1.0;",
        "and.b32 %f1, %f2, %f3;", "selp.b32 %f1, %f2, %f3, %p1;",
        "mul.f16 %rs1, %rs2, %rs3;", "add.f16x2 %r1, %r2, %hh3;",
        // Registers wider than what is loaded, stored or converted.
        "ld.global.u8 %r1, [%rd1];", "ld.global.u8 %rd2, [%rd1];",
        "ld.global.f32 %rd2, [%rd1];", "st.global.u8 [%rd1], %r1;",
        "cvt.u8.u32 %r1, %r2;", "cvt.f32.f16 %f1, %r1;",
        "ld.global.v2.u8 {%r1, _}, [%rd1];",
        "ld.shared.v8.u16 {%rs1, %rs2, %rs3, %rs4, %rs1, %rs2, %rs3, _}, "
        "[tile];",
        "st.volatile.v8.b8 [%rd1], {%rs1, %rs2, %rs3, %rs4, %rs1, %rs2, %rs3, "
        "%rs4};",
        "ld.acquire.gpu.L1::evict_last.L2::evict_first.L2::64B.v4.u64 {%rd1, "
        "%rd2, %rd3, %rd4}, [%rd1];",
        "st.async.cluster.shared::cluster.mbarrier::complete_tx::bytes.b32 "
        "[%r1], "
        "%r2, [%r3];",
        "vadd2.u32.u32.u32 %r1.h1, %r2.h32, %r3, %r4;",
        "vadd4.u32.u32.u32 %r1.b20, %r2.b7654, %r3.b0123, %r4;",
        // Constants are cut to size.
        "add.s16 %rs1, %rs2, 70000;", "add.s32 %r1, %r2, 5000000000;",
        "mov.u16 %rs1, -1;", "and.pred %p1, %p2, 1;",
        // Special registers, symbols, packing.
        "mov.u32 %r1, %gridid;", "mov.u32 %r1, %tid.x;",
        "cvt.u64.u32 %rd1, %tid.x;", "mov.u64 %rd1, %clock64;",
        "mov.u64 %rd1, tile+8;", "cvta.const.u64 %rd1, table;",
        "mov.b64 %rd1, {%r1, %f2};", "mov.b64 {%r1, _}, %rd1;",
        "mov.b32 %r1, {%rs1, %h2};", "mov.b64 %rd1, {%rs1, %rs2, %rs3, %rs4};",
        "mov.b128 %rq1, {%rd1, %rd2};", "ld.global.u32 %r1, [%rd1+1<<4];",
        "mov.u64 %rd1, tile+4|1;",
        // Operands that may be left out.
        "ld.local.u32 %r1, [16];", "ld.shared.u32 %r1, [%r2];",
        "ld.const.u32 %r1, [%r2];", "mov.u32 %r1, table;",
        "atom.shared.add.u32 %r1, [%r2], 1;", "ld.u32 %r1, [%rs1];",
        "cp.async.ca.shared.global [%r1], [%r2], 4;", "bar.sync %r1;",
        "bar.sync 0, 64;", "bar.red.popc.u32 %r1, 0, %p1;",
        "bar.red.popc.u32 %r1, 0, 64, !%p1;", "setp.eq.s32 _|%p1, %r1, %r2;",
        "shfl.sync.idx.b32 %f1|%p1, %f2, 0, 31, -1;",
        "vote.sync.ballot.b32 %r1, 1, -1;", "atom.global.add.u32 _, [%rd1], 1;",
        "ld.u32 %r1, [tile];", "ld.mmio.relaxed.sys.global.b128 %rq1, [%rd1];",
        "ld.global.ca.nc.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];",
        "ld.global.cg.nc.L2::evict_last.L2::128B.v8.b32"
        " {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd5];",
        "st.async.release.sys.global.b32 [%rd1], %r1;",
        "red.async.release.gpu.add.u64 [%rd1], %rd2;",
        "prefetch.L2::evict_last [%rd1];", "pmevent.mask 0xffff;",
        "shfl.sync.up.b32 %r1, %r2, %f3, %f4, -1;",
        // More than the manual says.
        "cvt.rzi.s8.bf16 %rb1, %rs2;", "cvt.rn.f32.bf16 %f1, %rs2;",
        "cvt.f16.bf16 %h1, %rs2;", "setp.lt.f16x2 %p1, %r1, %r2;",
        "ld.global.nc.L1::no_allocate.b128 %rq1, [%rd1];",
        "ld.global.nc.v8.b8 {%rs1, %rs2, %rs3, %rs4, %rs5, %rs6, %rs7, %rs8},"
        " [%rd1];",
        "ldu.global.b128 %rq1, [%rd1];", "mapa.s32 %r1, %r2, %r3;",
        "add.u32 %hh1, %r2, %r3;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [tile];"));

struct ErrorCase {
  const char* line;
  const char* message;
};

class Rejected : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(Rejected, SaysWhatWasFoundAndExpected) {
  EXPECT_THAT(CheckLine(GetParam().line).errors,
              ElementsAre(HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, Rejected,
    ::testing::Values(
        ErrorCase{"add.s32 %r1, %r2;",
                  "'add.s32' has 2 operands, expected 3 (d,a,b)"},
        ErrorCase{"bar.sync 0, 1, 2;",
                  "'bar.sync' has 3 operands, expected 1 to 2"},
        ErrorCase{"add.s32 %f1, %r2, %r3;",
                  "operand 'd' of 'add.s32' is '%f1' of type .f32, expected "
                  ".s32"},
        ErrorCase{"add.s32 %r1, %rd1, %r2;",
                  "operand 'a' of 'add.s32' is '%rd1' of type .b64"},
        ErrorCase{"add.f32 %f1, %f2, 1;",
                  "operand 'b' of 'add.f32' is the integer '1', expected a "
                  "constant of type .f32"},
        ErrorCase{"add.s32 %r1, %r2, 1.0;", "is the float"},
        // Bits are as many as the float's, and none are as few as a half's.
        ErrorCase{"and.b32 %r1, %r2, 1.0;",
                  "is the float '0d3FF0000000000000', expected"},
        ErrorCase{"mov.b64 %rd1, 0f3F800000;", "is the float"},
        ErrorCase{"st.global.b16 [%rd1], 1.0;", "is the float"},
        ErrorCase{"add.f16 %rs1, %rs2, 1.0;", "is the float"},
        ErrorCase{"mov.u32 %r1, {%rs1, %rs2};", "expected a type of bits"},
        ErrorCase{"mov.f64 %rd1, {%r1, %r2};", "expected a type of bits"},
        ErrorCase{"{ .reg .v2 .f32 v; mov.f32 %f1, v.z; }",
                  "'v.z' in 'mov.f32', of a register with 2 elements"},
        // Numbers that the manual bounds.
        ErrorCase{"createpolicy.fractional.L2::evict_last.b64 %rd1, 2.0;",
                  "expected a fraction above 0 and up to 1"},
        ErrorCase{"createpolicy.fractional.L2::evict_last.b64 %rd1, 0.0;",
                  "expected a fraction above 0 and up to 1"},
        ErrorCase{"setmaxnreg.inc.sync.aligned.u32 264;",
                  "expected a multiple of 8 from 24 to 256"},
        ErrorCase{"st.bulk.weak.shared::cta [%rd1], 12, 0;",
                  "expected a multiple of 8 bytes"},
        ErrorCase{"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], "
                  "15;",
                  "expected a multiple of 16 bytes"},
        ErrorCase{"elect.sync %r1|_, -1;", "expected a predicate behind '|'"},
        ErrorCase{"isspacep.global %p1, tile;", "expected a register"},
        // Of two state spaces the first is where a copy goes.
        ErrorCase{"cp.async.bulk.shared::cta.global.bulk_group [tile], [%rd1], "
                  "16;",
                  "is not a form of 'cp.async.bulk'"},
        // Video: what is selected.
        ErrorCase{"vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4;",
                  "whose second operation takes the whole register"},
        ErrorCase{"vadd2.u32.u32.u32 %r1, %r2.h0, %r3, %r4;",
                  "expected a selector such as .h10"},
        ErrorCase{"vadd4.u32.u32.u32 %r1, %r2.b8210, %r3, %r4;",
                  "a component such as"},
        ErrorCase{"vadd4.u32.u32.u32 %r1, %r2.h10, %r3, %r4;",
                  "expected a selector such as .b3210"},
        ErrorCase{"vadd2.u32.u32.u32 %r1, %r2, %r3.h54, %r4;",
                  "expected a selector such as .h10"},
        ErrorCase{"vadd4.u32.u32.u32 %r1.b33, %r2, %r3, %r4;",
                  "expected lanes such as .b3210"},
        // Widths: eight are of 8 and 16 bits, or of 32 in global memory.
        ErrorCase{"ld.global.L2::evict_last.v8.u8 {%rs1, %rs2, %rs3, %rs4, "
                  "%rs1, %rs2, %rs3, %rs4}, [%rd1];",
                  "is not a form of 'ld'"},
        ErrorCase{"wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r1}, [%rd1];",
                  "is not a form of 'wmma.load'"},
        ErrorCase{"mov.u32 %r1, %f1;", "of type .f32, expected .u32"},
        ErrorCase{"mov.u32 %r1, 0f3F800000;", "is the float"},
        ErrorCase{"shl.b64 %rd1, %rd2, %rd3;",
                  "operand 'b' of 'shl.b64' is '%rd3' of type .b64, expected "
                  ".u32"},
        ErrorCase{"mul.wide.u32 %r1, %r2, %r3;", "expected .u64"},
        ErrorCase{"popc.b64 %rd1, %rd1;", "expected .u32"},
        ErrorCase{"ld.global.u32 %rs1, [%rd1];", "of type .b16"},
        ErrorCase{"ld.global.u32 %f1, [%rd1];", "of type .f32"},
        ErrorCase{"ld.global.u32 %r1, %rd1;", "expected an address in [ ]"},
        ErrorCase{"ld.global.u32 %r1, [%f2];",
                  "is a register of type .f32, expected an integer"},
        ErrorCase{"ld.global.u32 %r1, [%r2];",
                  "address '[%r2]' is a register of type .b32, "
                  "'ld.global.u32' needs one of 64 bits"},
        ErrorCase{"st.u32 [%r2+4], %r1;", "needs one of 64 bits"},
        ErrorCase{"atom.global.add.u32 %r1, [%r2], %r3;",
                  "needs one of 64 bits"},
        ErrorCase{"red.add.u32 [%r2], %r3;", "needs one of 64 bits"},
        ErrorCase{"prefetch.global.L1 [%r2];", "needs one of 64 bits"},
        ErrorCase{"mbarrier.init.b64 [%r1], 1;", "needs one of 64 bits"},
        ErrorCase{"txq.width.b32 %r1, [%r1];", "needs one of 64 bits"},
        ErrorCase{"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%r1, {%r2}];",
                  "handle '%r1' of 'tex.1d.v4.f32.s32' is a register of type "
                  ".b32, expected one of 64 bits"},
        ErrorCase{"ld.shared.u32 %r1, [16];",
                  "address '[16]' of 'ld.shared.u32' is a constant, which "
                  "only .local memory is accessed by"},
        ErrorCase{"st.global.u32 [0], %r1;", "is a constant"},
        ErrorCase{"cvta.to.shared.u64 %rd1, tile;",
                  "'tile' in 'cvta.to.shared.u64', expected a register"},
        ErrorCase{"ld.shared.u32 %r1, [table];",
                  "'[table]' is in .const, 'ld.shared.u32' accesses .shared"},
        ErrorCase{"cvta.global.u64 %rd1, table;", "is in .const"},
        ErrorCase{"ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];",
                  "has 3 elements, expected 2"},
        ErrorCase{"ld.global.v2.u32 {%r1, %f2}, [%rd1];",
                  "is '%f2' of type .f32, expected .u32"},
        ErrorCase{"ld.global.v2.u32 %r1, [%rd1];",
                  "with 1 elements, expected 2"},
        ErrorCase{"mov.b32 %r1, {%r1, %h2};", "has 48 bits, expected 32"},
        ErrorCase{"mov.u32 %r1, %clock64;", "of type .u64"},
        ErrorCase{"add.u32 %r1, %tid.x, 1;",
                  "special register '%tid.x' as an operand of 'add.u32'"},
        ErrorCase{"setp.eq.s32 %r1, %r2, %r3;", "expected .pred"},
        ErrorCase{"selp.u32 %r1, %r2, %r3, %r4;", "expected .pred"},
        ErrorCase{"@%r1 ret;", "guard '%r1' is of type .b32"},
        ErrorCase{"add.s32 5, %r1, %r2;", "expected a register"},
        ErrorCase{"testp.finite.f32 1, %f1;", "'1', expected a register"},
        ErrorCase{"vote.sync.all.pred 1, %p1, -1;", "expected a register"},
        ErrorCase{"isspacep.global !%p1, %rd1;", "which cannot be negated"},
        ErrorCase{"add.s32 %r1, _, %r2;", "is '_'"},
        ErrorCase{"setp.lt.s32 !%p1, %r1, %r2;",
                  "is '!%p1', which cannot be negated"},
        ErrorCase{"mov.u64 %rd1, -tile;", "which cannot be negated"},
        ErrorCase{"mov.f32 %f1, %tid.x;", "of type .u32, expected .f32"},
        ErrorCase{"add.u64 %rd1, table[1], %rd2;",
                  "is 'table[1]', expected a register or a constant"},
        ErrorCase{"add.u64 %rd1, %rd2, tile;",
                  "is 'tile', expected a register or a constant"},
        ErrorCase{"add.f64 %fd1, %fd2, tile+8;",
                  "is 'tile+8', expected a register or a constant"},
        ErrorCase{"ld.const.u8 %rs1, table[%f1];",
                  "is counted by a register of type .f32"},
        ErrorCase{"mov.u32 %r1+1, %r2;", "is '%r1+1', which cannot be written"},
        ErrorCase{"mov.u32 %r1, nowhere;", "undefined name 'nowhere'"},
        ErrorCase{"mov.u32 %r1, %r999;", "undefined name '%r999'"},
        ErrorCase{"ld.global.u32 %r1, [nowhere+4];",
                  "undefined name 'nowhere'"},
        ErrorCase{"bra nowhere;", "label 'nowhere' is not defined"},
        ErrorCase{"bra %r1;", "expected a label"},
        ErrorCase{"call nobody;", "call of 'nobody', which is not declared"},
        ErrorCase{"call kernel;", "which is an .entry"},
        ErrorCase{"call helper, (arg);",
                  "'helper' takes 0 values, the call has 1"},
        ErrorCase{"call %rd1, (arg);",
                  "indirect call without a .callprototype"},
        ErrorCase{"mad.f32 %f1, %f2, %f3, %f4;",
                  "'mad.f32' needs a rounding modifier"},
        ErrorCase{"cvt.rn.bf16.f32 %r1, %f2;", "expected .bf16"},
        ErrorCase{"setp.lt.f16 %p1|%p2, %h1, %h2;", "expected a register"},
        ErrorCase{"discard.global.L2 [%rd1], 64;", "expected 128 bytes"},
        ErrorCase{"pmevent 16;", "expected an event from 0 to 15"},
        ErrorCase{"pmevent.mask 65536;", "expected a mask of 16 events"},
        ErrorCase{"st.bulk.shared::cta [tile], %rd1, 1;", "expected 0"},
        ErrorCase{"st.param.b32 [in], %r1;",
                  "'[in]' is a parameter, which 'st.param.b32' cannot write"},
        ErrorCase{"mbarrier.arrive.shared::cluster.b64 %rd1, [tile];",
                  "expected '_'"},
        ErrorCase{"mbarrier.arrive.release.b64 %rd1, [tile];",
                  "is not a form of 'mbarrier.arrive'"},
        ErrorCase{"st.async.b32 [%rd1], %r1, [%rd2];", "is not a form"},
        ErrorCase{"red.async.mmio.release.cta.add.u32 [%rd1], %r1;",
                  "'red.async' has no modifier '.cta'"}));

TEST(Sema, ErrorsNameKernelLineAndCudaSource) {
  const Checked c = CheckText(
      ".version 8.0\n.target sm_75\n.file 1 \"scan.cu\"\n"
      ".entry _Z4scanPi() {\n.reg .f32 %f<2>;\n.reg .b32 %r<2>;\n"
      ".loc 1 57 3\nadd.s32 %r1, %f1, %r1;\n}\n");
  EXPECT_THAT(c.errors,
              ElementsAre("ptx:8:14: kernel '_Z4scanPi' (scan.cu:57): "
                          "operand 'a' of 'add.s32' is '%f1' of type .f32, "
                          "expected .s32"));
}

TEST(Sema, SeveralErrorsInOneRun) {
  EXPECT_EQ(
      CheckText(testing::ModuleWith({"add.s32 %f1, %r1, %r2;", "ret;",
                                     "bra gone;", "add.s32 %r1, %f2, %f3;"}))
          .errors.size(),
      4u);
}

TEST(Sema, SignaturesOfCalls) {
  const std::string head =
      ".version 8.0\n.target sm_75\n"
      ".func (.param .b32 r) f(.param .b64 x, .param .align 8 .b8 s[16]);\n"
      ".entry k() { .param .b32 r; .param .b64 x; .param .b32 y;\n"
      ".param .align 8 .b8 s[16]; .reg .b64 %rd<2>;\n"
      "p: .callprototype (.param .b32 _) _ (.param .b64 _);\n";
  EXPECT_THAT(CheckText(head + "call (r), f, (x, s); }").errors, IsEmpty());
  EXPECT_THAT(CheckText(head + "call (r), %rd1, (x), p; }").errors, IsEmpty());
  EXPECT_THAT(CheckText(head + "call f, (x, s); }").errors,
              ElementsAre(HasSubstr("'f' returns 1 values, the call has 0")));
  EXPECT_THAT(CheckText(head + "call (r), f, (y, s); }").errors,
              ElementsAre(HasSubstr("value 'y' of 4 bytes, 'f' takes 8")));
  EXPECT_THAT(CheckText(head + "call (r), %rd1, (s), p; }").errors,
              ElementsAre(HasSubstr("'p' takes 8 bytes there")));
  EXPECT_THAT(CheckText(head + "call (r), %rd1, (x), q; }").errors,
              ElementsAre(HasSubstr("prototype 'q' is not defined")));
}

// Each name is that of the innermost scope that has it: of a range such as
// %r<4> only the elements that there are. As ptxas has it.
TEST(Sema, RegistersOfInnerScopes) {
  EXPECT_THAT(CheckText(".version 8.0\n.target sm_75\n.entry k() {\n"
                        ".reg .b32 %r<16>;\n.reg .f64 x5;\n"
                        "{\n.reg .f32 %r<4>;\n.reg .b32 x<6>;\n"
                        "add.f32 %r1, %r3, 0f3F800000;\nadd.s32 %r4, %r15, 1;\n"
                        "add.s32 x5, %r5, 1;\n"
                        "{\n.reg .b64 %r3;\n.reg .f64 %r<2>;\n"
                        "add.s64 %r3, %r3, 1;\nadd.f64 %r1, %r0, %r1;\n"
                        "add.f32 %r2, %r2, %r2;\nadd.s32 %r7, %r7, 1;\n}\n}\n"
                        "add.s32 %r1, %r1, 1;\nadd.f64 x5, x5, x5;\nret;\n}\n")
                  .errors,
              IsEmpty());
}

// A name's space and that of the access are the same. Generic addresses of
// constants and parameters come from cvta. As ptxas has it.
TEST(Sema, NamesInOtherSpaces) {
  for (const char* line : {"atom.add.u32 %r1, [table], 1;", "ld.u32 %r1, [in];",
                           "st.u32 [table], %r1;", "prefetch.L1 [table];",
                           "mbarrier.init.b64 [in], 1;"}) {
    EXPECT_THAT(CheckLine(line).errors,
                ElementsAre(HasSubstr("needs a generic address")))
        << line;
  }
  for (const char* line :
       {"ld.shared.u32 %r1, [table];", "mbarrier.init.shared.b64 [table], 1;",
        "cp.async.ca.shared.global [table], [%rd1], 16;",
        "cp.async.ca.shared.global [tile], [table], 16;",
        "prefetch.global.L2 [tile];"}) {
    EXPECT_THAT(CheckLine(line).errors, ElementsAre(HasSubstr(" accesses ")))
        << line;
  }
  for (const char* line :
       {"ld.u32 %r1, [tile];", "atom.add.u32 %r1, [tile], 1;",
        "ld.const.u32 %r1, [table];", "mbarrier.init.b64 [tile], 1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[tile], [%rd1], 16, [tile];",
        "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::"
        "bytes [tile], [%rd1, {%r1}], [tile];"}) {
    EXPECT_THAT(CheckLine(line).errors, IsEmpty()) << line;
  }
}

// What PTX 9.1 to 9.5 brought, and what it did not: ptxas 13.5.
TEST(Sema, NewestPtx) {
  for (const char* line :
       {"add.sat.u32 %r1, %r2, %r3;", "sub.sat.s8x4 %r1, %r2, %r3;",
        "neg.s8x4 %r1, %r2;", "set.hs.u16x2 %r1, %r2, %r3;",
        "clmad.hi.u64 %rd1, %rd2, %rd3, %rd4;",
        "cos.approx.ftz.2pi.f32 %f1, %f2;",
        "cvt.rn.satfinite.relu.scaled::n2::ue8m0.s2f6x2.f32 %rs1, %f2, %f3, "
        "%rs4;",
        "cvt.rz.satfinite.e2m1x2.bf16x2 %rb1, %r2;",
        "ld.proxy::readonly.global.v2.u32 {%r1, %r2}, [%rd1];",
        "st.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%rd1], %rq1, "
        "[%rd2];",
        "mbarrier.try_wait.parity.phase_type::primary.acquire.cta.shared::cta"
        ".b64 %p1, [tile], %r2, %r3;",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
        ".ignore_oob [tile], [%rd2], %r1, %r2, %r3, [tile];",
        "fence.alias.sync_restrict::read.release.sys;",
        "trace.mark.b64 1, %rd1;", "mov.u32 %r1, %locality_domain_id;"}) {
    EXPECT_THAT(CheckLine(line).errors, IsEmpty()) << line;
  }
  for (const char* line :
       {"add.sat.u16 %rs1, %rs2, %rs3;", "sub.u16x2 %r1, %r2, %r3;",
        "neg.u8x4 %r1, %r2;", "max.relu.u8x4 %r1, %r2, %r3;",
        "set.lo.s8x4 %r1, %r2, %r3;", "clmad.lo.b64 %rd1, %rd2, %rd3, %rd4;",
        "sin.approx.2pi.f32 %f1, %f2;", "cvt.rn.f16x2.s2f6x2 %r1, %rs2;",
        "cvt.rn.satfinite.s2f6x2.f32 %rs1, %f2, %f3, %rs4;",
        "mbarrier.test_wait.phase_type::conditional.shared::cta.b64 %p1, "
        "[tile], %rd2;",
        "mbarrier.test_wait.phase_type::primary.acquire.shared::cta.b64 %p1, "
        "[tile], %rd2;",
        "prefetch.global.L1::32B [%rd1];", "trace.mark %r1;"}) {
    EXPECT_THAT(CheckLine(line).errors, SizeIs(1)) << line;
  }
  EXPECT_THAT(CheckLine("fabric.submit;").errors,
              ElementsAre(HasSubstr("'fabric.submit' is not supported")));
}

// As ptxas has it.
TEST(Sema, Declarations) {
  const auto errors = [](const std::string& text) {
    return CheckText(".version 9.0\n.target sm_90\n" + text + "\n").errors;
  };
  constexpr const char* kRejected[][2] = {
      {".extern .global .u32 e = 3;", "'e' is .extern and has an initialiser"},
      {".common .shared .u32 c;", "only .global variables are .common"},
      {".const .attribute(.managed) .u32 m;", "'m' is in .const, but only"},
      {".shared .u32 s[];", "'s' has no size"},
      {".const .u32 s[];", "'s' has no size"},
      {".entry k(.param .b8 a[]) { ret; }", "'a' is an open array"},
      {".func f(.param .b8 a[], .param .u32 b);", "'a' is an open array"},
      {".entry k(.reg .u32 a) { ret; }", "'a' is in .reg"},
      {".entry k(.param .pred a) { ret; }", "'a' is of type .pred"},
      {".entry k(.param .v2 .u32 a) { ret; }", "'a' is a vector"},
      {".func (.param .u32 r) f() .noreturn;", "'f' returns a value"},
      {".entry k();", "'k' is declared but has no body"},
      {".entry k() .reqntid 32, 0 { ret; }", "'k' has .reqntid 0, expected"},
      {".entry k() .reqntid 32 .blocksareclusters { ret; }",
       "'k' has .blocksareclusters, which needs"},
      {".func f() .maxntid 32 { ret; }", "'f' is a function, but only"},
      {".global .b32 g; .func f() { .reg .b32 r; mov.u32 r, g; ret; }",
       "'g' is an address of 64 bits, 'mov.u32' takes 32"},
  };
  for (const auto& [text, message] : kRejected) {
    EXPECT_THAT(errors(text), ElementsAre(HasSubstr(message))) << text;
  }
  for (const char* text :
       {".extern .const .u32 e[];", ".extern .shared .b8 e[];",
        ".common .global .u32 c;", ".func f(.param .u32 n, .param .b8 a[]);",
        ".func f(.reg .pred p);", ".func f(.param .u32 a) .noreturn;",
        ".global .texref t;"}) {
    EXPECT_THAT(errors(text), IsEmpty()) << text;
  }
}

TEST(Sema, Initialisers) {
  const std::string head = ".version 8.0\n.target sm_75\n";
  EXPECT_THAT(CheckText(head + ".global .s32 a[2] = {1, 2, 3};\n").errors,
              ElementsAre(HasSubstr("runs past its 8 bytes")));
  EXPECT_THAT(CheckText(head + ".shared .s32 a = 1;\n").errors,
              ElementsAre(HasSubstr(".shared variables cannot have one")));
  EXPECT_THAT(
      CheckText(head + ".shared .b32 s;\n.global .u64 a = s;\n").errors,
      ElementsAre(HasSubstr("ptx:4:18: initialiser of 'a' is 's', a .shared "
                            "variable, expected a .global or .const one")));
}

// A sum with a symbol is an integer constant, as ptxas has it.
TEST(Sema, SumsWithSymbols) {
  for (const char* line :
       {"add.u64 %rd1, %rd2, tile+8;", "setp.eq.u64 %p1, tile+8, %rd1;",
        "st.global.u64 [%rd1], table+4;", "add.u32 %r1, %r2, tile+4;",
        "atom.global.add.u64 %rd1, [%rd1], table+4-8;"}) {
    EXPECT_THAT(CheckLine(line).errors, IsEmpty()) << line;
  }
}

TEST(Sema, LimitsOfConstantMemoryAndParameters) {
  const auto errors = [](const std::string& version, const std::string& text) {
    return CheckText(".version " + version + "\n.target sm_75\n" + text).errors;
  };
  const std::string constants =
      ".const .b8 a[65531];\n.extern .const .b8 x[9];\n.const .u32 b";
  EXPECT_THAT(errors("8.0", constants + ";\n"), IsEmpty());
  EXPECT_THAT(errors("8.0", constants + "[2];\n"),
              ElementsAre(HasSubstr("'b' ends 65540 bytes into constant "
                                    "memory, which has 65536")));
  const std::string entry = ".entry k(.param .u32 a, .param .align 8 .b8 b[";
  EXPECT_THAT(errors("8.0", entry + "4344]) { ret; }\n"), IsEmpty());
  EXPECT_THAT(errors("8.0", entry + "4345]) { ret; }\n"),
              ElementsAre(HasSubstr("'k' has 4353 bytes of parameters, at "
                                    "most 4352 are possible")));
  EXPECT_THAT(errors("8.1", entry + "32756]) { ret; }\n"), IsEmpty());
  EXPECT_THAT(errors("8.1", entry + "32757]) { ret; }\n"),
              ElementsAre(HasSubstr("at most 32764")));
  EXPECT_THAT(errors("8.1", ".func f(.param .b8 a[40000]) { ret; }\n"),
              IsEmpty());
}

// Newer instructions than .version and .target say are only warned about,
// once per row.
TEST(Sema, OldVersionsAreWarnings) {
  const Checked c = CheckText(testing::ModuleWith(
      {"redux.sync.add.s32 %r1, %r2, -1;", "redux.sync.max.s32 %r1, %r2, -1;"},
      "sm_75", "6.5"));
  EXPECT_THAT(c.errors, IsEmpty());
  EXPECT_THAT(c.warnings,
              ElementsAre(HasSubstr("needs .version 7.0, found 6.5"),
                          HasSubstr("needs .target sm_80, found sm_75")));
}

TEST(Sema, CountsErrorsPerFunction) {
  const std::string text =
      ".version 8.0\n.target sm_75\n.entry bad() { bra gone; }\n"
      ".entry good() { ret; }\n";
  ParseOutcome outcome = Parse(text, nullptr);
  int module_errors = -1;
  EXPECT_EQ(Check(*outcome.module, nullptr, &module_errors), 1);
  EXPECT_EQ(module_errors, 0);
  EXPECT_EQ(outcome.module->functions[0].errors, 1u);
  EXPECT_EQ(outcome.module->functions[1].errors, 0u);
}

}  // namespace
}  // namespace cerberus::ptx
