#!/usr/bin/env python3
"""Stands in for cerberus-jit under wheels.py: runs the real one and records
the PTX, the time, the peak memory and the diagnostics of each module. What was
compiled before with the same compiler is not compiled again.

Called as the converter calls cerberus-jit: --arch TARGET ... -o - -, PTX on
stdin, the code object on stdout. CERBERUS_WHEELS_JIT is the real compiler,
CERBERUS_WHEELS_RECORDS the folder of the records.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time


def file_key(path):
    """Changes with every build: the compiler's name, size and time."""
    found = os.stat(path)
    return "%s %d %d" % (path, found.st_size, found.st_mtime_ns)


def compiler_key(jit):
    library = os.path.join(os.path.dirname(os.path.dirname(jit)),
                           "lib/cerberus/libcerberus-ptxc.so")
    return " ".join(file_key(path) for path in (jit, library)
                    if os.path.exists(path))


def write(path, data):
    """By rename: another process may look for the same record."""
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path),
                                     delete=False) as file:
        file.write(data)
    os.rename(file.name, path)


def compile_once(jit, options, ptx, stem):
    begin = time.perf_counter()
    process = subprocess.Popen([jit] + options, stdin=subprocess.PIPE,
                               stdout=open(stem + ".hsaco.tmp", "wb"),
                               stderr=open(stem + ".err", "wb"))
    try:
        process.stdin.write(ptx)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early; its exit status says more
    _, status, usage = os.wait4(process.pid, 0)
    os.rename(stem + ".hsaco.tmp", stem + ".hsaco")
    with open(stem + ".err", encoding="utf-8", errors="replace") as file:
        diagnostics = file.read()
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss << 10,
        "code_bytes": os.path.getsize(stem + ".hsaco"),
        "diagnostics": diagnostics,
    }


def main():
    jit = os.environ["CERBERUS_WHEELS_JIT"]
    records = os.environ["CERBERUS_WHEELS_RECORDS"]
    options = sys.argv[1:]
    arch = options[options.index("--arch") + 1]
    ptx = sys.stdin.buffer.read()
    ptx_hash = hashlib.sha256(ptx).hexdigest()[:24]
    key = hashlib.sha256((compiler_key(jit) + "\n" + "\n".join(
        options)).encode()).hexdigest()[:12]
    write(os.path.join(records, ptx_hash + ".ptx"), ptx)
    stem = os.path.join(records, "%s-%s-%s" % (ptx_hash, arch, key))
    if not os.path.exists(stem + ".json"):
        record = compile_once(jit, options, ptx, stem)
        record.update(ptx=ptx_hash, arch=arch, ptx_bytes=len(ptx))
        write(stem + ".json", json.dumps(record, indent=1).encode())
    with open(stem + ".json", encoding="utf-8") as file:
        record = json.load(file)
    # Which modules belong to the library that is being converted.
    with open(os.environ["CERBERUS_WHEELS_USED"], "a") as file:
        file.write(stem + ".json\n")
    sys.stderr.write(record["diagnostics"])
    with open(stem + ".hsaco", "rb") as file:
        sys.stdout.buffer.write(file.read())
    # A signal is reported as shells do.
    code = record["exit_code"]
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
