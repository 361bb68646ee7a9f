"""LDS, global, flat, scratch and buffer instructions for instruction_check.

Each lane has 16 bytes of memory of its own. They hold S2 before the
instruction, S0 and S1 are its data, and afterwards both the destination
register and the 16 bytes are compared.
"""

import random
import re

import pcode
from instruction_asm import Case
from operand_values import LANES, pool_value
from pcode import Val
from targets import original_name

LDS_STRIDE = 1024  # room for the two-address forms with stride 64


class Memory:
    """Bytes by address, little-endian, 0 where nothing was stored."""

    def __init__(self, start=None):
        self.bytes = dict(start or {})

    def load(self, address, size):
        return sum(self.bytes.get(address + i, 0) << 8 * i
                   for i in range(size))

    def store(self, address, size, value):
        for i in range(size):
            self.bytes[address + i] = value >> 8 * i & 0xff


def registers(first, bits):
    n = max(1, (bits + 31) // 32)
    return f"v{first}" if n == 1 else f"v[{first}:{first + n - 1}]"


def returning(checker, name):
    """How an atomic says that it returns the old value."""
    if checker.t.generation == "gfx12":
        return " th:TH_ATOMIC_RETURN"
    if checker.t.name in ("gfx942", "gfx950"):
        return " sc0"
    return " glc"


def make_case(checker, op, kind):
    family = re.match(r"V?(DS|GLOBAL|FLAT|SCRATCH|MUBUF|BUFFER)Op", kind)
    if not family:
        return None
    name = op.name
    if kind in ("FLATOp", "VFLATOp") and not name.startswith("FLAT_"):
        return None  # listed again under its own class
    fields = checker.t.operands.get(op)
    if fields is None:
        return None
    if re.search(r"_LDS|ADDTID|GS_REG|GWS|BVH|_BLOCK|_FORMAT_|_TR_|SWIZZLE|PERMUTE|"
                 r"CONDXCHG|ORDERED|CONSUME|APPEND|_NOP|PARAM|WB|INV", name):
        return None
    case = Case(op, "", "memory")
    case.fields = fields
    case.name = name
    case.offsets = (0, 8)  # of the two halves that are compared
    case.two = "2ADDR" in name or name.startswith(("DS_READ2", "DS_WRITE2",
                                                   "DS_WRXCHG2"))
    lower = name.lower()
    atomic = "ATOMIC" in name
    load = "LOAD" in name or "_READ" in name
    if family.group(1) == "DS":
        lds_case(checker, case, lower, fields)
    else:
        vmem_case(checker, case, lower, fields, atomic, load)
    case.load = load
    return case


def lds_case(checker, case, lower, fields):
    d = checker.d
    prefix = "ds_load" if checker.t.generation in ("gfx11", "gfx12") else None
    store = "ds_store_b64" if prefix else "ds_write_b64"
    read = "ds_load_b64" if prefix else "ds_read_b64"
    if case.two:
        size = 8 if re.search(r"_?B64|_b64", lower) else 4
        if "st64" in lower or "stride64" in lower:
            case.offsets = (0, 64 * size)
        elif size == 4:
            case.offsets = (0, 4)
    a, b = case.offsets
    case.lds = LDS_STRIDE * checker.t.wave
    lines = ["  v_and_b32 v20, 63, v0" if checker.d.wave64 else
             "  v_and_b32 v20, 31, v0",
             "  v_lshlrev_b32 v20, 10, v20"]
    if checker.t.generation in ("gfx9",):
        lines.append("  s_mov_b32 m0, -1")
    lines += [f"  {store} v20, v[12:13] offset:{a}" if a else
              f"  {store} v20, v[12:13]",
              f"  {store} v20, v[14:15] offset:8" if case.offsets == (0, 4)
              else f"  {store} v20, v[14:15] offset:{b}", d.wait()]
    case.setup = lines
    off = " offset:8" if case.offsets == (0, 4) else f" offset:{b}"
    case.after = [d.wait(), f"  {read} v[4:5], v20",
                  f"  {read} v[6:7], v20{off}", d.wait()]
    args = []
    if "vdst" in fields:
        args.append(registers(16, fields["vdst"][1]))
    args.append("v20")
    if "data0" in fields:
        args.append(registers(4, fields["data0"][1]))
    if "data1" in fields:
        args.append(registers(8, fields["data1"][1]))
    case.text = f"{lower} " + ", ".join(args)
    if case.two:
        case.text += " offset1:1"


def vmem_case(checker, case, lower, fields, atomic, load):
    d = checker.d
    kind = lower.split("_")[0]
    data_bits = fields.get("data", fields.get("vdata", fields.get(
        "vsrc", (None, 32))))[1]
    dst_bits = fields.get("vdst", fields.get("vdata", (None, 32)))[1]
    address = "s[6:7]"
    wait = [d.wait_store()]
    init = [d.gstore(4, "v[12:15]", "v40", "s[6:7]", 32), d.wait_store()]
    reload = [d.wait_store(), d.gload(4, "v[4:7]", "v40", "s[6:7]", 32),
              d.wait()]
    ret = returning(checker, lower) if atomic else ""
    if atomic and ("cmpswap" in lower):
        # Two values in, one out; the tables give both sizes as one.
        data_bits = 128 if "64" in lower or "x2" in lower else 64
        dst_bits = data_bits // 2
        if "vdst" in fields:
            fmt, _, optype = fields["vdst"]
            case.fields = dict(fields, vdst=(fmt, dst_bits, optype))
    if kind == "global":
        where = "v40, " + (registers(4, data_bits) + ", " if not load else ""
                           ) + address + " offset:32"
    elif kind == "flat":
        carry = "vcc" if d.wave64 else "vcc_lo"
        init += [
            "  v_add_co_u32 v20, %s, s6, v40" % carry,
            "  v_mov_b32 v21, s7",
            "  s_nop 1",  # CDNA3 wants two wait states before VCC is read
            ("  v_addc_co_u32 v21, %s, 0, v21, %s" if d.t.generation == "gfx9"
             else "  v_add_co_ci_u32 v21, %s, 0, v21, %s") % (carry, carry),
        ]
        where = "v[20:21]" + (", " + registers(4, data_bits) if not load
                              else "") + " offset:32"
    elif kind == "scratch":
        case.scratch = 64
        store = ("scratch_store_dwordx4" if d.t.generation in (
            "gfx9", "gfx10") else "scratch_store_b128")
        read = store.replace("store", "load")
        init = [f"  v_mov_b32 v20, 16", f"  {store} v20, v[12:15], off",
                d.wait_store()]
        reload = [d.wait_store(), f"  {read} v[4:7], v20, off", d.wait()]
        where = "v20, " + (registers(4, data_bits) + ", " if not load else ""
                           ) + "off"
    else:
        word3 = {"gfx9": "0x27000", "gfx10": "0x31004000",
                 "gfx11": "0x31016000", "gfx12": "0x31016000"}[d.t.generation]
        init += ["  s_mov_b32 s12, s6", "  s_and_b32 s13, s7, 0xffff",
                 "  s_mov_b32 s14, 0x7fffffff", f"  s_mov_b32 s15, {word3}"]
        where = "v40, s[12:15], " + ("null" if d.t.generation == "gfx12"
                                     else "0") + " offen offset:32"
        # One register is source and destination.
        if atomic or not load:
            case.text = (f"{lower} " + registers(4, data_bits) + ", " + where +
                         ret)
        else:
            case.text = f"{lower} " + registers(16, dst_bits) + ", " + where
        case.setup = init
        case.after = ([d.wait()] + ["  v_mov_b32 v%d, v%d" % (16 + i, 4 + i)
                                    for i in range(4)]
                      if atomic else []) + reload
        case.buffer = True
        return
    if load or (atomic and ret):
        case.text = f"{lower} " + registers(16, dst_bits) + ", " + where + ret
    else:
        case.text = f"{lower} " + where
    case.setup = init
    case.after = [d.wait()] + wait + reload


def lane_values(rng, case, data_field):
    """What each lane has in its registers, and so in memory."""
    name = case.name
    lanes = []
    for _ in range(LANES):
        fmt = FakeFormat(original_name(case.op))
        width = fmt.width
        value = lambda: sum(
            pool_value(rng, fmt, width) << i for i in range(0, 128, width))
        lanes.append({"S0": value(), "S1": value(), "S2": value(),
                      "D0": rng.getrandbits(128)})
        if rng.random() < .3:  # let comparisons succeed
            lanes[-1]["S1" if data_field is None else "S0"] = lanes[-1]["S2"]
        if rng.random() < .3:
            lanes[-1]["S1"] = lanes[-1]["S2"]
        if "CMPSWAP" in name and rng.random() < .5:
            half = 64 if "64" in name or "X2" in name else 32
            lanes[-1]["S0"] = (lanes[-1]["S0"] & ((1 << half) - 1) |
                               lanes[-1]["S2"] << half) & ((1 << 128) - 1)
    return lanes


def expected(checker, case, program, record, lane, values):
    """The destination and the sixteen bytes of memory behind the instruction."""
    fields = case.fields
    name = case.name
    _, second = case.offsets
    memory = Memory()
    base = 0x1000
    split = 8 if case.offsets == (0, 4) else second
    memory.store(base, 8, values["S2"])
    memory.store(base + split, 8, values["S2"] >> 64)
    old = values["D0"]
    if getattr(case, "buffer", False) and "ATOMIC" in name:
        old = values["S0"]
    names = {
        "MEM": memory, "ADDR": Val(base, 64, "u"),
        "ADDR_BASE": Val(base, 32, "u"),
        "TADDR": Val(base, 64, "u"),
        "OFFSET": Val(0, 32, "u"), "offset": Val(0, 32, "u"),
        "OFFSET0": Val(0, 8, "u"), "OFFSET1": Val(1, 8, "u"),
        "DATA": Val(values["S0"], 128, "b"),
        "DATA2": Val(values["S1"], 128, "b"),
        "RETURN_DATA": Val(old, 128, "b"),
        "VDATA": Val(old if case.load else values["S0"], 128, "b"),
        "laneId": Val(lane, 32, "u"), "laneID": Val(lane, 32, "u"),
    }
    for extra in ("vgpr_a", "v_addr", "s_saddr", "sgpr_o", "VADDR",
                  "SRSRC", "SOFFSET", "SADDR", "v_addr_off",
                  "s_saddr_off", "flat_scratch"):
        names[extra] = Val(0, 64, "b")
    env = checker.environment(case, record, names)
    for function in ("CalcDsAddr", "CalcGlobalAddr", "CalcFlatAddr",
                     "CalcScratchAddr", "CalcBufferAddr"):
        env.lambdas[function] = lambda *_: Val(base, 64, "u")
    if record["exec"] >> lane & 1:
        program(env)
        result = "VDATA" if case.load and not name.startswith(
            "DS_") else "RETURN_DATA"
        expect_d = env.names[result].bits if (
            "vdst" in fields or getattr(case, "buffer", False)) else (
                values["D0"])
        if getattr(case, "buffer", False) and not case.load and (
                "ATOMIC" not in name):
            expect_d = values["D0"]
        expect_d = destination(checker, case, expect_d, old)
    else:
        expect_d = old
    expect_m = memory.load(base, 8) | memory.load(base + split,
                                                  8) << 64
    return expect_d, expect_m


def check(checker, module, n, case):
    rng = random.Random(case.name)
    wave = checker.t.wave
    waves = checker.wave_records(rng, LANES // wave)
    fields = case.fields
    data_field = next((fields[f] for f in ("data0", "data", "vdata", "vsrc")
                       if f in fields), None)
    lanes = lane_values(rng, case, data_field)
    raw = b"".join(v[s].to_bytes(16, "little") for v in lanes
                   for s in ("S0", "S1", "S2", "D0"))
    lane_out, _ = checker.execute(module, n, raw, waves, wave)
    program = checker.program(case.op)
    for w, record in enumerate(waves):
        for lane in range(wave):
            i = w * wave + lane
            values = lanes[i]
            got_d = int.from_bytes(lane_out[64 * i:64 * i + 16], "little")
            got_m = int.from_bytes(lane_out[64 * i + 16:64 * i + 32],
                                   "little")
            expect_d, expect_m = expected(checker, case, program, record,
                                          lane, values)
            if got_d != expect_d and not nan_equal(
                    original_name(case.op), got_d, expect_d):
                checker.fail(case, values, f"result, lane {lane}", got_d,
                             expect_d)
                return
            if got_m != expect_m and not nan_equal(
                    original_name(case.op), got_m, expect_m):
                checker.fail(case, values, f"memory, lane {lane}", got_m,
                             expect_m)
                return
    checker.record(case.name, "checked")


def destination(checker, case, computed, old):
    field = case.fields.get("vdst", case.fields.get("vdata", (None, 128)))
    bits = field[1]
    if getattr(case, "buffer", False) and "ATOMIC" in case.name:
        bits = 128  # the register that also held the data
        width = 64 if re.search(r"64|X2", case.name) else 32
        return old & ~((1 << width) - 1) | computed & ((1 << width) - 1)
    bits = max(bits, 32)
    return old & ~((1 << bits) - 1) | computed & ((1 << bits) - 1)


def nan_equal(name, got, expect):
    """Equal but for the payload of quiet NaNs of the instruction's type."""
    m = re.search(r"(BF16|F16|F32|F64)", name)
    if not m:
        return False
    t = "bf" if m.group(1) == "BF16" else "f"
    w = int(m.group(1)[-2:])
    for low in range(0, 128, w):
        a, b = Val(got >> low, w, t), Val(expect >> low, w, t)
        if a.bits != b.bits and not (pcode.is_nan(a) and pcode.is_nan(b) and
                                     not pcode.is_snan(a)):
            return False
    return True


class FakeFormat:
    """Values for a memory operand: floats for the float operations."""

    def __init__(self, name):
        m = re.search(r"(PK_ADD_)?(?:RTN_)?(BF16|F16|F32|F64)", name)
        if m:
            self.name = "FMT_NUM_" + m.group(2)
            self.width = int(m.group(2)[-2:])
        else:
            wide = re.search(r"64|X2", name)
            self.name = "FMT_NUM_U64" if wide else "FMT_NUM_U32"
            self.width = 64 if wide else 32
