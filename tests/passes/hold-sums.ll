; What would be moved behind all that is added up stays where it is made, where
; there is much of it.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=70 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=hold-sums -S - | FileCheck %s --check-prefix=MANY
; RUN: awk -v n=60 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=hold-sums -S - | FileCheck %s --check-prefix=FEW
; MANY: %s30 = add i32 [[BEFORE:%[^,]+]], %v29
; MANY-NEXT: [[HELD:%[^ ]+]] = call i32 asm "", "=v,0"(i32 %s30) [[ATTR:#[0-9]+]]
; MANY: %s31 = add i32 [[HELD]], %v30
; An address, or what is used where it is made, is left alone.
; MANY: %far = add i64 %t1, %t2
; MANY-NOT: asm {{.*}}%far
; MANY: attributes [[ATTR]] = { {{.*}}convergent
; FEW-NOT: asm

declare void @use()
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @sum(ptr addrspace(1) %p) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %s0 = add i32 %t, 1
  br label %b0
; repeat
bITH:
  %pITH = getelementptr i32, ptr addrspace(1) %p, i32 ITH
  %vITH = load i32, ptr addrspace(1) %pITH
  %sNEXT = add i32 %sITH, %vITH
  %cITH = icmp eq i32 %vITH, ITH
  br i1 %cITH, label %xITH, label %bNEXT
xITH:
  call void @use()
  br label %bNEXT
; end
bTOTAL:
  %t1 = zext i32 %t to i64
  %t2 = mul i64 %t1, %t1
  %far = add i64 %t1, %t2
  br label %end
end:
  %to = getelementptr i32, ptr addrspace(1) %p, i64 %far
  store i32 %sTOTAL, ptr addrspace(1) %to
  ret void
}
