"""break_bundle.py IN OUT: the second entry of the first bundle claims 1 GiB."""
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"__CLANG_OFFLOAD_BUNDLE__") + 24
_, _, _, length = struct.unpack_from("<4Q", data, at)
size = at + 8 + 24 + length + 8
struct.pack_into("<Q", data, size, 1 << 30)
open(sys.argv[2], "wb").write(data)
