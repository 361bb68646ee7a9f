"""What the programs of this folder share: memory of the device over libcuda or
HIP, half types in numpy, and comparisons that are counted."""
import ctypes
import glob
import os
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np

TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": np.uint16}
# Half a unit in the last place of a value rounded to that type, relative.
ROUNDING = {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}


def to_type(values, kind):
    """float32 values as the bits of fp32, fp16 or bf16 (nearest, even)."""
    values = np.ascontiguousarray(values, np.float32)
    if kind != "bf16":
        return values.astype(TYPES[kind])
    bits = values.view(np.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_type(values, kind):
    if kind != "bf16":
        return values.astype(np.float32)
    return (values.astype(np.uint32) << 16).view(np.float32)


def needed(path):
    """The names of the libraries that a library needs."""
    return [line.split("[")[1].split("]")[0] for line in subprocess.run(
        ["readelf", "-d", path], stdout=subprocess.PIPE, check=True,
        universal_newlines=True).stdout.splitlines() if "(NEEDED)" in line]


def load_without(path, *prefixes):
    """Loads a library; functions that begin with one of `prefixes` and that no
    library here defines are stood in for by ones that return an error.
    NVIDIA's libcublas has machine code only for products of matrices."""
    names = [(line.split()[-1].split("@") + [""])[:2] for line in
             subprocess.run(
                 ["nm", "-D", "-u", path], stdout=subprocess.PIPE, check=True,
                 universal_newlines=True).stdout.splitlines()
             if line.split()[-1].startswith(prefixes)]
    folder = tempfile.mkdtemp()
    # CUDA's functions have their library's name as version, ROCm's have none.
    for soname in sorted({version for _, version in names if version} |
                         {name for name in needed(path) if not all(
                             version for _, version in names) and
                          name.startswith(tuple("lib" + p for p in prefixes))}):
        mine = sorted(name for name, version in names
                      if version in ("", soname))
        with open(folder + "/stand_in.c", "w") as file:
            file.writelines("int %s(void) { return 15; }\n" % name
                            for name in mine)
        with open(folder + "/versions", "w") as file:
            file.write("%s { global: *; };\n" % soname)
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname," + soname,
                        "-Wl,--version-script=" + folder + "/versions",
                        "-o", folder + "/" + soname,
                        folder + "/stand_in.c"], check=True)
        ctypes.CDLL(folder + "/" + soname, ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(path)


def open_installed(pattern):
    """A library in the folder of packages, for all that is loaded later, as a
    package that is imported before does it."""
    packages = sysconfig.get_path("platlib")
    return ctypes.CDLL(glob.glob(os.path.join(packages, pattern))[0],
                       mode=ctypes.RTLD_GLOBAL)


def driver_of(path):
    """The libcuda.so.1 that a converted library finds: its folder is the
    first of the run path."""
    for line in subprocess.run(["readelf", "-d", path],
                               stdout=subprocess.PIPE, check=True,
                               universal_newlines=True).stdout.splitlines():
        if "(RPATH)" in line or "(RUNPATH)" in line:
            folder = line.split("[")[1].split("]")[0].split(":")[0]
            folder = folder.replace("$ORIGIN", os.path.dirname(
                os.path.abspath(path)))
            return ctypes.CDLL(folder + "/libcuda.so.1")
    raise RuntimeError("%s has no run path, was it converted?" % path)


class Device:
    """Memory of the device, in the context that libcudart uses too: by the
    driver of the converted library, or the one under `cerberus run`."""

    def __init__(self, path=None):
        self.driver = driver_of(path) if path else ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        error = getattr(self.driver, name)(*args)
        if error != 0:
            raise RuntimeError("%s: CUDA error %d" % (name, error))

    def empty(self, count, dtype):
        address = ctypes.c_void_p()
        size = int(count) * np.dtype(dtype).itemsize
        self.call("cuMemAlloc_v2", ctypes.byref(address),
                  ctypes.c_size_t(size))
        return Array(self, address, int(count), np.dtype(dtype))

    def array(self, values):
        values = np.ascontiguousarray(values)
        made = self.empty(values.size, values.dtype)
        self.call("cuMemcpyHtoD_v2", made.address, values.ctypes.data_as(
            ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        return made


class HipDevice(Device):
    """The same over HIP, of the library at `path`."""

    CALLS = {"cuMemAlloc_v2": "hipMalloc", "cuCtxSynchronize":
             "hipDeviceSynchronize"}

    def __init__(self, path):
        # Here before the library under test is: it need not say so itself.
        self.driver = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)

    def call(self, name, *args):
        if name.startswith("cuMemcpy"):
            to, source, size = args
            # hipMemcpyHostToDevice, hipMemcpyDeviceToHost
            name, args = "hipMemcpy", (to, source, size,
                                       1 if "HtoD" in name else 2)
        super().call(self.CALLS.get(name, name), *args)


class Array:
    def __init__(self, device, address, count, dtype):
        self.device, self.address = device, address
        self.count, self.dtype = count, dtype

    def host(self):
        """Its values, after all work that was queued before."""
        values = np.empty(self.count, self.dtype)
        self.device.call("cuCtxSynchronize")
        self.device.call("cuMemcpyDtoH_v2", values.ctypes.data_as(
            ctypes.c_void_p), self.address, ctypes.c_size_t(values.nbytes))
        return values


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def _note(self, name, good, what):
        self.passed += good
        self.failed += not good
        if not good:
            print("FAILED %s: %s" % (name, what))

    def equal(self, name, got, want):
        got, want = np.asarray(got), np.asarray(want)
        bad = np.flatnonzero(~((got == want) | ((got != got) &
                                               (want != want))).ravel())
        what = "" if not bad.size else "%d of %d differ, first [%d] %r != %r" % (
            bad.size, got.size, bad[0], got.ravel()[bad[0]],
            want.ravel()[bad[0]])
        self._note(name, not bad.size, what)

    def close(self, name, got, want, relative, absolute=0.0):
        got = np.asarray(got, np.float64).ravel()
        want = np.asarray(want, np.float64).ravel()
        error = np.abs(got - want) - (absolute + relative * np.abs(want))
        error[~np.isfinite(got)] = np.inf
        worst = int(np.argmax(error))
        self._note(name, error[worst] <= 0, "[%d] %r, expected %r; %d of %d "
                   "beyond the tolerance" % (worst, got[worst], want[worst],
                                             np.sum(error > 0), got.size))

    def done(self):
        print("%d passed, %d failed" % (self.passed, self.failed))
        sys.exit(0 if self.passed and not self.failed else 1)
