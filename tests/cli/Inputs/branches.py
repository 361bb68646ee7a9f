"""PTX with kernels whose blocks jump to any others: `branches.py N...` gives
one of each number of blocks, named kernelN."""
import random
import sys

print(".version 7.0\n.target sm_70\n.address_size 64")
for n in map(int, sys.argv[1:]):
    pick = random.Random(n)
    print(f""".visible .entry kernel{n}(.param .u64 out)
{{
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, 0;""")
    for i in range(4, 9):
        print(f"  mov.u32 %r{i}, {i};")
    for i in range(n):
        print(f"""B{i}:
  add.u32 %r3, %r3, 1;
  setp.ge.u32 %p2, %r3, 200;
  @%p2 bra DONE;
  mad.lo.u32 %r1, %r1, 1664525, {i * 7 + 1013904223};
  mad.lo.u32 %r{pick.randrange(4, 9)}, %r{pick.randrange(4, 9)}, 99, %r1;
  and.b32 %r9, %r1, {1 << pick.randrange(8, 20)};
  setp.eq.u32 %p1, %r9, 0;
  @%p1 bra B{pick.randrange(n)};""")
        if i == n - 1 or pick.random() < 0.3:
            print(f"  bra B{pick.randrange(n)};")
    print("""DONE:
  st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
  ret;
}""")
