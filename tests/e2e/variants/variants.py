"""Every sample, built in all the ways nvcc links, converted and run.

A variant takes one value of each axis below. lit gets one test per variant;
the chosen variants cover every pair of values of two axes, so each sample
meets every value. `--param variants=all` runs the whole product instead
(hours).

Each test: build the program, treat it as `before` says, convert it, move the
output folder elsewhere, treat the converted file as `after` says, run it with
an empty environment. Expected: exit code 0, last line of output ends in PASS,
and nothing was compiled while it ran.
"""
import fcntl
import itertools
import os
import shlex
import shutil
import subprocess

import lit.formats
import lit.Test

SAMPLES = [
    "vector_add", "matmul", "reduction", "scan", "histogram", "transpose",
    "convolution", "driver_ptx"
]

# How many files hold kernels and where they end up, and nvcc's options. In
# `two`, the sample's main() is called by a second unit with a kernel of its
# own; in `library`, the sample is a shared object and the program only calls
# it; in `plugin`, the program loads it with dlopen.
OBJECTS = {
    "pie": ("one", []),
    "pie-size": ("one", ["--compress-mode=size"]),
    "pie-debug": ("one", ["-G"]),
    "nopie-none": ("one", ["--compress-mode=none", "-Xcompiler=-fno-pie"]),
    "nopie-speed": ("one", ["--compress-mode=speed", "-Xcompiler=-fno-pie"]),
    "two-pie": ("two", []),
    "two-nopie-debug": ("two", ["-G", "--compress-mode=balance",
                                "-Xcompiler=-fno-pie"]),
    "library": ("library", ["-Xcompiler=-fPIC"]),
    "plugin-none": ("plugin", ["--compress-mode=none", "-Xcompiler=-fPIC"]),
}

LINKERS = ["bfd", "gold", "lld", "mold"]

# cudart, and whether the program has a search path of its own already.
RUNTIMES = {
    "static": ["-cudart=static"],
    "static-runpath": ["-cudart=static", "-Xlinker=-rpath,/opt/none/lib",
                       "-Xlinker=--enable-new-dtags"],
    "shared-runpath": ["-cudart=shared", "-Xlinker=-rpath,{toolkit}/lib64",
                       "-Xlinker=--enable-new-dtags"],
    "shared-rpath": ["-cudart=shared", "-Xlinker=-rpath,{toolkit}/lib64",
                     "-Xlinker=--disable-new-dtags"],
}

BEFORE = {"asbuilt": None, "stripped": ["strip", "{}"],
          "nodebug": ["strip", "-g", "{}"]}

CONVERT = {"plain": [], "bundle": ["--bundle"],
           "keepfatbin": ["--keep-fatbin"]}

AFTER = {
    "unchanged": None,
    "strip": ["strip", "{}"],
    "strip-g": ["strip", "-g", "{}"],
    "llvm-strip": ["llvm-strip", "{}"],
    "objcopy": ["objcopy", "{}"],
    "patchelf": ["sh", "-c",
                 'patchelf --set-rpath "$(patchelf --print-rpath "$0"):'
                 '/opt/a/folder/with/a/long/name" "$0"', "{}"],
}

AXES = [SAMPLES, list(OBJECTS), LINKERS, list(RUNTIMES), list(BEFORE),
        list(CONVERT), list(AFTER)]


def cover_pairs(axes):
    """Few rows, one value of each axis, so that each pair of values occurs."""

    def pairs(row):
        return {((i, row[i]), (j, row[j]))
                for i, j in itertools.combinations(range(len(row)), 2)}

    missing = {((i, a), (j, b))
               for i, j in itertools.combinations(range(len(axes)), 2)
               for a in axes[i] for b in axes[j]}
    rows = []
    while missing:
        # Starts from a missing pair and gives each other axis the value that
        # adds most pairs. Among equals the rows take turns, so that where
        # nothing is missing any more the rows still differ.
        (i, a), (j, b) = min(missing)
        row = {i: a, j: b}
        for axis in range(len(axes)):
            if axis not in row:
                turn = (len(rows) + axis) % len(axes[axis])
                row[axis] = max(
                    axes[axis][turn:] + axes[axis][:turn],
                    key=lambda value: sum(
                        (((k, row[k]), (axis, value)) if k < axis else
                         ((axis, value), (k, row[k]))) in missing
                        for k in row))
        row = tuple(row[k] for k in range(len(axes)))
        missing -= pairs(row)
        rows.append(row)
    return rows


class Failure(Exception):
    pass


class Run:
    """Runs commands for one test and remembers them for the report."""

    def __init__(self, config, log):
        self.config = config
        self.log = log

    def __call__(self, command, **options):
        self.log.append("$ " + shlex.join(command))
        env = options.pop("env", self.config.environment)
        try:
            done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  errors="replace", timeout=300, **options)
        except subprocess.TimeoutExpired:
            raise Failure("no end after 300 s")
        self.log += [done.stdout, done.stderr]
        if done.returncode != 0:
            raise Failure("exit code %d" % done.returncode)
        return done.stdout


class VariantTest(lit.formats.TestFormat):

    def __init__(self, cover):
        self.cover = cover

    def getTestsInDirectory(self, suite, path, litConfig, localConfig):
        rows = (itertools.product(*AXES)
                if self.cover == "all" else cover_pairs(AXES))
        for row in rows:
            yield lit.Test.Test(suite, path + ("/".join(row),), localConfig)

    def execute(self, test, litConfig):
        log = []
        try:
            self.run_variant(test.path_in_suite[-1].split("/"), test.config,
                             Run(test.config, log))
        except Failure as failure:
            log.append("error: %s" % failure)
            return lit.Test.Result(lit.Test.FAIL, "\n".join(log))
        return lit.Test.Result(lit.Test.PASS, "\n".join(log))

    def run_variant(self, row, config, run):
        sample, objects, linker, runtime, before, convert, after = row
        folder = os.path.join(config.test_exec_root, "e2e", "variants", *row)
        shutil.rmtree(folder, ignore_errors=True)
        built = os.path.join(folder, "built")
        os.makedirs(built)
        files = Builder(config, run).build(sample, objects, linker, runtime,
                                           built)
        target = files[0]
        if BEFORE[before]:
            run([word.format(target) for word in BEFORE[before]])

        converted = os.path.join(folder, "converted")
        os.makedirs(converted)
        run([os.path.join(config.cerberus_build, "bin", "cerberus-convert"),
             target, "-o", os.path.join(converted, os.path.basename(target)),
             "--arch", "gfx1100"] + CONVERT[convert])
        for other in files[1:]:
            shutil.copy2(other, converted)
        shutil.rmtree(built)
        moved = os.path.join(folder, "moved")
        os.rename(converted, moved)
        if (linker, before, after) == ("mold", "stripped", "llvm-strip"):
            # llvm-strip 22 refuses even the unconverted file: mold's
            # PT_GNU_RELRO then ends behind the end of the file.
            after = "strip"
        if AFTER[after]:
            run([word.format(os.path.join(moved, os.path.basename(target)))
                 for word in AFTER[after]])

        # HOME is where compiled code would be kept, had any been compiled.
        home = os.path.join(folder, "home")
        os.makedirs(home)
        program = os.path.join(moved, os.path.basename(files[-1]))
        output = run([program], env={"HOME": home}, cwd="/")
        lines = output.splitlines()
        if not lines or not lines[-1].endswith("PASS"):
            raise Failure("the program did not print PASS")
        if os.listdir(home):
            raise Failure("something was compiled while the program ran")
        shutil.rmtree(folder)


class Builder:
    """Builds the samples; objects are shared between variants."""

    def __init__(self, config, run):
        self.root = config.cerberus_root
        self.nvcc = config.nvcc
        self.toolkit = os.path.dirname(os.path.dirname(
            os.path.realpath(config.nvcc)))
        self.objects = os.path.join(config.test_exec_root, "e2e", "objects")
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.run = run

    def compile(self, source, name, flags):
        """An object file, made once: the lock makes others wait for it."""
        os.makedirs(self.objects, exist_ok=True)
        out = os.path.join(self.objects, name + ".o")
        with open(out + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (not os.path.exists(out) or
                    os.path.getmtime(out) < os.path.getmtime(source)):
                self.run([self.nvcc, "-c", "-o", out + ".part", source] +
                         flags)
                os.rename(out + ".part", out)
        return out

    def build(self, sample, objects, linker, runtime, folder):
        """Builds into folder; returns [file to convert, ..., program]."""
        unit, flags = OBJECTS[objects]
        source = os.path.join(self.root, "samples", sample, sample)
        source += ".cpp" if os.path.exists(source + ".cpp") else ".cu"
        if unit != "one":
            flags = flags + ["-Dmain=SampleMain"]
        parts = [self.compile(source, sample + "-" + objects, flags)]
        if unit == "two":
            parts.append(self.compile(
                os.path.join(self.here, "second_unit.cu"),
                "second_unit-" + objects, OBJECTS[objects][1]))

        link = ["-Xcompiler=-fuse-ld=" + linker]
        link += [word.format(toolkit=self.toolkit)
                 for word in RUNTIMES[runtime]]
        if "nopie" in objects:
            link.append("-Xcompiler=-no-pie")
        if sample == "driver_ptx":
            link += ["-L" + os.path.join(self.root, "build", "stubs"),
                     "-lcuda"]
        if unit in ("one", "two"):
            program = os.path.join(folder, sample)
            self.run([self.nvcc, "-o", program] + parts + link)
            return [program]

        library = os.path.join(folder, "libsample.so")
        self.run([self.nvcc, "-shared", "-o", library] + parts + link)
        program = os.path.join(folder, "program")
        host = os.path.join(self.here, unit + "_main.cc")
        command = ["g++", "-o", program, host, "-Wl,-rpath,$ORIGIN"]
        if unit == "library":
            command += ["-L" + folder, "-lsample",
                        "-Wl,--allow-shlib-undefined"]
        self.run(command)
        return [library, program]
