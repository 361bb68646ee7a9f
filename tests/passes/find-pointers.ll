; RUN: ptxc-opt --passes=find-pointers -S %s | FileCheck %s

; A parameter, an index and a constant: two accesses of one base.
; CHECK-LABEL: define amdgpu_kernel void @parameter(
; CHECK: %p = load i64
; CHECK-NEXT: [[BASE:%.*]] = inttoptr i64 %p to ptr addrspace(1)
; CHECK: [[AT:%.*]] = getelementptr i8, ptr addrspace(1) [[BASE]], i64 %index
; CHECK: [[NEXT:%.*]] = getelementptr i8, ptr addrspace(1) [[AT]], i64 4
; CHECK-NOT: inttoptr
; CHECK: load i32, ptr addrspace(1) [[AT]]
; CHECK: load i32, ptr addrspace(1) [[NEXT]]
define amdgpu_kernel void @parameter(ptr addrspace(4) byref(i64) %arg, i64 %index) {
  %p = load i64, ptr addrspace(4) %arg
  %sum = add i64 %index, %p
  %next = add i64 %sum, 4
  %a = inttoptr i64 %sum to ptr addrspace(1)
  %b = inttoptr i64 %next to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %a
  %y = load i32, ptr addrspace(1) %b
  %z = add i32 %x, %y
  store i32 %z, ptr addrspace(1) %a
  ret void
}

; A variable's address is the pointer that it came from.
; CHECK-LABEL: define i32 @variable(
; CHECK: [[AT:%.*]] = getelementptr i8, ptr addrspace(3) @words, i32 %index
; CHECK: load i32, ptr addrspace(3) [[AT]]
@words = external addrspace(3) global [16 x i32]
define i32 @variable(i32 %index) {
  %start = ptrtoint ptr addrspace(3) @words to i32
  %sum = add i32 %start, %index
  %at = inttoptr i32 %sum to ptr addrspace(3)
  %x = load i32, ptr addrspace(3) %at
  ret i32 %x
}

; Of two unknown numbers neither is the base.
; CHECK-LABEL: define i32 @either(
; CHECK: %at = inttoptr i64 %sum to ptr addrspace(1)
define i32 @either(i64 %a, i64 %b) {
  %sum = add i64 %a, %b
  %at = inttoptr i64 %sum to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %at
  ret i32 %x
}

; And of two variables' addresses neither.
; CHECK-LABEL: define i32 @two_bases(
; CHECK: %at = inttoptr i64 %sum to ptr addrspace(1)
define i32 @two_bases(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %a = ptrtoint ptr addrspace(1) %p to i64
  %b = ptrtoint ptr addrspace(1) %q to i64
  %sum = add i64 %a, %b
  %at = inttoptr i64 %sum to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %at
  ret i32 %x
}

; An address that was cut is no sum of pointers.
; CHECK-LABEL: define i32 @cut(
; CHECK: inttoptr i32 %low to ptr addrspace(1)
define i32 @cut(ptr addrspace(4) byref(i64) %arg) {
  %p = load i64, ptr addrspace(4) %arg
  %sum = add i64 %p, 8
  %low = trunc i64 %sum to i32
  %at = inttoptr i32 %low to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %at
  ret i32 %x
}
