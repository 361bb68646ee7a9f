; A load goes to the side that needs it, but not in functions that have a block
; with many loads in front of many writes.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=800 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=sink-within-bounds -S - | FileCheck %s --check-prefix=MANY
; RUN: awk -v n=100 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=sink-within-bounds -S - | FileCheck %s --check-prefix=FEW
; MANY: entry:
; MANY-NEXT: %v = load i32
; FEW: side:
; FEW-NEXT: %v = load i32

declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @k(ptr addrspace(1) readonly %p, ptr addrspace(3) %s) {
entry:
  %v = load i32, ptr addrspace(1) %p, !invariant.load !0
  %c = icmp eq ptr addrspace(3) %s, null
  br i1 %c, label %side, label %rest
side:
  store i32 %v, ptr addrspace(3) %s
  br label %rest
rest:
; repeat
  %lITH = load i32, ptr addrspace(3) %s
  store volatile i32 %lITH, ptr addrspace(3) %s
; end
  ret void
}

!0 = !{}
