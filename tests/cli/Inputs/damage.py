"""Overwrites one field of the first PTX entry of a program, or of its fatbin.

usage: damage.py IN OUT FIELD VALUE

The layout is docs/fatbin-format.md's; the program is searched for it, byte by
byte, so that no code of Cerberus is needed.
"""
import struct
import sys

FATBIN = bytes.fromhex("50ed55ba")


def find_ptx(data):
    """Offsets of a fatbin and of the first PTX entry in it."""
    at = data.find(FATBIN)
    while at >= 0:
        _, header_size, size = struct.unpack_from("<HHQ", data, at + 4)
        entry = at + header_size
        while entry < at + header_size + size:
            kind, _, entry_header, payload = struct.unpack_from(
                "<HHIQ", data, entry)
            if kind == 1:
                return at, entry, entry_header
            entry += entry_header + payload
        at = data.find(FATBIN, at + 1)
    sys.exit("no PTX entry found")


def main():
    source, target, field, value = sys.argv[1:]
    with open(source, "rb") as file:
        data = bytearray(file.read())
    fatbin, entry, entry_header = find_ptx(data)
    offset, form = {
        "fatbin-size": (fatbin + 8, "<Q"),
        "entry-header": (entry + 4, "<I"),
        "entry-size": (entry + 8, "<Q"),
        "unpacked-size": (entry + 56, "<Q"),
        "payload": (entry + entry_header + 16, "<Q"),
    }[field]
    struct.pack_into(form, data, offset, int(value, 0))
    with open(target, "wb") as file:
        file.write(data)


main()
