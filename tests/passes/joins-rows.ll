; Of joins by one mask behind each other only the first waits where all that it
; brings together stand at it; else each of them does.
; RUN: ptxc-opt --passes=lane-progress -S %s 2>&1 | FileCheck %s
; RUN: ptxc-opt --passes=lane-progress --target gfx942 -S %s 2>&1 | FileCheck %s
; CHECK-NOT: warning:

declare i32 @__cerberus_wave_thread_x() #2
declare i32 @__cerberus_join_shfl.sync.idx.b32(i32, i32, i32) #0
declare i32 @__cerberus_join_redux.sync.add.u32(i32, i32) #0

; Lanes meet in unlike rounds, all of them at the row's begin. What is between
; does not part them.
; CHECK-LABEL: define amdgpu_kernel void @in_rounds(
; CHECK: %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %{{.*}}, i32 1)
; CHECK: %b = call i32 @__cerberus_join_redux.sync.add.u32(i32 -1, i32 %a)
; CHECK: br i1 %small, label %work,
; CHECK: %c = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %b, i32 2)
; CHECK: {{^}}round:
; CHECK: call i32 @__cerberus_wave_ballot(
; CHECK-NOT: call i32 @__cerberus_wave_ballot(
; CHECK-COUNT-4: {{^}}gate
; CHECK-NOT: {{^(gate|meet)}}
define amdgpu_kernel void @in_rounds(ptr addrspace(1) %out, i32 %rounds) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %sum = phi i32 [ 0, %entry ], [ %more, %again ]
  %both = add i32 %tid, %i
  %bit = and i32 %both, 1
  %turn = icmp eq i32 %bit, 0
  br i1 %turn, label %row, label %again

row:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %i, i32 1)
  %b = call i32 @__cerberus_join_redux.sync.add.u32(i32 -1, i32 %a)
  %small = icmp ult i32 %tid, 5
  br i1 %small, label %work, label %last

work:
  store i32 %b, ptr addrspace(1) %out
  br label %last

last:
  %c = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %b, i32 2)
  br label %again

again:
  %more = phi i32 [ %sum, %loop ], [ %c, %last ]
  %next = add i32 %i, 1
  %go = icmp ult i32 %next, %rounds
  br i1 %go, label %loop, label %done

done:
  store i32 %more, ptr addrspace(1) %out
  ret void
}

; Which of two rows it is follows from an argument: no lane is at the other one.
; CHECK-LABEL: define amdgpu_kernel void @by_an_argument(
; CHECK: %a = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK: %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %a, i32 2)
; CHECK: %c = call i32 @__cerberus_join_shfl.sync.idx.b32(
; CHECK: %d = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %c, i32 4)
; CHECK: {{^}}round:
; CHECK-NOT: {{^}}meet
define amdgpu_kernel void @by_an_argument(ptr addrspace(1) %out, i32 inreg %rounds, i32 inreg %which) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp eq i32 %which, 1
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %sum = phi i32 [ 0, %entry ], [ %more, %again ]
  %both = add i32 %tid, %i
  %bit = and i32 %both, 1
  %turn = icmp eq i32 %bit, 0
  br i1 %turn, label %rows, label %again

rows:
  br i1 %first, label %one, label %other

one:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %i, i32 1)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %a, i32 2)
  br label %again

other:
  %c = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %i, i32 3)
  %d = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %c, i32 4)
  br label %again

again:
  %more = phi i32 [ %sum, %loop ], [ %b, %one ], [ %d, %other ]
  %next = add i32 %i, 1
  %go = icmp ult i32 %next, %rounds
  br i1 %go, label %loop, label %done

done:
  store i32 %more, ptr addrspace(1) %out
  ret void
}

; The same by the number of the round, which may differ: lanes at either row
; meet, at each of its joins.
; CHECK-LABEL: define amdgpu_kernel void @by_the_round(
; CHECK: {{^}}meet:
; CHECK-NEXT: = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 %{{.*}}, i32 %{{.*}}, i32 %{{.*}})
; CHECK-NOT: call i32 @__cerberus_join
define amdgpu_kernel void @by_the_round(ptr addrspace(1) %out, i32 inreg %rounds) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %sum = phi i32 [ 0, %entry ], [ %more, %again ]
  %both = add i32 %tid, %i
  %bit = and i32 %both, 1
  %turn = icmp eq i32 %bit, 0
  br i1 %turn, label %rows, label %again

rows:
  %third = urem i32 %i, 3
  %first = icmp eq i32 %third, 0
  br i1 %first, label %one, label %other

one:
  %a = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %i, i32 1)
  %b = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %a, i32 2)
  br label %again

other:
  %c = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %i, i32 3)
  %d = call i32 @__cerberus_join_shfl.sync.idx.b32(i32 -1, i32 %c, i32 4)
  br label %again

again:
  %more = phi i32 [ %sum, %loop ], [ %b, %one ], [ %d, %other ]
  %next = add i32 %i, 1
  %go = icmp ult i32 %next, %rounds
  br i1 %go, label %loop, label %done

done:
  store i32 %more, ptr addrspace(1) %out
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn memory(inaccessiblemem: readwrite) }
attributes #2 = { nounwind memory(none) speculatable willreturn }
