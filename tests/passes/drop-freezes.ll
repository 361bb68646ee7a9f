; Freezes of what has one value anyway go, whatever the length of the chain;
; those of what may have none stay.
; RUN: ptxc-opt --passes=drop-freezes -S %s | FileCheck %s

; Each was six instructions or more away from what is known.
; CHECK-LABEL: @chain(
; CHECK-NOT: freeze
; CHECK: ret i32
define i32 @chain(i32 noundef %a, ptr addrspace(4) %p) {
  %b = load i32, ptr addrspace(4) %p, !noundef !0
  %1 = add i32 %a, %b
  %2 = mul i32 %1, %b
  %3 = xor i32 %2, %a
  %4 = sub i32 %3, %b
  %5 = or i32 %4, 1
  %6 = add i32 %5, %a
  %7 = and i32 %6, %b
  %8 = or i32 %7, 1
  %f = freeze i32 %8
  %9 = udiv i32 %a, %f
  %g = freeze i32 %9
  %c = icmp eq i32 %g, 0
  %s = select i1 %c, i32 1, i32 %g
  %h = freeze i32 %s
  %r = udiv i32 %a, %h
  ret i32 %r
}

; A value that is set on one way only, from memory, that can be poison, or that
; comes round a loop.
; CHECK-LABEL: @kept(
; CHECK: freeze i32 %once
; CHECK: freeze i32 %read
; CHECK: freeze i32 %overflow
; CHECK: freeze i32 %far
; CHECK: freeze i32 %given
; CHECK: freeze i32 %round
define i32 @kept(i32 noundef %a, i32 %given, ptr addrspace(1) %p, i1 noundef %c) {
entry:
  br i1 %c, label %set, label %join
set:
  br label %join
join:
  %once = phi i32 [ %a, %set ], [ undef, %entry ]
  %f1 = freeze i32 %once
  %read = load i32, ptr addrspace(1) %p
  %f2 = freeze i32 %read
  %overflow = add nsw i32 %a, 1
  %f3 = freeze i32 %overflow
  %far = shl i32 %a, 40
  %f4 = freeze i32 %far
  %f5 = freeze i32 %given
  br label %loop
loop:
  %round = phi i32 [ %a, %join ], [ %next, %loop ]
  %f6 = freeze i32 %round
  %next = add i32 %f6, %f1
  %end = icmp ugt i32 %next, %f2
  br i1 %end, label %out, label %loop
out:
  %1 = add i32 %f3, %f4
  %2 = add i32 %1, %f5
  %3 = add i32 %2, %next
  ret i32 %3
}

; A freeze that stays gives a value that others rest on.
; CHECK-LABEL: @behind(
; CHECK: %f = freeze i32 %given
; CHECK-NOT: freeze
; CHECK: ret i32
define i32 @behind(i32 %given) {
  %f = freeze i32 %given
  %1 = add i32 %f, 3
  %2 = freeze i32 %1
  %3 = udiv i32 7, %2
  ret i32 %3
}

!0 = !{}
