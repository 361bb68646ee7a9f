; Lanes that part and have a join of the same kind and mask on either side meet:
; both sides go to one block that has the join once, and they go in when none is
; left that may still come.
; RUN: ptxc-opt --passes=lane-progress -S %s 2>&1 | FileCheck %s
; RUN: ptxc-opt --passes=lane-progress --target gfx942 -S %s 2>&1 | FileCheck %s
; CHECK-NOT: warning:

declare i32 @__cerberus_wave_thread_x()
declare i32 @__cerberus_join_shfl.sync.idx.b32(i32, i32, i32) #0
declare i32 @__cerberus_join_vote.sync.ballot.b32(i32, i1) #0
declare void @__cerberus_join_bar.warp.sync(i32) #1

; CHECK-LABEL: define amdgpu_kernel void @shuffle(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: [[COMING:%.*]] = call i32 @__cerberus_wave_ballot(
; CHECK: [[MISSING:%.*]] = and i32 [[COMING]], -1
; CHECK: [[ALL:%.*]] = icmp eq i32 [[MISSING]], 0
; CHECK: [[OPEN:%.*]] = and i1 %{{.*}}, [[ALL]]
; CHECK: [[GOES:%.*]] = and i1 %{{.*}}, [[OPEN]]
; CHECK: br i1 [[GOES]], label %meet,
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, !cerberus.joins_end
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: %{{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %{{.*}}, i32 %{{.*}}, i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @shuffle(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 7)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @vote(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: [[COMING:%.*]] = call i32 @__cerberus_wave_ballot(
; CHECK: [[MISSING:%.*]] = and i32 [[COMING]], -1
; CHECK: [[ALL:%.*]] = icmp eq i32 [[MISSING]], 0
; CHECK: [[OPEN:%.*]] = and i1 %{{.*}}, [[ALL]]
; CHECK: [[GOES:%.*]] = and i1 %{{.*}}, [[OPEN]]
; CHECK: br i1 [[GOES]], label %meet,
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, !cerberus.joins_end
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: %{{.*}} = call i32 @__cerberus_join_vote.sync.ballot.b32(i32 %{{.*}}, i1 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @vote(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %left, label %right

left:
  %a = call i32 @__cerberus_join_vote.sync.ballot.b32(i32 -1, i1 true)
  br label %done

right:
  %b = call i32 @__cerberus_join_vote.sync.ballot.b32(i32 -1, i1 false)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @barrier(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: [[COMING:%.*]] = call i32 @__cerberus_wave_ballot(
; CHECK: [[MISSING:%.*]] = and i32 [[COMING]], -1
; CHECK: [[ALL:%.*]] = icmp eq i32 [[MISSING]], 0
; CHECK: [[OPEN:%.*]] = and i1 %{{.*}}, [[ALL]]
; CHECK: [[GOES:%.*]] = and i1 %{{.*}}, [[OPEN]]
; CHECK: br i1 [[GOES]], label %meet,
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, !cerberus.joins_end
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: call void @__cerberus_join_bar.warp.sync(i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @barrier(ptr addrspace(3) %words) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %left, label %right

left:
  store i32 1, ptr addrspace(3) %words
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

right:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  %word = load i32, ptr addrspace(3) %words
  store i32 %word, ptr addrspace(3) null
  br label %done

done:
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
attributes #1 = { convergent noinline nounwind willreturn }
