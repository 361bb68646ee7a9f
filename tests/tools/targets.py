"""The processors that are checked, and which of AMD's pseudo-code is theirs.

RDNA2 (gfx10) has no pseudo-code of its own: where a name means the same in
RDNA3 its text counts, else CDNA's, whose names of memory instructions RDNA2
shares. RENAMED lists what RDNA3 and CDNA call otherwise (RDNA2 ISA, "Vector
ALU Instructions", "Memory Instructions"; LLVM's aliases).
"""

import importlib
import re

GENERATIONS = ("gfx12", "gfx11", "gfx10", "gfx9")
ARCH = {"gfx10": ("rdna3", "cdna"), "gfx11": ("rdna3",),
        "gfx12": ("rdna4",), "gfx9": ("cdna",)}

RENAMED = {
    "V_FMA_LEGACY_F32": "V_FMA_DX9_ZERO_F32",
    "V_FMAC_LEGACY_F32": "V_FMAC_DX9_ZERO_F32",
    "S_ANDN1_SAVEEXEC_B32": "S_AND_NOT0_SAVEEXEC_B32",
    "S_ANDN2_SAVEEXEC_B32": "S_AND_NOT1_SAVEEXEC_B32",
    "S_ORN1_SAVEEXEC_B32": "S_OR_NOT0_SAVEEXEC_B32",
    "S_ORN2_SAVEEXEC_B32": "S_OR_NOT1_SAVEEXEC_B32",
    "S_ANDN1_WREXEC_B32": "S_AND_NOT0_WREXEC_B32",
    "S_ANDN2_WREXEC_B32": "S_AND_NOT1_WREXEC_B32",
}
for space in ("BUFFER", "GLOBAL", "FLAT"):
    RENAMED.update({
        f"{space}_ATOMIC_FMIN": f"{space}_ATOMIC_MIN_F32",
        f"{space}_ATOMIC_FMAX": f"{space}_ATOMIC_MAX_F32",
        f"{space}_ATOMIC_FCMPSWAP": f"{space}_ATOMIC_CMPSWAP_F32",
        f"{space}_ATOMIC_FMIN_X2": f"{space}_ATOMIC_MIN_F64",
        f"{space}_ATOMIC_FMAX_X2": f"{space}_ATOMIC_MAX_F64",
    })
RENAMED["BUFFER_ATOMIC_CSUB"] = "BUFFER_ATOMIC_CSUB_U32"
RENAMED["GLOBAL_ATOMIC_CSUB"] = "GLOBAL_ATOMIC_CSUB_U32"


def base_name(name):
    return re.sub(r"_(E32|E64)$", "", name)


def renamed(op, name):
    """`op` under another name; like: its own."""
    suffix = op.name[len(base_name(op.name)):]
    kind = type(type(op).__name__, (), {"name": name + suffix,
                                        "like": op.name})
    return kind()


class Target:

    def __init__(self, name, wave=None):
        self.name = name
        self.generation = next(g for g in GENERATIONS if name.startswith(g))
        self.arch = ARCH[self.generation][0]
        self.wave = wave or (64 if self.generation == "gfx9" else 32)
        # What llvm-mc needs to know beside the processor.
        self.features = ("+wavefrontsize64" if self.wave == 64 and
                         self.generation != "gfx9" else "")
        self.architected_scratch = not (
            self.generation == "gfx10" or re.match("gfx90", name))
        self.pcode, self.operands = {}, {}
        for arch in ARCH[self.generation]:
            base = "tinygrad.runtime.autogen.amd." + arch
            pcode = importlib.import_module(base + ".str_pcode").PCODE
            operands = importlib.import_module(base + ".operands").OPERANDS
            self.add(pcode, operands)
        self.by_name = {}
        for op in self.pcode:
            self.by_name.setdefault(base_name(op.name), op)

    def add(self, pcode, operands):
        known = {base_name(op.name) for op in self.pcode}
        names = {}
        if self.generation == "gfx10":
            names = {old: new for new, old in RENAMED.items()}
        for op, text in pcode.items():
            base = base_name(op.name)
            if base not in known:
                self.pcode[op] = text
                if op in operands:
                    self.operands[op] = operands[op]
            if base in names and names[base] not in known:
                other = renamed(op, names[base])
                self.pcode[other] = text
                if op in operands:
                    self.operands[other] = operands[op]


def original_name(op):
    """The name under which the manual describes an instruction."""
    return getattr(op, "like", op.name)
