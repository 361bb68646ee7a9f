; A loop with atomics that is gone round from two places gets a call at its head
; for which LLVM does not split it.
; RUN: ptxc-opt --passes=keep-loops-whole -S %s | FileCheck %s

; CHECK-LABEL: define void @lock(
; CHECK: again:
; CHECK-NEXT: phi
; CHECK-NEXT: call void @llvm.amdgcn.wave.barrier()
; CHECK-NEXT: cmpxchg
define void @lock(ptr addrspace(1) %lock, i32 %n) {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %i, %again ], [ %next, %got ]
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %again
got:
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %again, label %done
done:
  ret void
}

; From one place.
; CHECK-LABEL: define void @one_latch(
; CHECK-NOT: call
; CHECK: ret void
define void @one_latch(ptr addrspace(1) %lock) {
entry:
  br label %again
again:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %done, label %again
done:
  ret void
}

; Without atomics nobody waits.
; CHECK-LABEL: define void @no_atomics(
; CHECK-NOT: call
; CHECK: ret void
define void @no_atomics(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %one, %again ], [ %two, %odd ]
  %one = add i32 %i, 1
  %word = load i32, ptr addrspace(1) %p
  %bit = trunc i32 %word to i1
  br i1 %bit, label %odd, label %again
odd:
  %two = add i32 %i, 2
  %more = icmp ult i32 %two, %n
  br i1 %more, label %again, label %done
done:
  ret void
}
