; What depends on a launch's clusters, in forms for one block and for several.
; RUN: ptxc-opt --passes=move-shared-memory -S %s 2>&1 | FileCheck %s

; CHECK: note: asks: 4 bytes in front of dynamic shared memory, in a second form, for clusters
; CHECK-NEXT: note: calls: no clusters of several blocks
; CHECK-NEXT: warning: calls_always: blocks of a cluster reach each other's bytes of shared memory, which lie in device memory for that, and functions that it calls use them as well
; CHECK-NEXT: note: fixed: 0 bytes in front of dynamic shared memory, for clusters

@word = internal addrspace(3) global i32 poison, align 4

declare i1 @__cerberus_cluster_several() #1
declare i1 @__cerberus_cluster_leaves() #1
declare i32 @__cerberus_cluster_shape() #1
declare i32 @__cerberus_cluster_stride() #1
declare i64 @__cerberus_cluster_base() #1
declare i64 @__cerberus_cluster_bytes() #1
declare ptr addrspace(1) @__cerberus_cluster_barrier() #1
declare ptr addrspace(5) @__cerberus_cluster_phase() #1
declare void @meet(ptr addrspace(1), i32)
declare void @llvm.amdgcn.s.barrier()

; One that only might have to leave a barrier has no other form.
; CHECK-LABEL: define amdgpu_kernel void @leaves(
; CHECK-NOT: store
; CHECK: ret void
define amdgpu_kernel void @leaves(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  %leaves = call i1 @__cerberus_cluster_leaves()
  br i1 %leaves, label %leave, label %end
leave:
  %barrier = call ptr addrspace(1) @__cerberus_cluster_barrier()
  store i64 1, ptr addrspace(1) %barrier
  br label %end
end:
  ret void
}

; In a form for one block, what is for several is gone, and no address moves.
; CHECK-LABEL: define amdgpu_kernel void @asks(
; CHECK-NOT: cluster
; CHECK: call void @llvm.amdgcn.s.barrier()
; CHECK-NOT: @meet
; CHECK: store i32 65793, ptr addrspace(3) @word
; CHECK-LABEL: define internal i32 @stays(
define amdgpu_kernel void @asks(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  %several = call i1 @__cerberus_cluster_several()
  br i1 %several, label %cluster, label %block
cluster:
  %barrier = call ptr addrspace(1) @__cerberus_cluster_barrier()
  %place = call ptr addrspace(5) @__cerberus_cluster_phase()
  %phase = load i32, ptr addrspace(5) %place
  call void @meet(ptr addrspace(1) %barrier, i32 %phase)
  store i32 7, ptr addrspace(5) %place
  br label %behind
block:
  call void @llvm.amdgcn.s.barrier()
  br label %behind
behind:
  %stride = call i32 @__cerberus_cluster_stride()
  %at = getelementptr i8, ptr addrspace(3) @word, i32 %stride
  %shape = call i32 @__cerberus_cluster_shape()
  store i32 %shape, ptr addrspace(3) %at
  %again = call ptr addrspace(5) @__cerberus_cluster_phase()
  %last = load i32, ptr addrspace(5) %again
  %old = atomicrmw add ptr addrspace(3) @word, i32 %last syncscope("workgroup") acq_rel
  ret void
}

define amdgpu_kernel void @fixed(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
  %shape = call i32 @__cerberus_cluster_shape()
  store i32 %shape, ptr addrspace(1) %out
  ret void
}

; A function that stays a call knows nothing of its kernel's cluster.
define internal i32 @stays() noinline {
  %shape = call i32 @__cerberus_cluster_shape()
  ret i32 %shape
}
define amdgpu_kernel void @calls(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  %shape = call i32 @stays()
  store i32 %shape, ptr addrspace(1) %out
  ret void
}
define amdgpu_kernel void @calls_always(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
  %shape = call i32 @stays()
  store i32 %shape, ptr addrspace(1) %out
  ret void
}

; The thread's own word is a value; others of the cluster see what was atomic in
; the block.
; CHECK-LABEL: define amdgpu_kernel void @asks.window(
; CHECK-NOT: __cerberus_cluster
; CHECK: %window = inttoptr i64 [[FIRST:%.*]] to ptr addrspace(1)
; CHECK: call void @meet(ptr addrspace(1) %{{.*}}, i32 0)
; CHECK-NOT: s.barrier
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i32 7 syncscope("agent") acq_rel

; What .reqnctapercluster says is known, and the only form.
; CHECK-LABEL: define amdgpu_kernel void @fixed(
; CHECK-SAME: %__cerberus_window
; CHECK: udiv i32 {{.*}}, 2
; CHECK: store i32 16843010

attributes #0 = { "cerberus-cluster"="2,1,1" }
attributes #1 = { nounwind willreturn memory(none) }
