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

; A product that is used on its own, too, does not become part of a sum.
; CHECK-LABEL: define float @product_and_sum(
; CHECK-NEXT: fmul float %a, %b
; CHECK-NEXT: fsub contract float %c, %product
define float @product_and_sum(float %a, float %b, float %c,
                              ptr addrspace(1) %out) {
  %product = fmul contract float %a, %b
  %sum = fsub contract float %c, %product
  store float %product, ptr addrspace(1) %out
  ret float %sum
}

; Nor one that another block uses, that becomes an f32, is taken twice, or goes
; into a sum that is rounded on its own.
; CHECK-LABEL: define float @products_apart(
; CHECK: %over = fmul float
; CHECK: %wide = fmul half
; CHECK: %twice = fmul float
; CHECK: %rounded = fmul float
define float @products_apart(float %a, float %b, half %h, i1 %c) {
  %over = fmul contract float %a, %b
  %wide = fmul contract half %h, %h
  %single = fpext half %wide to float
  %wider = fadd contract float %a, %single
  %twice = fmul contract float %b, %wider
  %double = fadd contract float %twice, %twice
  %rounded = fmul contract float %a, %double
  %exact = fadd float %rounded, %b
  %here = fadd contract float %over, %exact
  br i1 %c, label %next, label %end
next:
  %there = fadd contract float %over, %here
  br label %end
end:
  %result = phi float [ %there, %next ], [ %here, %0 ]
  ret float %result
}

; One that goes into sums alone does, with a sign, too.
; CHECK-LABEL: define double @products_of_sums(
; CHECK-NEXT: %product = fmul contract double
; CHECK: %half = fmul contract half
define double @products_of_sums(double %a, double %b, half %h,
                                ptr addrspace(1) %out) {
  %product = fmul contract double %a, %b
  %negative = fneg double %product
  %x = fadd contract double %a, %negative
  %y = fsub contract double %product, %b
  %half = fmul contract half %h, %h
  %z = fadd contract half %half, %h
  store half %z, ptr addrspace(1) %out
  %sum = fadd double %x, %y
  ret double %sum
}
