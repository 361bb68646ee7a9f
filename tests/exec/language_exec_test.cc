// The language around the instructions: constants, initialisers, arrays,
// vectors, scopes, predicates and operands of other sizes than their
// instruction's. Each row computes %d0, a 64-bit register; what it must be
// follows from the manual's text.
//
// PTX ISA 9.0, chapters 4 to 6, and 9.4, "Type Information for Instructions and
// Operands".
#include "tests/exec/language_exec_test.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace cerberus::exec {
namespace {

// ---- Chapter 4.5: constants -------------------------------------------------

TEST(LanguageExec, IntegerConstants) {
  constexpr Row kRows[] = {
      {"", "mov.u64 %d0, 017;", 15},
      {"", "mov.u64 %d0, 0b101;", 5},
      {"", "mov.u64 %d0, 0Xff;", 255},
      {"", "mov.u64 %d0, 18446744073709551615;", ~0ull},
      {"", "mov.u64 %d0, WARP_SZ*2+1;", 65},
      // Literals are signed unless they have a U or do not fit.
      {"", "mov.u64 %d0, -1 >> 1;", ~0ull},
      {"", "mov.u64 %d0, -1U >> 1;", ~0ull >> 1},
      {"", "mov.u64 %d0, 0x8000000000000000 / 2;", 1ull << 62},
      {"", "mov.u64 %d0, 0x7fffffffffffffff + 1 < 0;", 1},
      {"", "mov.u64 %d0, 0xffffffffffffffff < 0;", 0},
      {"", "mov.u64 %d0, -1 > 0U;", 1},
      {"", "mov.u64 %d0, -1 > 0;", 0},
      {"", "mov.u64 %d0, (.s64)0xffffffffffffffff >> 60;", ~0ull},
      {"", "mov.u64 %d0, (.u64)-1 >> 60;", 15},
      // The left operand alone decides the type of a shift.
      {"", "mov.u64 %d0, -16 >> 2U;", ~0ull - 3},
      {"", "mov.u64 %d0, 1 << 63 >> 63;", ~0ull},
      {"", "mov.u64 %d0, 1U << 63 >> 63;", 1},
      {"", "mov.u64 %d0, (2 - 3U) / 2 > 0;", 1},
      {"", "mov.u64 %d0, -7 / 2;", ~0ull - 2},
      {"", "mov.u64 %d0, (-17 % 5);", 4},
      {"", "mov.u64 %d0, 1 ? -1 : 1U;", ~0ull},
      {"", "mov.u64 %d0, 0 ? 1 : 0 ? 2 : 3;", 3},
      {"", "mov.u64 %d0, 1 || 0 && 0;", 1},
      {"", "mov.u64 %d0, 7 & 3 == 3;", 1},
      {"", "mov.u64 %d0, 1 | 2 ^ 3 & 1;", 3},
      {"", "mov.u64 %d0, 1 << 2 + 1;", 8},
      {"", "mov.u64 %d0, 10 - 3 - 2;", 5},
      {"", "mov.u64 %d0, 100 / 10 / 2;", 5},
      {"", "mov.u64 %d0, -~3;", 4},
      {"", "mov.u64 %d0, !5 + !0;", 1},
      // A constant is truncated to the size of its use.
      {"", "mov.u32 %r0, 0x1ffffffff; cvt.u64.u32 %d0, %r0;", 0xffffffff},
      {"", "mov.u32 %r0, -1; cvt.u64.u32 %d0, %r0;", 0xffffffff},
      {"", "mov.u16 %h0, -2; cvt.u64.u16 %d0, %h0;", 0xfffe},
  };
  Check(kRows);
}

TEST(LanguageExec, FloatConstants) {
  constexpr Row kRows[] = {
      {"", "mov.f64 %e0, 1.5e3; mov.b64 %d0, %e0;", 0x4097700000000000},
      {"", "mov.f64 %e0, -.5; mov.b64 %d0, %e0;", 0xbfe0000000000000},
      {"", "mov.f64 %e0, 1.0/3.0; mov.b64 %d0, %e0;", 0x3fd5555555555555},
      {"", "mov.f64 %e0, 0f3F800000; mov.b64 %d0, %e0;", 0x3ff0000000000000},
      {"", "mov.f32 %f0, 0.1; mov.b64 %d0, {%f0, 0};", 0x3dcccccd},
      {"", "mov.f32 %f0, 0d3FF0000010000001; mov.b64 %d0, {%f0, 0};",
       0x3f800001},
      {"", "mov.f32 %f0, 0f7F800001; mov.b64 %d0, {%f0, 0};", 0x7f800001},
      {"", "mov.f32 %f0, 1.0+2.0*3.0; mov.b64 %d0, {%f0, 0};", 0x40e00000},
      {"", "mov.u64 %d0, 1.5 < 2.5;", 1},
  };
  Check(kRows);
}

// ---- Chapter 5.4: variables and initialisers --------------------------------

TEST(LanguageExec, Initialisers) {
  constexpr Row kRows[] = {
      // Floats take the size of their variable.
      {".global .f32 x@@ = 1.0;", "ld.global.u32 %d0, [x@@];", 0x3f800000},
      {".const .f32 x@@[2] = {1.0, 0.1};", "ld.const.u64 %d0, [x@@];",
       0x3dcccccd3f800000},
      {".global .f32 x@@ = 1.0/3.0;", "ld.global.u32 %d0, [x@@];", 0x3eaaaaab},
      {".global .f32 x@@ = 0d3FF8000000000000;", "ld.global.u32 %d0, [x@@];",
       0x3fc00000},
      {".global .f64 x@@ = 1.5;", "ld.global.u64 %d0, [x@@];",
       0x3ff8000000000000},
      {".global .f64 x@@ = 0f3FC00000;", "ld.global.u64 %d0, [x@@];",
       0x3ff8000000000000},
      {".global .v2 .f32 x@@ = {1.0, 2.0};", "ld.global.u64 %d0, [x@@];",
       0x400000003f800000},
      {".global .v2 .f32 x@@[2] = {{1.0, 2.0}, {3.0}};",
       "ld.global.u64 %d0, [x@@+8];", 0x40400000},
      // Integers are cut to it.
      {".global .align 8 .u8 x@@[8] = {-1, 256, 0x1ff, WARP_SZ};",
       "ld.global.u64 %d0, [x@@];", 0x20ff00ff},
      {".global .align 8 .u16 x@@[][2] = {{1, 2}, {3}};",
       "ld.global.u64 %d0, [x@@];", 0x0000000300020001},
      {".global .align 8 .u8 x@@[2][2][2] = {{{1}, {3, 4}}, {{5}}};",
       "ld.global.u64 %d0, [x@@];", 0x0000000504030001},
      // The mask() operator.
      {".global .align 4 .u8 x@@[4] = {0xFF(1000 + 546), 0xFF00(131187), "
       "0xFF0000(131187), 0xff(-2)};",
       "ld.global.u32 %d0, [x@@];", 0xfe02000a},
      {".const .u32 y@@[2] = {7, 8};\n"
       ".global .align 1 .u8 x@@[9] = {1, 0xFF(y@@+4), 0xFF00(y@@+4), "
       "0xFF0000(y@@+4), 0xFF000000(y@@+4), 0xFF00000000(y@@+4), "
       "0xFF0000000000(y@@+4), 0xFF000000000000(y@@+4), "
       "0xFF00000000000000(y@@+4)};",
       "mov.u32 %r1, 0; mov.u64 %d1, x@@+8; mov.u64 %d2, 0;\n"
       "LOOP: shl.b64 %d2, %d2, 8; ld.global.u8 %d3, [%d1];\n"
       "or.b64 %d2, %d2, %d3; sub.u64 %d1, %d1, 1; add.u32 %r1, %r1, 1;\n"
       "setp.lt.u32 %p1, %r1, 8; @%p1 bra LOOP; ld.u32 %d0, [%d2];",
       8},
      {".global .u32 y@@[2] = {7, 8};\n.const .u64 x@@ = y@@+4;",
       "ld.const.u64 %d1, [x@@]; ld.global.u32 %d0, [%d1];", 8},
      {".const .u32 y@@[2] = {7, 8};\n.global .u64 x@@[2] = {0, "
       "generic(y@@)+4};",
       "ld.global.u64 %d1, [x@@+8]; ld.u32 %d0, [%d1];", 8},
      // A byte at the end of all variables.
      {".const .align 4 .u8 x@@ = 200;", "ld.const.u8 %d0, [x@@];", 200},
  };
  Check(kRows);
}

// ---- Chapter 6.4: arrays, vectors, labels -----------------------------------

TEST(LanguageExec, ArraysAsOperands) {
  constexpr const char* kArrays =
      ".global .align 8 .u32 g@@[4] = {10, 11, 12, 13};\n"
      ".const .align 8 .u16 c@@[2][2] = {{20, 21}, {22, 23}};\n"
      ".shared .align 8 .u64 s@@[4];";
  constexpr Row kRows[] = {
      // Elements are counted, not bytes.
      {kArrays, "ld.global.u32 %d0, g@@[1];", 11},
      {kArrays, "ld.global.u32 %d0, g@@[4-1];", 13},
      {kArrays, "ld.global.u32 %d0, [g@@+4];", 11},
      {kArrays, "ld.global.u32 %d0, [g@@+4*2];", 12},
      {kArrays, "ld.const.u16 %d0, c@@[3];", 23},
      {kArrays, "mov.u64 %d1, g@@[2]; ld.global.u32 %d0, [%d1];", 12},
      {kArrays, "mov.u64 %d1, g@@; mov.u64 %d2, g@@[3]; sub.s64 %d0, %d2, %d1;",
       12},
      {kArrays, "mov.u32 %r1, 2; ld.global.u32 %d0, g@@[%r1];", 12},
      {kArrays, "mov.u32 %r1, 2; ld.global.u32 %d0, g@@[%r1+1];", 13},
      {kArrays, "mov.u64 %d1, 2; ld.global.u32 %d0, g@@[%d1-2];", 10},
      {kArrays,
       "mov.u32 %r1, 1; mov.u64 %d1, g@@[%r1+1];\n"
       "ld.global.u32 %d0, [%d1];",
       12},
      {kArrays, ".reg .s32 %i; mov.s32 %i, -1; ld.global.u32 %d0, g@@[%i+3];",
       12},
      {kArrays,
       "mov.u32 %r1, 3; st.shared.u64 s@@[%r1], 77;\n"
       "ld.shared.u64 %d0, [s@@+24];",
       77},
      {kArrays,
       "st.shared.u64 s@@[1], 78; cvta.shared.u64 %d1, s@@[1];\n"
       "ld.u64 %d0, [%d1];",
       78},
  };
  Check(kRows);
}

TEST(LanguageExec, VectorsAsOperands) {
  constexpr Row kRows[] = {
      {"",
       ".reg .v2 .b32 %v; mov.u32 %v.x, 1; mov.u32 %v.y, 2;\n"
       "mov.b64 %d0, %v;",
       0x0000000200000001},
      {"",
       ".reg .v4 .u16 %v; mov.b64 %v, 0x0004000300020001;\n"
       "cvt.u64.u16 %d0, %v.z;",
       3},
      {"",
       ".reg .v2 .u16 %v; mov.b32 %v, 0x00050006; mov.b32 %r0, %v;\n"
       "cvt.u64.u32 %d0, %r0;",
       0x00050006},
      {"", ".reg .v2 .f32 %v; mov.v2.f32 %v, {1.0, 2.0}; mov.b64 %d0, %v;",
       0x400000003f800000},
      {"",
       ".reg .v4 .f32 %v; mov.v4.f32 %v, {1.0, 2.0, 3.0, 4.0};\n"
       "add.f32 %f0, %v.g, %v.w; mov.b64 %d0, {%f0, 0};",
       0x40c00000},
      {"", "mov.b64 {%r0, _}, 0x0000000700000008; cvt.u64.u32 %d0, %r0;", 8},
      {"", "mov.b32 %r0, {1, 2}; cvt.u64.u32 %d0, %r0;", 0x00020001},
      {"", "mov.b64 %d0, {%h1, 1, 2, 3}; and.b64 %d0, %d0, ~0xffff;",
       0x0003000200010000},
      {"",
       "mov.b32 %r0, 1; mov.b32 %r1, 2; mov.b32 %r2, 3; mov.b32 %r3, 4;\n"
       "mov.v4.u32 {%r0, %r1, %r2, %r3}, {%r3, %r0, %r1, %r0};\n"
       "mov.v2.u32 {%r0, %r1}, {%r1, %r0};\n"
       "mov.b64 %d0, {%r0, %r1};",
       0x0000000400000001},
      {"",
       "mov.b32 %r2, 3; mov.b32 %r3, 4;\n"
       "mov.v4.u32 {%r0, %r1, %r2, %r3}, {%r3, %r2, %r3, %r2};\n"
       "mov.b64 %d0, {%r2, %r3};",
       0x0000000300000004},
      {".global .align 8 .b8 g@@[8];",
       ".reg .u32 %u<4>; mov.b32 %u0, 0f3f800000; mov.b32 %u1, 0f40000000;\n"
       "st.global.v2.f32 [g@@], {%u0, %u1};\n"
       "atom.global.add.v2.f32 {%u2, %u3}, [g@@], {%u1, %u0};\n"
       "red.global.add.v2.f32 [g@@], {%u2, %u3};\n"
       "ld.global.v2.f32 {%u0, %u1}, [g@@]; mov.b64 %d0, {%u0, %u1};",
       0x40a0000040800000},
      {"",
       ".reg .v2 .u32 %v; mov.b64 %v, 0x0000000200000001;\n"
       "mov.v2.u32 %v, {%v.y, %v.x}; mov.b64 %d0, %v;",
       0x0000000100000002},
  };
  Check(kRows);
}

// ---- Chapters 4.1 and 5.4.5: scopes, parameterised names --------------------

TEST(LanguageExec, Scopes) {
  constexpr Row kRows[] = {
      {"", "{ .reg .u32 %d0; mov.u32 %d0, 5; } ", 0},
      {"", "mov.u64 %d0, 1; { .reg .b64 %d<4>; mov.u64 %d0, 2; }", 1},
      {"",
       ".reg .u64 x; mov.u64 x, 1; { mov.u64 x, 2; .reg .f64 x;\n"
       "mov.f64 x, 3.0; } mov.u64 %d0, x;",
       2},
      {"",
       "{ .shared .u32 s; st.shared.u32 [s], 4; }\n"
       "{ .shared .u32 s; st.shared.u32 [s], 5;\n"
       "ld.shared.u32 %d0, [s]; }",
       5},
      {"", "bra L; L: { bra L; mov.u64 %d0, 1; L: } add.u64 %d0, %d0, 2;", 2},
      {"", "{ bra OUT; mov.u64 %d0, 1; } mov.u64 %d0, 2; OUT:", 0},
      {"",
       ".reg .u32 q4; .reg .u32 q<4>; mov.u32 q3, 3; mov.u32 q4, 4;\n"
       "add.u32 q0, q3, q4; cvt.u64.u32 %d0, q0;",
       7},
      {"",
       ".reg .b64 q<2>, z, y<3>; mov.u64 q1, 1; mov.u64 z, 2;\n"
       "add.u64 y2, q1, z; mov.u64 %d0, y2;",
       3},
      {".global .u64 n@@ = 6;",
       ".reg .u64 %v; { .local .u64 n@@; st.local.u64 [n@@], 7;\n"
       "ld.local.u64 %v, [n@@]; } ld.global.u64 %d0, [n@@];\n"
       "add.u64 %d0, %d0, %v;",
       13},
      // A name may be an opcode's, or a type's.
      {"",
       ".reg .u64 add, u32; mov.u64 u32, 1; add.u64 add, u32, 2;\n"
       "mov.u64 %d0, add;",
       3},
  };
  Check(kRows);
}

// ---- Predicates -------------------------------------------------------------

TEST(LanguageExec, Predicates) {
  constexpr Row kRows[] = {
      {"", "setp.eq.u32 %p1, 1, 2; @!%p1 mov.u64 %d0, 1;", 1},
      {"", "setp.eq.u32 %p1, 1, 2; @%p1 mov.u64 %d0, 1;", 0},
      {"",
       "setp.ne.s32 %p1|%p2, 1, 1; @%p2 mov.u64 %d0, 1;\n"
       "@%p1 mov.u64 %d0, 2;",
       1},
      {"",
       "mov.pred %p1, 1; setp.lt.and.u32 %p2, 1, 2, !%p1;\n"
       "selp.u64 %d0, 3, 4, %p2;",
       4},
      {"", "setp.lt.u32 _|%p2, 1, 2; selp.u64 %d0, 3, 4, %p2;", 4},
      {"",
       "mov.pred %p1, !%p1; xor.pred %p2, %p1, %p1; not.pred %p2, %p2;\n"
       "selp.u64 %d0, 3, 4, %p2;",
       3},
      // NaN compares with nothing, and unordered comparisons hold.
      {"",
       "setp.eq.f32 %p1, 0f7FC00000, 0f7FC00000;\n"
       "setp.nan.f32 %p2, 0f7FC00000, 1.0;\n"
       "setp.ltu.f64 %p3, 0d7FF8000000000000, 1.0;\n"
       "selp.u64 %d0, 1, 0, %p1; @%p2 add.u64 %d0, %d0, 2;\n"
       "@%p3 add.u64 %d0, %d0, 4;",
       6},
      // What a guard leaves out keeps its value, also in part.
      {"",
       "mov.u64 %d0, 5; setp.eq.u32 %p1, 1, 2;\n"
       "@%p1 add.u64 %d0, %d0, %d0;",
       5},
      {"",
       "mov.u32 %r1, 6; setp.eq.u32 %p1, 1, 2;\n"
       "@%p1 mov.b64 {%r1, %r2}, 0; cvt.u64.u32 %d0, %r1;",
       6},
  };
  Check(kRows);
}

// What an unset register holds is open, but each holds one value.
TEST(LanguageExec, UnsetRegisters) {
  constexpr Row kRows[] = {
      {"", "sub.u64 %d0, %d1, %d1;", 0},
      {"", "sub.s32 %r1, %r1, %r1; cvt.u64.u32 %d0, %r1;", 0},
      {"", "xor.b64 %d1, %d1, %d1; mov.u64 %d0, %d1;", 0},
      {"", "setp.eq.u32 %p0, %r1, %r1; selp.u64 %d0, 5, 6, %p0;", 5},
      {"", "setp.ne.s64 %p0, %d1, %d1; selp.u64 %d0, 5, 6, %p0;", 6},
      {"", "set.le.u32.u32 %r2, %r1, %r1; cvt.u64.u32 %d0, %r2;", 0xffffffff},
      {"", "mov.u32 %r2, %r1; sub.u32 %r2, %r2, %r1; cvt.u64.u32 %d0, %r2;", 0},
      {"", "and.pred %p1, %p0, !%p0; selp.u64 %d0, 5, 6, %p1;", 6},
      {"",
       "@%p0 bra YES; mov.u64 %d0, 7; bra END;\n"
       "YES: mov.u64 %d0, 7;\nEND:",
       7},
      {"",
       "setp.lt.u32 %p0, %r1, 9; @%p0 bra YES; mov.u64 %d0, 7;\n"
       "bra END;\nYES: add.u64 %d0, %d0, 7;\nEND:",
       7},
      {"",
       "div.u32 %r2, %r1, 3; mul.lo.u32 %r3, %r2, 3;\n"
       "sub.u32 %r3, %r1, %r3; setp.lt.u32 %p0, %r3, 3;\n"
       "selp.u64 %d0, 1, 0, %p0;",
       1},
  };
  Check(kRows);
}

// ---- Chapter 9.4.1: operands wider than their instruction -------------------

TEST(LanguageExec, OperandSizes) {
  constexpr const char* kBytes =
      ".global .align 8 .b8 b@@[8] = {0xfe, 0xff, 0xff, 0x80, 1, 2, 3, 4};";
  constexpr Row kRows[] = {
      // ld extends as its type says, to the width of the register.
      {kBytes, "ld.global.s8 %d0, [b@@];", ~0ull - 1},
      {kBytes, "ld.global.u8 %d0, [b@@];", 0xfe},
      {kBytes, "ld.global.b8 %d0, [b@@];", 0xfe},
      {kBytes, "ld.global.s16 %r0, [b@@]; mov.b64 %d0, {%r0, 0};", 0xfffffffe},
      {kBytes, "ld.global.s32 %d0, [b@@];", 0xffffffff80fffffe},
      {kBytes, "ld.global.b32 %d0, [b@@];", 0x80fffffe},
      {kBytes, "ld.global.s8 %h0, [b@@]; cvt.u64.u16 %d0, %h0;", 0xfffe},
      {kBytes, "ld.global.v2.s8 {%d0, %d1}, [b@@]; shr.u64 %d0, %d1, 32;",
       0xffffffff},
      // st truncates.
      {kBytes,
       "mov.u64 %d1, 0x1122334455667788; st.global.u8 [b@@+4], %d1;\n"
       "ld.global.u32 %d0, [b@@+4];",
       0x04030288},
      {kBytes,
       "mov.u32 %r1, 0x11223344; st.global.u16 [b@@+4], %r1;\n"
       "ld.global.u32 %d0, [b@@+4];",
       0x04033344},
      // cvt takes the low part of a wider source and fills a wider result.
      {"",
       "mov.u32 %r1, 0x123480ff; cvt.s32.s8 %r2, %r1;\n"
       "cvt.s64.s32 %d0, %r2;",
       ~0ull},
      {"",
       "mov.u32 %r1, 0x123480ff; cvt.u16.u8 %h0, %r1;\n"
       "cvt.u64.u16 %d0, %h0;",
       0xff},
      {"",
       "mov.u32 %r1, 0x123480f0; cvt.s8.s32 %r2, %r1;\n"
       "cvt.u64.u32 %d0, %r2;",
       0xfffffff0},
      {"",
       "mov.u32 %r1, 0x123480f0; cvt.u8.s32 %r2, %r1;\n"
       "cvt.u64.u32 %d0, %r2;",
       0xf0},
      {"", "mov.u32 %r1, 0x1234fff0; cvt.s16.s32 %d0, %r1;", ~0ull - 15},
      {"", "mov.u32 %r1, 0x1234fff0; cvt.u16.u32 %d0, %r1;", 0xfff0},
      {"", "mov.u64 %d1, 0xffffffff00000001; cvt.s64.s32 %d0, %d1;", 1},
  };
  Check(kRows);
}

// ---- Functions with parameters in registers ---------------------------------

TEST(LanguageExec, RegisterParameters) {
  constexpr Row kRows[] = {
      {".func (.reg .b128 %r) swap@@(.reg .b128 %a) {\n"
       "  .reg .b64 %x<2>; mov.b128 {%x0, %x1}, %a;\n"
       "  mov.b128 %r, {%x1, %x0}; ret; }",
       ".reg .b128 %q; mov.b128 %q, {1, 2}; call (%q), swap@@, (%q);\n"
       "mov.b128 {%d0, %d1}, %q;",
       2},
      {".func (.reg .u32 %r, .reg .pred %q) f@@(.reg .u32 %a, .reg .pred %p) "
       "{\n"
       "  add.u32 %r, %a, 1; not.pred %q, %p; ret; }",
       "mov.pred %p1, 0; call (%r1, %p2), f@@, (4, %p1);\n"
       "cvt.u64.u32 %d0, %r1; @%p2 add.u64 %d0, %d0, 8;",
       13},
      {".func (.reg .f16 %r) f@@(.reg .f16 %a, .reg .f64 %b) {\n"
       "  .reg .f16 %c; cvt.rn.f16.f64 %c, %b; add.f16 %r, %a, %c; ret; }",
       "call (%h0), f@@, (0x3c00, 2.0); cvt.u64.u16 %d0, %h0;", 0x4200},
      {".func (.reg .v2 .u32 %r) f@@(.reg .u32 %a, .reg .v2 .u32 %v) {\n"
       "  add.u32 %r.x, %v.y, %a; add.u32 %r.y, %v.x, %a; ret; }",
       ".reg .v2 .u32 %v; mov.v2.u32 %v, {1, 2};\n"
       "call (%v), f@@, (%v.y, %v); mov.b64 %d0, %v;",
       0x0000000300000004},
      {".func (.reg .v4 .f32 %r, .reg .u16 %n) f@@(.reg .v4 .f32 %v) {\n"
       "  mov.v4.f32 %r, {%v.w, %v.z, %v.y, %v.x}; mov.u16 %n, 9; ret; }",
       ".reg .v4 .f32 %v; mov.v4.f32 %v, {1.0, 2.0, 3.0, 4.0};\n"
       "call (%v, %h0), f@@, (%v); mov.b64 %d0, {%v.y, %v.x};",
       0x4080000040400000},
      {".func (.reg .v2 .f64 %r, .reg .v4 .b8 %s)\n"
       "    f@@(.reg .v2 .f64 %v, .reg .v4 .b8 %w) {\n"
       "  mov.b64 %r.x, %v.y; mov.b64 %r.y, %v.x; mov.b32 %s, 7; ret; }",
       ".reg .v2 .f64 %v; .reg .v4 .b8 %w; mov.b64 %v.x, 1;\n"
       "mov.b64 %v.y, 2; call (%v, %w), f@@, (%v, %w);\n"
       "mov.b32 %r0, %w; cvt.u64.u32 %d0, %r0; mov.b64 %d1, %v.x;\n"
       "mad.lo.u64 %d0, %d1, 16, %d0; mov.b64 %d1, %v.y;\n"
       "mad.lo.u64 %d0, %d1, 256, %d0;",
       0x127},
  };
  Check(kRows);
}

// ---- Chapter 7.2: variadic functions ----------------------------------------

TEST(LanguageExec, OpenArrays) {
  // The sum of the words of an array that the callee counts by address.
  constexpr const char* kSum =
      ".func (.param .u32 r) sum@@(.param .u32 n, .param .align 8 .b8 va[]) {\n"
      "  .reg .u32 n_, x, s; .reg .u64 at; .reg .pred more;\n"
      "  ld.param.u32 n_, [n]; mov.u64 at, va; mov.u32 s, 0;\n"
      "L: ld.param.u32 x, [at]; add.u32 s, s, x; add.u64 at, at, 4;\n"
      "  sub.u32 n_, n_, 1; setp.ne.u32 more, n_, 0; @more bra L;\n"
      "  st.param.u32 [r], s; ret; }";
  constexpr const char* kSecond =
      ".func (.param .u64 r) second@@(.param .align 8 .b8 va[]) {\n"
      "  .reg .u64 x; ld.param.u64 x, [va+8]; st.param.u64 [r], x; ret; }";
  constexpr const char* kGeneric =
      ".func (.param .u64 r) second@@(.param .align 8 .b8 va[]) {\n"
      "  .reg .u64 x; mov.u64 x, va; cvta.param.u64 x, x;\n"
      "  ld.u64 x, [x+8]; st.param.u64 [r], x; ret; }";
  constexpr const char* kCallSecond =
      "{ .param .align 8 .b8 v[24]; .param .u64 w;\n"
      "st.param.u64 [v+8], 42; call (w), second@@, (v);\n"
      "ld.param.u64 %d0, [w]; }";
  constexpr Row kRows[] = {
      {kSum,
       "{ .param .u32 n, w; .param .align 8 .b8 v[12]; st.param.u32 [n], 3;\n"
       "st.param.u32 [v], 1; st.param.u32 [v+4], 20; st.param.u32 [v+8], 300;\n"
       "call (w), sum@@, (n, v); ld.param.u32 %d0, [w]; }\n"
       "{ .param .u32 n, w; .param .align 8 .b8 v[4]; st.param.u32 [n], 1;\n"
       "st.param.u32 [v], 4000; call (w), sum@@, (n, v);\n"
       "ld.param.u32 %d1, [w]; } add.u64 %d0, %d0, %d1;",
       4321},
      {kSum,
       "p: .callprototype (.param .u32 _) _\n"
       "       (.param .u32 _, .param .align 8 .b8 _[]);\n"
       "mov.u64 %d1, sum@@;\n"
       "{ .param .u32 n, w; .param .align 8 .b8 v[8]; st.param.u32 [n], 2;\n"
       "st.param.u32 [v], 7; st.param.u32 [v+4], 80;\n"
       "call (w), %d1, (n, v), p; ld.param.u32 %d0, [w]; }",
       87},
      {kSecond, kCallSecond, 42},
      {kGeneric, kCallSecond, 42},
  };
  Check(kRows);
}

TEST(LanguageExec, SumsWithSymbols) {
  constexpr const char* kWords = ".global .align 8 .u64 g@@[4] = {1, 2, 3, 4};";
  constexpr Row kRows[] = {
      {kWords,
       "mov.u64 %d1, 8; add.u64 %d1, %d1, g@@+8;\n"
       "ld.global.u64 %d0, [%d1];",
       3},
      {kWords, "mov.u64 %d1, g@@; sub.u64 %d0, g@@+24, %d1;", 24},
      {kWords,
       "st.global.u64 [g@@], g@@+16; ld.global.u64 %d1, [g@@];\n"
       "ld.global.u64 %d0, [%d1];",
       3},
      {kWords,
       "mov.u64 %d1, g@@; cvt.u32.u64 %r1, %d1;\n"
       "sub.u32 %r1, g@@+8-4, %r1; cvt.u64.u32 %d0, %r1;",
       4},
      {".shared .align 8 .u64 s@@[4];",
       "mov.u64 %d1, 77; st.shared.u64 [s@@+16], %d1; mov.u64 %d1, 8;\n"
       "add.u64 %d1, %d1, s@@+8; ld.shared.u64 %d0, [%d1];",
       77},
  };
  Check(kRows);
}

// Not in the manual, but taken by ptxas.
TEST(LanguageExec, SumsWithRegisters) {
  constexpr Row kRows[] = {
      {".global .u64 g@@;",
       "mov.u64 %d1, 12; st.global.u64 [g@@], %d1 + 1;\n"
       "ld.global.u64 %d0, [g@@];",
       13},
      {"",
       "mov.b32 %r0, 7; mad.lo.u32 %r1, %r0+1, %r0+2*3, %r0+-7;\n"
       "cvt.u64.u32 %d0, %r1;",
       104},
      {"", "mov.b32 %r0, 0xffffffff; cvt.u64.u32 %d0, %r0+2;", 1},
      {"", ".reg .s16 %s; mov.s16 %s, -3; cvt.s64.s16 %d0, %s+1;",
       std::uint64_t(-2)},
      {"",
       "mov.b32 %r0, 8; setp.eq.u32 %p0|%p1, %r0+1, 9;\n"
       "selp.u64 %d0, %d0+5, 1, %p0;",
       5},
  };
  Check(kRows);
}

// ---- Chapter 11.6: .extern --------------------------------------------------

// What ptxas calls "ignoring extern qualifier": nothing else defines them.
TEST(LanguageExec, DeclaredWithASizeIsDefined) {
  constexpr Row kRows[] = {
      {".extern .shared .align 8 .b8 a@@[64];\n.extern .shared .u32 b@@;",
       "mov.u32 %r0, 5; st.shared.u32 [a@@+60], %r0;\n"
       "mov.u32 %r0, 6; st.shared.u32 [b@@], %r0;\n"
       "ld.shared.u32 %r1, [a@@+60]; ld.shared.u32 %r2, [b@@];\n"
       "mad.wide.u32 %d0, %r1, 10, 0; cvt.u64.u32 %d1, %r2;\n"
       "add.u64 %d0, %d0, %d1;",
       56},
      {".extern .global .u32 g@@[4];",
       "mov.u32 %r0, 7; st.global.u32 [g@@+12], %r0;\n"
       "ld.global.u32 %d0, [g@@+12];",
       7},
      {".extern .const .align 8 .b8 c@@[16];", "ld.const.u64 %d0, [c@@+8];", 0},
      {".extern .global .u32 g@@;\n.visible .global .u32 g@@ = 9;",
       "ld.global.u32 %d0, [g@@];", 9},
  };
  Check(kRows);
}

}  // namespace
}  // namespace cerberus::exec
