; RUN: ptxc-opt --passes=choose-waves,resolve-waves --target gfx1100 -S %s 2>&1 | FileCheck %s --check-prefix=W32
; RUN: ptxc-opt --passes=choose-waves,resolve-waves --target gfx942 -S %s 2>&1 | FileCheck %s --check-prefix=W64
; RUN: ptxc-opt --passes=choose-waves,resolve-waves --target gfx942 --one-warp-per-wave -S %s 2>&1 | FileCheck %s --check-prefix=ONE
; W32: note: lanes: one warp in each wave{{$}}
; W32-NOT: __cerberus_wave_
; W64: note: barriers_aside: one warp in each wave: not all threads pass the same barriers
; W64: note: lanes: two warps in each wave
; W64: note: lock: two warps in each wave
; W64: note: same_barriers: two warps in each wave
; W64: note: waits_for_block: two warps in each wave
; W64-NOT: __cerberus_wave_
; ONE: note: lanes: one warp in each wave: one warp in each wave is asked for
; ONE-NOT: __cerberus_wave_

declare i32 @__cerberus_wave_lane()
declare i32 @__cerberus_wave_first_lane()
declare i32 @__cerberus_wave_ballot(i1) convergent
declare i32 @__cerberus_wave_thread()
declare i32 @__cerberus_wave_thread_x()
declare i32 @__cerberus_wave_thread_y()

; W32-LABEL: define amdgpu_kernel void @lanes(
; W32-NEXT: [[LANE:%.*]] = call range(i32 0, 32) i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
; W32-NEXT: store i32 [[LANE]]
; W32-NEXT: store i32 0
; W64-LABEL: define amdgpu_kernel void @lanes(
; W64: [[LANE:%.*]] = call i32 @llvm.amdgcn.mbcnt.hi(
; W64-NEXT: [[IN_WARP:%.*]] = and i32 [[LANE]], 31
; W64-NEXT: store i32 [[IN_WARP]]
; W64: [[LANE:%.*]] = call i32 @llvm.amdgcn.mbcnt.hi(
; W64-NEXT: [[FIRST:%.*]] = and i32 [[LANE]], 32
; W64-NEXT: store i32 [[FIRST]]
; 
; The upper half of a wave ends at once, and who is behind the block's end.
; ONE: define amdgpu_kernel void @lanes({{.*}} [[DOUBLED:#[0-9]+]] {
; ONE: [[ITEM:%.*]] = call i32 @llvm.amdgcn.workitem.id.x()
; ONE-NEXT: [[HALF:%.*]] = and i32 [[ITEM]], 32
; ONE-NEXT: [[UPPER:%.*]] = icmp ne i32 [[HALF]], 0
; ONE: [[BEHIND:%.*]] = icmp uge i32
; ONE-NEXT: [[IDLE:%.*]] = or i1 [[UPPER]], [[BEHIND]]
; ONE-NEXT: br i1 [[IDLE]], label %idle, label %threads
; ONE: threads:
; ONE: [[LANE:%.*]] = and i32 {{.*}}, 31
; ONE-NEXT: store i32 [[LANE]]
; ONE-NEXT: store i32 0
define amdgpu_kernel void @lanes(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
  %lane = call i32 @__cerberus_wave_lane()
  store i32 %lane, ptr addrspace(1) %out
  %first = call i32 @__cerberus_wave_first_lane()
  store i32 %first, ptr addrspace(1) %out
  ret void
}

; W32-LABEL: define amdgpu_kernel void @votes(
; W32: call i32 @llvm.amdgcn.ballot.i32(i1 %is)
; W64-LABEL: define amdgpu_kernel void @votes(
; W64: [[WAVE:%.*]] = call i64 @llvm.amdgcn.ballot.i64(i1 %is)
; W64: [[LOW:%.*]] = trunc i64 [[WAVE]] to i32
; W64: [[SHIFTED:%.*]] = lshr i64 [[WAVE]], 32
; W64: [[HIGH:%.*]] = trunc i64 [[SHIFTED]] to i32
; W64: [[FIRST:%.*]] = and i32 %{{.*}}, 32
; W64: [[IS_LOW:%.*]] = icmp eq i32 [[FIRST]], 0
; W64: select i1 [[IS_LOW]], i32 [[LOW]], i32 [[HIGH]]
; ONE-LABEL: define amdgpu_kernel void @votes(
; ONE: [[WAVE:%.*]] = call i64 @llvm.amdgcn.ballot.i64(i1 %is)
; ONE-NEXT: {{.*}} = trunc i64 [[WAVE]] to i32
define amdgpu_kernel void @votes(ptr addrspace(1) %out, i1 %is, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
  %lanes = call i32 @__cerberus_wave_ballot(i1 %is)
  store i32 %lanes, ptr addrspace(1) %out
  ret void
}

; With one warp a thread's place in the block follows from its number.
; W64-LABEL: define amdgpu_kernel void @threads(
; W64-NEXT: [[X:%.*]] = call i32 @llvm.amdgcn.workitem.id.x()
; W64-NEXT: store i32 [[X]]
; W64-NEXT: [[Y:%.*]] = call i32 @llvm.amdgcn.workitem.id.y()
; W64-NEXT: store i32 [[Y]]
; ONE-LABEL: define amdgpu_kernel void @threads(
; ONE: threads:
; ONE: [[ITEM:%.*]] = call i32 @llvm.amdgcn.workitem.id.x()
; ONE-NEXT: [[WARP:%.*]] = lshr i32 [[ITEM]], 6
; ONE-NEXT: [[WHOLE:%.*]] = shl i32 [[WARP]], 5
; ONE-NEXT: [[LANE:%.*]] = and i32 [[ITEM]], 31
; ONE-NEXT: [[THREAD:%.*]] = or i32 [[WHOLE]], [[LANE]]
; ONE: mul i32 [[THREAD]], %{{.*}}
; ONE-NEXT: [[ROWS:%.*]] = lshr i32 {{.*}}, 20
; ONE: [[BEFORE:%.*]] = mul i32 [[ROWS]], %{{.*}}
; ONE-NEXT: [[X:%.*]] = sub i32 [[THREAD]], [[BEFORE]]
; ONE-NEXT: store i32 [[X]]
define amdgpu_kernel void @threads(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
  %x = call i32 @__cerberus_wave_thread_x()
  store i32 %x, ptr addrspace(1) %out
  %y = call i32 @__cerberus_wave_thread_y()
  store i32 %y, ptr addrspace(1) %out
  ret void
}

; Two warps of a wave pass other barriers.
define amdgpu_kernel void @barriers_aside(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %side, label %done
side:
  call void @llvm.amdgcn.s.barrier()
  br label %done
done:
  call void @llvm.amdgcn.s.barrier()
  store i32 1, ptr addrspace(1) %out
  ret void
}

; All pass the same.
define amdgpu_kernel void @same_barriers(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
entry:
  %tid = call i32 @__cerberus_wave_thread_x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %side, label %done
side:
  store i32 2, ptr addrspace(1) %out
  br label %done
done:
  call void @llvm.amdgcn.s.barrier()
  store i32 1, ptr addrspace(1) %out
  ret void
}

; Lanes of both warps wait for the lock, which is given back behind the loop.
define amdgpu_kernel void @lock(ptr addrspace(1) %lock, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
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

; All threads of a block wait for another block, whose flag they only look at.
define amdgpu_kernel void @waits_for_block(ptr addrspace(1) %flag, ptr addrspace(4) byref([48 x i8]) align 8 %launch) #0 {
entry:
  br label %try
try:
  %word = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %is = icmp ne i32 %word, 0
  br i1 %is, label %got, label %try
got:
  ret void
}

; Up to 200 threads are seven warps, and seven waves of 64.
; ONE: attributes [[DOUBLED]] = { {{.*}}"amdgpu-flat-work-group-size"="64,448"
attributes #0 = { "amdgpu-flat-work-group-size"="1,200" }
