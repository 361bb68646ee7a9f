; A block of more than 4,000 instructions is cut, about every 2,000, where fewest
; of its values are alive; an address with a constant offset is made in each piece.
; What another piece uses is used here as well, so that it is not sunk there, and
; goes there as a float, which LLVM does not take for a mask of lanes.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=800 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-long-blocks -S - | FileCheck %s --check-prefix=LONG
; RUN: awk -v n=550 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-long-blocks -S - | FileCheck %s --check-prefix=SHORT
; LONG: entry:
; LONG: store i32 %d284, ptr addrspace(1) %far
; LONG-NEXT: [[FIRST:%[^ ]+]] = bitcast i32 %s285 to float
; LONG-NEXT: call void (...) @llvm.fake.use(float [[FIRST]])
; LONG-NEXT: br label %piece1
; LONG: piece1:
; LONG-NEXT: [[SUM:%[^ ]+]] = bitcast float [[FIRST]] to i32
; LONG-NEXT: %a285 = load i32, ptr addrspace(1) %p
; LONG: add i32 [[SUM]],
; LONG: [[FAR:%[^ ]+]] = getelementptr i8, ptr addrspace(1) %q, i64 64
; LONG-NEXT: store i32 {{.*}}, ptr addrspace(1) [[FAR]]
; LONG: [[SECOND:%[^ ]+]] = bitcast i32 %s570 to float
; LONG-NEXT: call void (...) @llvm.fake.use(float [[SECOND]])
; LONG-NEXT: br label %piece
; LONG: piece:
; LONG-NOT: label
; LONG-NOT: call void
; SHORT-NOT: piece

declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @long(ptr addrspace(1) %p, ptr addrspace(1) %q) {
entry:
  %s0 = call i32 @llvm.amdgcn.workitem.id.x()
  %far = getelementptr i8, ptr addrspace(1) %q, i64 64
; repeat
  %aITH = load i32, ptr addrspace(1) %p
  %bITH = add i32 %aITH, ITH
  %eITH = mul i32 %aITH, %bITH
  %fITH = xor i32 %eITH, %aITH
  %dITH = sub i32 %fITH, %bITH
  %sNEXT = add i32 %sITH, %dITH
  store i32 %dITH, ptr addrspace(1) %far
; end
  store i32 %sTOTAL, ptr addrspace(1) %far
  ret void
}
