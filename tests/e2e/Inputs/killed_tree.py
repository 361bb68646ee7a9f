"""Kills `cerberus pack-tree` again and again, a little later each time.

usage: killed_tree.py IN OUT N

After each kill OUT is not there, or whole, and IN is as it was; in the end one
run goes on where the others were, and finishes.
"""
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

tree, out, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
COMMAND = ["cerberus", "pack-tree", tree, out, "--arch", "gfx1100,gfx942"]


def state(root):
    found = {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            data = b""
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    data = hashlib.sha256(file.read()).digest()
            found[path] = (st.st_mode, st.st_mtime_ns, st.st_size, data)
    return found


def verify():
    subprocess.run(["cerberus", "verify", tree, out], check=True,
                   stdout=subprocess.DEVNULL)


before = state(tree)
begin = time.monotonic()
subprocess.run(COMMAND, check=True, stdout=subprocess.DEVNULL)
whole = time.monotonic() - begin
verify()
shutil.rmtree(out)
killed = 0
for i in range(count):
    process = subprocess.Popen(COMMAND, start_new_session=True,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.wait(whole * 1.1 * (i + 1) / count)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed += 1
    assert state(tree) == before, "the input has changed"
    if os.path.exists(out):
        verify()
        shutil.rmtree(out)
assert killed > 0
last = subprocess.run(COMMAND, check=True, capture_output=True, text=True)
verify()
left = os.path.join(os.path.dirname(out), f".{os.path.basename(out)}.cerberus")
assert not os.path.exists(left), left
print("killed and finished")
