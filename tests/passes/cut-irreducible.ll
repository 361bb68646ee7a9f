; RUN: ptxc-opt --passes=cut-irreducible -S %s | FileCheck %s

; A cycle entered at both of its blocks becomes one loop of gates; each way in
; notes the segment's number.
; CHECK-LABEL: define i32 @two_entries(
; CHECK: entry:
; CHECK: br i1 %is, label %[[TO_A:.*]], label %[[TO_B:.*]]
; CHECK: round:
; CHECK: br i1 %{{.*}}, label %a, label %[[GATE_B:.*]]
; CHECK: [[GATE_B]]:
; CHECK: br i1 %{{.*}}, label %b, label %end
; CHECK: end:
; CHECK: icmp ult i32 %{{.*}}, 2
; CHECK-NEXT: br i1 %{{.*}}, label %round, label %behind
; CHECK: [[TO_A]]:
; CHECK-NEXT: {{.*}} = call ptr addrspace(3) asm "", "=v,0"(i32 0)
; CHECK-NEXT: br label %round
; CHECK: [[TO_B]]:
; CHECK-NEXT: {{.*}} = call ptr addrspace(3) asm "", "=v,0"(i32 1)
; CHECK-NEXT: br label %round
define i32 @two_entries(i1 %is, i32 %n) {
entry:
  br i1 %is, label %a, label %b
a:
  %i = phi i32 [ 0, %entry ], [ %k, %b ]
  %j = add i32 %i, 1
  %less = icmp ult i32 %j, %n
  br i1 %less, label %b, label %done
b:
  %m = phi i32 [ 5, %entry ], [ %j, %a ]
  %k = mul i32 %m, 3
  %more = icmp ult i32 %k, %n
  br i1 %more, label %a, label %done
done:
  %result = phi i32 [ %j, %a ], [ %k, %b ]
  ret i32 %result
}

; One loop with two ways out is none.
; CHECK-LABEL: define i32 @natural(
; CHECK-NEXT: entry:
; CHECK-NEXT: br label %a
; CHECK-NOT: round:
; CHECK: ret i32 %j
define i32 @natural(i32 %n) {
entry:
  br label %a
a:
  %i = phi i32 [ 0, %entry ], [ %j, %b ]
  %j = add i32 %i, 1
  %less = icmp ult i32 %j, %n
  br i1 %less, label %b, label %done
b:
  %more = icmp ult i32 %j, 100
  br i1 %more, label %a, label %done
done:
  ret i32 %j
}
