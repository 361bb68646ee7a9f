"""with_slots.py N COMMAND...: runs it with the option --slots-fd, on N slots.

Prints how many there are when it has ended.
"""
import ctypes
import os
import subprocess
import sys

EFD_SEMAPHORE, EFD_NONBLOCK = 1, os.O_NONBLOCK
fd = ctypes.CDLL(None).eventfd(int(sys.argv[1]), EFD_SEMAPHORE | EFD_NONBLOCK)
os.set_inheritable(fd, True)
subprocess.run(sys.argv[2:] + ["--slots-fd", str(fd)], pass_fds=(fd,),
               check=True)
left = 0
try:
    while os.read(fd, 8):
        left += 1
except BlockingIOError:
    print(left, "slots")
