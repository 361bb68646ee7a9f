"""Cerberus: converts CUDA programs, ahead of time, to run on AMD GPUs.

The programs are in a folder of their own beside this package, as they are in
an installation: bin/, lib/cerberus/.
"""
import os
import sys


def prefix():
    """The folder that holds bin/cerberus."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)),
                        "cerberus_runtime")


def _start(name):
    program = os.path.join(prefix(), "bin", "cerberus")
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        raise SystemExit(f"{name}: error: {program}: {error.strerror}")


def main():
    _start("cerberus")


def convert():
    _start("cerberus-convert")
