"""Kills conversions at random moments and looks at what they leave.

usage: killed.py PROGRAM|WHEEL FOLDER TIMES

A file that has its final name must be complete; a program that is there must
have its archives, a host wheel its device wheels.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time


def contents(folder):
    """Path below folder -> bytes, of all files."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def main():
    program, work, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    out = os.path.join(work, "out")

    def start():
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        if program.endswith(".whl"):
            command = ["cerberus", "convert-wheel", program, "-d", out]
        else:
            command = ["cerberus-convert", program, "-o",
                       os.path.join(out, "app.amd")]
        return subprocess.Popen(
            command + ["--arch", "gfx1100"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

    begin = time.monotonic()
    if start().wait() != 0:
        sys.exit("the conversion fails even when it is left alone")
    length = time.monotonic() - begin
    complete = contents(out)
    last = [path for path in complete
            if path == "app.amd" or "+cerberus" in path and
            "_device_" not in path]
    assert len(last) == 1, complete.keys()

    moments = random.Random(1)
    for number in range(times):
        # SIGKILL leaves the process no chance; after the others nothing
        # temporary may be left either.
        how = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM][number % 3]
        process = start()
        time.sleep(moments.uniform(0, 1.1 * length))
        os.killpg(process.pid, how)
        process.wait()
        left = contents(out)
        for path, data in left.items():
            if path not in complete:
                if how == signal.SIGKILL and os.path.basename(
                        path).startswith("."):
                    continue  # a temporary file
                sys.exit("%s: left behind: %s" % (how.name, path))
            if data != complete[path]:
                sys.exit("%s: half written: %s" % (how.name, path))
        if last[0] in left and set(complete) - set(left):
            sys.exit("%s: %s without the rest" % (how.name, last[0]))
    print("%d conversions killed" % times)


if __name__ == "__main__":
    main()
