"""Opens the libraries named and prints which cuDNN each one is, or calls."""
import ctypes
import os
import sys

for path in sys.argv[1:]:
    library = ctypes.CDLL(path)
    calls = "_calls" in path
    function = library.called_version if calls else library.cudnnGetVersion
    function.restype = ctypes.c_ulong
    print("%s: %d" % (os.path.basename(path), function()))
