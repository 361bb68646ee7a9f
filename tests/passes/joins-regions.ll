; Joins on one side that lanes of the other come to later.
; RUN: ptxc-opt --passes=lane-progress -S %s 2>&1 | FileCheck %s
; CHECK-NOT: warning:

declare i32 @__cerberus_wave_thread_x()
declare i32 @__cerberus_wave_lane()
declare i32 @__cerberus_wave_ballot(i1) #2
declare i32 @__cerberus_join_shfl.sync.idx.b32(i32, i32, i32) #0
declare i32 @__cerberus_join_match.any.sync.b32(i32, i32) #0
declare void @__cerberus_join_bar.warp.sync(i32) #1

; Two branches, taken by other lanes each: one region over both.
; CHECK-LABEL: define amdgpu_kernel void @opposite_conditions(
; CHECK: br label %round
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: }
define amdgpu_kernel void @opposite_conditions(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %first, label %between

first:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %between

between:
  br i1 %few, label %done, label %second

second:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; Lanes come to it in other rounds of a loop.
; CHECK-LABEL: define amdgpu_kernel void @in_loop(
; CHECK: br label %round
; CHECK: head:
; CHECK: side:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1,
; CHECK: round:
; CHECK: [[COMING:%.*]] = call i32 @__cerberus_wave_ballot(
; CHECK-NEXT: [[MISSING:%.*]] = and i32 [[COMING]], -1
; CHECK: [[ALL:%.*]] = icmp eq i32 [[MISSING]], 0
; CHECK: [[OPEN:%.*]] = and i1 %{{.*}}, [[ALL]]
; CHECK: [[GOES:%.*]] = and i1 %{{.*}}, [[OPEN]]
; CHECK-NEXT: br i1 [[GOES]], label %side,
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
define amdgpu_kernel void @in_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %mine = icmp eq i32 %i, %tid
  br i1 %mine, label %side, label %latch

side:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %latch

latch:
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 32
  br i1 %more, label %head, label %done

done:
  ret void
}

; Masks that are not known: those of one kind may be the same.
; CHECK-LABEL: define amdgpu_kernel void @unknown_masks(
; CHECK: [[SAME:%.*]] = call i32 @__cerberus_join_match(i32 %{{.*}}, i32 %{{.*}})
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: phi i32 [ %m, %left ], [ %n, %right ]
define amdgpu_kernel void @unknown_masks(ptr addrspace(1) %out, i32 %m, i32 %n) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %m, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %n, i32 2, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; On both sides of a branch, twice on one: nobody is elsewhere the second time.
; CHECK-LABEL: define amdgpu_kernel void @two_and_one(
; CHECK: call void @__cerberus_join_bar.warp.sync(i32 -1)
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: call void @__cerberus_join_bar.warp.sync(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: }
define amdgpu_kernel void @two_and_one(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  store i32 1, ptr addrspace(1) %out
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

right:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

done:
  ret void
}

; Twice on one side, and behind that on the other.
; CHECK-LABEL: define amdgpu_kernel void @two_and_one_twice(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: call void @__cerberus_join_bar.warp.sync(
; CHECK-NOT: call {{.*}}@__cerberus_join_
; CHECK: }
define amdgpu_kernel void @two_and_one_twice(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  store i32 1, ptr addrspace(1) %out
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %between

right:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %between

between:
  store i32 2, ptr addrspace(1) %out
  br i1 %few, label %left2, label %right2

left2:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

right2:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  store i32 3, ptr addrspace(1) %out
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

done:
  ret void
}

; Lanes come to it in other rounds, and some exit there.
; CHECK-LABEL: define amdgpu_kernel void @exit_in_loop(
; CHECK: br label %round
; CHECK: round:
; CHECK: br i1 {{.*}}, label %side2,
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %end{{[0-9]*$}}
define amdgpu_kernel void @exit_in_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %mine = and i32 %tid, 1
  %none = icmp eq i32 %tid, 6
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %here = icmp eq i32 %i, %mine
  br i1 %here, label %side, label %next

side:
  br i1 %none, label %exit, label %side2

exit:
  ret void

side2:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %next

next:
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, 2
  br i1 %m, label %head, label %done

done:
  ret void
}

; The mask was made of all lanes in front of a branch that not all take.
; CHECK-LABEL: define amdgpu_kernel void @mask_of_all(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: }
define amdgpu_kernel void @mask_of_all(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %mask = call i32 @__cerberus_wave_ballot(i1 true)
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 2, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; In one place, each lane with the next one: it waits for that as for one with
; the same mask, which does not come.
; CHECK-LABEL: define amdgpu_kernel void @each_with_the_next(
; CHECK: round:
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK: }
define amdgpu_kernel void @each_with_the_next(ptr addrspace(1) %out) {
entry:
  %lane = call i32 @__cerberus_wave_lane()
  %below = sub i32 %lane, 1
  %at = and i32 %below, 31
  %mask = shl i32 3, %at
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %at)
  store i32 %a, ptr addrspace(1) %out
  ret void
}

; With masks from memory, in a loop of all lanes.
; CHECK-LABEL: define amdgpu_kernel void @masks_from_memory(
; CHECK: round:
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
define amdgpu_kernel void @masks_from_memory(ptr addrspace(1) %out) {
entry:
  %lane = call i32 @__cerberus_wave_lane()
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ]
  %number = add i32 %i, %lane
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %number
  %mask = load i32, ptr addrspace(1) %place
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %i)
  store i32 %a, ptr addrspace(1) %out
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, 10
  br i1 %m, label %head, label %done

done:
  ret void
}

; Those that match.any has found, parted by something else.
; CHECK-LABEL: define amdgpu_kernel void @match_then_part(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: br i1 {{.*}}, label %again{{.*}}, label %done{{$}}
; CHECK: meet:
; CHECK-NEXT: {{.*}} = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK-NOT: call {{.*}}@__cerberus_join_shfl
; CHECK: }
define amdgpu_kernel void @match_then_part(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %key = urem i32 %tid, 3
  %mask = call i32 @__cerberus_join_match.any.sync.b32(i32 -1, i32 %key)
  %few = icmp ult i32 %tid, 16
  br i1 %few, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 2, i32 7)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
attributes #1 = { convergent noinline nounwind willreturn }
attributes #2 = { convergent nounwind willreturn memory(none) }
