; Where f32 arithmetic flushes, subnormal constants that are compared, or
; multiplied and added, are zeros of their sign. 0x380... is 2^-127.
; RUN: ptxc-opt --passes=flush-constants -S %s | FileCheck %s

; CHECK-LABEL: define i1 @compared(
; CHECK-NEXT: fcmp oeq float %x, 0.000000e+00
define i1 @compared(float %x) #0 {
  %equal = fcmp oeq float %x, 0x3800000000000000
  ret i1 %equal
}

; CHECK-LABEL: define float @multiplied(
; CHECK-NEXT: call float @llvm.fma.f32(float %x, float -0.000000e+00, float 0.000000e+00)
define float @multiplied(float %x) #0 {
  %sum = call float @llvm.fma.f32(float %x, float 0xB800000000000000, float 0x3800000000000000)
  ret float %sum
}

; The smallest normal number, f64, and what is only moved stay.
; CHECK-LABEL: define float @stays(
; CHECK-NEXT: fcmp oeq float %x, 0x3810000000000000
; CHECK-NEXT: fcmp oeq double %y, 4.940660e-324
; CHECK-NEXT: or i1
; CHECK-NEXT: select i1 %either, float %x, float 0x3800000000000000
define float @stays(float %x, double %y) #0 {
  %a = fcmp oeq float %x, 0x3810000000000000
  %b = fcmp oeq double %y, 4.940660e-324
  %either = or i1 %a, %b
  %value = select i1 %either, float %x, float 0x3800000000000000
  ret float %value
}

; CHECK-LABEL: define i1 @keeps_subnormals(
; CHECK-NEXT: fcmp oeq float %x, 0x3800000000000000
define i1 @keeps_subnormals(float %x) {
  %equal = fcmp oeq float %x, 0x3800000000000000
  ret i1 %equal
}

declare float @llvm.fma.f32(float, float, float)

attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
