"""Writes docs/emulator-coverage.md: what the emulator executes, and which of
it instruction_check.py compared with AMD's pseudo-code.

    python3 coverage_table.py --tool build/…/cerberus-emu-coverage \\
        --results gfx1100=…/instructions.gfx1100.json … > docs/…
"""

import argparse
import inspect
import json
import re
import subprocess
import sys

import known_differences

TARGETS = ["gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"]


def checked_mnemonics(path):
    with open(path, encoding="utf-8") as f:
        results = json.load(f)
    status = {}
    for name, (state, _) in results.items():
        mnemonic = re.sub(r"_(E32|E64)$", "", name).lower()
        if status.get(mnemonic) != "checked":
            status[mnemonic] = state
    return {m for m, s in status.items() if s == "checked"}


def reasons():
    """The comments of OVERRIDES, each with the mnemonics it stands over."""
    source = inspect.getsource(known_differences)
    body = source[source.index("OVERRIDES = {"):source.index("\nCONTROL")]
    comment, names = "", []
    for line in body.splitlines():
        text = line.strip()
        if text.startswith("#"):
            if names:
                yield comment, names
                comment, names = "", []
            comment += (" " if comment else "") + text.lstrip("# ")
        else:
            names += re.findall(r'"((?:V|S|DS|FLAT|GLOBAL|BUFFER)_[A-Z0-9_{}]+)"',
                                line)
    if names:
        yield comment, names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--results", nargs="*", default=[])
    options = parser.parse_args()
    checked = {}
    for item in options.results:
        target, path = item.split("=", 1)
        checked[target] = checked_mnemonics(path)
    table = subprocess.run([options.tool, "--markdown"] + TARGETS, check=True,
                           capture_output=True, text=True).stdout
    lines = table.splitlines()
    row = re.compile(r"^\| ([a-z_0-9]+) \|((?: . \|)+) (.*)\|$")
    counts = {t: [0, 0] for t in TARGETS}
    out = []
    for line in lines:
        m = row.match(line)
        if not m or len(m.group(2)) != 4 * len(TARGETS):
            out.append(line)
            continue
        marks = [m.group(2)[4 * i + 1] for i in range(len(TARGETS))]
        for i, target in enumerate(TARGETS):
            if marks[i] != "x":
                continue
            counts[target][1] += 1
            if m.group(1) in checked.get(target, ()):
                marks[i] = "c"
                counts[target][0] += 1
        out.append(f"| {m.group(1)} | " + " | ".join(marks) +
                   f" | {m.group(3)}|")
    head = next(i for i, l in enumerate(out) if l.startswith("| target"))
    print("\n".join(out[:head]))
    print("`c`: executed, and compared over edge values with AMD's "
          "pseudo-code by\n`tests/tools/instruction_check.py`; regenerate "
          "with `tests/tools/coverage_table.py`.\n")
    print("\n".join(out[head:head + 2 + len(TARGETS)]))
    print("\n| target | executed | of these compared with pseudo-code |\n"
          "| --- | --- | --- |")
    for target in TARGETS:
        if target in checked:
            print(f"| {target} | {counts[target][1]} | {counts[target][0]} |")
    print("\n## Where the pseudo-code is not followed\n")
    for comment, names in reasons():
        print(f"- {comment} ({', '.join(n.lower() for n in names)})")
    print("\n## Mnemonics that other tests execute, or none\n")
    seen = set()
    for arch in known_differences.UNCHECKED.values():
        for name, why in arch.items():
            if name not in seen:
                seen.add(name)
                print(f"- {name.lower()}: {why}")
    print("\n## All mnemonics")
    print("\n".join(out[head + 2 + len(TARGETS):]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
