; Variables of another code object: the address is read from their table, once
; where the function uses few, before all loops, else where it is used.
; RUN: ptxc-opt --passes=read-variable-table -S %s | FileCheck %s --implicit-check-not='@a' --implicit-check-not=@m
; CHECK: @here = external addrspace(1) global i32
; CHECK: @__cerberus_variables = weak protected addrspace(1) externally_initialized global ptr addrspace(1) null, align 8
@a = external addrspace(1) global [64 x i8] #0
@a.unused = external addrspace(1) global [4 x i8] #0
@here = external addrspace(1) global i32
@m0 = external addrspace(1) global i32 #1
@m1 = external addrspace(1) global i32 #2
@m2 = external addrspace(1) global i32 #2
@m3 = external addrspace(1) global i32 #2
@m4 = external addrspace(1) global i32 #2
@m5 = external addrspace(1) global i32 #2
@m6 = external addrspace(1) global i32 #2
@m7 = external addrspace(1) global i32 #2
@m8 = external addrspace(1) global i32 #2
@m9 = external addrspace(1) global i32 #2
@m10 = external addrspace(1) global i32 #2
@m11 = external addrspace(1) global i32 #2

declare void @use(ptr)

; CHECK-LABEL: @few(
define void @few(i1 %c, ptr %p) {
; CHECK: entry:
; CHECK-NEXT: %local = alloca i32
; CHECK-NEXT: [[TABLE:%[^ ]+]] = load ptr addrspace(1), ptr addrspace(1) @__cerberus_variables, align 8, !invariant.load
; CHECK-NEXT: [[PLACE:%[^ ]+]] = getelementptr inbounds i64, ptr addrspace(1) [[TABLE]], i64 3
; CHECK-NEXT: [[A:%[^ ]+]] = load ptr addrspace(1), ptr addrspace(1) [[PLACE]], align 8, !invariant.load
; CHECK-NEXT: br i1 %c
entry:
  %local = alloca i32, addrspace(5)
  br i1 %c, label %outer, label %last
outer:
  br label %inner
inner:
; CHECK: inner:
; CHECK-NEXT: [[AT8:%[^ ]+]] = getelementptr inbounds i8, ptr addrspace(1) [[A]], i64 8
; CHECK-NEXT: load i32, ptr addrspace(1) [[AT8]]
  %v = load i32, ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) @a, i64 8)
  %again = icmp eq i32 %v, 0
  br i1 %again, label %inner, label %outer.end
outer.end:
  br i1 %c, label %outer, label %last
last:
; CHECK: [[G1:%[^ ]+]] = addrspacecast ptr addrspace(1) [[A]] to ptr
; CHECK-NEXT: br label %end
  br label %end
end:
; CHECK: phi ptr [ [[G1]], %last ]
  %q = phi ptr [ addrspacecast (ptr addrspace(1) @a to ptr), %last ]
  call void @use(ptr %q)
  store i32 1, ptr addrspace(1) @here
  ret void
}

; CHECK-LABEL: @many(
define void @many(i1 %c, ptr %p) {
; CHECK: entry:
; CHECK-NEXT: [[TABLE:%[^ ]+]] = load ptr addrspace(1), ptr addrspace(1) @__cerberus_variables
; CHECK-NEXT: br i1 %c
entry:
  br i1 %c, label %then, label %end
then:
; CHECK: then:
; CHECK-NEXT: getelementptr inbounds i64, ptr addrspace(1) [[TABLE]], i64 5
; CHECK-NEXT: [[M0:%[^ ]+]] = load ptr addrspace(1)
; CHECK-NEXT: store i32 0, ptr addrspace(1) [[M0]]
; CHECK-NEXT: store i32 1, ptr addrspace(1) [[M0]]
; CHECK-NEXT: getelementptr
  store i32 0, ptr addrspace(1) @m0
  store i32 1, ptr addrspace(1) @m0
  store i32 1, ptr addrspace(1) @m1
  store i32 1, ptr addrspace(1) @m2
  store i32 1, ptr addrspace(1) @m3
  store i32 1, ptr addrspace(1) @m4
  store i32 1, ptr addrspace(1) @m5
  store i32 1, ptr addrspace(1) @m6
  store i32 1, ptr addrspace(1) @m7
  store i32 1, ptr addrspace(1) @m8
  store i32 1, ptr addrspace(1) @m9
  store i32 1, ptr addrspace(1) @m10
  store i32 1, ptr addrspace(1) @m11
  store i32 1, ptr addrspace(1) @a
  br label %end
end:
; CHECK: end:
; CHECK-NEXT: getelementptr inbounds i64, ptr addrspace(1) [[TABLE]], i64 5
  store i32 2, ptr addrspace(1) @m0
  ret void
}

attributes #0 = { "cerberus-place"="3" }
attributes #1 = { "cerberus-place"="5" }
attributes #2 = { "cerberus-place"="6" }
