; Which kernels have two warps in a wave of 64, whose lanes take turns, and which
; have a second form for that.
; RUN: ptxc-opt --passes=choose-waves,inline-joins,resolve-waves --target gfx942 %s -o %t 2>&1 | FileCheck %s
; RUN: ptxc-opt --passes=choose-waves -S --target gfx942 %s | FileCheck %s --check-prefix=FORM
; FORM-DAG: define amdgpu_kernel void @barrier_in_other_rounds.packed({{.*}} [[BARRIERS:#[0-9]+]] {
; FORM-DAG: define amdgpu_kernel void @part_waits.packed({{.*}} [[WAITS:#[0-9]+]] {
; FORM-DAG: define amdgpu_kernel void @barrier_in_call.packed(
; FORM-DAG: attributes [[BARRIERS]] = { {{.*}}"cerberus-whole"
; FORM-DAG: attributes [[WAITS]] = { {{.*}}"cerberus-whole"
; RUN: ptxc-opt --passes=choose-waves -S --target gfx942 %s | FileCheck %s --check-prefix=NONE
; NONE-NOT: {{@small|@writes_behind}}.packed(

declare i32 @__cerberus_wave_thread_x()
declare void @llvm.amdgcn.s.barrier()

@flag = internal addrspace(3) global i32 poison
@words = internal addrspace(3) global [64 x i32] poison

; CHECK-DAG: note: barrier_in_uniform_loop: two warps in each wave{{$}}
define amdgpu_kernel void @barrier_in_uniform_loop(ptr addrspace(4) byref(i32) %n, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %count = load i32, ptr addrspace(4) %n
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}

; Warps go round as often as they like, and have another barrier behind.
; CHECK-DAG: note: barrier_in_other_rounds: one warp in each wave: not all threads pass the same barriers{{$}}
define amdgpu_kernel void @barrier_in_other_rounds(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %i, 32
  %more = icmp ult i32 %next, %tid
  br i1 %more, label %again, label %done
done:
  call void @llvm.amdgcn.s.barrier()
  ret void
}

; Who has left comes to no barrier any more.
; CHECK-DAG: note: barrier_behind_exit: two warps in each wave{{$}}
define amdgpu_kernel void @barrier_behind_exit(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %none = icmp ugt i32 %tid, 20
  br i1 %none, label %done, label %body
body:
  call void @llvm.amdgcn.s.barrier()
  br label %done
done:
  ret void
}

define void @has_barrier() noinline {
  call void @llvm.amdgcn.s.barrier()
  ret void
}

; CHECK-DAG: note: barrier_in_call: one warp in each wave: not all threads pass the same barriers{{$}}
define amdgpu_kernel void @barrier_in_call(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %side, label %done
side:
  call void @has_barrier()
  br label %done
done:
  call void @has_barrier()
  ret void
}

; Waits for another block, and writes behind in no order.
; CHECK-DAG: note: writes_other_memory: two warps in each wave{{$}}
define amdgpu_kernel void @writes_other_memory(ptr addrspace(4) byref([2 x i64]) %args, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %first = load i64, ptr addrspace(4) %args
  %p = inttoptr i64 %first to ptr addrspace(1)
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(1) %p acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
done:
  store i32 1, ptr addrspace(3) @flag
  ret void
}

; Lanes wait for those that have left the loop, be it of the other warp: both
; yield in the same rounds.
; CHECK-DAG: note: writes_behind: two warps in each wave{{$}}
define amdgpu_kernel void @writes_behind(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %tid = call i32 @__cerberus_wave_thread_x()
  %is = icmp eq i32 %word, %tid
  br i1 %is, label %done, label %wait
done:
  %next = add i32 %tid, 1
  store atomic i32 %next, ptr addrspace(3) @flag release, align 4
  ret void
}

; Not before a barrier, which a part of the wave does not pass alone.
; CHECK-DAG: note: writes_behind_barrier: two warps in each wave{{$}}
define amdgpu_kernel void @writes_behind_barrier(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
done:
  call void @llvm.amdgcn.s.barrier()
  store i32 0, ptr addrspace(3) @flag
  ret void
}

; One warp waits for what the other one writes.
; CHECK-DAG: note: part_waits: one warp in each wave: warps wait for each other in a loop{{$}}
define amdgpu_kernel void @part_waits(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %wait, label %set
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
set:
  store i32 1, ptr addrspace(3) @flag
  br label %done
done:
  ret void
}

define void @waits() noinline {
entry:
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
done:
  ret void
}

; CHECK-DAG: note: call_waits: one warp in each wave: it calls functions: lanes wait for others in a loop{{$}}
define amdgpu_kernel void @call_waits(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  call void @waits()
  ret void
}

; Joins are no functions that stay calls.
; CHECK-DAG: note: joins: two warps in each wave{{$}}
define amdgpu_kernel void @joins(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  call void @__cerberus_join_barred(i32 -1)
  ret void
}
; CHECK-DAG: note: joins_aside: one warp in each wave: not all threads pass the same barriers{{$}}
define amdgpu_kernel void @joins_aside(ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  call void @__cerberus_join_barred(i32 -1)
  br i1 %first, label %side, label %done
side:
  call void @llvm.amdgcn.s.barrier()
  br label %done
done:
  call void @llvm.amdgcn.s.barrier()
  ret void
}
define internal void @__cerberus_join_barred(i32 %mask) #0 {
  call void @llvm.amdgcn.wave.barrier()
  ret void
}
declare void @llvm.amdgcn.wave.barrier()

; No block of it is too large for one warp in each wave.
; CHECK-DAG: note: small: one warp in each wave: warps wait for each other in a loop{{$}}
define amdgpu_kernel void @small(ptr addrspace(4) byref([48 x i8]) align 8 %launch) "amdgpu-flat-work-group-size"="1,512" {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %wait, label %set
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %done, label %wait
set:
  store i32 1, ptr addrspace(3) @flag
  br label %done
done:
  ret void
}

; Lanes in lockstep make progress in it anyway.
; CHECK-DAG: note: never_yields: two warps in each wave{{$}}
define amdgpu_kernel void @never_yields(ptr addrspace(4) byref([48 x i8]) align 8 %launch) "cerberus-never-yields" {
entry:
  br label %wait
wait:
  %word = load atomic i32, ptr addrspace(3) @flag acquire, align 4
  %tid = call i32 @__cerberus_wave_thread_x()
  %is = icmp eq i32 %word, %tid
  br i1 %is, label %done, label %wait
done:
  store i32 1, ptr addrspace(3) @flag
  ret void
}

attributes #0 = { convergent noinline nounwind willreturn }
