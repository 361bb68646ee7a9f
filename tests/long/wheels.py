#!/usr/bin/env python3
"""Converts the CUDA libraries of Python wheels and counts their kernels.

usage: wheels.py [--build DIR] [--wheels DIR] [--arch gfx1100,gfx942]
                 [--jobs N] [--only TEXT] [--ptxas] [PACKAGE[==VERSION] ...]

Downloads the wheels with pip unless they are in the folder, unpacks them, and
runs `cerberus convert --keep-going` on every library that holds device code;
one compiler process a module and target, separately compiled units linked as
one. Prints what each library holds, how many of its kernels compiled, the
time, the peak memory of the largest module, and every kernel that failed with
its reason. --ptxas compiles the same PTX with ptxas -O3, for comparison.

Records of compiled modules stay in DIR/records and are taken again as long as
the compiler is the same. DIR/converted/WHEEL is the unpacked wheel with its
libraries converted for all targets; wheel_kernels.py runs them. Exit code 1 if
fewer than 99 % of a library's kernels compiled for a target.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ["bitsandbytes", "ctranslate2", "xgboost"]
NEEDED_PERCENT = 99.0


def download(packages, folder):
    """Those that are there already are not fetched again."""
    os.makedirs(folder, exist_ok=True)
    for package in packages:
        name = package.split("==")[0]
        if not glob.glob(os.path.join(folder, name + "-*.whl")):
            subprocess.run([sys.executable, "-m", "pip", "download",
                            "--no-deps", "-q", "-d", folder, package],
                           check=True)
    return [wheel for package in packages for wheel in sorted(glob.glob(
        os.path.join(folder, package.replace("==", "-") + "-*.whl")))]


def unpack(wheel):
    folder = wheel[:-len(".whl")]
    if not os.path.isdir(folder):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder + ".tmp")
        os.rename(folder + ".tmp", folder)
    return folder


def listing(cerberus, path):
    """What `cerberus list` says of a file, or None if it says nothing."""
    done = subprocess.run([cerberus, "list", "--json", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def cuda_libraries(cerberus, folder):
    for base, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            path = os.path.join(base, name)
            if ".so" not in name or os.path.islink(path):
                continue
            found = listing(cerberus, path)
            if found is not None and found.get("fatbins"):
                yield path, found


def kernels_by_kind(found):
    """All entries' kernel names: those in PTX, those in machine code."""
    names = {"ptx": set(), "cubin": set()}
    for fatbin in found["fatbins"]:
        for entry in fatbin["entries"]:
            names.get(entry["kind"], set()).update(entry.get("kernels", []))
    return names["ptx"], names["cubin"]


def recording_converter(build, folder):
    """A `cerberus` whose compiler is record_jit.py: it looks beside itself."""
    bin_folder = os.path.join(folder, "bin")
    os.makedirs(bin_folder, exist_ok=True)
    for name in ("lib", "bin/cerberus-jit", "bin/cerberus"):
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            os.remove(path)
    os.symlink(os.path.join(build, "lib"), os.path.join(folder, "lib"))
    os.symlink(os.path.join(HERE, "record_jit.py"),
               os.path.join(bin_folder, "cerberus-jit"))
    shutil.copy(os.path.join(build, "bin", "cerberus"), bin_folder)
    return os.path.join(bin_folder, "cerberus")


def convert(args, converter, library, arches, out):
    """(report of convert, records of the modules it compiled)."""
    os.makedirs(os.path.dirname(out), exist_ok=True)
    used = os.path.join(args.wheels, "used.%d" % os.getpid())
    if os.path.exists(used):
        os.remove(used)
    env = dict(os.environ,
               CERBERUS_WHEELS_JIT=os.path.join(args.build, "bin",
                                                "cerberus-jit"),
               CERBERUS_WHEELS_RECORDS=os.path.join(args.wheels, "records"),
               CERBERUS_WHEELS_USED=used)
    done = subprocess.run(
        [converter, "convert", library, "-o", out, "--arch", arches, "-k",
         "-q", "-j%d" % args.jobs, "--compile-seconds", "0", "--json"],
        env=env, stdout=subprocess.PIPE, check=False)
    records = []
    if os.path.exists(used):
        with open(used) as file:
            for line in file:
                with open(line.strip(), encoding="utf-8") as record:
                    records.append(json.load(record))
        os.remove(used)
    return json.loads(done.stdout), records


def run_ptxas(path):
    """(seconds of processor time, ok); units of a device link one by one."""
    with open(path, encoding="utf-8") as file:
        units = re.split(r"(?m)^(?=\.version)", file.read())
    units = [unit for unit in units if unit.startswith(".version")]
    seconds = 0.0
    for unit in units:
        target = re.search(r"\.target\s+(\w+)", unit).group(1)
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(unit)
            file.flush()
            begin = os.times()
            done = subprocess.run(
                ["ptxas", "-O3", "-arch=" + target, "-o", file.name + ".out"]
                + (["-c"] if len(units) > 1 else []) + [file.name],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                check=False)
            end = os.times()
        if done.returncode != 0:
            return 0.0, False
        os.remove(file.name + ".out")
        seconds += (end.children_user + end.children_system -
                    begin.children_user - begin.children_system)
    return seconds, True


def ptxas_time(args, records):
    """(seconds of ptxas -O3 for the PTX of all records, how many failed)."""
    total, failed = 0.0, 0
    for record in records:
        stem = os.path.join(args.wheels, "records", record["ptx"])
        if not os.path.exists(stem + ".ptxas"):
            with open(stem + ".ptxas", "w") as file:
                file.write("%f %d" % run_ptxas(stem + ".ptx"))
        with open(stem + ".ptxas") as file:
            seconds, ok = file.read().split()
        if ok == "1":
            total += float(seconds)
            record["ptxas"] = float(seconds)
        else:
            failed += 1
    return total, failed


def failures(report):
    """(kernel or module, reason) of each error that convert reported."""
    for diag in report["diagnostics"]:
        if diag["code"] in (1, 2, 4, 5, 6, 7, 8, 10) and (
                diag["severity"] == "error" or "kernel" in diag):
            where = diag.get("kernel") or diag.get("section", "")
            line = diag.get("ptx_line")
            yield where, diag["message"] + (
                " (PTX line %d)" % line if line else "")


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def converted_tree(args, wheel):
    """A copy of the unpacked wheel, for converted libraries to go into."""
    tree = os.path.join(args.wheels, "converted",
                        os.path.basename(wheel)[:-len(".whl")])
    if not os.path.isdir(tree):
        shutil.copytree(unpack(wheel), tree, copy_function=os.link)
    return tree


def measure(args, converter, library, found, out):
    """Prints a library's rows and converts it for all targets to `out`; False
    if too few of its kernels compiled."""
    name = os.path.basename(library)
    ptx, cubin = kernels_by_kind(found)
    enough = True
    problems = []
    for arch in args.arch.split(","):
        begin = time.time()
        report, records = convert(
            args, converter, library, arch,
            os.path.join(args.wheels, "scratch-" + arch, name))
        kernels = report.get("kernels", 0)
        converted = report.get("kernels_converted", 0)
        percent = 100.0 * converted / kernels if kernels else 0.0
        enough = enough and percent >= NEEDED_PERCENT
        seconds = sum(record["cpu_seconds"] for record in records)
        cells = [name, arch, report.get("modules", 0),
                 "%.1f" % (sum(r["ptx_bytes"] for r in records) / 1e6),
                 len(cubin - ptx), kernels, converted, "%.2f" % percent,
                 "%.0f" % seconds,
                 "%.0f" % (max([r["peak_bytes"] for r in records],
                               default=0) / 2**20),
                 "%.1f" % (sum(r["code_bytes"] for r in records) / 1e6),
                 "%.1f" % (report.get("archive_bytes", 0) / 1e6)]
        if args.ptxas:
            theirs, failed = ptxas_time(args, records)
            compared = sum(r["cpu_seconds"] for r in records if "ptxas" in r)
            cells += ["%.0f" % theirs,
                      "%.2f" % (compared / theirs) if theirs else "-"]
            if failed:
                problems.append("%d modules are not taken by ptxas" % failed)
        row(cells)
        problems += ["%s: %s: %s" % ((arch,) + failure)
                     for failure in failures(report)]
        print("%s %s: %.0f s" % (name, arch, time.time() - begin),
              file=sys.stderr)
    os.remove(out)  # a link to the original
    whole, _ = convert(args, converter, library, args.arch, out)
    if whole["exit_code"] not in (0, 3):
        problems.append("not converted for %s" % args.arch)
        enough = False
    for problem in problems:
        print("  " + problem)
    if cubin - ptx:
        print("  only as machine code: " + ", ".join(sorted(cubin - ptx)))
    return enough


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build",
                                                        "release"))
    parser.add_argument("--wheels", default=os.path.join(ROOT, "build",
                                                         "wheels"))
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="",
                        help="only libraries with TEXT in their path")
    parser.add_argument("--ptxas", action="store_true")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    args.wheels = os.path.abspath(args.wheels)

    os.makedirs(os.path.join(args.wheels, "records"), exist_ok=True)
    wheels = download(args.packages, args.wheels)
    converter = recording_converter(args.build,
                                    os.path.join(args.wheels, "recorder"))
    enough = True
    for wheel in wheels:
        print("\n%s\n" % os.path.basename(wheel))
        heads = ["library", "target", "modules", "MB of PTX",
                 "kernels without PTX", "kernels", "compiled", "%",
                 "CPU s", "peak MiB", "MB of code", "MB of archives"]
        if args.ptxas:
            heads += ["ptxas s", "ratio"]
        row(heads)
        row(["---"] * len(heads))
        for library, found in cuda_libraries(converter, unpack(wheel)):
            if args.only in library:
                out = os.path.join(converted_tree(args, wheel),
                                   os.path.relpath(library, unpack(wheel)))
                enough = measure(args, converter, library, found,
                                 out) and enough
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
