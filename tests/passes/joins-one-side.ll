; Joins that get all lanes they can get: nothing changes.
; RUN: sh %S/Inputs/unchanged.sh ptxc-opt lane-progress %s

declare i32 @__cerberus_wave_thread_x()
declare i32 @__cerberus_wave_lane()
declare i32 @__cerberus_wave_ballot(i1) #2
declare void @llvm.amdgcn.s.barrier()
declare i32 @__cerberus_join_shfl.sync.idx.b32(i32, i32, i32) #0
declare i32 @__cerberus_join_match.any.sync.b32(i32, i32) #0
declare i32 @__cerberus_join_vote.sync.ballot.b32(i32, i1) #0
declare void @__cerberus_join_bar.warp.sync(i32) #1

; On one side only.
define amdgpu_kernel void @one_side(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %side, label %done

side:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; On both, of other kinds.
define amdgpu_kernel void @other_kinds(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %done

right:
  call void @__cerberus_join_bar.warp.sync(i32 -1)
  br label %done

done:
  ret void
}

; On both, with masks that are known and differ.
define amdgpu_kernel void @other_masks(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 16
  br i1 %few, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 65535, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -65536, i32 17, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; Two branches behind one another, taken by the same lanes.
define amdgpu_kernel void @same_condition(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %first, label %between

first:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %between

between:
  br i1 %few, label %second, label %done

second:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; A barrier between, at which all lanes are together.
define amdgpu_kernel void @barrier_between(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %first, label %between

first:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %between

between:
  call void @llvm.amdgcn.s.barrier()
  br label %behind

behind:
  br i1 %few, label %done, label %second

second:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; activemask on each side: all lanes of the mask come.
define amdgpu_kernel void @active_lanes(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %right

left:
  %here = call i32 @__cerberus_wave_ballot(i1 true)
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %here, i32 1, i32 %tid)
  br label %done

right:
  %there = call i32 @__cerberus_wave_ballot(i1 true)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %there, i32 2, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; The mask of those that go to a side, made in front of the branch, as a
; reduction has it.
define amdgpu_kernel void @chosen_lanes(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  %mask = call i32 @__cerberus_wave_ballot(i1 %few)
  br i1 %few, label %side, label %other

side:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %done

other:
  %there = call i32 @__cerberus_wave_ballot(i1 true)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %there, i32 1, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  br label %done

done:
  ret void
}

; A branch at which whole warps part.
define amdgpu_kernel void @whole_warps(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %warp = lshr i32 %tid, 5
  %first = icmp eq i32 %warp, 0
  br i1 %first, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; And one that all lanes decide together.
define amdgpu_kernel void @same_in_all(ptr addrspace(4) byref(i32) %n, ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %count = load i32, ptr addrspace(4) %n
  %none = icmp eq i32 %count, 0
  br i1 %none, label %left, label %right

left:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  br label %done

right:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  br label %done

done:
  %value = phi i32 [ %a, %left ], [ %b, %right ]
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; The other side exits.
define amdgpu_kernel void @exit_on_one_side(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %none = icmp ugt i32 %tid, 20
  br i1 %none, label %exit, label %body

exit:
  ret void

body:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  ret void
}

; In a loop that all lanes go round as often.
define amdgpu_kernel void @uniform_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %left

left:
  %i = phi i32 [ 0, %entry ], [ %j, %left ]
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, 10
  br i1 %m, label %left, label %done

done:
  store i32 %a, ptr addrspace(1) %out
  ret void
}

; In one that lanes leave by and by: who has left comes to no more.
define amdgpu_kernel void @divergent_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %left

left:
  %i = phi i32 [ 0, %entry ], [ %j, %left ]
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, %tid
  br i1 %m, label %left, label %done

done:
  store i32 %a, ptr addrspace(1) %out
  ret void
}

; On one side, and where both are together again.
define amdgpu_kernel void @side_and_behind(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %first, label %between

first:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %between

between:
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 2, i32 %tid)
  store i32 %b, ptr addrspace(1) %out
  ret void
}

; In a branch within a branch.
define amdgpu_kernel void @nested_sides(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %few = icmp ult i32 %tid, 5
  br i1 %few, label %left, label %done

left:
  %fewer = icmp ult i32 %tid, 3
  br i1 %fewer, label %inner, label %done

inner:
  call i32 @__cerberus_join_shfl.sync.idx.b32(i32 7, i32 1, i32 %tid)
  br label %done

done:
  ret void
}

; Masks that put lanes into groups, of one place or of two.
define amdgpu_kernel void @groups(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %lane = call i32 @__cerberus_wave_lane()
  %quad = and i32 %lane, 28
  %mask = shl i32 15, %quad
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %tid)
  %in_eight = and i32 %tid, 7
  %eight = sub i32 %tid, %in_eight
  %first = and i32 %eight, 31
  %larger = shl i32 255, %first
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %larger, i32 %a, i32 1)
  store i32 %b, ptr addrspace(1) %out
  ret void
}

; Of those that are still there, in each round of a loop.
define amdgpu_kernel void @fewer_each_round(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ]
  %mask = phi i32 [ -1, %entry ], [ %left, %head ]
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %tid
  %left = call i32 @__cerberus_join_vote.sync.ballot.b32(i32 %mask, i1 %more)
  br i1 %more, label %head, label %done

done:
  store i32 %left, ptr addrspace(1) %out
  ret void
}

; Those that match.any has found come to what is behind it.
define amdgpu_kernel void @match_groups(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %key = urem i32 %tid, 3
  %mask = call i32 @__cerberus_join_match.any.sync.b32(i32 -1, i32 %key)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 2, i32 7)
  store i32 %b, ptr addrspace(1) %out
  ret void
}

; activemask in a branch in a loop that lanes leave by and by.
define amdgpu_kernel void @active_in_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %mask = call i32 @__cerberus_wave_ballot(i1 true)
  %c = urem i32 %tid, 3
  %mine = icmp eq i32 %i, %c
  br i1 %mine, label %side, label %latch

side:
  %m2 = call i32 @__cerberus_wave_ballot(i1 true)
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %m2, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  br label %latch

latch:
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %tid
  br i1 %more, label %head, label %done

done:
  ret void
}

; A mask made in front of such a loop: who is still in it comes in each round.
define amdgpu_kernel void @mask_before_loop(ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %mask = call i32 @__cerberus_wave_ballot(i1 true)
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %mask, i32 1, i32 %tid)
  store i32 %a, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %tid
  br i1 %more, label %head, label %done

done:
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
attributes #1 = { convergent noinline nounwind willreturn }
attributes #2 = { convergent nounwind willreturn memory(none) }
