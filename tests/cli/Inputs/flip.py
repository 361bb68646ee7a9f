"""flip.py IN OUT OFFSET: a copy with one bit of one byte changed; an OFFSET
below zero counts from the end."""
import pathlib
import sys

data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
data[int(sys.argv[3], 0)] ^= 1
pathlib.Path(sys.argv[2]).write_bytes(data)
