#!/usr/bin/env python3
"""Splits HIP programs of all the kinds that clang and linkers make, and checks
each with tools that know nothing of Cerberus: clang-offload-bundler unpacks
the original's bundles, the loader takes the split library in, the C interface
of kpack finds each wrapper's code, and the bytes must be the same; before and
after strip, objcopy, patchelf and their kin. Programs are run on the emulator.
"""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from hip_bundles import LLVM, bundled

CLANG = f"{LLVM}/clang++"
HIP = ["-nogpulib", "-nogpuinc", "-no-hip-rt", "-O2"]
XNACK = ["gfx90a:xnack+", "gfx90a:xnack-", "gfx9-4-generic"]
TWO = ["gfx1100", "gfx90a"]

SOURCE = """
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
typedef struct S* hipStream_t;
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long,
                               hipStream_t);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long,
                                          hipStream_t);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long*,
                                         hipStream_t*);
__attribute__((device)) __attribute__((used)) const char
    text_NAME[6000] = "TEXT";
__global__ void Kernel_NAME(const char** p, int i) {
  p[__builtin_amdgcn_workitem_id_x() + NUMBER] = text_NAME + i;
}
extern "C" const void* Host_NAME() { return (const void*)Kernel_NAME; }
"""

# A code object by itself under a wrapper, as old compilers leave it; also
# where something else leads to it.
SINGLE = """
extern "C" void** __hipRegisterFatBinary(const void*);
asm(".section .hip_fatbin,\\"a\\",@progbits\\n.balign 4096\\n"
    ".globl image\\nimage:\\n.incbin \\"CODE\\"\\n.previous");
extern "C" const char image[] __attribute__((visibility("VISIBILITY")));
struct Wrapper { unsigned magic, version; const void* data; void* unused; };
__attribute__((section(".hipFatBinSegment"), used)) static Wrapper wrapper = {
    0x48495046, 1, image, nullptr};
__attribute__((constructor)) static void Start() {
  __hipRegisterFatBinary(&wrapper);
}
"""


def run(*args, code=0, env=None):
    done = subprocess.run([str(a) for a in args], capture_output=True,
                          text=True, env=env and dict(os.environ, **env))
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, args))}: exit "
                         f"{done.returncode}, expected {code}\n{done.stdout}"
                         f"{done.stderr}")
    return done.stdout + done.stderr


class Test:
    def __init__(self, options, work):
        self.cerberus = options.cerberus
        self.loader = f"{work}/hip_loader"
        self.work = work
        self.emulator = options.emulator
        self.inputs = os.path.dirname(os.path.abspath(__file__))
        self.failures = 0
        include = os.path.join(self.inputs, "../../kpack/include")
        run(f"{LLVM}/clang", "-O1", "-rdynamic", "-I", include,
            f"{self.inputs}/hip_loader.c", options.kpack,
            f"-Wl,-rpath,{os.path.dirname(options.kpack)}", "-o", self.loader)

    def source(self, name, text="no magic", number=1):
        path = f"{self.work}/{name}.hip"
        with open(path, "w") as out:
            out.write(SOURCE.replace("NAME", name).replace("TEXT", text)
                      .replace("NUMBER", str(number)))
        return path

    def library(self, name, units, *flags, env=None):
        """units: (name of the source, targets). Objects, then a library."""
        objects = []
        for unit, targets in units:
            objects.append(f"{self.work}/{name}.{unit}.o")
            source = f"{self.work}/{unit}.hip"
            if not os.path.exists(source):
                self.source(unit)
            run(CLANG, "-x", "hip", "-c", "-fPIC", "-g", source, *HIP,
                *[f"--offload-arch={t}" for t in targets],
                *[f for f in flags if not f.startswith(("-Wl", "-fuse"))],
                "-o", objects[-1], env=env)
        path = f"{self.work}/lib{name}.so"
        link = ["--hip-link", *[f"--offload-arch={t}" for t in units[0][1]],
                *HIP[:3]] if "-fgpu-rdc" in flags else []
        run(CLANG, "-shared", *objects, *link, *flags,
            "-Wl,-rpath,/opt/rocm/lib", "-o", path)
        return path

    def by_hand(self, name, triple, v1):
        """A library with a bundle that clang-22 does not make any more, or not
        yet, and what is in it: CCOB version 1, a processor with a hyphen in its
        name."""
        objects = {}
        for target in ("gfx1250-strict", "gfx1250", "gfx942:xnack+"):
            part = f"{self.work}/{name}.part"
            run(CLANG, "-x", "hip", "--cuda-device-only",
                "--no-gpu-bundle-output", *HIP,
                f"--offload-arch={target.replace('-strict', '')}",
                self.source(name, target), "-o", part)
            with open(part, "rb") as file:
                objects[target] = file.read()
        entries, content = [("host-x86_64-unknown-linux-gnu-", b"")], b""
        entries += [(triple + target, code) for target, code in objects.items()]
        head = struct.pack("<24sQ", b"__CLANG_OFFLOAD_BUNDLE__", len(entries))
        for entry, code in entries:
            content += bytes(-len(content) % 4096)
            head += struct.pack("<QQQ", 4096 + len(content), len(code),
                                len(entry)) + entry.encode()
            content += code
        content = head.ljust(4096, b"\0") + content
        if v1:
            # Magic, version 1, zlib, size unpacked, hash; no size packed.
            content = struct.pack("<4sHHIQ", b"CCOB", 1, 0, len(content),
                                  0) + zlib.compress(content)
        bundle = f"{self.work}/{name}.bundle"
        with open(bundle, "wb") as file:
            file.write(content)
        with open(f"{self.work}/{name}.cc", "w") as out:
            out.write(SINGLE.replace("CODE", bundle)
                      .replace("VISIBILITY", "hidden"))
        path = f"{self.work}/lib{name}.so"
        run(CLANG, "-shared", "-fPIC", f"{self.work}/{name}.cc", "-g",
            "-Wl,-rpath,/opt/rocm/lib", "-o", path)
        return path, {(0, target): code for target, code in objects.items()}

    def loaded(self, path, targets):
        """What a process that loads the library is given."""
        folder = f"{self.work}/loaded"
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        run(self.loader, os.path.abspath(path), folder, *targets)
        found = {}
        for name in os.listdir(folder):
            number, target = name.split(".", 1)
            with open(f"{folder}/{name}", "rb") as file:
                found[int(number), target] = file.read()
        return found

    def check(self, name, path, wrappers, is_cut=True, registered=None,
              tools=None, expected=None):
        if expected is None:
            expected = bundled(self.cerberus, path, self.work)
        targets = sorted({target for _, target in expected})
        assert len({w for w, _ in expected}) == wrappers, (name, expected)
        folder = f"{self.work}/{name}.split"
        os.mkdir(folder)
        split = f"{folder}/{os.path.basename(path)}"
        said = run(self.cerberus, "split", path, "-o", split)
        verified = run(self.cerberus, "verify", path, split)
        assert f"{len(expected)} code object" in verified, verified
        assert ("bytes cut" in verified) == is_cut, (name, verified)
        if registered is not None:
            expected = {(w, target): code for (w, target), code
                        in expected.items() if w < registered}
        self.same(name, self.loaded(split, targets), expected)
        self.read_by_others(split)
        refused = run(self.cerberus, "split", split, "-o", split + "2", code=1)
        assert "already split" in refused, refused
        again = f"{folder}/again"
        os.mkdir(again)
        run(self.cerberus, "split", path, "-o",
            f"{again}/{os.path.basename(path)}")
        run("diff", "-r", f"{folder}/.kpack", f"{again}/.kpack")
        run("cmp", split, f"{again}/{os.path.basename(path)}")
        changed = f"{folder}/changed.so"
        for tool, commands in (TOOLS if tools is None else tools).items():
            if any(shutil.which(c[0]) is None for c in commands):
                raise SystemExit(f"{commands} not installed")
            shutil.copy(split, changed)
            for command in commands:
                run(*[changed if a == "@" else a.replace("@", changed)
                      for a in command])
            if os.environ.get("V"): print(name, tool, flush=True)
            self.same(f"{name}, {tool}", self.loaded(changed, targets),
                      expected)
        print(f"{name}: {said.splitlines()[0].split(': ')[1]}, "
              f"{os.path.getsize(path)} -> {os.path.getsize(split)} bytes")

    def same(self, name, found, expected):
        if found != expected:
            self.failures += 1
            print(f"{name}: FAIL: expected "
                  f"{ {k: len(v) for k, v in expected.items()} }, found "
                  f"{ {k: len(v) for k, v in found.items()} }")

    def read_by_others(self, path):
        said = run(f"{LLVM}/llvm-readelf", "-WSl", path)
        assert "warning" not in said, said
        said = run("readelf", "-WSld", path)
        assert "Warning" not in said and "Error" not in said, said
        try:
            import lief
        except ImportError:
            return
        binary = lief.ELF.parse(path)
        if not binary.sections:
            return
        marker = bytes(binary.get_section(".rocm_kpack_ref").content)
        assert marker.startswith(b"\x82\xb2kpack_search_paths"), marker

    def program(self, name, *flags):
        """A program that checks its own results, before and after."""
        unit = os.path.join(self.inputs, "../unit/emulator")
        path = f"{self.work}/{name}"
        run(CLANG, "-x", "hip", f"{unit}/programs/reduce.hip", "-x", "none",
            "-std=c++20", "-I", unit, "--offload-arch=gfx1100",
            "--offload-arch=gfx942", *HIP, "-ffp-contract=off", self.emulator,
            f"-Wl,-rpath,{os.path.dirname(self.emulator)}", *flags, "-o", path)
        folder = f"{self.work}/{name}.split"
        os.mkdir(folder)
        split = f"{folder}/{name}"
        run(self.cerberus, "split", path, "-o", split)
        run(self.cerberus, "verify", path, split)
        self.read_by_others(split)
        for tool, commands in {"": [], **TOOLS}.items():
            changed = f"{folder}/changed"
            shutil.copy(split, changed)
            for command in commands:
                run(*[changed if a == "@" else a.replace("@", changed)
                      for a in command])
            for target in ("gfx1100", "gfx942"):
                # The search path is among what the tools replace.
                said = run(changed, env={
                    "CERBERUS_EMU_TARGETS": target,
                    "LD_LIBRARY_PATH": os.path.dirname(self.emulator)})
                if "PASS" not in said:
                    self.failures += 1
                    print(f"{name}, {tool}: FAIL: {said}")
        print(f"{name}: {os.path.getsize(path)} -> {os.path.getsize(split)} "
              "bytes, PASS")


RPATH = "/opt/a/rather/long/path/that/needs/more/room/lib:/opt/another/one"
TOOLS = {
    "strip": [["strip", "@"]],
    "strip -g": [["strip", "-g", "@"]],
    "strip --strip-unneeded": [["strip", "--strip-unneeded", "@"]],
    "objcopy": [["objcopy", "@", "@"]],
    "objcopy --only-keep-debug": [
        ["objcopy", "--only-keep-debug", "@", "@.debug"],
        ["strip", "-g", "@"],
        ["objcopy", "--add-gnu-debuglink=@.debug", "@"]],
    "eu-strip": [["eu-strip", "-f", "@.debug", "@"]],
    "llvm-strip": [[f"{LLVM}/llvm-strip", "@"]],
    "llvm-objcopy": [[f"{LLVM}/llvm-objcopy", "@", "@"]],
    "patchelf": [["patchelf", "--set-rpath", RPATH, "@"]],
    "chrpath": [["chrpath", "-r", "/opt", "@"]],
    # It may refuse (docs/limits.md), but then must leave the file as it is.
    "dwz": [["sh", "-c", "cp @ @.old && { dwz @ || cmp @ @.old; }"]],
    "strip, patchelf": [["strip", "@"],
                        ["patchelf", "--set-rpath", RPATH, "@"]],
    "patchelf, strip": [["patchelf", "--set-rpath", RPATH, "@"],
                        ["strip", "@"]],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cerberus", required=True)
    parser.add_argument("--kpack", required=True)
    parser.add_argument("--emulator", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        test = Test(options, work)
        check, library = test.check, test.library
        one, two = [("a", TWO)], [("a", TWO), ("b", TWO)]
        for linker in ("bfd", "lld", "mold"):
            check(linker, library(linker, two, f"-fuse-ld={linker}"), 2)
        compress = "--offload-compress"
        for version in (2, 3):
            env = {"COMPRESSED_BUNDLE_FORMAT_VERSION": str(version)}
            name = f"compressed{version}"
            check(name, library(name, two, compress, env=env), 2)
        # Each unit for targets of its own: the second is first for gfx942.
        check("targets", library("targets", [("a", ["gfx1100"]), (
            "b", ["gfx942", "gfx1100"]), ("c", ["gfx942"])]), 3)
        for name, flags in (("xnack", []), ("xnack_compressed", [compress])):
            # Compressed, it is less than a page.
            check(name, library(name, [("a", XNACK)], *flags), 1, not flags)
        check("new_driver",
              library("new_driver", one, "--offload-new-driver"), 1)
        # Both wrappers lead to one bundle, and only the first is registered.
        check("rdc", library("rdc", two, "-fgpu-rdc"), 2, registered=1)
        for name, text in (("magic", "CCOB"),
                           ("bundle_magic", "__CLANG_OFFLOAD_BUNDLE__")):
            test.source(name, text)
            check(name, library(name, [(name, TWO), ("a", TWO)]), 2)
        check("large_pages", library("large_pages", two,
                                     "-Wl,-z,max-page-size=0x200000"), 2)
        check("relr", library("relr", two, "-fuse-ld=lld",
                              "-Wl,-z,pack-relative-relocs"), 2)
        check("no_separate_code", library(
            "no_separate_code", two, "-Wl,-z,noseparate-code"), 2)
        stripped = library("stripped", two)
        run("strip", stripped)
        check("stripped", stripped, 2)
        # Without a section the tools have nothing to go by.
        run(f"{LLVM}/llvm-strip", "--strip-sections", stripped)
        check("sectionless", stripped, 2, tools={})

        for name, triple, v1 in (
                ("strict", "hipv4-amdgcn-amd-amdhsa--", False),
                ("hip_triple", "hip-amdgcn-amd-amdhsa--", False),
                ("four_fields", "hip-amdgcn-amd-amdhsa-unknown-", False),
                ("compressed1", "hipv4-amdgcn-amd-amdhsa--", True)):
            path, objects = test.by_hand(name, triple, v1)
            check(name, path, 1, not v1, expected=objects)

        code = f"{work}/code.hsaco"
        run(CLANG, "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output",
            *HIP, "--offload-arch=gfx1100", test.source("code"), "-o", code)
        for visibility, is_cut in (("hidden", True), ("default", False)):
            name = f"single_{visibility}"
            with open(f"{work}/{name}.cc", "w") as out:
                out.write(SINGLE.replace("CODE", code)
                          .replace("VISIBILITY", visibility))
            run(CLANG, "-shared", "-fPIC", f"{work}/{name}.cc",
                "-Wl,-rpath,/opt/rocm/lib", "-o", f"{work}/lib{name}.so")
            check(name, f"{work}/lib{name}.so", 1, is_cut)

        test.program("pie")
        test.program("nopie", "-no-pie", "-fno-pie")
        test.program("pie_lld", "-fuse-ld=lld")
        test.program("pie_mold", "-fuse-ld=mold")
        test.program("pie_compressed", compress)
        sys.exit(1 if test.failures else 0)


if __name__ == "__main__":
    main()
