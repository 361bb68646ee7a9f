"""Makes a wheel with two CUDA libraries of one file name, a copy of one of
them, a program among the scripts, an entry point, a symbolic link and a licence.

usage: make_wheel.py WHEEL LIBRARY DEEP-LIBRARY

It is written as to a pipe: sizes and sums stand behind the files.
"""
import base64
import hashlib
import os
import sys
import zipfile

wheel, library, deep = sys.argv[1:]
NAME, VERSION = "cudapkg", "1.2"
TAG = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64"

INIT = '''
import ctypes
import os

HERE = os.path.dirname(__file__)


def scale(values):
    """Doubles on the GPU, in one library, and adds one in the other."""
    array = (ctypes.c_float * len(values))(*values)
    for path in ("libscale.so", "deep/er/libscale.so"):
        library = ctypes.CDLL(os.path.join(HERE, path))
        error = library.scale(array, len(values))
        if error:
            raise RuntimeError("%s: CUDA error %d" % (path, error))
    return list(array)


def main():
    print("cudapkg:", *scale([1, 2, 3]))
'''
METADATA = f'''Metadata-Version: 2.1
Name: CudaPkg
Version: {VERSION}
Summary: a test
Description-Content-Type: text/plain
License: BSD
Requires-Dist: cudapkg[extra] ; extra == 'all'
Provides-Extra: extra
Provides-Extra: all

Text: of the description
'''
INFO = f"{NAME}-{VERSION}.dist-info"
FILES = [
    (f"{NAME}/__init__.py", INIT.encode(), 0o100644),
    (f"{NAME}/libscale.so", open(library, "rb").read(), 0o100755),
    (f"{NAME}/libcopy.so", open(library, "rb").read(), 0o100755),
    (f"{NAME}/deep/er/libscale.so", open(deep, "rb").read(), 0o100644),
    (f"{NAME}/link.so", b"deep/er/libscale.so", 0o120777),
    (f"{NAME}-{VERSION}.data/scripts/hello.py", b"#!python\nprint('hello')\n",
     0o100755),
    (f"{INFO}/LICENSE", b"do what you like\n", 0o100644),
    (f"{INFO}/entry_points.txt",
     b"[console_scripts]\ncudapkg-main = cudapkg:main\n", 0o100644),
    (f"{INFO}/METADATA", METADATA.encode(), 0o100644),
    (f"{INFO}/WHEEL",
     ("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n" +
      "".join(f"Tag: py3-none-{tag}\n" for tag in
              TAG.split("-")[2].split("."))).encode(), 0o100644),
]
record = ""
for name, data, mode in FILES:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    record += f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}\n"
record += f"{INFO}/RECORD,,\n"
FILES.append((f"{INFO}/RECORD", record.encode(), 0o100644))


class Pipe:
    def __init__(self, file):
        self.write = file.write
        self.flush = file.flush


with open(wheel, "wb") as file, zipfile.ZipFile(
        Pipe(file), "w", zipfile.ZIP_DEFLATED) as archive:
    for name, data, mode in FILES:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
