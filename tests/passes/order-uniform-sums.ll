; Of a sum of what each lane has and much that is uniform the uniform part is
; added up first, in its order.
; RUN: ptxc-opt --passes=order-uniform-sums -S %s | FileCheck %s

; CHECK-LABEL: @sum(
; CHECK: %a = load
; CHECK: %b = load
; CHECK: [[AB:%.*]] = add i32 %a, %b
; CHECK: %c = load
; CHECK: [[ABC:%.*]] = add i32 [[AB]], %c
; CHECK: [[ABCD:%.*]] = add i32 [[ABC]], %d
; CHECK: [[ABCDE:%.*]] = add i32 [[ABCD]], 5
; CHECK: [[F:%.*]] = add i32 [[ABCDE]], %a
; CHECK: [[G:%.*]] = add i32 [[F]], %b
; CHECK: [[H:%.*]] = add i32 [[G]], %c
; CHECK: [[ALL:%.*]] = add i32 %lane, [[H]]
; CHECK: store i32 [[ALL]]
define amdgpu_kernel void @sum(ptr addrspace(4) %p, ptr addrspace(1) %q) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %a = load i32, ptr addrspace(4) %p
  %1 = add nsw i32 %lane, %a
  %pb = getelementptr i32, ptr addrspace(4) %p, i64 1
  %b = load i32, ptr addrspace(4) %pb
  %2 = add i32 %b, %1
  %pc = getelementptr i32, ptr addrspace(4) %p, i64 2
  %c = load i32, ptr addrspace(4) %pc
  %3 = add i32 %2, %c
  %pd = getelementptr i32, ptr addrspace(4) %p, i64 3
  %d = load i32, ptr addrspace(4) %pd
  %4 = add i32 %3, %d
  %5 = add i32 %4, 5
  %6 = add i32 %5, %a
  %7 = add i32 %6, %b
  %8 = add i32 %7, %c
  store i32 %8, ptr addrspace(1) %q
  ret void
}

; A short one, one whose steps others ask for, one that is no sum, and one of
; two values of lanes stay.
; CHECK-LABEL: @others(
; CHECK: [[X1:%.*]] = add i32 %lane, %u
; CHECK: [[X2:%.*]] = add i32 [[X1]], %u
; CHECK: store i32 [[X2]]
; CHECK: [[Y1:%.*]] = sub i32 %lane, %u
; CHECK: [[Y2:%.*]] = sub i32 [[Y1]], %u
define amdgpu_kernel void @others(i32 %u, ptr addrspace(1) %q) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %x1 = add i32 %lane, %u
  %x2 = add i32 %x1, %u
  store i32 %x2, ptr addrspace(1) %q
  %x3 = add i32 %x2, %u
  %x4 = add i32 %x3, %u
  %x5 = add i32 %x4, %u
  %x6 = add i32 %x5, %u
  %x7 = add i32 %x6, %u
  %x8 = add i32 %x7, %u
  %y1 = sub i32 %lane, %u
  %y2 = sub i32 %y1, %u
  %y3 = sub i32 %y2, %u
  %y4 = sub i32 %y3, %u
  %y5 = sub i32 %y4, %u
  %y6 = sub i32 %y5, %u
  %y7 = sub i32 %y6, %u
  %y8 = sub i32 %y7, %u
  %z = xor i32 %x8, %y8
  store i32 %z, ptr addrspace(1) %q
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
