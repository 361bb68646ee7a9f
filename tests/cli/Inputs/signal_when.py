"""signal_when.py DONE:SIGNAL:WHOM... -- COMMAND...: runs a compiler, and sends
it signals: when DONE kernels are done, to the `program`, as Ctrl-C does with
all that it started, or to its `child`, the process that compiles. Ends with how
the program ended."""
import os
import signal
import subprocess
import sys
import tempfile
import time

# A shell ignores it for what it starts in the background.
signal.signal(signal.SIGINT, signal.SIG_DFL)
at = sys.argv.index("--")
steps = [step.split(":") for step in sys.argv[1:at]]
with tempfile.TemporaryFile() as progress:
    program = subprocess.Popen(
        sys.argv[at + 1:] + ["--progress-fd", str(progress.fileno())],
        pass_fds=[progress.fileno()], start_new_session=True)

    def kernels_done():
        text = os.pread(progress.fileno(), 100, 0).split()
        return int(text[0]) if text else -1

    def children():
        path = f"/proc/{program.pid}/task/{program.pid}/children"
        with open(path) as file:
            return {int(child) for child in file.read().split()}

    hit = set()
    while steps and program.poll() is None:
        done, name, whom = steps[0]
        number = signal.Signals["SIG" + name]
        left = children() - hit
        if kernels_done() < int(done) or not left:
            time.sleep(0.01)
            continue
        if whom == "program":
            os.killpg(program.pid, number)
        else:
            time.sleep(0.1)  # until it is at work
            for child in left:
                os.kill(child, number)
            hit |= left
        steps.pop(0)
    status = program.wait()
print("ended by a signal" if status < 0 else f"exit {status}")
