"""Programs for scalar loads, and for LDS and global instructions that move
data between lanes or address it by lane.

Sources: RDNA2, RDNA3, RDNA4 and CDNA3 ISA manuals, chapters "Scalar Memory
Operations", "Data Share" and "Flat Memory Instructions".
"""

import struct

from program_cases import Program

SIZES = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16,
         "b32": 1, "b64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16}
NARROW = {"i8": (1, True), "u8": (1, False), "i16": (2, True),
          "u16": (2, False)}


def record_bytes(wave):
    """The 64 bytes at s[8:9]."""
    r = wave.record
    return struct.pack("<QQQQQIIQQ", r["s0"], r["s1"], r["d0"], r["vcc"],
                       r["exec"], r["m0"], r["scc"], r["s2"], 0)


def read(data, at, size, limit=64):
    """Bytes beyond the limit read as zero."""
    return int.from_bytes(bytes(data[i] if i < min(limit, len(data)) else 0
                                for i in range(at, at + size)), "little")


def scalar_loads(target):
    g = target.generation
    wait = "s_wait_kmcnt 0x0" if g == "gfx12" else "s_waitcnt lgkmcnt(0)"
    names = [n for n in SIZES if n.startswith("dword") == (
        g in ("gfx9", "gfx10")) and (n != "b96" or g == "gfx12")]
    if g == "gfx12":
        names += list(NARROW)
    null = "null" if g in ("gfx11", "gfx12") else ""
    for name in names:
        size = 4 * SIZES[name] if name in SIZES else NARROW[name][0]
        words = max(1, size // 4)
        step = 4 if size >= 4 else size
        offsets = {at for at in (0, step, 64 - size) if at + size <= 64}
        dst = "s64" if words == 1 else f"s[64:{63 + words}]"
        copy = [f"v_mov_b32 v{64 + i}, s{64 + i}" for i in range(words)]

        def expect(wave, at, limit=64, name=name, size=size, words=words):
            data = record_bytes(wave)
            value = read(data, at, size, limit)
            if name in NARROW and NARROW[name][1] and (
                    value >> (8 * size - 1)):
                value |= 0xffffffff << 8 * size
            return {"rows": {64 + i: [value >> 32 * i & 0xffffffff] *
                             len(wave.lanes) for i in range(words)}}

        def make(label, text, at, limit=64, setup=()):
            return Program(
                f"s_{label}_{name}_{at}_{limit}", [text, wait] + copy,
                lambda wave, f=expect: f(wave, at, limit), setup=setup,
                rows_out=[(64, words)], vgprs=128, full_exec=True,
                covers=[text.split()[0]])

        for at in sorted(offsets):
            yield make("load", f"s_load_{name} {dst}, s[8:9], {at:#x}", at)
            register = (f"s24 offset:{step:#x}" if g in ("gfx9", "gfx11",
                                                         "gfx12") else "s24")
            base = at - step if " " in register else at
            if base >= 0 and (g != "gfx9" or target.name != "gfx90a"):
                yield make("load_soffset",
                           f"s_load_{name} {dst}, s[8:9], {register}", at, 64,
                           [f"  s_movk_i32 s24, {base}"])
        # Through a buffer descriptor, whole and with an end inside.
        for limit in (64, 20):
            word3 = {"gfx9": "0x27000", "gfx10": "0x31004000"}.get(
                g, "0x31016000")
            setup = ["  s_mov_b32 s12, s8", "  s_and_b32 s13, s9, 0xffff",
                     f"  s_movk_i32 s14, {limit}", f"  s_mov_b32 s15, {word3}"]
            for at in sorted(offsets):
                yield make("buffer_load",
                           f"s_buffer_load_{name} {dst}, s[12:15], {at:#x}",
                           at, limit, setup)


def lds(target, name):
    """gfx11's names of LDS instructions in the target's own."""
    if target.generation in ("gfx11", "gfx12"):
        return name
    return name.replace("ds_load", "ds_read").replace("ds_store", "ds_write")


def reverse5(x):
    return int(format(x & 31, "05b")[::-1], 2)


def swizzle_source(offset, i):
    if offset >= 0xe000:  # FFT
        mask = offset & 31
        return reverse5(i) >> bin(mask).count("1") | i & mask | i & 32
    if offset >= 0xc000:  # rotation within 32 lanes
        mask, amount = offset & 31, offset >> 5 & 31
        amount = -amount if offset >> 10 & 1 else amount
        return i & mask | (i + amount) & ~mask & 31 | i & 32
    if offset & 0x8000:
        return i & ~3 | offset >> 2 * (i & 3) & 3
    a, o, x = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return (i & 31 & a | o) ^ x | i & 32


def lds_wait(target):
    return ("s_wait_dscnt 0x0" if target.generation == "gfx12" else
            "s_waitcnt lgkmcnt(0)")


def moves(target):
    g = target.generation
    wait = lds_wait(target)
    # RDNA2 and RDNA3 move data within 32 lanes only.
    reach = 32 if g in ("gfx10", "gfx11") else 64

    def lane_of(address, i, size):
        n = min(reach, size)
        return i // n * n + address // 4 % n

    def pull(wave, offset, any_lane=False):
        values, to = wave.values("S1"), wave.values("S0")
        want = wave.values("D0")
        for i in range(len(want)):
            if wave.active(i):
                at = lane_of(to[i] + offset, i, wave.size)
                want[i] = values[at] if wave.active(at) or any_lane else 0
        return {"v16": want}

    def push(wave, offset):
        values, to = wave.values("S1"), wave.values("S0")
        want = wave.values("D0")
        sent = [0] * len(want)
        for i in range(len(want)):
            if wave.active(i):
                sent[lane_of(to[i] + offset, i, wave.size)] = values[i]
        return {"v16": [s if wave.active(i) else d
                        for i, (s, d) in enumerate(zip(sent, want))]}

    def lanes(rng, wave):
        for v in wave.lanes:
            v["S0"] = v["S0"] & ~0xffffffff | (
                rng.randrange(256) if rng.random() < .7 else
                rng.getrandbits(32))

    for offset in (0, 4, 40):
        off = f" offset:{offset}" if offset else ""
        yield Program(f"bpermute_{offset}",
                      [f"ds_bpermute_b32 v16, v4, v8{off}", wait],
                      lambda wave, o=offset: pull(wave, o), prepare=lanes,
                      covers=["ds_bpermute_b32"])
        yield Program(f"permute_{offset}",
                      [f"ds_permute_b32 v16, v4, v8{off}", wait],
                      lambda wave, o=offset: push(wave, o), prepare=lanes,
                      covers=["ds_permute_b32"])
        if g == "gfx12":
            yield Program(f"bpermute_fi_{offset}",
                          [f"ds_bpermute_fi_b32 v16, v4, v8{off}", wait],
                          lambda wave, o=offset: pull(wave, o, True),
                          prepare=lanes, covers=["ds_bpermute_fi_b32"])
    yield from swizzles(wait)
    yield from counters(target, wait)
    yield addtid(target, wait)
    yield conditional_exchange(target, wait)


def swizzles(wait):
    # Quad permutations, bit masks; gfx9 and later: FFT and rotation.
    patterns = [0x801b, 0x80b1, 0x8000, 0x001f, 0x041f, 0x7c1f, 0x0010,
                0x03e0, 0x2b47, 0xe000, 0xe010, 0xe018, 0xe01c, 0xe01e,
                0xe01f, 0xe005, 0xc020, 0xc420, 0xc3e0, 0xc0a8, 0xc4b1]
    for offset in patterns:

        def swizzled(wave, offset=offset):
            values, want = wave.values("S0"), wave.values("D0")
            for i in range(len(want)):
                if wave.active(i):
                    at = swizzle_source(offset, i)
                    want[i] = values[at] if wave.active(at) else 0
            return {"v16": want}

        yield Program(f"swizzle_{offset:x}",
                      [f"ds_swizzle_b32 v16, v4 offset:{offset:#x}", wait],
                      swizzled, covers=["ds_swizzle_b32"])


def counters(target, wait):
    # Counters: all lanes get the old value, which grows by their number.
    for name, sign in (("ds_append", 1), ("ds_consume", -1)):

        def counted(wave, sign=sign):
            count = sum(wave.active(i) for i in range(wave.size))
            want, first = wave.values("D0"), wave.lanes[0]["S0"] & 0xffffffff
            return {"v16": [first if wave.active(i) else d
                            for i, d in enumerate(want)],
                    "v17": [first + sign * count & 0xffffffff] * wave.size}

        yield Program(name, [f"{name} v16 offset:12", wait], counted, lds=64,
                      setup=["  s_mov_b32 m0, -1", "  v_mov_b32 v20, 20",
                             "  v_readfirstlane_b32 s24, v4", "  s_nop 1",
                             "  v_mov_b32 v21, s24",
                             f"  {lds(target, 'ds_store_b32')} v20, v21",
                             f"  {wait}"],
                      prepare=lambda rng, wave: wave.record.update(m0=8),
                      after=["  s_mov_b32 m0, -1",
                             f"  {lds(target, 'ds_load_b32')} v17, v20",
                             f"  {wait}"])


def addtid(target, wait):
    # Addressed by M0, offset and lane.
    store = lds(target, "ds_store_addtid_b32")
    load = lds(target, "ds_load_addtid_b32")
    return Program("addtid", [f"{store} v4 offset:8", wait,
                             f"{load} v16 offset:8", wait,
                             "s_mov_b32 m0, -1",
                             f"{lds(target, 'ds_load_b32')} v17, v20 "
                             "offset:24", wait],
                  lambda wave: {
                      "v16": [a if wave.active(i) else d for i, (a, d) in
                              enumerate(zip(wave.values("S0"),
                                            wave.values("D0")))],
                      "v17": [a if wave.active(i) else d for i, (a, d) in
                              enumerate(zip(wave.values("S0"),
                                            wave.values("D0", 1)))]},
                  lds=1024, covers=[store, load],
                  setup=["  v_lshrrev_b32 v20, 4, v40",
                         f"  v_and_b32 v20, {4 * target.wave - 1:#x}, v20"],
                  prepare=lambda rng, wave: wave.record.update(m0=16))


def conditional_exchange(target, wait):
    # Two dwords; those whose new value has the top bit are exchanged.
    def conditional(wave):
        want = {f"v{16 + k}": wave.values("D0", k) for k in range(4)}
        for i, v in enumerate(wave.lanes):
            old = [v["S2"] >> 32 * k & 0xffffffff for k in range(2)]
            now = list(old)
            if wave.active(i):
                for k in range(2):
                    want[f"v{16 + k}"][i] = old[k]
                    new = v["S0"] >> 32 * k & 0xffffffff
                    if new >> 31:
                        now[k] = new & 0x7fffffff
            for k in range(2):
                want[f"v{18 + k}"][i] = now[k]
        return want

    return Program("condxchg",
                  ["ds_condxchg32_rtn_b64 v[16:17], v20, v[4:5]", wait],
                  conditional, lds=1024,
                  setup=["  s_mov_b32 m0, -1", "  s_mov_b32 s58, -1",
                         "  v_lshrrev_b32 v20, 3, v40",
                         f"  v_and_b32 v20, {8 * target.wave - 1:#x}, v20",
                         f"  {lds(target, 'ds_store_b64')} v20, v[12:13]",
                         f"  {wait}"],
                  after=[f"  {lds(target, 'ds_load_b64')} v[18:19], v20",
                         f"  {wait}"],
                  covers=["ds_condxchg32_rtn_b64"])


def by_lane(target):
    """global_load_addtid and global_store_addtid, and the transposing load
    of gfx12."""
    g = target.generation
    if g == "gfx9":
        return
    vm = "s_wait_loadcnt 0x0" if g == "gfx12" else "s_waitcnt vmcnt(0)"
    vs = ("s_wait_storecnt 0x0" if g == "gfx12" else
          "s_waitcnt_vscnt null, 0x0")
    load, store = (("global_load_dword_addtid", "global_store_dword_addtid")
                   if g == "gfx10" else
                   ("global_load_addtid_b32", "global_store_addtid_b32"))
    # Every lane has 64 bytes of output; the wave's lie side by side.
    base = ["  s_lshl_b32 s24, s40, " + str(11 if target.wave == 32 else 12),
            "  s_add_u32 s24, s6, s24", "  s_addc_u32 s25, s7, 0"]
    yield Program("global_addtid",
                  [f"{store} v4, s[24:25] offset:16", vs,
                   f"{load} v16, s[24:25] offset:16", vm],
                  lambda wave: {"v16": [
                      a if wave.active(i) else d for i, (a, d) in
                      enumerate(zip(wave.values("S0"), wave.values("D0")))]},
                  setup=base, covers=[load, store])
    if g != "gfx12" or target.wave != 32:
        return

    def transposed(wave):
        def element(lane, j):
            return wave.lanes[lane]["S0"] >> 16 * j & 0xffff

        rows = [[element(i // 8 * 8 + j, i % 8) for j in range(8)]
                for i in range(wave.size)]
        return {f"v{16 + r}": [rows[i][2 * r] | rows[i][2 * r + 1] << 16
                               for i in range(wave.size)] for r in range(4)}

    yield Program("load_transposed",
                  ["global_load_tr_b128 v[16:19], v40, s[4:5]", vm],
                  transposed, full_exec=True)


def programs(target):
    yield from scalar_loads(target)
    yield from moves(target)
    yield from by_lane(target)
