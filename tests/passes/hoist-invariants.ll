; A few loads that give the same in each round go in front of the loop; where
; there are many, they stay, and the loop gets what holds them.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=5 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=hoist-invariants -S - | FileCheck %s --check-prefix=FEW
; RUN: awk -v n=100 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=hoist-invariants -S - | FileCheck %s --check-prefix=MANY

; FEW: %v4 = load i32
; FEW: loop:
; FEW-NOT: {{%v[0-9]+ = load|asm}}
; FEW: }
; MANY-NOT: = load
; MANY: loop:
; MANY: call void asm sideeffect "", "X"(i32 0)
; MANY: %v0 = load i32

; Of many loops in a row each is done, and the marks are gone.
; MANY-NOT: sideeffect
; MANY: %w99 = load
; MANY: l99:
; MANY-NOT: {{load|sideeffect}}
; MANY: }

declare i32 @use(i32) nounwind willreturn memory(inaccessiblemem: readwrite)

define amdgpu_kernel void @reads(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
; repeat
  %pITH = getelementptr i32, ptr addrspace(1) %p, i32 ITH
  %vITH = load i32, ptr addrspace(1) %pITH
  %uITH = call i32 @use(i32 %vITH)
; end
  %next = add i32 %i, 1
  %c = icmp ult i32 %next, %n
  br i1 %c, label %loop, label %l0
; repeat
lITH:
  %wITH = load i32, ptr addrspace(1) %p
  %dITH = icmp eq i32 %wITH, ITH
  br i1 %dITH, label %lITH, label %lNEXT
; end
lTOTAL:
  ret void
}
