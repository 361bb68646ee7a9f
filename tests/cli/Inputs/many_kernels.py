"""A module of kernels that ptxc cuts into parts: many_kernels.py N [BAD].

Kernel i adds i to what the variable `shared_value` holds, in a function that
all call, counts in a variable of its own, and exchanges 16 bytes, which takes
the program's one lock; BAD has an instruction that no target has.
"""
import sys

count = int(sys.argv[1])
bad = int(sys.argv[2]) if len(sys.argv) > 2 else None
print(""".version 9.0
.target sm_90a
.address_size 64
.global .align 4 .u32 shared_value = 7;
.global .align 16 .b8 pair[16];
.const .align 4 .u32 factors[4] = {1, 2, 3, 4};
.func (.param .b32 result) sum(.param .b32 a, .param .b32 b)
{
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [a];
  ld.param.b32 %r2, [b];
  add.s32 %r3, %r1, %r2;
  st.param.b32 [result], %r3;
  ret;
}""")
for i in range(count):
    print(""".visible .entry kernel%d(.param .u64 out)
{
  .reg .b32 %%r<8>;
  .reg .b64 %%rd<3>;
  .reg .b128 %%q<2>;
  .global .align 4 .u32 own;
  ld.param.u64 %%rd1, [out];
  ld.global.u32 %%r1, [shared_value];
  ld.const.u32 %%r5, [factors+4];
  mul.lo.s32 %%r1, %%r1, %%r5;
  atom.global.add.u32 %%r4, [own], 1;
  mov.b64 %%rd2, %d;
  mov.b128 %%q0, {%%rd2, %%rd2};
  atom.global.exch.b128 %%q1, [pair], %%q0;
  {
    .param .b32 x;
    .param .b32 y;
    .param .b32 z;
    st.param.b32 [x], %%r1;
    st.param.b32 [y], %d;
    call (z), sum, (x, y);
    ld.param.b32 %%r2, [z];
  }""" % (i, i, i))
    for k in range(200):
        print("  mad.lo.s32 %%r2, %%r2, 3, %d;" % k)
    if i == bad:
        print("  fence.proxy.fabric::fabric.alias.release.sys;")
    print("""  st.global.u32 [%rd1], %r2;
  ret;
}""")
