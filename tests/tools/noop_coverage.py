#!/usr/bin/env python3
"""Which test notices if a driver function does nothing?

  noop_coverage.py --build build/release [--only REGEX] [--write]

Replaces each implemented function of cuda_api.def in turn by one that returns
CUDA_SUCCESS and does nothing (stub_noop, tests/unit/runtime-stub/noop.cc), runs
the tests that call it until one fails, and prints the functions for which none
does: the cases of runtime_stub_test and runtime_stub_emulated_test, the
programs of tests/e2e/programs, at last those that look for what is left behind
and for null arguments. --write renews docs/cuda-api-support.md, whose last column
runtime_stub_test looks at.

Needs: ninja cerberus_api_doc stub_noop runtime_stub_test runtime_stub_emulated_test, and
lit-22 tests/e2e/programs.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/cuda-api-support.md")
PROGRAMS = os.path.join(ROOT, "tests/e2e/programs")
UNIT_SECONDS = 40
PROGRAM_SECONDS = 120

def implemented():
    with open(os.path.join(ROOT, "runtime-stub/api/cuda_api.def")) as f:
        text = f.read()
    rows = re.findall(r"^CUDA_API\((\w+),\s*\w+,\s*\d+,\s*(\w+)", text, re.M)
    rows += re.findall(
        r"^CUDA_API_PER_THREAD\((\w+),\s*\w+,\s*\w+,\s*\d+,\s*(\w+)", text,
        re.M)
    return [name for name, status in rows if status != "UNSUPPORTED"]


def run(command, env, seconds):
    """(passed, output); whatever hangs has failed."""
    try:
        done = subprocess.run(command, env=env, timeout=seconds,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as e:
        return False, (e.stdout or b"").decode(errors="replace")
    return done.returncode == 0, done.stdout.decode(errors="replace")


class Unit:
    """Cases of a GoogleTest program."""

    def __init__(self, build, program, cases):
        self.binary = os.path.join(build, "tests", program)
        self.cases = cases
        # That of runtime_stub_test; in the other the stub is linked.
        self.stub = os.path.join(build, "tests/stub/noop/libcuda.so.1")

    def names(self):
        listed = subprocess.run([self.binary, "--gtest_list_tests",
                                 "--gtest_filter=" + self.cases],
                                stdout=subprocess.PIPE, check=True)
        suite, out = "", []
        for line in listed.stdout.decode().splitlines():
            name = line.split("#")[0].rstrip()
            if name.endswith(".") and not name.startswith(" "):
                suite = name
            elif name.startswith("  "):
                out.append(suite + name.strip())
        return out

    def run(self, names, **variables):
        return run([self.binary, "--gtest_fail_fast",
                    "--gtest_filter=" + ":".join(names)],
                   dict(os.environ, CERBERUS_TEST_STUB=self.stub, **variables),
                   UNIT_SECONDS)

    def failing(self, names, symbol):
        passed, output = self.run(names, CERBERUS_NOOP=symbol)
        if passed:
            return None
        failed = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.M)
        last = re.findall(r"^\[ RUN      \] ([\w./]+)", output, re.M)
        return failed.group(1) if failed else last[-1]


class Programs:
    """Programs of tests/e2e/programs as lit left them."""

    def __init__(self, build):
        self.stub = os.path.join(build, "tests/stub/noop/libcuda.so.1")
        self.emulator = os.path.join(
            build, "lib/cerberus/emulator/libamdhip64.so.7")
        self.jit = os.path.join(build, "bin/cerberus-jit")
        self.folder = os.path.join(build, "tests/lit/e2e/programs/Output")

    def names(self):
        return [f for f in sorted(os.listdir(PROGRAMS)) if f.endswith(".cu")
                and os.path.exists(self.app(f))]

    def app(self, name):
        return os.path.join(self.folder, name + ".tmp", "app.amd")

    def run(self, name, **variables):
        with open(os.path.join(PROGRAMS, name)) as f:
            settings = dict(re.findall(
                r"""(DEVICES|RUN_ENV)=("[^"]*"|'[^']*'|\S+)""",
                "".join(line for line in f if "RUN:" in line)))
        device = settings.get("DEVICES", "gfx1100").strip("\"'").split()[0]
        more = dict(pair.split("=", 1) for pair in
                    settings.get("RUN_ENV", "").strip("\"'").split())
        env = dict(LD_PRELOAD=self.stub, CERBERUS_EMULATOR=self.emulator,
                   CERBERUS_JIT=self.jit,
                   CERBERUS_DEVICE=device, **more, **variables)
        passed, output = run([self.app(name)], env, PROGRAM_SECONDS)
        return passed and "PASS" in output.split("\n"), output

    def failing(self, names, symbol):
        for name in names:
            if not self.run(name, CERBERUS_NOOP=symbol)[0]:
                return "programs/" + name
        return None


def calls_of(suite, name):
    """(passed, functions called)."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        passed, output = suite.run([name] if isinstance(suite, Unit) else name,
                                   CERBERUS_TRACE=trace)
        if not passed:
            sys.exit(f"{name} fails as it is:\n{output}")
        text = ""
        if os.path.exists(trace):
            with open(trace, errors="replace") as f:
                text = f.read()
    return set(re.findall(r'"name":\s*"(cu\w+)"', text))


def rows_of(page):
    """(line, function, its per-thread variant or none, test cell)"""
    for line in page.splitlines():
        cells = line.strip("|").split(" | ")
        if line.startswith("| `"):
            name, variant = cells[0].strip(" `"), cells[2].strip(" `")
            yield line, name, variant and name + variant, cells[4].strip()


def read_record():
    """function -> the test that fails without it"""
    record = {}
    with open(PAGE) as f:
        for _, name, variant, tests in rows_of(f.read()):
            tests = tests.split("; ", 1)
            record.update((n, t) for n, t in zip((name, variant), tests) if t)
    return record


def write_page(build, record):
    """The page as the table makes it, with the record's tests."""
    page = subprocess.run([os.path.join(build, "tools/cerberus_api_doc")],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    known = set(implemented())
    lines = page.splitlines()
    for line, name, variant, _ in rows_of(page):
        tests = [record.get(n, "") for n in (name, variant) if n in known]
        lines[lines.index(line)] = line[:-2] + "; ".join(tests) + " |"
    with open(PAGE, "w") as f:
        f.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--only", default="", help="functions to look at")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    suites = [
        # Without the case that looks for the rows to be written.
        Unit(build, "runtime_stub_test",
             "-NullArguments.*:Exports.EachHasATest*"),
        Unit(build, "runtime_stub_emulated_test", "-Fault*:Endurance*"),
        Programs(build),
        Unit(build, "runtime_stub_emulated_test", "Endurance*"),
        Unit(build, "runtime_stub_test", "NullArguments.*"),
    ]
    record = read_record()
    wanted = [f for f in implemented() if re.search(options.only, f)]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        callers = [{} for _ in suites]
        for by_function, suite in zip(callers, suites):
            names = suite.names()
            for name, called in zip(names, pool.map(
                    lambda name: calls_of(suite, name), names)):
                for function in called:
                    by_function.setdefault(function, []).append(name)

        def look(function):
            for by_function, suite in zip(callers, suites):
                names = by_function.get(function)
                found = suite.failing(names, function) if names else None
                if found:
                    return found
            return None

        missing = []
        for function, found in zip(wanted, pool.map(look, wanted)):
            if found:
                record[function] = found
            elif not record.get(function, "").startswith("-"):
                record.pop(function, None)
                missing.append(function)
                called = any(function in c for c in callers)
                print(f"{function}: no test fails without it"
                      if called else f"{function}: no test calls it",
                      flush=True)
    print(f"{len(wanted) - len(missing)} of {len(wanted)} functions have a test "
          "that fails without them")
    if options.write:
        write_page(build, record)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
