"""Spoils the files of a cache: spoil.py flip|swap|cut|empty FILE...

flip changes a byte near the end, swap gives each file the bytes of the next one,
cut takes the second half away, empty all.
"""
import sys

how, names = sys.argv[1], sys.argv[2:]
contents = [open(name, "rb").read() for name in names]
for i, name in enumerate(names):
    data = contents[i]
    if how == "flip":
        data = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
    elif how == "swap":
        data = contents[(i + 1) % len(names)]
    elif how == "cut":
        data = data[:len(data) // 2]
    else:
        data = b""
    with open(name, "wb") as file:
        file.write(data)
