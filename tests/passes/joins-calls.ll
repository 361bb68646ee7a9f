; Functions that stay calls, with joins in them, that only some lanes come to.
; RUN: ptxc-opt --passes=lane-progress %s -o %t 2>&1 | FileCheck %s
; CHECK: warning: calls: {{.*}}'meets'
; CHECK-NOT: warning:

declare i32 @__cerberus_wave_thread_x()
declare i32 @__cerberus_join_shfl.sync.idx.b32(i32, i32, i32) #0

define void @meets(ptr addrspace(1) %out) noinline {
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 3)
  store i32 %b, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @calls(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %first, label %second

first:
  call void @meets(ptr addrspace(1) %out)
  br label %done

second:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; All come.
define amdgpu_kernel void @calls_together(ptr addrspace(1) %out) {
entry:
  call void @meets(ptr addrspace(1) %out)
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
