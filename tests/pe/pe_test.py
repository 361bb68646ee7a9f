#!/usr/bin/env python3
"""Converts and splits Windows files that clang and lld-link make, and checks
the results with LIEF and llvm-readobj, which know nothing of Cerberus.

  pe_test.py --tool REWRITE_TOOL --cerberus CERBERUS [FILE...]

With files, those are converted and checked instead: any PE file.
"""
import argparse
import os
import struct
import subprocess
import sys
import tempfile

import lief

HERE = os.path.dirname(os.path.abspath(__file__))
LLVM = "/usr/lib/llvm-22/bin"
DLL = ["/dll", "/noentry"]
EXE = ["/entry:start", "/subsystem:console"]
HIP = ["--no-offload-new-driver", "-nogpulib", "-nogpuinc", "-O2", "--offload-arch=gfx1100",
       "--offload-arch=gfx90a"]
HIP_SOURCE = """
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
typedef struct S* hipStream_t;
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**,
                               unsigned long long, hipStream_t);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long long,
                                          hipStream_t);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long long*,
                                         hipStream_t*);
__global__ void kernel(int* p) { *p = 1; }
extern "C" const void* host() { return (const void*)kernel; }
"""
HIP_STUBS = """
int hipLaunchKernel() { return 0; }
int __hipPushCallConfiguration() { return 0; }
int __hipPopCallConfiguration() { return 0; }
void* __hipRegisterFatBinary() { return 0; }
void __hipUnregisterFatBinary() {}
void __hipRegisterFunction() {}
int atexit() { return 0; }
"""


def run(*args, code=0):
    done = subprocess.run([str(a) for a in args], capture_output=True,
                          text=True)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, args))}: exit "
                         f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def memory(binary):
    """Bytes by RVA, as the loader maps them."""
    image = bytearray(binary.optional_header.sizeof_image)
    for section in binary.sections:
        content = bytes(section.content)
        if section.virtual_size:
            content = content[:section.virtual_size]
        at = section.virtual_address
        image[at:at + len(content)] = content
    return bytes(image)


def tables(binary):
    """What must be the same before and after."""
    return {
        "relocations": [(r.virtual_address, [(e.position, str(e.type))
                                             for e in r.entries])
                        for r in binary.relocations],
        "exceptions": [(e.rva_start,) for e in binary.exceptions],
        "exports": [(e.name, e.address) for e in binary.get_export().entries]
        if binary.has_exports else [],
        "imports": [(i.name, [e.name for e in i.entries])
                    for i in binary.imports],
        "entry": binary.entrypoint,
        "sections": [(s.name, s.virtual_address, s.virtual_size,
                      s.characteristics) for s in binary.sections],
        "directories": [(d.rva, d.size) for d in binary.data_directories
                        if d.type != lief.PE.DataDirectory.TYPES.
                        CERTIFICATE_TABLE],
        # A signature is left out.
        "overlay": bytes(binary.overlay) if not binary.data_directory(
            lief.PE.DataDirectory.TYPES.CERTIFICATE_TABLE).size else b"",
    }


def inside(rva, extents):
    return any(begin <= rva < begin + size for begin, size in extents)


class Test:
    def __init__(self, options, work):
        self.tool, self.cerberus = options.tool, options.cerberus
        self.work = work

    def build(self, name, flags, link):
        out = f"{self.work}/{name}"
        run("clang-22", "--target=x86_64-pc-windows-msvc", "-c", "-O1", "-g",
            "-fms-extensions", "-mno-stack-arg-probe", *flags,
            f"{HERE}/program.c", "-o", out + ".obj")
        run(f"{LLVM}/lld-link", *link, f"/out:{out}", out + ".obj",
            "/nodefaultlib", "/timestamp:0")
        return out

    def check(self, name, path, changed, cut_at_least=-4096):
        before, after = lief.PE.parse(path), lief.PE.parse(changed)
        old, new = tables(before), tables(after)
        assert new["sections"][:-1] == old["sections"], name
        assert new["sections"][-1][0] == ".kpackrf", name
        for table in old:
            assert table == "sections" or new[table] == old[table], (
                name, table, old[table], new[table])
        marker = after.sections[-1]
        assert marker.virtual_address % 4096 == 0, name
        assert not after.has_signatures, name
        if before.optional_header.checksum:
            assert (after.optional_header.checksum ==
                    after.compute_checksum()), name
        else:
            assert after.optional_header.checksum == 0, name
        # In memory: pointers of wrappers, file offsets in the debug
        # directory, and what was cut, which reads as zeros.
        a, b = memory(before), memory(after)
        debug = before.data_directory(
            lief.PE.DataDirectory.TYPES.DEBUG_DIR)
        free = [(debug.rva, debug.size)]
        cut = []
        for section in before.sections:
            extent = (section.virtual_address,
                      max(section.virtual_size, section.size))
            if section.name in (".nvFatBi", ".hipFatB"):
                free.append(extent)
            elif section.name in (".nv_fatb", "__nv_rel", ".hip_fat"):
                cut.append(extent)
        for at in range(0, len(a), 4096):
            if a[at:at + 4096] == b[at:at + 4096]:
                continue
            for i in range(at, min(at + 4096, len(a))):
                assert (a[i] == b[i] or inside(i, free) or
                        b[i] == 0 and inside(i, cut)), (name, hex(i))
        gone = os.path.getsize(path) - os.path.getsize(changed)
        assert gone >= cut_at_least, (name, gone)
        said = run(f"{LLVM}/llvm-readobj", "--file-headers", "--sections",
                   "--coff-directives", "--coff-debug-directory",
                   "--coff-basereloc", "--unwind", "--symbols", changed)
        assert "warning" not in said and "error" not in said, (name, said)
        return after, b

    def convert(self, name, path, **expected):
        changed = f"{self.work}/{name}.amd"
        run(self.tool, path, changed)
        run(self.tool, "--check", changed)
        after, image = self.check(name, path, changed, **expected)
        base, rva = after.imagebase, after.sections[-1].virtual_address
        count = struct.unpack_from("<I", image, rva + 36)[0]
        assert image[rva:rva + 8] == b"CERBSEG1", name
        for i in range(count):
            record = rva + 64 + 48 * i
            assert image[record:record + 4] == b"CBWR", name
            to_wrapper = struct.unpack_from("<q", image, record + 24)[0]
            magic, version, data = struct.unpack_from(
                "<IIQ", image, record + to_wrapper)
            assert magic == 0x466243b1 and data == base + record, name
        twice = run(self.tool, changed, changed + "2", code=1)
        assert "already converted" in twice, twice
        return f"{name}: {os.path.getsize(path)} -> {os.path.getsize(changed)}"

    def split(self, name, path, **expected):
        folder = f"{self.work}/{name}.split"
        os.mkdir(folder)
        changed = f"{folder}/{os.path.basename(path)}"
        run(self.cerberus, "split", path, "-o", changed)
        said = run(self.cerberus, "verify", path, changed)
        assert "as in the original" in said, said
        after, image = self.check(name, path, changed, **expected)
        rva = after.sections[-1].virtual_address
        assert image[rva:rva + 20] == b"\x82\xb2kpack_search_paths"
        wrappers = after.get_section(".hipFatB").virtual_address
        magic, version, data, number = struct.unpack_from("<IIQQ", image,
                                                          wrappers)
        assert (magic, version, number) == (0x4B504948, 1, 0), name
        assert data == after.imagebase + rva, name
        return f"{name}: {os.path.getsize(path)} -> {os.path.getsize(changed)}"


def signed(path):
    """With what looks like a signature behind it, and its directory."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data += bytes(-len(data) % 8)
    optional = struct.unpack_from("<I", data, 0x3c)[0] + 24
    body = struct.pack("<IHH", 64, 0x200, 2) + bytes(range(56))
    struct.pack_into("<II", data, optional + 112 + 4 * 8, len(data), len(body))
    with open(path + ".signed", "wb") as f:
        f.write(data + body)
    return path + ".signed"


def appended(path, what):
    with open(path, "rb") as f:
        data = f.read()
    with open(path + ".overlay", "wb") as f:
        f.write(data + what)
    return path + ".overlay"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--cerberus", required=True)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        test = Test(options, work)
        for path in options.files:
            name = os.path.basename(path)
            binary = lief.PE.parse(path)  # its sections live as long as it does
            is_hip = ".hipFatB" in [s.name for s in binary.sections]
            print((test.split if is_hip else test.convert)(name, path),
                  flush=True)
        if options.files:
            return
        build, convert = test.build, test.convert
        dll = build("plain.dll", [], DLL)
        convert("plain.dll", dll, cut_at_least=10000)
        convert("program.exe", build("program.exe", [], EXE),
                cut_at_least=10000)
        convert("fixed.exe", build("fixed.exe", [], EXE + ["/fixed"]),
                cut_at_least=10000)
        convert("release.dll", build("release.dll", [], DLL + ["/release"]),
                cut_at_least=10000)
        convert("debug.dll", build("debug.dll", [], DLL + ["/debug"]),
                cut_at_least=10000)
        # Of the second fatbin the program itself reads a byte.
        convert("reads.dll", build("reads.dll", ["-DREADS_ITSELF"], DLL))
        convert("signed.dll", signed(build("signed.dll", [], DLL)))
        convert("overlay.exe", appended(build("overlay.exe", [], EXE),
                                        b"an installer's files" * 99))
        # COFF symbols and long names of sections, as MinGW leaves them.
        convert("symbols.dll", build("symbols.dll", [],
                                     DLL + ["/lldmingw", "/debug:dwarf"]))
        with open(f"{work}/hip.hip", "w") as out:
            out.write(HIP_SOURCE)
        with open(f"{work}/stubs.c", "w") as out:
            out.write(HIP_STUBS)
        run("clang-22", "--target=x86_64-pc-windows-msvc", "-c", "-w",
            "-fno-builtin", f"{work}/stubs.c", "-o", f"{work}/stubs.obj")
        run("clang-22", "-x", "hip", "--target=x86_64-pc-windows-msvc", "-c",
            *HIP, f"{work}/hip.hip", "-o", f"{work}/hip.obj")
        run(f"{LLVM}/lld-link", *DLL, f"/out:{work}/hip.dll",
            f"{work}/hip.obj", f"{work}/stubs.obj", "/nodefaultlib", "/timestamp:0",
            "/opt:noref", "/export:host")
        test.split("hip.dll", f"{work}/hip.dll", cut_at_least=4000)
    print("PASS")


if __name__ == "__main__":
    sys.exit(main())
