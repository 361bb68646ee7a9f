; What a lane makes of its place in the wave alone is made where it is used, and
; not kept while lanes go round. What it made of its arguments is kept.
; RUN: ptxc-opt --passes=lane-progress -S %s 2>&1 | FileCheck %s
; CHECK-NOT: warning:

declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @lock(
; CHECK-NOT: phi {{.*}}%line
; CHECK: got:
; CHECK: [[LOW:%.*]] = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
; CHECK-NEXT: [[LANE:%.*]] = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 [[LOW]])
; CHECK-NEXT: [[LINE:%.*]] = shl i32 [[LANE]], 2
; CHECK: %at = getelementptr i32, ptr addrspace(1) %count, i32 [[LINE]]
; CHECK: store i32 %{{.*}}, ptr addrspace(1) %at
; CHECK: round:
; CHECK: phi {{.*}}
define amdgpu_kernel void @lock(ptr addrspace(1) %lock, ptr addrspace(1) %count, i32 %by) {
entry:
  br label %try
try:
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %line = shl i32 %lane, 2
  %of = add i32 %by, 5
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  %at = getelementptr i32, ptr addrspace(1) %count, i32 %line
  store i32 %of, ptr addrspace(1) %at
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  br label %done
done:
  ret void
}
