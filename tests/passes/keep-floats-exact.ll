; RUN: ptxc-opt --passes=keep-floats-exact -S %s | FileCheck %s

; A product that is rounded to f16 is a sum with -0, which keeps its sign.
; CHECK-LABEL: define half @product(
; CHECK-NEXT: [[SUM:%.*]] = call float @llvm.fma.f32(float %a, float %b, float -0.000000e+00)
; CHECK-NEXT: fptrunc float [[SUM]] to half
define half @product(float %a, float %b) {
  %product = fmul float %a, %b
  %half = fptrunc float %product to half
  ret half %half
}

; Used elsewhere, the product stays for that.
; CHECK-LABEL: define half @product_used_twice(
; CHECK: fmul float %a, %b
; CHECK: store float %product
; CHECK: fptrunc float %{{[0-9]+}} to half
define half @product_used_twice(float %a, float %b, ptr addrspace(1) %out) {
  %product = fmul float %a, %b
  store float %product, ptr addrspace(1) %out
  %half = fptrunc float %product to half
  ret half %half
}

; No product of f32, or none rounded to f16.
; CHECK-LABEL: define float @other_roundings(
; CHECK-NEXT: fmul double
; CHECK-NEXT: fptrunc double
; CHECK-NEXT: fadd float
; CHECK-NEXT: fptrunc float %sum to half
define float @other_roundings(double %a, float %b, ptr addrspace(1) %out) {
  %product = fmul double %a, %a
  %single = fptrunc double %product to float
  %sum = fadd float %b, %b
  %half = fptrunc float %sum to half
  store half %half, ptr addrspace(1) %out
  ret float %single
}

; v_min_f32 takes -0 for less than +0, a selection the second of the two.
; CHECK-LABEL: define float @minimum(
; CHECK: fcmp nnan olt float %a, %b
; CHECK: select i1 %less, i32 {{.*}}, i32
define float @minimum(float %a, float %b) {
  %less = fcmp nnan olt float %a, %b
  %min = select i1 %less, float %a, float %b
  ret float %min
}

; With a number other than zero there is nothing to be seen of it,
; CHECK-LABEL: define float @minimum_of_one(
; CHECK: select i1 %less, float %a, float 1.000000e+00
define float @minimum_of_one(float %a) {
  %less = fcmp olt float %a, 1.0
  %min = select i1 %less, float %a, float 1.0
  ret float %min
}

; unless the minimum flushes a subnormal that the selection would keep.
; CHECK-LABEL: define float @minimum_of_one_that_flushes(
; CHECK: select i1 %less, i32 {{.*}}, i32 1065353216
define float @minimum_of_one_that_flushes(float %a) #0 {
  %less = fcmp olt float %a, 1.0
  %min = select i1 %less, float %a, float 1.0
  ret float %min
}

; CHECK-LABEL: define float @no_minimum(
; CHECK: select i1 %is, float %a, float %b
define float @no_minimum(i1 %is, float %a, float %b) {
  %chosen = select i1 %is, float %a, float %b
  ret float %chosen
}

attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
