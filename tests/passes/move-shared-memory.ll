; Kernels with more shared memory than the target has, and those with dynamic
; shared memory, in a window of device memory.
; RUN: ptxc-opt --passes=move-shared-memory --shared-limit 1024 -S %s 2>&1 | FileCheck %s --check-prefix=ERROR
; RUN: ptxc-opt --passes=move-shared-memory --shared-limit 1024 --shared-overflow global -S %s 2>&1 | FileCheck %s --check-prefix=GLOBAL
; RUN: ptxc-opt --passes=move-shared-memory --shared-overflow always -S %s 2>&1 | FileCheck %s --check-prefix=ALWAYS

; ERROR: warning: large: 2056 bytes of shared memory are more than the 1024 that the target has; --shared-overflow=global puts them into device memory
; ERROR-NEXT: warning: pointer_in_memory: 2048 bytes
; ERROR-NEXT: ; ModuleID
; ERROR-NOT: window

; GLOBAL: note: dynamic: 16 bytes in front of dynamic shared memory, in a second form
; GLOBAL-NEXT: note: large: 4 bytes of the compiler's{{$}}
; GLOBAL-NEXT: note: large: 2052 bytes in front of dynamic shared memory{{$}}
; GLOBAL-NEXT: warning: pointer_in_memory: 2048 bytes of shared memory are more than the 1024 that the target has, and it uses them as only those of the hardware

; ALWAYS-DAG: note: small: 4 bytes in front of dynamic shared memory{{$}}
; ALWAYS-DAG: note: dynamic: 16 bytes in front of dynamic shared memory{{$}}
; ALWAYS: define amdgpu_kernel void @small(i32 %n, ptr addrspace(4) byref([16 x i8]) align 8 %__cerberus_window, ptr addrspace(4) byref([48 x i8]) align 8 %launch)
; ALWAYS: define amdgpu_kernel void @dynamic(i32 %n, ptr addrspace(4) byref([16 x i8])
; ALWAYS-NOT: @dynamic.window

@word = internal addrspace(3) global i32 poison, align 4
@words = internal addrspace(3) global [512 x i32] poison, align 4
@array = external addrspace(3) global [0 x i32], align 4
@__cerberus_counter = internal addrspace(3) global i32 poison, align 4

; GLOBAL-LABEL: define amdgpu_kernel void @small(
; GLOBAL-NEXT: store i32 %n, ptr addrspace(3) @word
define amdgpu_kernel void @small(i32 %n, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  store i32 %n, ptr addrspace(3) @word
  ret void
}

; The kernel with a second form stays as it is.
; GLOBAL-LABEL: define amdgpu_kernel void @dynamic(
; GLOBAL-NEXT: store i32 %n, ptr addrspace(3) @word
; GLOBAL-NEXT: store i32 1, ptr addrspace(3) @array

; The block's window is at the block's number of windows behind the grid's
; memory; variables lie in it as they would in LDS. What the compiler itself keeps
; there stays, and numbers are offsets in the window.
; GLOBAL-LABEL: define amdgpu_kernel void @large(
; GLOBAL-SAME: ptr addrspace(4) byref([16 x i8]) align 8 %__cerberus_window,
; GLOBAL: [[MEMORY:%.*]] = load i64
; GLOBAL: mul i64
; GLOBAL: [[BEHIND:%.*]] = mul i64
; GLOBAL-NEXT: [[START:%.*]] = add i64 [[MEMORY]], [[BEHIND]]
; GLOBAL-NEXT: %window = inttoptr i64 [[START]] to ptr addrspace(1)
; GLOBAL-DAG: [[WORDS:%.*]] = getelementptr inbounds i8, ptr addrspace(1) %window, i64 4
; GLOBAL-DAG: [[WORD:%.*]] = getelementptr inbounds i8, ptr addrspace(1) %window, i64 0
; GLOBAL: store i32 %n, ptr addrspace(1) [[WORD]]
; GLOBAL-NEXT: %at = getelementptr i32, ptr addrspace(1) [[WORDS]], i32 %n
; GLOBAL-NEXT: store i32 %n, ptr addrspace(1) %at
; GLOBAL-NEXT: store i32 %n, ptr addrspace(3) @__cerberus_counter
; GLOBAL-NEXT: [[ADDRESS:%.*]] = ptrtoint ptr addrspace(1) [[WORDS]] to i64
; GLOBAL-NEXT: [[OFFSET:%.*]] = sub i64 [[ADDRESS]], [[START]]
; GLOBAL-NEXT: [[NUMBER:%.*]] = trunc i64 [[OFFSET]] to i32
; GLOBAL-NEXT: [[WIDE:%.*]] = zext i32 [[NUMBER]] to i64
; GLOBAL-NEXT: [[AT:%.*]] = getelementptr i8, ptr addrspace(1) %window, i64 [[WIDE]]
; GLOBAL-NEXT: store i32 1, ptr addrspace(1) [[AT]]

; Dynamic shared memory begins behind the static one, at 16 bytes.
; GLOBAL-LABEL: define amdgpu_kernel void @dynamic.window(
; GLOBAL: [[ARRAY:%.*]] = getelementptr inbounds i8, ptr addrspace(1) %window, i64 16
; GLOBAL: store i32 1, ptr addrspace(1) [[ARRAY]]
define amdgpu_kernel void @large(i32 %n, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  store i32 %n, ptr addrspace(3) @word
  %at = getelementptr i32, ptr addrspace(3) @words, i32 %n
  store i32 %n, ptr addrspace(3) %at
  store i32 %n, ptr addrspace(3) @__cerberus_counter
  %number = ptrtoint ptr addrspace(3) @words to i32
  %pointer = inttoptr i32 %number to ptr addrspace(3)
  store i32 1, ptr addrspace(3) %pointer
  ret void
}

define amdgpu_kernel void @dynamic(i32 %n, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  store i32 %n, ptr addrspace(3) @word
  store i32 1, ptr addrspace(3) @array
  ret void
}

define amdgpu_kernel void @pointer_in_memory(ptr addrspace(1) %out, ptr addrspace(4) byref([48 x i8]) align 8 %launch) {
  store ptr addrspace(3) @words, ptr addrspace(1) %out
  ret void
}
