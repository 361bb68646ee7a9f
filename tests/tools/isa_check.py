"""Objects compiled for one ISA of the host have no functions of their own that
the linker could choose for others.

usage: isa_check.py OBJECT...

An inline function that is not inlined is in every object that calls it, and
the linker keeps one. Kept from an object for AVX-512, it would stop programs
on processors without.
"""
import subprocess
import sys


def weak_functions(path):
    listing = subprocess.run(["nm", "-C", path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return [line.split(None, 2)[2] for line in listing.splitlines()
            if " W " in line]


def main():
    objects = sys.argv[1:]
    assert objects, "no objects named"
    found = ["%s: %s" % (path, name)
             for path in objects for name in weak_functions(path)]
    print("\n".join(found) or "%d objects, none" % len(objects))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
