#!/usr/bin/env python3
"""Our libraries against NVIDIA's own headers and symbols.

usage: library_headers.py [--build DIR] [--packages DIR] [LIBRARY ...]

For each version of each library that ours answer for, NVIDIA's wheel is taken
from PyPI into build/packages/libraries (24 GB in all). Then

- a program that takes the address of every function which the headers declare
  and NVIDIA's library has is compiled, linked with ours by -lNAME, and runs;
- each function takes and returns in the same registers as the headers say: both
  are compiled to LLVM IR, and the signatures there compared;
- what NVIDIA's library exports, ours does, with the same version as default, and
  so do the parts beside it, and the oldest wheels' of the same name;
- the programs of tests/e2e/libraries are built with the headers of CUDA 13's
  wheels instead of the declarations there, and run;
- cudnn_frontend.cu does so with NVIDIA's cudnn-frontend over cuDNN's headers.

Prints one line per library and what differs.
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
CLANG = "clang-22"

# Library, sources, prefixes of its functions, headers in sets that exclude one
# another.
LIBRARIES = {
    "cublas": ("cublas", "cublas", [["cublas_v2.h", "cublasXt.h"],
                                    ["cublas.h"]]),
    "cublasLt": ("cublaslt", "cublasLt", [["cublasLt.h"]]),
    "cufft": ("cufft", "cufft", [["cufft.h", "cufftXt.h"]]),
    "cusparse": ("cusparse", "cusparse", [["cusparse.h"]]),
    "cusolver": ("cusolver", "cusolver", [[
        "cusolverDn.h", "cusolverSp.h", "cusolverRf.h",
        "cusolverSp_LOWLEVEL_PREVIEW.h"]]),
    "cusolverMg": ("cusolvermg", "cusolverMg", [["cusolverMg.h"]]),
    "cudnn": ("cudnn", "cudnn", [["cudnn.h"]]),
    "nccl": ("nccl", "p?nccl", [["nccl.h"]]),
    "cusparseLt": ("cusparselt", "cusparseLt", [["cusparseLt.h"]]),
    "nvjpeg": ("nvjpeg", "nvjpeg", [["nvjpeg.h"]]),
    "cufile": ("cufile", "cuFile", [["cufile.h"]]),
    "cupti": ("refusing", "cupti", [["cupti.h"]]),
}
# Library, what follows .so, wheel: of each soname the last, and of those that
# CUDA 12 and 13 share one of each.
WHEELS = [
    ("cublas", "11", "nvidia-cublas-cu11==11.11.3.6"),
    ("cublas", "12", "nvidia-cublas-cu12==12.9.2.10"),
    ("cublas", "13", "nvidia-cublas==13.10.0.20"),
    ("cublasLt", "11", "nvidia-cublas-cu11==11.11.3.6"),
    ("cublasLt", "12", "nvidia-cublas-cu12==12.9.2.10"),
    ("cublasLt", "13", "nvidia-cublas==13.10.0.20"),
    ("cufft", "10", "nvidia-cufft-cu11==10.9.0.58"),
    ("cufft", "11", "nvidia-cufft-cu12==11.4.1.4"),
    ("cufft", "12", "nvidia-cufft==12.5.0.14"),
    ("cusparse", "11", "nvidia-cusparse-cu11==11.7.5.86"),
    ("cusparse", "12", "nvidia-cusparse-cu12==12.5.10.65"),
    ("cusparse", "12", "nvidia-cusparse==12.9.4.2"),
    ("cusolver", "11", "nvidia-cusolver-cu11==11.4.1.48"),
    ("cusolver", "11", "nvidia-cusolver-cu12==11.7.5.82"),
    ("cusolver", "12", "nvidia-cusolver==12.4.1.2"),
    ("cusolverMg", "11", "nvidia-cusolver-cu12==11.7.5.82"),
    ("cusolverMg", "12", "nvidia-cusolver==12.4.1.2"),
    ("cudnn", "8", "nvidia-cudnn-cu12==8.9.7.29"),
    ("cudnn", "9", "nvidia-cudnn-cu12==9.10.2.21"),
    ("cudnn", "9", "nvidia-cudnn-cu13==9.28.1.4"),
    ("nccl", "2", "nvidia-nccl-cu12==2.27.5"),
    ("nccl", "2", "nvidia-nccl-cu13==2.32.3"),
    ("cusparseLt", "0", "nvidia-cusparselt-cu13==0.10.0"),
    ("nvjpeg", "11", "nvidia-nvjpeg-cu11==11.9.0.86"),
    ("nvjpeg", "12", "nvidia-nvjpeg-cu12==12.4.0.76"),
    ("nvjpeg", "13", "nvidia-nvjpeg==13.3.2.43"),
    ("cufile", "0", "nvidia-cufile-cu12==1.14.1.1"),
    ("cufile", "0", "nvidia-cufile==1.20.0.107"),
    ("cupti", "11.8", "nvidia-cuda-cupti-cu11==11.8.87"),
    ("cupti", "12", "nvidia-cuda-cupti-cu12==12.9.79"),
    ("cupti", "13", "nvidia-cuda-cupti==13.5.25"),
]
# The oldest that there are, of which the functions alone are looked at, since
# newer ones lack some, and a few that differ from their kin.
OLDEST = {
    "cublas": ["nvidia-cublas-cu11==11.10.3.66", "nvidia-cublas-cu12==12.0.1.189",
               "nvidia-cublas-cu12==12.9.3.13", "nvidia-cublas==13.0.0.19"],
    "cufft": ["nvidia-cufft-cu11==10.7.2.91", "nvidia-cufft-cu12==11.0.0.21",
              "nvidia-cufft==12.0.0.15"],
    "cusparse": ["nvidia-cusparse-cu11==11.7.4.91",
                 "nvidia-cusparse-cu12==12.0.0.76", "nvidia-cusparse==12.6.2.49"],
    "cusolver": ["nvidia-cusolver-cu11==11.4.0.1",
                 "nvidia-cusolver-cu12==11.4.2.57", "nvidia-cusolver==12.0.3.29"],
    "cudnn": ["nvidia-cudnn-cu11==8.5.0.96", "nvidia-cudnn-cu12==9.0.0.312",
              "nvidia-cudnn-cu12==9.28.0.42"],
    "nccl": ["nvidia-nccl-cu11==2.13.4", "nvidia-nccl-cu12==2.18.1",
             "nvidia-nccl-cu12==2.32.3"],
    "cusparseLt": ["nvidia-cusparselt-cu12==0.6.2",
                   "nvidia-cusparselt-cu12==0.8.1"],
    "nvjpeg": ["nvidia-nvjpeg-cu12==12.0.0.28", "nvidia-nvjpeg==13.0.0.40"],
    "cufile": ["nvidia-cufile-cu12==1.11.1.6"],
    "cupti": ["nvidia-cuda-cupti-cu11==11.7.101",
              "nvidia-cuda-cupti-cu12==12.0.90", "nvidia-cuda-cupti==13.0.48"],
}
# Of which the header makes another's name.
RENAMED = {"cuFileDriverClose"}
# Entries for NVTX, where its variable names CUPTI's file; kernels of cuDNN 8.
NOT_OURS = re.compile(
    r"InitializeInjectionNvtx|cudnn_|sm\d|caskEx|bwdDataAlgoHasTensorOP$")


def run(*command, **options):
    """What it writes; ends the program if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False,
                          **options)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s" % (" ".join(command)[:200],
                                      done.returncode, done.stderr[-2000:]))
    return done.stdout


def exports(path):
    """{function: its version, or ""}; names of C alone."""
    found = {}
    for line in run("nm", "-D", "--defined-only", path).splitlines():
        kind, name = line.split()[-2:]
        name, at, version = name.partition("@")
        if at and not version.startswith("@"):
            continue  # not the default one
        if kind in "TWi" and not name.startswith("_"):
            found[name] = version.strip("@")
    return found


def fetch(folder, wheel):
    """(headers, {file: exports}) of a wheel, of which nothing else is kept."""
    kept = os.path.join(folder, wheel.replace("==", "-"))
    if not os.path.exists(kept):
        part = kept + ".part"
        shutil.rmtree(part, ignore_errors=True)
        run(sys.executable, "-m", "pip", "install", "-q", "--no-deps",
            "--target", part, wheel)
        symbols = {}
        for path in glob.glob(part + "/**/lib*.so.*", recursive=True):
            symbols[os.path.basename(path)] = exports(path)
        with open(part + "/symbols.json", "w", encoding="utf-8") as file:
            json.dump(symbols, file)
        for found in glob.glob(part + "/nvidia/**/include", recursive=True):
            shutil.copytree(found, part + "/include", dirs_exist_ok=True)
        shutil.rmtree(part + "/nvidia", ignore_errors=True)
        os.rename(part, kept)
    with open(kept + "/symbols.json", encoding="utf-8") as file:
        return kept + "/include", json.load(file)


def include_folders(packages, wheel):
    """Of the wheel, of those of the same CUDA that its headers need, of CUDA."""
    def cuda(name):
        return (re.findall(r"-cu(\d+)==", name) + ["13"])[0]
    needed = [other for name, _, other in WHEELS
              if name in ("cublas", "cusparse") and cuda(other) == cuda(wheel)
              and "cusolver" in wheel]
    return ["-I" + fetch(packages, one)[0] for one in [wheel] + needed] + [
        "-I" + ROOT + "/build/cuda-newest/include"]


def declared(headers, prefix, include):
    """The functions that headers declare and do not define."""
    source = "".join("#include <%s>\n" % header for header in headers)
    tree = run(CLANG, *include, "-x", "c", "-w", "-fsyntax-only", "-Xclang",
               "-ast-dump", "-", input=source)
    found = set()
    for line in tree.splitlines():
        match = re.match(r"\|-FunctionDecl .* ((?:%s)[A-Z]\w*) '[^']*'(.*)$" %
                         prefix, line)
        if match and "static" not in match[2] and "inline" not in match[2]:
            found.add(match[1])
    return sorted(found)


def signatures(ir, keyword):
    """{function: what it takes and returns, as registers}."""
    found = {}
    for line in ir.splitlines():
        match = re.match(keyword + r" (?:dso_local )?(.*?)@(\w+)\((.*?)\)"
                         r"(?: local_unnamed_addr)? #", line)
        if not match:
            continue
        text = re.sub(r"%[\w.]+|%\"[^\"]*\"|\b(noundef|nonnull|readonly|noalias)\b"
                      r"|\b(align|dereferenceable)\b(\(\d+\)| \d+)", "",
                      match[1] + "(" + match[3] + ")")
        # C's f() takes anything.
        found[match[2]] = re.sub(r"\s+", " ", text).replace(" ,", ",").replace(
            " )", ")").replace("byval()", "byval").replace("(...)", "()")
    for alias, name in re.findall(r"^@(\w+) = .*\balias\b.*@(\w+)$", ir, re.M):
        if name in found:
            found[alias] = found[name]
    return found


def our_signatures(build, sources, major):
    """Of the sources that a library of that version is made of."""
    with open(build + "/compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    found, done = {}, set()
    for entry in commands:
        words = entry["command"].split()
        versions = [w for w in words
                    if re.match(r"-DCERBERUS_\w+_(MAJOR|VERSION)=", w)]
        if ("/libraries/%s/" % sources not in entry["file"] or
                not re.search("_objects.dir|_%s.dir" % re.escape(major),
                              entry["command"])):
            continue
        key = (entry["file"], *versions)
        if key in done:
            continue
        done.add(key)
        options = [w for w in words[1:words.index("-o")]
                   if re.match(r"-[DIfsW]", w)]
        found.update(signatures(run(
            words[0], *options, "-w", "-O0", "-S", "-emit-llvm", "-o", "-",
            entry["file"], cwd=entry["directory"]), "define"))
    return found


def refused(name):
    with open(ROOT + "/docs/library-support.md", encoding="utf-8") as file:
        return "| `%s` | no |" % re.sub("^pnccl", "nccl", name) in file.read()


def agree(name, ours, theirs):
    """One that refuses need only return what the other does, if anything."""
    result = theirs.split("(")[0]
    return ours == theirs or (refused(name) and
                              result in ("void ", ours.split("(")[0]))


def check_headers(work, include, headers, names, link):
    """What is wrong with a program that names each function; C++ has several
    of some names."""
    includes = "".join("#include <%s>\n" % header for header in headers)
    source = includes + "#define ALL(F) %s\n" % " ".join(
        "F(%s)" % name for name in names)
    source += ("#define ADDRESS(name) (const void*)&name,\n"
               "const void* const all[] = {ALL(ADDRESS)};\n"
               "int main(int argc, char** argv) {\n"
               "  unsigned n = 0;\n"
               "  for (; n < sizeof all / sizeof *all; ++n) {\n"
               "    if (all[n] == (const void*)argv) return 1;\n  }\n"
               "  return n != %d;\n}\n" % len(names))
    for file, text in (("all.c", source), ("also.cc", includes)):
        with open(work + "/" + file, "w", encoding="utf-8") as out:
            out.write(text)
    flags = ["-Wall", "-Werror", "-Wno-unused-function", *include]
    for command in (
            ["c++", "-std=c++17", *flags, "-c", "-o", work + "/also.o",
             work + "/also.cc"],
            ["cc", *flags, "-Wno-deprecated-declarations", "-o", work + "/all",
             work + "/all.c", work + "/also.o", *link],
            [work + "/all"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            return ["%s: exit %d\n%s" % (command[0], done.returncode,
                                         done.stdout[:2000])]
    return []


def check_signatures(work, include, headers, names, ours):
    source = "".join("#include <%s>\n" % header for header in headers)
    # A call, so that the declaration stays.
    source += "".join("__typeof__(%s)* f%d = %s;\n" % (name, i, name)
                      for i, name in enumerate(names))
    theirs = signatures(run(CLANG, *include, "-x", "c", "-w", "-O0", "-S",
                            "-emit-llvm", "-o", "-", "-", input=source),
                        "declare")
    wrong = []
    for name in names:
        if name not in theirs:
            wrong.append(name + ": clang has no declaration of it")
        elif name not in ours:
            wrong.append(name + ": not found in our sources")
        elif not agree(name, ours[name], theirs[name]):
            wrong.append("%s: %s, ours %s" % (name, theirs[name], ours[name]))
    return wrong


def check_exports(build, symbols):
    """Of each of NVIDIA's files that there is one of ours for."""
    wrong = []
    for file, theirs in sorted(symbols.items()):
        path = os.path.join(build, "lib", "cerberus", file)
        if not os.path.exists(path):
            continue
        ours = exports(path)
        wrong += ["%s: %s@%s: ours %s" % (file, function, version,
                                          ours.get(function))
                  for function, version in sorted(theirs.items())
                  if ours.get(function) != version
                  and not NOT_OURS.match(function)]
    return wrong


def check(args, name, major, wheel, work):
    sources, prefix, sets = LIBRARIES[name]
    headers_at, symbols = fetch(args.packages, wheel)
    file = "lib%s.so.%s" % (name, major)
    include = include_folders(args.packages, wheel)
    libraries = os.path.join(args.build, "lib", "cerberus")
    # The name that a linker looks for.
    os.symlink(os.path.join(libraries, file), "%s/lib%s.so" % (work, name))
    link = ["-L" + work, "-l" + name, "-Wl,-rpath," + libraries]
    ours = our_signatures(args.build, sources, major)
    wrong, count = check_exports(args.build, symbols), 0
    for headers in sets:
        headers = [h for h in headers
                   if os.path.exists(os.path.join(headers_at, h))]
        # Some that CUDA 11's declare NVIDIA's library does not have either.
        names = [f for f in declared(headers, prefix, include)
                 if f in symbols[file] and f not in RENAMED]
        count += len(names)
        wrong += check_headers(work, include, headers, names, link)
        wrong += check_signatures(work, include, headers, names, ours)
    return wrong, count, len(symbols[file])


FRONTEND = "nvidia-cudnn-frontend==1.32.0"


def merged_headers(packages, folder):
    """A folder with the headers of the newest wheel of each library."""
    newest = {name: wheel for name, _, wheel in WHEELS}
    for name in ("cublas", "cufft", "cusparse", "cusolver", "cudnn", "nccl"):
        shutil.copytree(fetch(packages, newest[name])[0], folder,
                        dirs_exist_ok=True)


def check_programs(args, work):
    """Of tests/e2e/libraries; the output if one fails."""
    merged_headers(args.packages, work + "/include")
    done = subprocess.run(
        ["lit-22", "-q", "--param", "build=" + args.build, "--param",
         "library_headers=" + work + "/include", ROOT + "/tests/e2e/libraries"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    return [done.stdout] if done.returncode else []


def check_frontend(args, work):
    headers = fetch(args.packages, FRONTEND)[0]
    merged_headers(args.packages, work + "/include")
    program = work + "/cudnn_frontend"
    run("nvcc", "-std=c++17", "-w", "-I" + headers, "-I" + work + "/include",
        "-o", program, ROOT + "/tests/long/cudnn_frontend.cu",
        "-L" + args.build + "/lib/cerberus", "-l:libcudnn.so.9", "-lcuda")
    done = subprocess.run(
        [args.build + "/bin/cerberus", "run", "--device", "gfx1100", program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    passes = done.returncode == 0 and "PASS" in done.stdout.split()
    return [] if passes else [done.stdout]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=ROOT + "/build/release")
    parser.add_argument("--packages", default=ROOT + "/build/packages/libraries")
    parser.add_argument("--show", type=int, default=20,
                        help="so many differences of each library")
    parser.add_argument("names", nargs="*", metavar="LIBRARY",
                        help="or programs, or frontend")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    os.makedirs(args.packages, exist_ok=True)
    failed = 0
    for name, major, wheel in WHEELS:
        if args.names and name not in args.names:
            continue
        with tempfile.TemporaryDirectory() as work:
            wrong, declared_count, exported = check(args, name, major, wheel,
                                                    work)
        failed += bool(wrong)
        print("%-12s %-5s %-36s %4d declared, %4d exported: %s" % (
            name, major, wheel, declared_count, exported,
            "%d differ" % len(wrong) if wrong else "ok"), flush=True)
        for line in wrong[:args.show]:
            print("  " + line)
    for name, wheels in OLDEST.items():
        for wheel in wheels if name in (args.names or OLDEST) else []:
            wrong = check_exports(args.build, fetch(args.packages, wheel)[1])
            failed += bool(wrong)
            print("%-12s %s: %s" % (name, wheel, "%d differ" % len(wrong)
                                    if wrong else "ok"), flush=True)
            for line in wrong[:args.show]:
                print("  " + line)
    for name, function in (("programs", check_programs),
                           ("frontend", check_frontend)):
        if args.names and name not in args.names:
            continue
        with tempfile.TemporaryDirectory() as work:
            wrong = function(args, work)
        failed += bool(wrong)
        print("%-12s %s" % (name, "FAILED" if wrong else "ok"), flush=True)
        print("".join(wrong), end="")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
