; Approximations of what cannot be subnormal need no care for it.
; RUN: ptxc-opt --passes=drop-subnormal-care -S %s | FileCheck %s

; A sum with what is far from 0, however it is spelled.
; CHECK-LABEL: @sums(
; CHECK-NOT: fdiv
; CHECK-COUNT-6: call float @llvm.amdgcn.rcp.f32(
; CHECK-NOT: fdiv
; CHECK: ret void
define void @sums(float %a, float %b, i32 %i, half %h, ptr %p) {
  %x1 = fadd float %a, 1.0
  %q1 = fdiv float %b, %x1, !cerberus.by-inverse !0
  store volatile float %q1, ptr %p
  %x2 = call float @llvm.fma.f32(float %a, float %b, float -4.0)
  %q2 = fdiv float %b, %x2, !cerberus.by-inverse !0
  store volatile float %q2, ptr %p
  %square = fmul float %a, %a
  %x3 = fadd float %square, 0x3EE4F8B580000000
  %q3 = fdiv float %b, %x3, !cerberus.by-inverse !0
  store volatile float %q3, ptr %p
  %x4 = sitofp i32 %i to float
  %q4 = fdiv float %b, %x4, !cerberus.by-inverse !0
  store volatile float %q4, ptr %p
  %x5 = fpext half %h to float
  %q5 = fdiv float %b, %x5, !cerberus.by-inverse !0
  store volatile float %q5, ptr %p
  %x6 = call float @llvm.maxnum.f32(float %a, float 0x3E80000000000000)
  %q6 = fdiv float %b, %x6, !cerberus.by-inverse !0
  store volatile float %q6, ptr %p
  ret void
}

; Roots, logarithms and powers.
; CHECK-LABEL: @functions(
; CHECK: call float @llvm.amdgcn.log.f32(
; CHECK: call float @llvm.amdgcn.sqrt.f32(
; CHECK: call float @llvm.amdgcn.exp2.f32(
; CHECK: select i1 false, float %scaled, float %x
; CHECK: ret void
define void @functions(float %a, ptr %p) {
  %square = fmul float %a, %a
  %x = fadd float %square, 0x3F50624DE0000000
  %l = call float @llvm.log2.f32(float %x)
  store volatile float %l, ptr %p
  %s = call float @llvm.sqrt.f32(float %x), !fpmath !1
  store volatile float %s, ptr %p
  %e = call float @llvm.exp2.f32(float %x)
  store volatile float %e, ptr %p
  %small = fcmp olt float %x, 0x3810000000000000, !cerberus.scales-small !0
  %scaled = fmul float %x, 0x4170000000000000
  %operand = select i1 %small, float %scaled, float %x
  store volatile float %operand, ptr %p
  ret void
}

; What may be subnormal: anything, a small sum, a difference of such, a power,
; what comes round a loop, and bf16, which has f32's exponents. Exact roots, and
; divisions that have to work beyond 2^126, stay whatever comes.
; CHECK-LABEL: @kept(
; CHECK-NOT: amdgcn
; CHECK: ret void
define void @kept(float %a, float %b, bfloat %h, i1 %c, ptr %p) {
entry:
  br label %loop
loop:
  %round = phi float [ 1.0, %entry ], [ %half, %loop ]
  %half = fmul float %round, 0.5
  %q0 = fdiv float %b, %round, !cerberus.by-inverse !0
  store volatile float %q0, ptr %p
  br i1 %c, label %loop, label %out
out:
  %q1 = fdiv float %b, %a, !cerberus.by-inverse !0
  store volatile float %q1, ptr %p
  %x2 = fadd float %a, 0x3A00000000000000
  %q2 = fdiv float %b, %x2, !cerberus.by-inverse !0
  store volatile float %q2, ptr %p
  %x3 = fsub float %a, %b
  %q3 = fdiv float %b, %x3, !cerberus.by-inverse !0
  store volatile float %q3, ptr %p
  %x4 = call float @llvm.exp2.f32(float %a)
  %q4 = fdiv float %b, %x4, !cerberus.by-inverse !0
  store volatile float %q4, ptr %p
  %x5 = fpext bfloat %h to float
  %q5 = fdiv float %b, %x5, !cerberus.by-inverse !0
  store volatile float %q5, ptr %p
  %x6 = fadd float %a, 1.0
  %q6 = fdiv float %b, %x6, !fpmath !1
  store volatile float %q6, ptr %p
  %s = call float @llvm.sqrt.f32(float %x6)
  store volatile float %s, ptr %p
  %plain = fcmp olt float %x6, 0x3810000000000000
  store volatile i1 %plain, ptr %p
  ret void
}

!0 = !{}
!1 = !{float 2.0}
