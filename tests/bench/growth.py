#!/usr/bin/env python3
"""How compile time grows with one thing in a kernel, ours and ptxas -O3's.

usage: growth.py [--build DIR] [--arch A] [--runs N] [--limit S]
                 [--only FAMILY,...] [--keep DIR]

Each family is one kernel of N equal things (instructions, branches, loops,
variables, ...) for a few N, each twice the one before. Columns: the largest N
that both compiled within the limit (20 s) of processor time, seconds of both
there (whole processes, one thread, the best of N runs, taking turns), their
ratio, and the exponents: how many times more two times as much takes, as a
power of two, over the upper half of the sizes, without what the smallest takes.
--keep writes the PTX of each into DIR.
"""
import argparse
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile

from summary import Row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"


def kernel(body, before="", name="k"):
    """`body` has %t the thread, %u the same in all threads, %x and %y the
    values that are stored at the end, %p and %r<8>, %f<8> to use."""
    return (before + ".visible .entry %s(.param .u64 out, .param .u32 n)\n{\n"
            "  .reg .u64 %%o;\n  .reg .u32 %%t, %%u, %%x, %%y, %%r<8>;\n"
            "  .reg .f32 %%f<8>;\n  .reg .pred %%p, %%q;\n"
            "  ld.param.u64 %%o, [out];\n  ld.param.u32 %%u, [n];\n"
            "  mov.u32 %%t, %%tid.x;\n  mov.u32 %%x, %%t;\n"
            "  mov.u32 %%y, %%u;\n  mad.wide.u32 %%o, %%t, 8, %%o;\n" % name +
            body + "END:\n  st.global.u32 [%o], %x;\n"
            "  st.global.u32 [%o+4], %y;\n  ret;\n}\n")


def straight(n):
    """Values from memory, so that nothing is known of them."""
    chance = random.Random(1)
    names = ["%%s%d" % i for i in range(24)]
    text = "  .reg .u32 %s<24>;\n" + "".join(
        "  ld.global.u32 %s, [%%o+%d];\n" % (name, 4 * i)
        for i, name in enumerate(names))
    for i in range(n):
        op = ["add.u32", "xor.b32", "sub.u32"][i % 3]
        text += "  %s %s, %s, %s;\n" % (
            op, names[i % 24], names[i % 24], chance.choice(names))
    return kernel(text + "".join("  add.u32 %%x, %%x, %s;\n" % name
                                 for name in names))


def memory(n):
    text = ""
    for i in range(n):
        text += ("  ld.global.u32 %%r0, [%%o+%d];\n  add.u32 %%x, %%x, %%r0;\n"
                 % (4 * (i % 900)))
        if i % 8 == 7:
            text += "  st.global.u32 [%%o+%d], %%x;\n" % (4 * (i % 777))
    return kernel(text)


def products(n):
    """Of what was loaded just before, some of it stored: an unrolled tile."""
    chance = random.Random(1)
    names = ["%%s%d" % i for i in range(48)]
    text = "  .reg .f32 %s<48>;\n" + "".join(
        "  cvt.rn.f32.u32 %s, %%t;\n" % name for name in names)
    for i in range(n):
        one, two, three = chance.sample(names, 3)
        if i % 3 == 0:
            text += "  ld.global.f32 %s, [%%o+%d];\n" % (one, 4 * i)
        else:
            text += "  fma.rn.f32 %s, %s, %s, %s;\n" % (one, two, three, one)
        if i % 16 == 15:
            text += "  st.global.f32 [%%o+%d], %s;\n" % (4 * i, one)
    return kernel(text + "".join("  st.global.f32 [%%o+%d], %s;\n" %
                                 (4 * i, name)
                                 for i, name in enumerate(names)))


def branches(n, value):
    """Each in the way of what comes behind it."""
    text = ""
    for i in range(n):
        text += ("  bfe.u32 %%r0, %s, %d, 1;\n  setp.eq.u32 %%p, %%r0, 0;\n"
                 "  @%%p bra E%d;\n  ld.global.u32 %%r1, [%%o+%d];\n"
                 "  add.u32 %%x, %%x, %%r1;\n  bra J%d;\nE%d:\n"
                 "  ld.global.u32 %%r1, [%%o+%d];\n"
                 "  xor.b32 %%x, %%x, %%r1;\nJ%d:\n" %
                 (value, i % 31, i, 4 * i, i, i, 4 * i + 4, i))
    return kernel(text)


def nested(n):
    text = "".join("  setp.lt.u32 %%p, %%x, %d;\n  @%%p bra J%d;\n"
                   "  ld.global.u32 %%r1, [%%o+%d];\n"
                   "  add.u32 %%x, %%x, %%r1;\n" % (7 * i, i, 4 * i)
                   for i in range(n))
    return kernel(text + "".join("J%d:\n  xor.b32 %%y, %%y, %%x;\n" % i
                                 for i in reversed(range(n))))


def exits(n):
    """Leaves early, as a search does that was unrolled."""
    return kernel("".join(
        "  ld.global.u32 %%r1, [%%o+%d];\n  add.u32 %%x, %%x, %%r1;\n"
        "  setp.gt.u32 %%p, %%r1, %%t;\n  @%%p bra END;\n" % (4 * i)
        for i in range(n)))


def assertions(n):
    """Each report has its own way, as nvcc's has."""
    text = ".extern .func __assertfail (%s);\n" % ", ".join(
        ".param .b%d p%d" % (size, i)
        for i, size in enumerate((64, 64, 32, 64, 64)))
    text += "".join(".global .align 1 .b8 %s[4] = {97, 98, 99};\n" % name
                    for name in ("what", "file", "function"))
    body = "  .reg .u64 %w, %g, %l;\n"
    for i in range(n):
        body += ("  ld.global.u32 %%r1, [%%o+%d];\n"
                 "  setp.lt.u32 %%p, %%r1, %%u;\n  @%%p bra OK%d;\n"
                 "  cvta.global.u64 %%w, what;\n  cvta.global.u64 %%g, file;\n"
                 "  cvta.global.u64 %%l, function;\n  {\n"
                 "  .param .b64 p0;\n  .param .b64 p1;\n  .param .b32 p2;\n"
                 "  .param .b64 p3;\n  .param .b64 p4;\n"
                 "  st.param.b64 [p0], %%w;\n  st.param.b64 [p1], %%g;\n"
                 "  st.param.b32 [p2], %d;\n  st.param.b64 [p3], %%l;\n"
                 "  st.param.b64 [p4], 1;\n"
                 "  call.uni __assertfail, (p0, p1, p2, p3, p4);\n  }\n"
                 "OK%d:\n  add.u32 %%x, %%x, %%r1;\n" % (4 * i, i, i, i))
    return kernel(body, text)


def loops(n):
    """One behind the other, that lanes leave at two places."""
    return kernel("".join(
        "L%d:\n  ld.global.u32 %%r1, [%%o+%d];\n  add.u32 %%x, %%x, %%r1;\n"
        "  setp.gt.u32 %%p, %%r1, %%t;\n  @%%p bra M%d;\n"
        "  add.u32 %%y, %%y, 1;\n  setp.lt.u32 %%p, %%y, %%x;\n"
        "  @%%p bra L%d;\nM%d:\n" % (i, 4 * i, i, i, i) for i in range(n)))


def searches(n):
    """Binary searches in a loop, one for each of n values."""
    text = "AGAIN:\n"
    for i in range(n):
        text += ("  ld.global.u32 %%r0, [%%o+%d];\n  mov.u32 %%r1, 0;\n"
                 "  mov.u32 %%r2, %%u;\nSEARCH%d:\n  add.u32 %%r3, %%r1, %%r2;\n"
                 "  shr.u32 %%r3, %%r3, 1;\n  setp.lt.u32 %%p, %%r3, %%r0;\n"
                 "  @%%p bra ABOVE%d;\n  mov.u32 %%r2, %%r3;\n  bra BELOW%d;\nABOVE%d:\n"
                 "  mov.u32 %%r1, %%r3;\nBELOW%d:\n  add.u32 %%r4, %%r1, 1;\n"
                 "  setp.gt.u32 %%p, %%r2, %%r4;\n  @%%p bra SEARCH%d;\n"
                 "  add.u32 %%x, %%x, %%r1;\n" % (4 * i, i, i, i, i, i, i))
    return kernel(text + "  add.u32 %y, %y, 1;\n  setp.lt.u32 %p, %y, 100;\n"
                  "  @%p bra AGAIN;\n")


def variables(n):
    before = "".join(".global .align 4 .u32 g%d;\n" % i for i in range(n))
    return kernel("".join("  ld.global.u32 %%r0, [g%d];\n"
                          "  add.u32 %%x, %%x, %%r0;\n" % i
                          for i in range(n)), before)


def cases(n):
    text = "  rem.u32 %%r0, %%t, %d;\n  TABLE: .branchtargets %s;\n" % (
        n, ", ".join("C%d" % i for i in range(n)))
    text += "  brx.idx %r0, TABLE;\n"
    return kernel(text + "".join(
        "C%d:\n  ld.global.u32 %%r1, [%%o+%d];\n  add.u32 %%x, %%x, %%r1;\n"
        "  bra END;\n" % (i, 4 * i) for i in range(n)))


def irreducible(n):
    """Blocks of which each goes to any other."""
    chance = random.Random(1)
    text = "".join(
        "B%d:\n  add.u32 %%x, %%x, %d;\n  ld.global.u32 %%r1, [%%o+%d];\n"
        "  setp.lt.u32 %%p, %%x, %%r1;\n  @%%p bra B%d;\n" %
        (i, i + 1, 4 * i, chance.randrange(n)) for i in range(n))
    return kernel(text)


def kernels(n):
    return "".join(kernel("  mul.lo.u32 %%x, %%x, %d;\n" % i, "", "k%d" % i)
                   for i in range(n))


def divisions(n):
    return kernel("".join("  add.u32 %%r0, %%y, %d;\n  or.b32 %%r0, %%r0, 1;\n"
                          "  div.u32 %%x, %%x, %%r0;\n"
                          "  add.u32 %%x, %%x, %%t;\n" % i for i in range(n)))


def shuffles(n):
    return kernel("".join("  shfl.sync.bfly.b32 %%r0, %%x, %d, 31, -1;\n"
                          "  add.u32 %%x, %%x, %%r0;\n" % (1 << i % 5)
                          for i in range(n)))


def live(n):
    """Values that all live at once."""
    text = "  .reg .f32 %%v<%d>;\n" % n
    text += "".join("  ld.global.f32 %%v%d, [%%o+%d];\n" % (i, 4 * i)
                    for i in range(n))
    text += "  mov.f32 %f0, 0f00000000;\nAGAIN:\n"
    text += "".join("  fma.rn.f32 %%v%d, %%v%d, %%f0, %%v%d;\n" %
                    (i, (i + 1) % n, (i + 7) % n) for i in range(n))
    text += ("  add.f32 %f0, %f0, %v0;\n  setp.lt.f32 %p, %f0, %v1;\n"
             "  @%p bra AGAIN;\n")
    return kernel(text + "".join("  st.global.f32 [%%o+%d], %%v%d;\n" %
                                 (4 * i, i) for i in range(n)))


FAMILIES = {
    "straight": (straight, "instructions in a row", 3750, 30000),
    "memory": (memory, "loads in a row", 1000, 8000),
    "products": (products, "loads and products", 3750, 30000),
    "branches": (lambda n: branches(n, "%x"), "branches by thread", 250, 5000),
    "uniform": (lambda n: branches(n, "%u"), "branches by block", 250, 5000),
    "nested": (nested, "branches in each other", 125, 1000),
    "exits": (exits, "exits", 125, 2000),
    "assertions": (assertions, "assertions", 125, 2000),
    "loops": (loops, "loops with two exits", 125, 1000),
    "searches": (searches, "searches in a loop", 50, 800),
    "variables": (variables, "variables loaded", 125, 1000),
    "cases": (cases, "cases of a switch", 250, 2000),
    "irreducible": (irreducible, "blocks, irreducible", 31, 250),
    "kernels": (kernels, "kernels", 375, 3000),
    "divisions": (divisions, "divisions", 125, 1000),
    "shuffles": (shuffles, "shuffles", 500, 4000),
    "live": (live, "values at once", 100, 800),
}


def processor_time(command, limit):
    """Seconds, or nothing if it takes longer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            _, errors = process.communicate(timeout=2 * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        raise SystemExit("%s failed:\n%s" % (" ".join(command),
                                             errors.decode()[:2000]))
    used = (after.ru_utime + after.ru_stime - before.ru_utime -
            before.ru_stime)
    return used if used <= limit else None


def exponent(sizes, times):
    """Of the upper half of what was compiled."""
    known = [(n, t - times[0]) for n, t in zip(sizes, times)
             if t is not None and t - times[0] > 0.02]
    if len(known) < 2:
        return None
    (n0, t0), (n1, t1) = known[-min(3, len(known))], known[-1]
    return math.log(t1 / t0) / math.log(n1 / n0)


def report(build, ptxas, arch, runs, limit, only=None, keep=None):
    """Rows of the largest N that both compiled, for summary.py."""
    rows = []
    jit = os.path.join(build, "bin", "cerberus-jit")
    print("\nHow compile time grows, %s" % arch)
    print("  %-24s%8s%9s%9s%7s%12s%12s  %s" %
          ("", "N", "ptxas", "ptxc", "ratio", "exp. ptxas", "exp. ptxc",
           "ptxc of all N"))
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        for name, (make, title, smallest, largest) in FAMILIES.items():
            if only and name not in only:
                continue
            sizes = [smallest // 4]
            while sizes[-1] < largest:
                sizes.append(min(largest, sizes[-1] * 2 if len(sizes) > 1
                                 else smallest))
            ours, theirs, samples = [], [], []
            for n in sizes:
                path = os.path.join(keep or work, "%s%d.ptx" % (name, n))
                with open(path, "w") as file:
                    file.write(HEAD + make(n))
                commands = (
                    (ours, [jit, "--arch", arch, "--jobs", "1", path, "-o",
                            out]),
                    (theirs, [ptxas, "-O3", "-arch=sm_90", path, "-o", out]))
                samples.append([])
                for times, command in commands:
                    stopped = times and times[-1] is None
                    found = [None if stopped else
                             processor_time(command, limit)
                             for _ in range(runs)]
                    times.append(None if None in found else min(found))
                    samples[-1].append(found)
            both = [i for i in range(len(sizes))
                    if ours[i] is not None and theirs[i] is not None]
            if not both:
                print("  %-24s not even %d in %d s" % (title, sizes[0], limit),
                      flush=True)
                continue
            last = both[-1]
            number = lambda form, value: "-" if value is None else form % value
            print("  %-24s%8d%9.3f%9.3f%7.2f%12s%12s  %s" %
                  (title, sizes[last], theirs[last], ours[last],
                   ours[last] / theirs[last],
                   number("%.2f", exponent(sizes, theirs)),
                   number("%.2f", exponent(sizes, ours)),
                   " ".join(number("%.2f", t) for t in ours)), flush=True)
            rows.append(Row("growth: %d %s" % (sizes[last], title),
                            *samples[last], "ptxas -O3"))
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--arch", default="gfx1100")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--keep")
    args = parser.parse_args()
    nvcc = shutil.which("nvcc") or os.path.join(ROOT, "build/cuda/bin/nvcc")
    ptxas = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ptxas")
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    report(os.path.abspath(args.build), ptxas, args.arch, args.runs,
           args.limit, args.only and args.only.split(","), args.keep)


if __name__ == "__main__":
    main()
