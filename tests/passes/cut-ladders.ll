; A long row of branches to one place is cut into pieces; a short one stays.
; RUN: sed -n '/^declare/,$ p' %s > %t.ll
; RUN: awk -v n=60 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-ladders -S - | FileCheck %s --check-prefix=LONG
; RUN: awk -v n=30 -f %S/Inputs/repeat.awk %t.ll | ptxc-opt --passes=cut-ladders -S - | FileCheck %s --check-prefix=SHORT
; SHORT-NOT: joint

; Lanes that leave the first piece, of eight, come to its joint, from there to
; the next ones, and from the last one to the end.
; LONG: b0:
; LONG-NEXT: [[ZERO:%[0-9]+]] = call i32 asm "", "=v,0"(i32 0)
; LONG: b6:
; LONG: br i1 %c6, label %joint, label %b7
; LONG: b7:
; LONG: [[GOES:%[0-9]+]] = xor i1 %c7, true
; LONG: [[ONE:%[0-9]+]] = zext i1 [[GOES]] to i32
; LONG: br label %joint
; LONG: joint:
; LONG: [[GOING:%[0-9]+]] = phi i32 {{.*}}[ [[ZERO]], %b0 ]{{.*}}[ [[ONE]], %b7 ]
; LONG: [[ON:%[0-9]+]] = icmp ne i32 [[GOING]], 0
; LONG: br i1 [[ON]], label %b8, label %joint1
; LONG: b8:
; LONG-NEXT: call i32 asm "", "=v,0"(i32 0)
; LONG: joint1:
; LONG: phi i32 [ 0, %joint ], [ {{%[0-9]+}}, %b8 ]
; LONG: end:
; LONG-NOT: %b0 ]
; LONG: }

declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @search(ptr addrspace(1) %p) {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  br label %b0
; repeat
bITH:
  %pITH = getelementptr i32, ptr addrspace(1) %p, i32 ITH
  %vITH = load i32, ptr addrspace(1) %pITH
  %cITH = icmp ugt i32 %vITH, %t
  br i1 %cITH, label %end, label %bNEXT
; end
bTOTAL:
  br label %end
end:
  %r = phi i32 [ %t, %bTOTAL ]EACH{, [ %vITH, %bITH ]}
  store i32 %r, ptr addrspace(1) %p
  ret void
}
