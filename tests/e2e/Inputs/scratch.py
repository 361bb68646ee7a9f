"""scratch.py FILE-THREADS.json...: of each run, which form of the kernel was
launched, how often a wave accessed scratch, and its occupancy."""
import json
import os
import sys

for path in sorted(sys.argv[1:], key=os.path.basename):
    with open(path, encoding="utf-8") as file:
        kernel, = json.load(file)["kernels"]
    print("%s %s %d a wave, %d waves" % (
        os.path.splitext(path)[0].rsplit("-", 1)[1], kernel["name"],
        kernel["instructions"]["scratch"] / kernel["waves"],
        kernel["occupancy"]))
