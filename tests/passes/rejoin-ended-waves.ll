; A way that ends the wave goes on with those who did not take it.
; RUN: ptxc-opt --passes=rejoin-ended-waves -S %s | FileCheck %s

declare void @llvm.amdgcn.endpgm()

define internal void @report(i32 %line) #0 {
  call void @llvm.amdgcn.endpgm()
  unreachable
}

define internal void @other(i32 %line) {
  ret void
}

; CHECK-LABEL: define void @check(
; CHECK: bad:
; CHECK-NEXT: call void @report(i32 1)
; CHECK-NEXT: br label %good
; CHECK: good:
; CHECK-NEXT: phi i32 [ %a, %entry ], [ %a, %bad ]
define void @check(i32 %a, ptr addrspace(1) %p) {
entry:
  %c = icmp ult i32 %a, 7
  br i1 %c, label %good, label %bad
bad:
  call void @report(i32 1)
  call void @llvm.amdgcn.endpgm()
  unreachable
good:
  %v = phi i32 [ %a, %entry ]
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; Two reports that LLVM has made one are two again, each goes its own way on.
; CHECK-LABEL: define void @shared(
; CHECK-NOT: unreachable
; CHECK: call void @report(i32 {{[12]}})
; CHECK-NEXT: br label %{{second|good}}
; CHECK-NOT: unreachable
; CHECK: call void @report(i32 {{[12]}})
; CHECK-NEXT: br label %{{second|good}}
; CHECK-NOT: unreachable
; CHECK: }
define void @shared(i32 %a, i32 %b) {
entry:
  %c = icmp ult i32 %a, 7
  br i1 %c, label %second, label %bad
second:
  %d = icmp ult i32 %b, 7
  br i1 %d, label %good, label %bad
bad:
  %line = phi i32 [ 1, %entry ], [ 2, %second ]
  call void @report(i32 %line)
  call void @llvm.amdgcn.endpgm()
  unreachable
good:
  ret void
}

; Nobody goes on where all end, and what does not end the wave by itself stays
; in front of its end.
; CHECK-LABEL: define void @kept(
; CHECK: both:
; CHECK: call void @other(i32 3)
; CHECK-NEXT: call void @llvm.amdgcn.endpgm()
; CHECK-NEXT: unreachable
; CHECK: call void @report(i32 4)
; CHECK-NEXT: call void @llvm.amdgcn.endpgm()
; CHECK-NEXT: unreachable
; CHECK: call void @report(i32 5)
; CHECK-NEXT: call void @llvm.amdgcn.endpgm()
; CHECK-NEXT: unreachable
define void @kept(i1 %a, i1 %b) {
entry:
  br i1 %a, label %ends, label %both
both:
  br i1 %b, label %one, label %two
ends:
  call void @other(i32 3)
  call void @llvm.amdgcn.endpgm()
  unreachable
one:
  call void @report(i32 4)
  call void @llvm.amdgcn.endpgm()
  unreachable
two:
  call void @report(i32 5)
  call void @llvm.amdgcn.endpgm()
  unreachable
}

attributes #0 = { noinline "cerberus-ends-wave" }
