; In a function of many blocks some values become floats on their way, in waves
; of 64 lanes those of 64 bits.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=150 -f %S/Inputs/repeat.awk %t.ll > %t.many.ll
; RUN: ptxc-opt --passes=bound-mask-search -S %t.many.ll | FileCheck %s --check-prefix=WAVE32
; RUN: ptxc-opt --passes=bound-mask-search --target=gfx942 -S %t.many.ll | FileCheck %s --check-prefix=WAVE64
; RUN: awk -v n=10 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=bound-mask-search -S - | FileCheck %s --check-prefix=FEW
; WAVE32-NOT: double
; WAVE32: [[FLOAT:%[^ ]+]] = call float asm "", "=v,0"(i32 %v{{[0-9]+}})
; WAVE32-NEXT: [[BACK:%[^ ]+]] = bitcast float [[FLOAT]] to i32
; WAVE32: icmp eq i32 [[BACK]], %t
; WAVE32: call void @use(i32 [[BACK]],
; WAVE64-NOT: float
; WAVE64: call double asm "", "=v,0"(i64 %l{{[0-9]+}})
; FEW-NOT: asm

declare void @use(i32, i64)
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @many(ptr addrspace(1) %q) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %q, i32 %t
  br label %b0
; repeat
bITH:
  %vITH = load i32, ptr addrspace(1) %p
  %lITH = load i64, ptr addrspace(1) %p
  %cITH = icmp eq i32 %vITH, %t
  br i1 %cITH, label %xITH, label %yITH
xITH:
  call void @use(i32 %vITH, i64 %lITH)
  br label %bNEXT
yITH:
  br label %bNEXT
; end
bTOTAL:
  ret void
}
