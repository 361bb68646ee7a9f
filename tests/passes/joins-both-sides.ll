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
; CHECK: br i1 {{.*}}, label %again
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
; CHECK: br i1 {{.*}}, label %again
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
; CHECK: br i1 {{.*}}, label %again
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

; Lanes that have exited are not waited for: the region begins behind.
; CHECK-LABEL: define amdgpu_kernel void @exits_before(
; CHECK: br i1 %none,
; CHECK: body:
; CHECK: br label %round
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, label %again
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: %{{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %{{.*}}, i32 %{{.*}}, i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @exits_before(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %none = icmp ugt i32 %tid, 20
  br i1 %none, label %exit, label %body

exit:
  ret void

body:
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

; In a loop on each side.
; CHECK-LABEL: define amdgpu_kernel void @two_loops(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, label %again
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: %{{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %{{.*}}, i32 %{{.*}}, i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @two_loops(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %left, label %right

left:
  %i = phi i32 [ 0, %entry ], [ %j, %left ]
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %i)
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, 10
  br i1 %m, label %left, label %done

right:
  %k = phi i32 [ 0, %entry ], [ %l, %right ]
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %k)
  %l = add i32 %k, 1
  %n = icmp ult i32 %l, 10
  br i1 %n, label %right, label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; On two of three sides.
; CHECK-LABEL: define amdgpu_kernel void @three_sides(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, label %again
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: meet:
; CHECK-NEXT: call void @__cerberus_join_bar.warp.sync(i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @three_sides(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %c = urem i32 %tid, 3
  switch i32 %c, label %x [ i32 0, label %y i32 1, label %z ]

x:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

y:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

z:
  store i32 1, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; In a branch that only some lanes take, of which the mask has no more.
; CHECK-LABEL: define amdgpu_kernel void @nested(
; CHECK: br i1 %few,
; CHECK: inner:
; CHECK: br label %round
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: and i32 %{{.*}}, 65535
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %both{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK-NOT: call {{.*}}@__cerberus_join_
define amdgpu_kernel void @nested(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 16
  br i1 %few, label %inner, label %done

inner:
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 65535, i32 1, i32 %tid)
  br label %both

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 65535, i32 2, i32 7)
  br label %both

both:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
attributes #1 = { convergent noinline nounwind willreturn }
