"""Starts Cerberus' programs, which are in a folder of their own among the
packages, laid out as an installation. `cerberus` is a namespace of several
wheels: none has an __init__.py there.
"""
import os
import sys

PREFIX = os.path.join(os.path.dirname(os.path.dirname(__file__)),
                      "cerberus_runtime")


def start(name):
    program = os.path.join(PREFIX, "bin", "cerberus")
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        raise SystemExit(f"{name}: error: {program}: {error.strerror}")


def main():
    start("cerberus")


def convert():
    start("cerberus-convert")


if __name__ == "__main__":
    main()
