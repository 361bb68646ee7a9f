; Lanes that wait in functions that stay calls.
; RUN: ptxc-opt --passes=lane-progress %s -o %t 2>&1 | FileCheck %s
; CHECK: warning: waits: lanes wait in 'waits'
; CHECK-NOT: warning:

; Only what others do elsewhere can end this.
define void @waits(ptr addrspace(1) %flag) noinline {
entry:
  br label %wait
wait:
  %now = load atomic volatile i32, ptr addrspace(1) %flag monotonic, align 4
  %done = icmp ne i32 %now, 0
  br i1 %done, label %end, label %wait
end:
  ret void
}

; Who has the lock gives it back in there.
define void @locks(ptr addrspace(1) %lock, ptr addrspace(1) %count) noinline {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic
  %is = extractvalue { i32, i1 } %pair, 1
  br i1 %is, label %got, label %try
got:
  %n = load i32, ptr addrspace(1) %count
  %next = add i32 %n, 1
  store i32 %next, ptr addrspace(1) %count
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  ret void
}

; Other warps end this.
define amdgpu_kernel void @kernel(ptr addrspace(1) %flag) {
entry:
  br label %wait
wait:
  %now = load atomic volatile i32, ptr addrspace(1) %flag monotonic, align 4
  %done = icmp ne i32 %now, 0
  br i1 %done, label %end, label %wait
end:
  ret void
}
