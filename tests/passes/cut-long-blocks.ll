; A block of more than 4,000 instructions is cut, about every 2,000, where fewest
; of its values are alive; an address with a constant offset is made in each piece.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=800 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-long-blocks -S - | FileCheck %s --check-prefix=LONG
; RUN: awk -v n=600 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-long-blocks -S - | FileCheck %s --check-prefix=SHORT
; LONG: entry:
; LONG: store i32 %d332, ptr addrspace(1) %far
; LONG-NEXT: br label %piece1
; LONG: piece1:
; LONG-NEXT: %a333 = load i32, ptr addrspace(1) %p
; LONG: [[FAR:%[^ ]+]] = getelementptr i8, ptr addrspace(1) %q, i64 64
; LONG-NEXT: store i32 {{.*}}, ptr addrspace(1) [[FAR]]
; LONG: br label %piece
; LONG: piece:
; LONG-NOT: label
; SHORT-NOT: piece

declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @long(ptr addrspace(1) %p, ptr addrspace(1) %q) {
entry:
  %far = getelementptr i8, ptr addrspace(1) %q, i64 64
; repeat
  %aITH = load i32, ptr addrspace(1) %p
  %bITH = add i32 %aITH, ITH
  %eITH = mul i32 %aITH, %bITH
  %fITH = xor i32 %eITH, %aITH
  %dITH = sub i32 %fITH, %bITH
  store i32 %dITH, ptr addrspace(1) %far
; end
  ret void
}
