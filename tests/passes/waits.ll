; Loops in which lanes wait for others.
; RUN: ptxc-opt --passes=lane-progress -S %s 2>&1 | FileCheck %s
; RUN: ptxc-opt --passes=lane-progress --serial-lanes -S %s 2>&1 | FileCheck %s --check-prefix=SERIAL
; CHECK-NOT: warning:
; SERIAL-NOT: warning:

declare i32 @__cerberus_wave_thread_x()

; Who has the lock gives it back behind the loop.
; CHECK-LABEL: define amdgpu_kernel void @lock(
; CHECK: br label %round
; CHECK: try:
; CHECK-NEXT: {{.*}} = cmpxchg
; CHECK: br i1 %is, label %got, label %[[YIELD:.*]]
; CHECK: store atomic i32 0, ptr addrspace(1) %lock release
; CHECK-NEXT: br label %[[LEAVE:.*]]
; CHECK: br i1 %{{.*}}, label %try, label %end
; CHECK: end:
; CHECK: [[MORE:%.*]] = icmp ne i32 %{{.*}}, 2
; CHECK-NEXT: br i1 [[MORE]], label %again, label %{{.*}}
; CHECK: [[YIELD]]:
; CHECK-NEXT: {{.*}} = call i32 asm "", "=v,0,n"(i32 1,
; CHECK-NEXT: br label %end
; CHECK: [[LEAVE]]:
; CHECK-NEXT: {{.*}} = call i32 asm "", "=v,0,n"(i32 2,
; CHECK-NEXT: br label %end
; CHECK: again:
; CHECK-NEXT: {{.*}} = call i32 asm sideeffect
; CHECK-NEXT: br label %round
define amdgpu_kernel void @lock(ptr addrspace(1) %lock, ptr addrspace(1) %count) {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  %n = load i32, ptr addrspace(1) %count
  %next = add i32 %n, 1
  store i32 %next, ptr addrspace(1) %count
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  br label %done
done:
  ret void
}

; In the loop: no lane has to yield. But LLVM must not see which round is the
; last, since it would move what that does behind the loop.
; CHECK-LABEL: define amdgpu_kernel void @lock_in_loop(
; CHECK-NOT: round:
; CHECK: [[BITS:%.*]] = zext i1 %is to i32
; CHECK-NEXT: [[HIDDEN:%.*]] = call i32 asm "", "=v,0,n"(i32 [[BITS]],
; CHECK-NEXT: [[DONE:%.*]] = icmp ne i32 [[HIDDEN]], 0
; CHECK-NEXT: br i1 [[DONE]], label %done, label %try
; CHECK-NOT: round:
define amdgpu_kernel void @lock_in_loop(ptr addrspace(1) %lock, ptr addrspace(1) %count) {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %again
got:
  %n = load i32, ptr addrspace(1) %count
  %next = add i32 %n, 1
  store i32 %next, ptr addrspace(1) %count
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  br label %again
again:
  br i1 %is, label %done, label %try
done:
  ret void
}

; One side waits for what the other stores.
; CHECK-LABEL: define amdgpu_kernel void @flag(
; CHECK: br label %round
; CHECK: br i1 %even,
; CHECK: wait:
; CHECK-NEXT: {{.*}} = load atomic
; CHECK: br i1 %is, label %[[LEAVE:.*]], label %[[YIELD:.*]]{{$}}
; CHECK: store atomic i32 1, ptr addrspace(1) %flag release
; CHECK: end:
; CHECK: br i1 %{{.*}}, label %again, label %done{{$}}
; CHECK: [[LEAVE]]:
; CHECK-NEXT: {{.*}} = call i32 asm "", "=v,0,n"(i32 2,
; CHECK-NEXT: br label %end
; CHECK: [[YIELD]]:
; CHECK-NEXT: {{.*}} = call i32 asm "", "=v,0,n"(i32 1,
; CHECK-NEXT: br label %end
define amdgpu_kernel void @flag(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %bit = and i32 %tid, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %wait, label %set
wait:
  %word = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
set:
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  br label %done
done:
  store i32 1, ptr addrspace(1) %out
  ret void
}

; A loop that fetches numbers ends by itself.
; CHECK-LABEL: define amdgpu_kernel void @counts(
; CHECK-NOT: round:
; CHECK: ret void
; One by one, lanes yield in it all the same.
; SERIAL-LABEL: define amdgpu_kernel void @counts(
; SERIAL: br label %round
; SERIAL: atomicrmw add
; SERIAL: br i1 {{.*}}, label %again
define amdgpu_kernel void @counts(ptr addrspace(1) %next, i32 %n) {
entry:
  br label %more
more:
  %mine = atomicrmw add ptr addrspace(1) %next, i32 1 monotonic
  %less = icmp ult i32 %mine, %n
  br i1 %less, label %more, label %done
done:
  ret void
}

; Waits for another block: nobody here can do anything for it.
; CHECK-LABEL: define amdgpu_kernel void @other_block(
; CHECK-NOT: round:
; CHECK: ret void
define amdgpu_kernel void @other_block(ptr addrspace(1) %flag) {
entry:
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
done:
  ret void
}

; In a function that says that its lanes make progress anyway.
; CHECK-LABEL: define amdgpu_kernel void @never_yields(
; CHECK-NOT: round:
; CHECK: ret void
define amdgpu_kernel void @never_yields(ptr addrspace(1) %lock) "cerberus-never-yields" {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  ret void
}

; Nobody gives the lock back here, so that no order of lanes helps.
; CHECK-LABEL: define amdgpu_kernel void @taken_for_good(
; CHECK-NOT: round:
; CHECK: ret void
define amdgpu_kernel void @taken_for_good(ptr addrspace(1) %lock) {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  ret void
}

; Two locks, one inside the other: lanes rest behind the last one, not between.
; CHECK-LABEL: define amdgpu_kernel void @two_locks(
; CHECK: atomic i32 0, ptr addrspace(1) %inner release
; CHECK-NOT: label %leave
; CHECK: atomic i32 0, ptr addrspace(1) %outer release
; CHECK: ret void
define amdgpu_kernel void @two_locks(ptr addrspace(1) %outer, ptr addrspace(1) %inner) {
entry:
  br label %try
try:
  %a = cmpxchg ptr addrspace(1) %outer, i32 0, i32 1 acquire monotonic
  %has = extractvalue { i32, i1 } %a, 1
  br i1 %has, label %again, label %try
again:
  %b = cmpxchg ptr addrspace(1) %inner, i32 0, i32 1 acquire monotonic
  %both = extractvalue { i32, i1 } %b, 1
  br i1 %both, label %got, label %again
got:
  store atomic i32 0, ptr addrspace(1) %inner release, align 4
  store atomic i32 0, ptr addrspace(1) %outer release, align 4
  ret void
}

; In a loop, with work behind: lanes rest in front of that.
; CHECK-LABEL: define amdgpu_kernel void @lock_then_work(
; CHECK: [[TIRED:%.*]] = icmp uge i32 %{{.*}}, 64
; CHECK: or i1 %{{.*}}, [[TIRED]]
define amdgpu_kernel void @lock_then_work(ptr addrspace(1) %lock, ptr addrspace(1) %out, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %work ]
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  br label %work
work:
  store i32 %i, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}

; Lanes at the barrier (2) wait for those that rest in front of the next vote
; (4), which do not wait for them: else some would be a barrier ahead.
; CHECK-LABEL: define amdgpu_kernel void @barrier_in_loop(
; CHECK: round:
; CHECK: [[AT:%.*]] = icmp eq i32 [[NEXT:%.*]], 3
; CHECK: [[AT:%.*]] = icmp eq i32 [[NEXT]], 4
; CHECK-NEXT: [[OR:%.*]] = or i1 %{{.*}}, [[AT]]
; CHECK: [[AT:%.*]] = icmp eq i32 [[NEXT]], 5
; CHECK-NEXT: [[COMES:%.*]] = or i1 [[OR]], [[AT]]
; CHECK-NEXT: [[MISSING:%.*]] = call i32 @__cerberus_wave_ballot(i1 [[COMES]])
; CHECK-NEXT: icmp eq i32 [[MISSING]], 0
; CHECK-NEXT: icmp eq i32 [[NEXT]], 2
; CHECK: icmp eq i32 [[NEXT]], 1
; CHECK-NEXT: or i1
; CHECK-NEXT: icmp eq i32 [[NEXT]], 3
; CHECK-NEXT: or i1
; CHECK-NEXT: icmp eq i32 [[NEXT]], 5
; CHECK-NEXT: [[COMES:%.*]] = or i1
; CHECK-NEXT: [[MISSING:%.*]] = call i32 @__cerberus_wave_ballot(i1 [[COMES]])
; CHECK-NEXT: icmp eq i32 [[MISSING]], 0
; CHECK-NEXT: icmp eq i32 [[NEXT]], 4
declare i32 @__cerberus_wave_ballot(i1) convergent
declare void @llvm.amdgcn.s.barrier() convergent
define amdgpu_kernel void @barrier_in_loop(ptr addrspace(1) %rounds, i32 %times) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %mine = urem i32 %tid, 3
  br label %time
time:
  %i = phi i32 [ 0, %entry ], [ %j, %left ]
  call void @llvm.amdgcn.s.barrier()
  br label %meeting
meeting:
  %n = phi i32 [ 0, %time ], [ %m, %met ]
  %here = call i32 @__cerberus_wave_ballot(i1 true)
  %old = atomicrmw add ptr addrspace(1) %rounds, i32 %here monotonic
  br label %wait
wait:
  %now = load atomic i32, ptr addrspace(1) %rounds acquire, align 4
  %is = icmp ugt i32 %now, %here
  br i1 %is, label %met, label %wait
met:
  %m = add i32 %n, 1
  %again = icmp ult i32 %m, %mine
  br i1 %again, label %meeting, label %left
left:
  %late = atomicrmw add ptr addrspace(1) %rounds, i32 %m monotonic
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %times
  br i1 %more, label %time, label %done
done:
  store atomic i32 1, ptr addrspace(1) %rounds release, align 4
  ret void
}
