"""A package whose kernels are files beside it; sys.prefix/share has another."""
import ctypes
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = {"add": "kernels/add.ptx", "twice": "kernels/twice.fatbin",
         "negate": "kernels/negate.cubin"}


def apply(path, name, value):
    """The kernel's result, the same for the file and for its bytes."""
    library = ctypes.CDLL(os.path.join(HERE, "libapply.so"))
    with open(path, "rb") as file:
        data = file.read() + b"\0"
    results = {library.apply(path.encode(), given, name.encode(), value)
               for given in (None, data)}
    (result,) = results
    return result


def main():
    value = 20
    for name, path in FILES.items():
        value = apply(os.path.join(HERE, path), name, value)
    print(value, apply(os.path.join(sys.prefix, "share", "kernel"), "add", 1))
