; Shuffles whose source lanes follow from the lane's number.
; RUN: ptxc-opt --passes=choose-shuffles --target gfx1100 -S %s | FileCheck %s --check-prefixes=CHECK,RDNA
; RUN: ptxc-opt --passes=choose-shuffles --target gfx942 -S %s | FileCheck %s --check-prefixes=CHECK,CDNA

; In a quad: quad_perm 1,0,3,2.
; CHECK-LABEL: define i32 @with_next(
; CHECK: call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %x, i32 177, i32 15, i32 15, i1 true)
; CHECK-NOT: ds.bpermute
define i32 @with_next(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = xor i32 %lane, 1
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}

; In a row of 16: row_xmask on RDNA, a swizzle on CDNA, but a half row is a
; rotation.
; CHECK-LABEL: define i32 @in_row(
; RDNA: call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %x, i32 356,
; RDNA: call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %{{.*}}, i32 360,
; CDNA: call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 4127)
; CDNA: call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %{{.*}}, i32 296,
; CHECK-NOT: ds.bpermute
define i32 @in_row(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = xor i32 %lane, 4
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  %far = xor i32 %lane, 8
  %at = shl i32 %far, 2
  %z = call i32 @llvm.amdgcn.ds.bpermute(i32 %at, i32 %y)
  ret i32 %z
}

; Across rows, and by one more within.
; CHECK-LABEL: define i32 @across_rows(
; RDNA: [[OTHER:%.*]] = call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %x, i32 1985229328, i32 -19088744, i1 false, i1 true)
; RDNA: call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 [[OTHER]], i32 177,
; CDNA: call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 17439)
; CHECK-NOT: ds.bpermute
define i32 @across_rows(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = xor i32 %lane, 17
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}

; From lane 3 of the warp.
; CHECK-LABEL: define i32 @broadcast(
; RDNA: call i32 @llvm.amdgcn.readlane.i32(i32 %x, i32 3)
; CDNA: call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 96)
; CHECK-NOT: ds.bpermute
define i32 @broadcast(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %first = and i32 %lane, 32
  %source = or i32 %first, 3
  %index = shl i32 %source, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}

; From the other warp of a wave of 64 there is no short way; a wave of 32 takes
; it for the lane itself.
; CHECK-LABEL: define i32 @other_warp(
; RDNA: ret i32 %x
; CDNA: call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
define i32 @other_warp(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = xor i32 %lane, 32
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}

; No exchange: lanes of the last row get their own.
; CHECK-LABEL: define i32 @next_lane(
; CHECK: call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
define i32 @next_lane(i32 %x) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = add i32 %lane, 1
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}

; What else the source depends on is not known.
; CHECK-LABEL: define i32 @by_number(
; CHECK: call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
define i32 @by_number(i32 %x, i32 %n) {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %other = xor i32 %lane, %n
  %index = shl i32 %other, 2
  %y = call i32 @llvm.amdgcn.ds.bpermute(i32 %index, i32 %x)
  ret i32 %y
}
