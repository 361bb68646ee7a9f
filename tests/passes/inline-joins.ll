; The bodies of joins come to where they are called, and the functions go.
; RUN: ptxc-opt --passes=inline-joins -S %s | FileCheck %s
; CHECK-NOT: __cerberus_join_

; CHECK-LABEL: define amdgpu_kernel void @twice(
; CHECK: [[A:%.*]] = call i32 @llvm.amdgcn.ds.bpermute(i32 %source, i32 1)
; CHECK: [[B:%.*]] = call i32 @llvm.amdgcn.ds.bpermute(i32 %source, i32 2)
; CHECK: add i32 [[A]], [[B]]
define amdgpu_kernel void @twice(i32 %source, ptr addrspace(1) %out) {
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %source, i32 1)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %source, i32 2)
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(1) %out
  ret void
}

; With branches of its own.
; CHECK-LABEL: define i32 @turns(
; CHECK: [[TURN:.*]]:
; CHECK-NEXT: [[FIRST:%.*]] = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %n)
; CHECK-NEXT: [[SAME:%.*]] = icmp eq i32 [[FIRST]], %n
; CHECK-NEXT: br i1 [[SAME]], label {{.*}}, label %[[TURN]]
define i32 @turns(i32 %n) {
  %lanes = call i32 @__cerberus_join_match.any.sync.b32(i32 -1, i32 %n)
  ret i32 %lanes
}

; Other functions stay calls.
; CHECK-LABEL: define void @other(
; CHECK-NEXT: call void @function()
define void @other() {
  call void @function()
  ret void
}
define void @function() noinline {
  ret void
}

define internal i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 %source, i32 %value) #0 {
  %got = call i32 @llvm.amdgcn.ds.bpermute(i32 %source, i32 %value)
  ret i32 %got
}
define internal i32 @__cerberus_join_match.any.sync.b32(i32 %mask, i32 %value) #0 {
  br label %turn
turn:
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %value)
  %same = icmp eq i32 %first, %value
  br i1 %same, label %done, label %turn
done:
  %lanes = call i32 @__cerberus_wave_ballot(i1 %same)
  ret i32 %lanes
}
; One that nobody calls.
define internal void @__cerberus_join_bar.warp.sync(i32 %mask) #0 {
  ret void
}
declare i32 @__cerberus_wave_ballot(i1) convergent

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
