; Four ways give offsets of one base; with three, or where a sum is used
; elsewhere as well or below the base, all stays.
; RUN: ptxc-opt --passes=join-offsets -S %s | FileCheck %s

define amdgpu_kernel void @four(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %i) {
; CHECK-LABEL: @four(
; CHECK: end:
; CHECK-NEXT: [[D:%[0-9]+]] = phi i32 [ 0, %entry ], [ 8, %a ], [ 12, %b ], [ 40, %c ]
; CHECK-NEXT: [[W:%[0-9]+]] = zext nneg i32 [[D]] to i64
; CHECK-NEXT: [[P:%[0-9]+]] = getelementptr inbounds i8, ptr addrspace(1) %p, i64 [[W]]
; CHECK-NEXT: load i32, ptr addrspace(1) [[P]]
entry:
  switch i32 %i, label %end [ i32 1, label %a
                              i32 2, label %b
                              i32 3, label %c ]
a:
  %pa = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 8
  br label %end
b:
  %pb = getelementptr inbounds i8, ptr addrspace(1) %p, i64 12
  br label %end
c:
  %pc = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 40
  br label %end
end:
  %r = phi ptr addrspace(1) [ %p, %entry ], [ %pa, %a ], [ %pb, %b ], [ %pc, %c ]
  %v = load i32, ptr addrspace(1) %r
  store i32 %v, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @three(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %i) {
; CHECK-LABEL: @three(
; CHECK: phi ptr addrspace(1) [ %p, %entry ], [ %pa, %a ], [ %pb, %b ]
entry:
  switch i32 %i, label %end [ i32 1, label %a
                              i32 2, label %b ]
a:
  %pa = getelementptr i8, ptr addrspace(1) %p, i64 8
  br label %end
b:
  %pb = getelementptr i8, ptr addrspace(1) %p, i64 12
  br label %end
end:
  %r = phi ptr addrspace(1) [ %p, %entry ], [ %pa, %a ], [ %pb, %b ]
  %v = load i32, ptr addrspace(1) %r
  store i32 %v, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @stays(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %i) {
; CHECK-LABEL: @stays(
; CHECK: phi ptr addrspace(1) [ %p, %entry ], [ %pa, %a ], [ %pb, %b ], [ %pc, %c ]
; CHECK: phi ptr addrspace(1) [ %p, %entry ], [ %p, %a ], [ %below, %b ], [ %p, %c ]
entry:
  switch i32 %i, label %end [ i32 1, label %a
                              i32 2, label %b
                              i32 3, label %c ]
a:
  %pa = getelementptr i8, ptr addrspace(1) %p, i64 8
  store i32 1, ptr addrspace(1) %pa
  br label %end
b:
  %pb = getelementptr i8, ptr addrspace(1) %p, i64 12
  %below = getelementptr i8, ptr addrspace(1) %p, i64 -4
  br label %end
c:
  %pc = getelementptr i8, ptr addrspace(1) %p, i64 40
  br label %end
end:
  %r = phi ptr addrspace(1) [ %p, %entry ], [ %pa, %a ], [ %pb, %b ], [ %pc, %c ]
  %s = phi ptr addrspace(1) [ %p, %entry ], [ %p, %a ], [ %below, %b ], [ %p, %c ]
  %v = load i32, ptr addrspace(1) %r
  %w = load i32, ptr addrspace(1) %s
  store i32 %v, ptr addrspace(1) %q
  store i32 %w, ptr addrspace(1) %q
  ret void
}
