#!/usr/bin/env python3
"""The programs of tests/e2e/programs on every cudart of NVIDIA's wheels.

usage: cudarts.py [--build DIR] [--cudarts 11.8,12.4,...] [--targets ...]
                  [--nvcc NVCC] [-j N] [PROGRAM ...]

Each program is compiled once, by the installed nvcc with its own headers.
Its object file is linked with each cudart, converted and run on an emulated
GPU of each target. Where CUDA changed a function under the same name between
two major versions, the program is compiled again with the headers of that
cudart's wheel. The wheels come from PyPI into build/cudarts (setup.sh fetches
11.8, 12.4 and the newest).

Prints a table, program by cudart:
  ok       nvcc's object, linked with this cudart, passes on all targets
  ok*      passes when compiled with that cudart's own headers
  -        that cudart lacks a function the program is about
  FAILED   anything else; what the program said follows the table
"""
import argparse
import concurrent.futures
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "tests", "e2e", "programs")

# The last release of each minor version that PyPI has. Those with a static
# library too.
VERSIONS = ["11.7.99", "11.8.89", "12.0.146", "12.1.105", "12.2.140",
            "12.3.101", "12.4.127", "12.5.82", "12.6.77", "12.8.90", "12.9.79",
            "13.0.96", "13.1.80", "13.2.86", "13.3.29", "13.4.92", "13.5.37"]
FIRST_STATIC = (12, 9)


def cudarts():
    """name: (wheel with its version, file in it); static ones end in s."""
    shared = {"11": ("-cu11", "libcudart.so.11.0"),
              "12": ("-cu12", "libcudart.so.12"), "13": ("", "libcudart.so.13")}
    found = {}
    for version in VERSIONS:
        major, minor = version.split(".")[:2]
        suffix, file = shared[major]
        wheel = "nvidia-cuda-runtime%s==%s" % (suffix, version)
        found["%s.%s" % (major, minor)] = (wheel, file)
        if (int(major), int(minor)) >= FIRST_STATIC:
            found["%s.%ss" % (major, minor)] = (wheel, "libcudart_static.a")
    return found


CUDARTS = cudarts()

# cudart 11 lacks what nvcc 13's launches call.
BRIDGE = os.path.join(ROOT, "tests", "e2e", "Inputs", "launch_bridge.cc")


class Failed(Exception):
    """What a command said that did not end as it should."""


def run(command, env=None, timeout=600):
    """The command's two outputs together; raises Failed."""
    try:
        done = subprocess.run(command, env=env, timeout=timeout,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace",
                              check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed("%s: no end" % command[0]) from error
    if done.returncode:
        raise Failed("%s: exit %d\n%s" % (
            os.path.basename(command[0]), done.returncode, done.stdout))
    return done.stdout


class Cudart:
    """One cudart of a wheel: where its library and its headers are."""

    def __init__(self, name):
        wheel, file = CUDARTS[name]
        self.name = name
        self.static = file.endswith(".a")
        place = os.path.join(ROOT, "build", "cudarts", name.rstrip("s"))
        if not os.path.isdir(place):
            run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                 "--target", place, wheel])
        found = glob.glob(os.path.join(place, "nvidia", "*", "lib", file))
        if not found:
            raise Failed("%s: no %s in %s" % (name, file, place))
        self.library = found[0]
        self.include = os.path.join(os.path.dirname(os.path.dirname(
            self.library)), "include")


class Program:
    """A source of the folder, and what its first RUN line asks for."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[:-len(".cu")]
        with open(path, encoding="utf-8") as source:
            line = re.search(r"^// RUN: (.*)$", source.read(), re.M).group(1)
        before, after = line.split("&&")[0].split("%check %s %t")
        variables = dict(re.findall(r"(\w+)=(\S+)", before))
        self.devices = variables.get("DEVICES")
        self.convert = variables.get("CONVERT", "").split()
        self.env = dict([variables["RUN_ENV"].split("=", 1)]
                        if "RUN_ENV" in variables else [])
        self.options = after.split("|")[0].split()


class Runner:
    """Builds, converts and runs one program on one cudart."""

    def __init__(self, args):
        self.args = args
        self.work = args.work
        os.makedirs(self.work, exist_ok=True)
        self.nvcc = args.nvcc
        self.converted = set()
        self.bridge = os.path.join(self.work, "launch_bridge.o")
        run([self.nvcc, "-c", "-o", self.bridge, BRIDGE])

    def compile(self, program, cudart=None):
        """The object file, with nvcc's headers or those of a cudart."""
        suffix = "." + cudart.name if cudart else ""
        out = os.path.join(self.work, program.name + suffix + ".o")
        command = [self.nvcc, "-std=c++17", "-w", "-c", "-o", out,
                   program.path] + program.options
        if cudart:
            command += ["-I", cudart.include]
            if cudart.name.startswith(("11", "12.0")):
                # Named by the compiler's own headers of today.
                name = "-DcudaKernel_t=cudaFunction_t"
                command += [name, "-Xcompiler", name]
        run(command)
        return out

    def link(self, item, cudart, out):
        command = [self.nvcc, "-cudart", "none", "-o", out, item]
        if cudart.name.startswith("11"):
            command.append(self.bridge)
        command += ["-Xlinker", cudart.library, "-lcuda", "-ldl", "-lrt",
                    "-lpthread"]
        run(command + ["-L" + os.path.join(ROOT, "build", "stubs")])

    def convert(self, program, app):
        """The converted program. Linked with another cudart of one major
        version it may be the same again."""
        with open(app, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        converted = os.path.join(self.work, "%s-%s.amd" % (
            program.name, digest[:16]))
        if converted not in self.converted:
            run([os.path.join(self.args.build, "bin", "cerberus"), "convert",
                 "-q", app, "-o", converted, "--arch",
                 ",".join(self.args.targets)] + program.convert)
            self.converted.add(converted)
        return converted

    def execute(self, program, cudart, app):
        converted = self.convert(program, app)
        devices = [program.devices] if program.devices else self.args.targets
        for device in devices:
            env = {"CERBERUS_DEVICE": device, **program.env}
            if not cudart.static:
                env["LD_LIBRARY_PATH"] = os.path.dirname(cudart.library)
            output = run([converted], env=env)
            if "PASS" not in output.split():
                raise Failed("%s: no PASS\n%s" % (device, output))

    def cell(self, program, cudart):
        """(what the table says, what went wrong)"""
        app = os.path.join(self.work, program.name + "-" + cudart.name)
        try:
            self.link(program.object, cudart, app)
            self.execute(program, cudart, app)
            return "ok", ""
        except Failed as error:
            first = str(error)
        missing = re.findall(r"undefined reference to `(\w+)'", first)
        if missing:
            return "-", ", ".join(sorted(set(missing)))
        if cudart.name.startswith("13"):
            return "FAILED", first
        try:
            self.link(self.compile(program, cudart), cudart, app)
            self.execute(program, cudart, app)
            return "ok*", first
        except Failed as error:
            return "FAILED", "%swith its own headers: %s" % (first, error)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--work", default=os.path.join(
        ROOT, "build", "cudarts", "programs"))
    parser.add_argument("--cudarts", default=",".join(CUDARTS))
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or os.path.join(
        ROOT, "build", "cuda", "bin", "nvcc"))
    parser.add_argument("--targets", default="gfx1100,gfx942",
                        type=lambda text: text.split(","))
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("-v", action="store_true",
                        help="say why a cell is - or ok* too")
    parser.add_argument("programs", nargs="*")
    args = parser.parse_args()

    unknown = set(args.cudarts.split(",")) - set(CUDARTS)
    if unknown:
        parser.error("no cudart %s; there are %s" % (
            ", ".join(sorted(unknown)), ", ".join(CUDARTS)))
    programs = [Program(path) for path in
                sorted(glob.glob(os.path.join(PROGRAMS, "*.cu")))]
    if args.programs:
        programs = [p for p in programs if p.name in args.programs]
    cudarts = [Cudart(name) for name in args.cudarts.split(",")]
    runner = Runner(args)

    def row(program):
        try:
            program.object = runner.compile(program)
        except Failed as error:
            return program, [("FAILED", str(error))] * len(cudarts)
        return program, [runner.cell(program, c) for c in cudarts]

    reasons = []
    failed = 0
    print("%-20s" % "" + "".join("%8s" % c.name for c in cudarts))
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for program, cells in pool.map(row, programs):
            print("%-20s" % program.name +
                  "".join("%8s" % word for word, _ in cells), flush=True)
            for cudart, (word, why) in zip(cudarts, cells):
                failed += word == "FAILED"
                if word == "FAILED" or why and args.v:
                    reasons.append("%s on %s: %s: %s" % (
                        program.name, cudart.name, word, why))
    print("\n".join(reasons))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
