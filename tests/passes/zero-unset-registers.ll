; A register that nothing has set is one value: zero.
; RUN: ptxc-opt --passes=zero-unset-registers -S %s | FileCheck %s

; CHECK-LABEL: define i32 @difference(
; CHECK-NEXT: sub i32 0, 0
define i32 @difference() {
  %zero = sub i32 undef, undef
  ret i32 %zero
}

; CHECK-LABEL: define i32 @branch(
; CHECK: br i1 false,
; CHECK: ret i32 0
define i32 @branch() {
  br i1 undef, label %a, label %b
a:
  ret i32 1
b:
  ret i32 undef
}

; CHECK-LABEL: define void @float_and_vector(
; CHECK-NEXT: store float 0.000000e+00,
; CHECK-NEXT: store <2 x i32> zeroinitializer,
define void @float_and_vector(ptr addrspace(1) %out) {
  store float undef, ptr addrspace(1) %out
  store <2 x i32> undef, ptr addrspace(1) %out
  ret void
}

; What lowering knows to be of no matter stays, and so does what is unset on one
; way to a block only.
; CHECK-LABEL: define i32 @stays(
; CHECK: phi i32 [ %n, %set ], [ undef, %entry ]
; CHECK-NEXT: add i32 %value, poison
define i32 @stays(i1 %is, i32 %n) {
entry:
  br i1 %is, label %set, label %done
set:
  br label %done
done:
  %value = phi i32 [ %n, %set ], [ undef, %entry ]
  %sum = add i32 %value, poison
  ret i32 %sum
}
