// What stands in for libcudadevrt.a when a program links it at run time: the
// two functions of cooperative groups that compilers other than nvcc call
// (Numba). The others the compiler knows (ptxc/lower/services.h).
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_RUNTIME_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_RUNTIME_H_

namespace cerberus::stub {

// A group's handle is the grid's workspace, which a cooperative launch passes
// in envreg1 and envreg2. Its second word is the barrier: the first block adds
// 2^31 less the number of the others, which add 1 each, so that the top bit
// turns over with the last one (as the header cooperative_groups.h has it).
inline constexpr char kDeviceRuntimePtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(
    .param .b32 scope) {
  .reg .pred %grid;
  .reg .b32 %scope, %high, %low;
  .reg .b64 %workspace;
  mov.u32 %high, %envreg1;
  mov.u32 %low, %envreg2;
  mov.b64 %workspace, {%low, %high};
  ld.param.b32 %scope, [scope];
  setp.eq.u32 %grid, %scope, 1;
  selp.b64 %workspace, %workspace, 0, %grid;
  st.param.b64 [handle], %workspace;
  ret;
}
.visible .func (.param .b32 error) cudaCGSynchronize(
    .param .b64 handle, .param .b32 flags) {
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %barrier;
  ld.param.b64 %barrier, [handle];
  setp.eq.u64 %p, %barrier, 0;
  @%p bra refused;
  barrier.sync 0;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %tid.y;
  mov.u32 %r2, %tid.z;
  or.b32 %r0, %r0, %r1;
  or.b32 %r0, %r0, %r2;
  setp.ne.u32 %p, %r0, 0;
  @%p bra arrived;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ctaid.y;
  mov.u32 %r2, %ctaid.z;
  or.b32 %r0, %r0, %r1;
  or.b32 %r0, %r0, %r2;
  setp.eq.u32 %p, %r0, 0;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %nctaid.y;
  mov.u32 %r5, %nctaid.z;
  mul.lo.u32 %r3, %r3, %r4;
  mul.lo.u32 %r3, %r3, %r5;
  sub.u32 %r3, 0x80000001, %r3;
  selp.b32 %r3, %r3, 1, %p;
  atom.add.release.gpu.u32 %r6, [%barrier+4], %r3;
waiting:
  ld.acquire.gpu.u32 %r7, [%barrier+4];
  xor.b32 %r7, %r7, %r6;
  setp.ge.s32 %p, %r7, 0;
  @%p bra waiting;
arrived:
  barrier.sync 0;
  st.param.b32 [error], 0;
  ret;
refused:
  st.param.b32 [error], 1;
  ret;
}
)";

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_DEVICE_RUNTIME_H_
