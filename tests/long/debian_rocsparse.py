#!/usr/bin/env python3
"""Splits Debian's librocsparse.so.0, 1.3 GB of it, and uses it.

usage: debian_rocsparse.py [--build DIR] [--folder DIR]

Downloads librocsparse0 with apt-get unless it is in the folder. Each of the
library's 777 code objects, as clang-offload-bundler takes it out of the
original, must be what a process that loads the split library is given by the
kpack library. Then kernels of it run on the emulated gfx1030 and gfx90a and
are compared with numpy, which is wanted here. Exit code 1 if anything failed.
"""
import argparse
import ctypes
import glob
import hashlib
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ELF = os.path.join(ROOT, "tests", "elf")
sys.path.insert(0, ELF)
import hip_bundles  # noqa: E402
LIBRARY = "usr/lib/x86_64-linux-gnu/librocsparse.so.0.1"


def download(folder):
    if not glob.glob(os.path.join(folder, "librocsparse0_*.deb")):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", "librocsparse0"],
                       cwd=folder, check=True)
    path = os.path.join(folder, "root", LIBRARY)
    if not os.path.exists(path):
        subprocess.run(["dpkg-deb", "-x", sorted(glob.glob(os.path.join(
            folder, "librocsparse0_*.deb")))[-1],
                        os.path.join(folder, "root")], check=True)
    return path


def digests(objects):
    return {key: hashlib.sha256(code).digest() for key, code in
            objects.items()}


def emulator(args, **more):
    return dict(os.environ, LD_LIBRARY_PATH=os.path.join(
        os.path.abspath(args.build), "lib/cerberus/emulator"), **more)


def loaded(args, split, targets, work):
    """What a process that loads the library is given."""
    loader, folder = os.path.join(work, "loader"), os.path.join(work, "given")
    kpack = os.path.join(args.build, "lib", "librocm_kpack.so.1")
    subprocess.run(["cc", "-O1", "-rdynamic", "-I",
                    os.path.join(ROOT, "kpack", "include"),
                    os.path.join(ELF, "hip_loader.c"), kpack,
                    "-Wl,-rpath," + os.path.dirname(kpack), "-o", loader],
                   check=True)
    os.mkdir(folder)
    subprocess.run([loader, split, folder] + targets, check=True,
                   env=emulator(args))
    found = {}
    for name in os.listdir(folder):
        number, target = name.split(".", 1)
        with open(os.path.join(folder, name), "rb") as file:
            found[int(number), target] = hashlib.sha256(file.read()).digest()
    return found


def use(split):
    """y[i] += a x, and a sparse matrix times a vector."""
    hip = ctypes.CDLL("libamdhip64.so.5")
    sparse = ctypes.CDLL(split)

    def call(function, *arguments):
        error = function(*arguments)
        assert error == 0, (function.__name__, error)

    def put(values):
        address = ctypes.c_void_p()
        call(hip.hipMalloc, ctypes.byref(address),
             ctypes.c_size_t(values.nbytes))
        call(hip.hipMemcpy, address, values.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_size_t(values.nbytes), 1)
        return address

    def get(address, like):
        values = np.empty_like(like)
        call(hip.hipDeviceSynchronize)
        call(hip.hipMemcpy, values.ctypes.data_as(ctypes.c_void_p), address,
             ctypes.c_size_t(values.nbytes), 2)
        return values

    random = np.random.default_rng(3)
    handle = ctypes.c_void_p()
    call(sparse.rocsparse_create_handle, ctypes.byref(handle))
    x, y = (random.random(n).astype(np.float32) for n in (40, 100))
    where = random.permutation(100)[:40].astype(np.int32)
    alpha, beta = ctypes.c_float(1.5), ctypes.c_float(0)
    there = put(y)
    call(sparse.rocsparse_saxpyi, handle, 40, ctypes.byref(alpha), put(x),
         put(where), there, 0)
    expected = y.copy()
    expected[where] += np.float32(1.5) * x
    np.testing.assert_allclose(get(there, y), expected, rtol=1e-6)

    dense = random.random((60, 100)).astype(np.float32)
    dense[random.random((60, 100)) < 0.9] = 0
    rows, columns = np.nonzero(dense)
    begins = np.searchsorted(rows, np.arange(61)).astype(np.int32)
    descriptor = ctypes.c_void_p()
    call(sparse.rocsparse_create_mat_descr, ctypes.byref(descriptor))
    out = put(np.zeros(60, np.float32))
    call(sparse.rocsparse_scsrmv, handle, 111, 60, 100, len(rows),
         ctypes.byref(alpha), descriptor, put(dense[rows, columns]),
         put(begins), put(columns.astype(np.int32)), None, put(y),
         ctypes.byref(beta), out)
    np.testing.assert_allclose(get(out, np.zeros(60, np.float32)),
                               1.5 * (dense @ y), rtol=1e-5)
    print("used")


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    build = os.path.join(ROOT, "build")
    parser.add_argument("--build", default=os.path.join(build, "release"))
    parser.add_argument("--folder", default=os.path.join(build, "rocsparse"))
    parser.add_argument("--use", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.use:
        use(args.use)
        return 0
    path = download(os.path.abspath(args.folder))
    cerberus = os.path.join(args.build, "bin", "cerberus")
    with tempfile.TemporaryDirectory(dir=args.folder) as work:
        split = os.path.join(work, os.path.basename(path))
        print(subprocess.run([cerberus, "split", path, "-o", split],
                             stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout, end="")
        expected = digests(hip_bundles.bundled(cerberus, path, work))
        found = loaded(args, split, sorted({t for _, t in expected}), work)
        same = found == expected
        print("%d of %d code objects are the original's" % (
            sum(found.get(key) == code for key, code in expected.items()),
            len(expected)), flush=True)
        for target in ("gfx1030", "gfx90a:xnack-"):
            done = subprocess.run(
                [sys.executable, __file__, "--build", args.build, "--use",
                 split], check=False,
                env=emulator(args, CERBERUS_EMU_TARGETS=target))
            print("%s: %s" % (target, "FAIL" if done.returncode else "right"))
            same = same and done.returncode == 0
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
