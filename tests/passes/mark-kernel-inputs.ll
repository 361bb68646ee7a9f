; RUN: ptxc-opt --passes=mark-kernel-inputs -S %s | FileCheck %s

; CHECK: define amdgpu_kernel void @thread_x({{.*}} [[X:#[0-9]+]] {
define amdgpu_kernel void @thread_x(ptr addrspace(1) %out) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %x, ptr addrspace(1) %out
  ret void
}

; CHECK: define amdgpu_kernel void @block_z({{.*}} [[Z:#[0-9]+]] {
define amdgpu_kernel void @block_z(ptr addrspace(1) %out) {
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  store i32 %z, ptr addrspace(1) %out
  ret void
}

; What is called may ask for anything.
; CHECK: define amdgpu_kernel void @calls(ptr addrspace(1) %out) {
define amdgpu_kernel void @calls(ptr addrspace(1) %out) {
  call void @callee(ptr addrspace(1) %out)
  ret void
}
; CHECK: define void @callee(ptr addrspace(1) %out) {
define void @callee(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  ret void
}

; CHECK: attributes [[X]] = { "amdgpu-no-lds-kernel-id" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" }
; CHECK: attributes [[Z]] = { "amdgpu-no-lds-kernel-id" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" }
