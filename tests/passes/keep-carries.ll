; A carry behind a sum with carry in is told from the result.
; RUN: ptxc-opt --passes=keep-carries -S %s | FileCheck %s

; CHECK-LABEL: define i32 @added(
; CHECK: [[IN:%[0-9]+]] = zext i1 %c to i32
; CHECK: [[SUM:%[0-9]+]] = add i32 %t, [[IN]]
; CHECK: [[ZERO:%[0-9]+]] = icmp eq i32 [[SUM]], 0
; CHECK: and i1 %c, [[ZERO]]
; CHECK-NOT: with.overflow
define i32 @added(i32 %a, i32 %b, i1 %c) {
  %t = add i32 %a, %b
  %in = zext i1 %c to i32
  %s = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %in)
  %v = extractvalue { i32, i1 } %s, 0
  %o = extractvalue { i32, i1 } %s, 1
  %r = select i1 %o, i32 %v, i32 7
  ret i32 %r
}

; CHECK-LABEL: define i32 @subtracted(
; CHECK: sub i32 %t,
; CHECK: [[ZERO:%[0-9]+]] = icmp eq i32 %t, 0
; CHECK: and i1 %c, [[ZERO]]
; CHECK-NOT: with.overflow
define i32 @subtracted(i32 %a, i32 %b, i1 %c) {
  %t = sub i32 %a, %b
  %in = zext i1 %c to i32
  %s = call { i32, i1 } @llvm.usub.with.overflow.i32(i32 %t, i32 %in)
  %v = extractvalue { i32, i1 } %s, 0
  %o = extractvalue { i32, i1 } %s, 1
  %r = select i1 %o, i32 %v, i32 7
  ret i32 %r
}

; CHECK-LABEL: define i1 @halves(
; CHECK: call { i32, i1 } @llvm.uadd.with.overflow.i32(
; CHECK-NOT: overflow.i64
; CHECK: ret i1
define i1 @halves(i64 %a, i64 %b, i32 %c) {
  %t = mul i64 %a, %b
  %in = zext i32 %c to i64
  %s = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %in, i64 %t)
  %o = extractvalue { i64, i1 } %s, 1
  ret i1 %o
}

; An addition with carry as it should be, a carry that nobody needs, and values
; that are no sums, stay.
; CHECK-LABEL: define i32 @kept(
; CHECK-COUNT-4: with.overflow
; CHECK: ret i32
define i32 @kept(i32 %a, i32 %b, i1 %c) {
  %in = zext i1 %c to i32
  %f = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %a, i32 %b)
  %t = extractvalue { i32, i1 } %f, 0
  %p = extractvalue { i32, i1 } %f, 1
  %s = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %in)
  %o = extractvalue { i32, i1 } %s, 1
  %u = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %a, i32 %in)
  %q = extractvalue { i32, i1 } %u, 1
  %x = add i32 %a, %b
  %w = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %x, i32 %in)
  %y = extractvalue { i32, i1 } %w, 0
  %1 = or i1 %o, %p
  %2 = or i1 %1, %q
  %r = select i1 %2, i32 %y, i32 7
  ret i32 %r
}
