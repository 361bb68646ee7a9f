; At one address of private memory each lane has its own half, also where the
; address is the same in all.
; RUN: ptxc-opt --passes=keep-own-halves --target gfx1100 -S %s | FileCheck %s
; RUN: ptxc-opt --passes=keep-own-halves --target gfx942 -S %s | FileCheck %s --check-prefix=WHOLE

; CHECK-LABEL: define i16 @same_address(
; CHECK: [[OWN:%.*]] = call ptr addrspace(5) asm "", "=v,0"(ptr addrspace(5) %p)
; CHECK-NEXT: load i16, ptr addrspace(5) [[OWN]]
; With error correction a load writes whole registers.
; WHOLE-LABEL: define i16 @same_address(
; WHOLE-NOT: asm
define i16 @same_address() {
  %p = alloca i16, addrspace(5)
  %x = load i16, ptr addrspace(5) %p
  ret i16 %x
}

; CHECK-LABEL: define amdgpu_kernel void @other_loads(
; CHECK-NOT: asm
; CHECK: ret void
define amdgpu_kernel void @other_loads(ptr addrspace(1) %p, ptr addrspace(1) %out) {
  %own = alloca [4 x i32], addrspace(5)
  %x = load i16, ptr addrspace(1) %p
  store i16 %x, ptr addrspace(1) %out
  %word = load i32, ptr addrspace(5) %own
  store i32 %word, ptr addrspace(1) %out
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i16, ptr addrspace(5) %own, i32 %tid
  %y = load i16, ptr addrspace(5) %at
  store i16 %y, ptr addrspace(1) %out
  ret void
}
