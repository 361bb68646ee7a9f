; RUN: ptxc-opt --passes=print-local-memory %s -o %t 2>&1 | FileCheck %s --check-prefixes=CHECK,GFX11
; RUN: ptxc-opt --passes=print-local-memory --target gfx1201 %s -o %t 2>&1 | FileCheck %s --check-prefixes=CHECK,GFX12
; RUN: ptxc-opt --passes=print-local-memory --target gfx942 %s -o %t 2>&1 | FileCheck %s --check-prefixes=CHECK,GFX942

; Aligned as they lie: 4, then 16 from 16 on.
; GFX11: note: own: 32 bytes of local memory of at most 262136
; GFX12: note: own: 32 bytes of local memory of at most 2097144
; GFX942: note: own: 32 bytes of local memory of at most 131056
define amdgpu_kernel void @own() {
  %a = alloca i32, addrspace(5)
  %b = alloca [4 x i32], align 16, addrspace(5)
  ret void
}

; The deeper of two calls, and what that calls.
; CHECK: note: calls: 444 bytes
define amdgpu_kernel void @calls() {
  %a = alloca i32, addrspace(5)
  call void @shallow()
  call void @deep()
  ret void
}
define void @shallow() {
  %a = alloca [50 x i32], addrspace(5)
  ret void
}
define void @deep() {
  %a = alloca [10 x i32], addrspace(5)
  call void @deeper()
  ret void
}
define void @deeper() {
  %a = alloca [100 x i32], addrspace(5)
  ret void
}

; Once around.
; CHECK: note: recursion: 12 bytes
define amdgpu_kernel void @recursion() {
  %a = alloca i32, addrspace(5)
  call void @again(i32 3)
  ret void
}
define void @again(i32 %n) {
  %a = alloca i64, addrspace(5)
  %less = sub i32 %n, 1
  call void @again(i32 %less)
  ret void
}
