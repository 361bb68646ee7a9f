#!/usr/bin/env python3
"""Compares what ptxc's front end accepts with what ptxas accepts.

  ptxas_differential.py [--cerberus PATH] [--ptxas PATH] [--only OPCODE,…]
                        [--kinds legal,types,…] [--sample N] [--known FILE]

Reads the instruction table, writes every spelling it allows and, for each
kind of near miss, spellings and operands that are slightly wrong; both
compilers then say yes or no to each line. Prints the lines on which they
differ and exits with 1 if one of them is not in the list of known ones
(ptxas_differences.txt, which says why for each).

PTX is of the newest version that this ptxas knows, so each one can be asked:
CUDA 13.0's and the newest, which is inside the wheel nvidia-cuda-nvcc. Rows
newer than it are left out. --sample takes every N-th line only.

Run by hand: it needs the CUDA toolkit. Takes minutes.
"""

import argparse
import collections
import itertools
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "ptxc" / "front" / "ptx_opcodes.def"
TYPES = HERE.parents[1] / "ptxc" / "ptx_types.def"

# Operands of these are more than a line can say (matrix fragments, texture
# coordinates, labels, signatures); their own tests compare them.
SKIPPED = re.compile(r"(mma|wmma|wgmma|tcgen05|tex|tld4|call|bra|brx|multimem|"
                     r"suld|sust|sured|ldmatrix|stmatrix|ret|exit|tensormap|"
                     r"cp\.async\.bulk|cp\.reduce\.async\.bulk|alloca|stack|"
                     r"clusterlaunchcontrol|istypep|txq|suq|setmaxnreg)\b")

TARGETS = ["sm_100a", "sm_90a", "sm_103a", "sm_107a", "sm_120a"]


def strings(text):
    return "".join(re.findall(r'"([^"]*)"', text))


def read_types():
    return {m[1]: int(m[2]) for m in re.finditer(
        r'PTX_TYPE\(\w+, "(\w+)", \w+, (\d+)\)', TYPES.read_text())}


def newest_version(ptxas):
    """The newest PTX that a ptxas knows, "9.5"; it says so of a newer one."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
        source.write(".version 99.9\n.target sm_90\n.address_size 64\n")
        source.flush()
        done = subprocess.run([ptxas, "-o", "/dev/null", source.name],
                              capture_output=True, text=True)
    said = done.stdout + done.stderr
    found = re.search(r"current version is '(\d+\.\d+)'", said)
    if not found:
        sys.exit(f"{ptxas} does not say which PTX it knows: {said.strip()}")
    return found[1]


def targets_of(ptxas):
    """All targets that a ptxas assembles for: {"sm_75", …}."""
    done = subprocess.run([ptxas, "--help"], capture_output=True, text=True)
    return set(re.findall(r"'(sm_\d+[af]?)'", done.stdout))


class Row:
    def __init__(self, name, syntax, operands, version, sets):
        self.name, self.operands, self.version = name, operands, version
        self.items = []  # lists of suffixes, "" where it may be left out
        for item in re.findall(r"\{[^}]*\}|\S+", syntax):
            choices = expand(item.strip("{}"), sets)
            self.items.append(([""] if item[0] == "{" else []) + choices)

    def spellings(self):
        """All of them, or a sample that holds each suffix if there are many."""
        total = 1
        for item in self.items:
            total *= len(item)
        if total <= 300:
            yield from itertools.product(*self.items)
            return
        rng = random.Random(self.name)
        for k, item in enumerate(self.items):
            for choice in item:
                for _ in range(4):
                    words = [rng.choice(i) for i in self.items]
                    words[k] = choice
                    yield tuple(words)


def expand(choices, sets):
    out = []
    for choice in choices.split("|"):
        choice = choice.split(":", 1)[1] if re.match(r"[A-Z]\w*:\.", choice) \
            else choice
        if choice in sets:
            out += sets[choice]
        else:
            out.append(choice)
    return out


def read_table():
    text = re.sub(r"^//.*$", "", TABLE.read_text(), flags=re.M)
    sets, opcodes, rows = {}, {}, []
    literal = r'((?:"[^"]*"\s*)+)'
    for m in re.finditer(
            rf"PTX_SET\((\w+),\s*{literal}\)|PTX_OPCODE\((\w+),\s*{literal}\)|"
            rf"PTX_OP\((\w+),\s*{literal},\s*{literal},\s*(\d+),\s*\w+,\s*"
            rf"(\w+),", text):
        if m[1]:
            sets[m[1]] = expand(strings(m[2]), sets)
        elif m[3]:
            opcodes[m[3]] = strings(m[4])
        else:
            name = opcodes[m[5]]
            if m[9] != "Unsupported" and not SKIPPED.match(name):
                rows.append(Row(name, strings(m[6]), strings(m[7]), int(m[8]),
                                sets))
    return rows


# ---- Text ------------------------------------------------------------------

REGISTER_TYPES = ["pred", "b8", "b16", "b32", "b64", "b128", "u16", "s16",
                  "u32", "s32", "u64", "s64", "f16", "f16x2", "f32", "f64"]
HEADER = """.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 glob[256];
.const .align 16 .b8 table[256];
.shared .align 128 .b8 tile[1024];
.visible .entry kernel(.param .align 16 .b8 in[256])
{{
  .local .align 16 .b8 stack[64];
  .param .align 16 .b8 arg[64];
""" + "".join(f"  .reg .{t} %{t}_<24>;\n" for t in REGISTER_TYPES)
FOOTER = "DONE:\n  ret;\n}\n"


class Writer:
    """Operands for a spelling of a row."""

    def __init__(self, bits):
        self.bits = bits

    def types_of(self, words):
        found = [w[1:] for w in words if w[1:] in self.bits]
        return found or ["b32"]

    def register(self, type_, number, exact=False):
        if exact and type_ in REGISTER_TYPES:
            return f"%{type_}_{number}"
        if type_ == "pred":
            return f"%pred_{number}"
        if type_ in ("f16", "f16x2", "f32", "f64") and exact:
            return f"%{type_}_{number}"
        width = max(self.bits.get(type_, 32), 8)
        if width == 8 and not type_.startswith("e2m1"):
            width = 16
        return f"%b{width}_{number}"

    def operand(self, spec, words, number, exact):
        """The text of one operand, or None if it is left out."""
        types = self.types_of(words)
        optional = spec.endswith("?")
        body, _, rule = spec.rstrip("?").partition(":")
        if body.startswith("policy"):
            return "%b64_9" if ".L2::cache_hint" in words else None
        if optional:
            return None
        type_ = types[0]
        if rule == "w":
            type_ = {"u16": "u32", "s16": "s32", "u32": "u64",
                     "s32": "s64"}.get(types[0], types[0])
        elif rule.isdigit():
            type_ = types[min(int(rule), len(types) - 1)]
        elif rule == "x":
            type_ = "b64"
        elif rule:
            type_ = rule
        if rule == "b8":
            return f"%b8_{number}"
        if body.startswith("["):
            return self.address(words)
        if body.startswith("#"):
            return "16"
        name = body.strip("{}()!*^@").split("[")[0].split("|")[0]
        if name in ("p", "q", "t") or "!" in body:
            type_ = "pred"
        one = self.register(type_, number, exact)
        if "|" in body and "[" not in body:
            return one + f"|%pred_{number + 1}"
        vector = next((int(w[2:]) for w in words
                       if re.fullmatch(r"\.v\d", w)), 1)
        if "*" in body and vector > 1 or "{" in body:
            count = vector if "*" in body else \
                4 if types[-1].startswith("f32") or True else 2
            return "{" + ", ".join(
                self.register(type_, number * 4 % 20 + i, exact)
                for i in range(count)) + "}"
        return one

    def address(self, words):
        for word in words:
            space = word.split("::")[0]
            where = {".shared": "tile", ".const": "table", ".param": "in",
                     ".local": "stack", ".global": "glob"}.get(space)
            if where:
                return f"[{where}+16]"
        return "[%b64_8+16]"

    def specs(self, row):
        return split_operands(row.operands)

    def instruction(self, row, words, exact=False, change=None, count=None):
        parts, number = [], 0
        for i, spec in enumerate(self.specs(row)):
            number += 1
            one = self.operand(spec, words, number, exact)
            if change and change[0] == i:
                one = change[1]
            if one is not None:
                parts.append(one)
        if count is not None:
            parts = (parts + ["%b32_3", "%b32_3"])[:count]
        text = row.name + "".join(words)
        return (text + " " + ", ".join(parts)).strip() + ";"


def split_operands(text):
    out, depth, word = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            out.append(word)
            word = ""
        else:
            word += c
    return out + [word] if word else out


# ---- What is tried ---------------------------------------------------------

MODIFIERS = [".ftz", ".sat", ".rn", ".rz", ".approx", ".cc", ".relu",
             ".volatile", ".v2", ".v4", ".sync", ".aligned", ".wide", ".hi",
             ".lo", ".relaxed", ".gpu", ".global", ".shared", ".NaN", ".full",
             ".wrap", ".b32", ".rni"]
TYPE_SWAPS = ["u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32",
              "u64", "s64", "b64", "b128", "f16", "f16x2", "bf16", "bf16x2",
              "f32", "f32x2", "f64", "pred", "tf32", "u16x2", "s16x2",
              "e4m3x2"]
OPERANDS = [f"%{t}_5" for t in REGISTER_TYPES] + [
    "5", "-1", "70000", "0x1ffffffff", "1.5", "0f3F800000",
    "0d3FF0000000000000", "0xffffffffffffffff", "%tid.x", "%tid", "%clock64",
    "%laneid", "WARP_SZ", "glob", "tile", "DONE", "_", "!%pred_3",
    "{%b32_1, %b32_2}", "{%b16_1, %b16_2}", "[%b64_1]", "[%b32_1]", "[tile]",
    "[glob]", "[in]", "[stack]", "%b32_1|%pred_2", "kernel", "-%b32_1",
    "glob+4", "'a'", "1 ? 2 : 3", "(1+2)*3", "(.u64)5", "-5U", "[%b64_1+-8]",
    "[100]", "[glob+99999]", "[%b64_1+0x80000000]", "[%f32_1]", "[%u16_1]",
    "[%u32_1]", "[%pred_1]", "{%f32_1, 5}", "{_, %b32_1}"]


def lines(rows, writer, kinds):
    """Yields (kind, text) for all that is tried."""
    for row in rows:
        samples = list(dict.fromkeys(row.spellings()))
        rng = random.Random(row.name + row.operands)
        if "legal" in kinds:
            for words in samples:
                yield "legal", writer.instruction(row, words)
                yield "legal", writer.instruction(row, words, exact=True)
        some = samples if len(samples) <= 6 else rng.sample(samples, 6)
        for words in some:
            present = [w for w in words if w]
            if "types" in kinds:
                for i, w in enumerate(present):
                    if w[1:] in writer.bits:
                        for t in TYPE_SWAPS:
                            yield "types", writer.instruction(
                                row, present[:i] + ["." + t] +
                                present[i + 1:])
            if "drop" in kinds:
                for i in range(len(present)):
                    yield "drop", writer.instruction(
                        row, present[:i] + present[i + 1:])
            if "order" in kinds:
                for i in range(len(present) - 1):
                    swapped = list(present)
                    swapped[i:i + 2] = swapped[i + 1], swapped[i]
                    yield "order", writer.instruction(row, swapped)
                for i in range(len(present)):
                    yield "twice", writer.instruction(
                        row, present[:i] + [present[i]] + present[i:])
            if "add" in kinds:
                for m in MODIFIERS:
                    if m not in present:
                        yield "add", writer.instruction(
                            row, [m] + present)
        if "operands" in kinds:
            for words in some[:2]:
                for i in range(len(writer.specs(row))):
                    for o in OPERANDS:
                        yield "operands", writer.instruction(
                            row, words, change=(i, o))
                for n in range(len(writer.specs(row)) + 2):
                    yield "count", writer.instruction(row, words, count=n)


# ---- Verdicts --------------------------------------------------------------

def ptxas_verdicts(ptxas, version, texts, target, folder):
    """text -> None or the message with which it was refused."""
    verdict = {}
    rest = list(texts)
    head = HEADER.format(version=version, target=target)
    first = head.count("\n") + 1
    source = folder / f"{target}.ptx"
    while rest:
        # The last line keeps ptxas from generating code.
        source.write_text(head + "".join(t + "\n" for t in rest) +
                          "add.u32 %pred_0, %pred_1, %pred_2;\n" + FOOTER)
        done = subprocess.run(
            [ptxas, f"-arch={target}", "-o", "/dev/null", source],
            capture_output=True, text=True)
        refused = {}
        for m in re.finditer(r", line (\d+); (?:error|fatal)\s*: (.*)",
                             done.stderr + done.stdout):
            at = int(m[1]) - first
            if 0 <= at < len(rest):
                refused.setdefault(at, m[2])
        # A crash, or an error without a line, tells nothing of the others.
        if not refused and f", line {first + len(rest)};" not in done.stderr:
            if len(rest) == 1:
                return verdict | {rest[0]: "ptxas: " + done.stderr.strip()}
            middle = len(rest) // 2
            return verdict | \
                ptxas_verdicts(ptxas, version, rest[:middle], target,
                               folder) | \
                ptxas_verdicts(ptxas, version, rest[middle:], target, folder)
        for at, message in refused.items():
            verdict[rest[at]] = message
        if refused:
            rest = [t for i, t in enumerate(rest) if i not in refused]
            continue
        break
    for t in rest:
        verdict[t] = None
    return verdict


def our_verdicts(cerberus, version, texts, target, folder):
    verdict = {}
    head = HEADER.format(version=version, target=target)
    first = head.count("\n") + 1
    source = folder / "ours.ptx"
    for at in range(0, len(texts), 90):
        rest = texts[at:at + 90]
        while rest:
            source.write_text(head + "".join(t + "\n" for t in rest) +
                              "add.u32 %pred_0, %pred_1, %pred_2;\n" + FOOTER)
            done = subprocess.run(
                [cerberus, "compile", source, "--arch", "gfx1100",
                 "--emit=ll-raw", "-o", "/dev/null", "-q"],
                capture_output=True, text=True)
            refused = {}
            for m in re.finditer(r"ptx:(\d+)(?::\d+)?: (?:error: )?(.*)",
                                 done.stderr):
                line = int(m[1]) - first
                if 0 <= line < len(rest):
                    refused.setdefault(rest[line], m[2])
            verdict |= refused
            # What parses is checked once nothing else is wrong.
            if not refused:
                break
            rest = [t for t in rest if t not in refused]
        verdict |= dict.fromkeys(rest)
    return verdict


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cerberus", default="cerberus")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds",
                        default="legal,types,drop,order,add,operands")
    parser.add_argument("--sample", type=int, default=1, metavar="N")
    parser.add_argument("--known", type=pathlib.Path,
                        default=HERE / "ptxas_differences.txt")
    args = parser.parse_args()
    version = newest_version(args.ptxas)
    number = int(version.replace(".", ""))
    targets = [t for t in TARGETS if t in targets_of(args.ptxas)]
    rows = [r for r in read_table() if r.version <= number]
    if args.only:
        rows = [r for r in rows if r.name in args.only.split(",")]
    writer = Writer(read_types())
    tried = {}
    for kind, text in lines(rows, writer, args.kinds.split(",")):
        tried.setdefault(text, kind)
    texts = list(tried)[::args.sample]
    known = []
    if args.known.exists():
        known = [re.compile(line.split("  #")[0].strip())
                 for line in args.known.read_text().splitlines()
                 if line and not line.startswith("#")]
    unknown = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        theirs, rest = {}, texts
        for target in targets:
            found = {}
            for at in range(0, len(rest), 80):
                found |= ptxas_verdicts(args.ptxas, version,
                                        rest[at:at + 80], target, folder)
            for t, v in found.items():
                if theirs.get(t, "") is not None:
                    theirs[t] = v if v is None else theirs.get(t, v)
            # Only what another target could allow is asked again.
            rest = [t for t in rest if theirs[t] is not None and re.search(
                r"sm_|not supported|target|architecture", theirs[t])]
        ours = our_verdicts(args.cerberus, version, texts, "sm_100a", folder)
    for t in texts:
        if (theirs[t] is None) == (ours[t] is None):
            continue
        side = "refused here" if theirs[t] is None else "taken here"
        line = f"{side}: {tried[t]}: {t}"
        if any(k.search(line) for k in known):
            continue
        unknown[side] += 1
        print(f"{line}  -- {theirs[t] or ours[t]}")
    print(f"PTX {version}, {len(texts)} lines, {sum(v is None for v in theirs.values())} "
          f"taken by ptxas; differences beside the known ones: "
          f"{dict(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
