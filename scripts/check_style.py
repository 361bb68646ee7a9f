#!/usr/bin/env python3
"""Checks how sources are written: clang-format over all of them, clang-tidy
over the lines that changed, and the subjects of the commits that changed them.

    scripts/check_style.py --build build/release [--base REV] [--junit FILE]

What changed is what differs from --base, or $CERBERUS_BASE: else from the
commit at which this branch left origin/main, or, on main itself, from ten
commits ago.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor

SOURCES = ("*.cc", "*.h", "*.c")
SUBJECT = 72
COMMITS_ON_MAIN = 10


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def known(revision):
    return subprocess.run(
        ["git", "rev-parse", "--verify", "-q", revision + "^{commit}"],
        stdout=subprocess.DEVNULL).returncode == 0


def default_base():
    if known("origin/main"):
        base = git("merge-base", "HEAD", "origin/main").strip()
        if base != git("rev-parse", "HEAD").strip():
            return base
    for back in range(COMMITS_ON_MAIN, 0, -1):
        if known(f"HEAD~{back}"):
            return f"HEAD~{back}"
    return "HEAD"


def changed_lines(base):
    """path -> [[first, last], ...] of the lines that are new since `base`; a
    file that only moved has none."""
    lines = {}
    path = None
    for line in git("diff", "-U0", "--diff-filter=d", "-M", "-l0",
                    base, "--", *SOURCES).splitlines():
        if line.startswith("+++ b/"):
            path = line[len("+++ b/"):]
        at = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if at and at[2] != "0":
            first = int(at[1])
            lines.setdefault(path, []).append(
                [first, first + int(at[2] or 1) - 1])
    return lines


def compiled(build, root):
    """path -> arguments of its first compilation in this build."""
    out = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], root)
        out.setdefault(path, entry)
    return out


def includers(files):
    """What an #include names -> the files that have it."""
    out = {}
    for path in files:
        text = pathlib.Path(path).read_text()
        for name in re.findall(r'^#include "([^"]+)"', text, re.M):
            out.setdefault(name, []).append(path)
    return out


def unit_of(header, units, includes, seen=()):
    """The source through which a header is looked at: its own, else one that
    includes it."""
    own = re.sub(r"\.h$", ".cc", header)
    if own in units:
        return own
    by = includes.get(re.sub(r".*/include/", "", header), [])
    for path in by:
        if path in units:
            return path
    for path in by:
        if path.endswith(".h") and path not in seen:
            unit = unit_of(path, units, includes, (*seen, header))
            if unit:
                return unit
    return None


def check_format(files):
    check = subprocess.run(["clang-format-22", "--dry-run", "-Werror", *files],
                           text=True, stderr=subprocess.PIPE)
    bad = {}
    for line in check.stderr.splitlines():
        at = re.match(r"([^:]+):(\d+):\d+: error", line)
        if at:
            bad.setdefault(at[1], f"line {at[2]}: not as clang-format-22 "
                           "writes it; clang-format-22 -i FILE")
    if check.returncode != 0 and not bad:
        sys.exit(check.stderr)
    return [(path, bad.get(path)) for path in files]


def check_tidy(build, units, files, lines):
    """[(path, what clang-tidy says, None for nothing)]"""
    jobs = {}
    includes = includers(files)
    for path in sorted(lines):
        unit = path
        if path.endswith(".h"):
            unit = unit_of(path, units, includes)
        if unit in units:
            jobs.setdefault(unit, set()).add(path)
        else:
            # Code for the GPU, and programs that tests build themselves.
            print(f"style: {path}: not compiled by this build, no clang-tidy")

    def tidy(unit):
        only = [{"name": path, "lines": lines[path]}
                for path in sorted(jobs[unit])]
        run = subprocess.run(
            ["clang-tidy-22", "--quiet", "-p", str(build),
             "--warnings-as-errors=*", "--line-filter=" + json.dumps(only),
             unit], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = run.stdout.strip()
        if run.returncode != 0 and not said:
            said = run.stderr.strip()
        return unit, said or None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(tidy, sorted(jobs)))


def check_subjects(base):
    out = []
    for line in git("log", "--no-merges", "--format=%h %s",
                    f"{base}..HEAD").splitlines():
        commit, _, subject = line.partition(" ")
        out.append((commit, None if len(subject) <= SUBJECT else
                    f"a subject of {len(subject)} characters, expected at "
                    f"most {SUBJECT}: {subject}"))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--base", default=os.environ.get("CERBERUS_BASE"))
    parser.add_argument("--junit", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    root = pathlib.Path(__file__).resolve().parent.parent
    os.chdir(root)
    base = options.base or default_base()
    if not known(base):
        sys.exit(f"style: no commit {base}")

    files = [path for path in git("ls-files", *SOURCES).split()
             if os.path.exists(path)]
    results = [("format", *r) for r in check_format(files)]
    lines = changed_lines(base)
    results += [("tidy", *r)
                for r in check_tidy(build, compiled(build, root), files, lines)]
    results += [("subject", *r) for r in check_subjects(base)]

    suite = xml.Element("testsuite", name="style")
    failed = 0
    for check, name, message in results:
        case = xml.SubElement(suite, "testcase", classname=check, name=name)
        if message is not None:
            failed += 1
            xml.SubElement(case, "failure").text = message
            print(f"{check}: {name}: {message}")
    if options.junit:
        xml.ElementTree(suite).write(options.junit)
    counts = {check: sum(r[0] == check for r in results)
              for check in ("format", "tidy", "subject")}
    print(f"style: {counts['format']} files formatted, {counts['tidy']} "
          f"files' changed lines and {counts['subject']} subjects looked at "
          f"since {base}: {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
