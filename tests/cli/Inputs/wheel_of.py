"""Makes the wheel x-1.0 of files, in this folder.

usage: wheel_of.py [--platform TAG] [--record TEXT] [--requires TEXT]
                   [--field TEXT] PATH=FILE ...

PATH is the name in the wheel, whatever it is; FILE's bytes are put there.
--record replaces what RECORD says of PATH's; --requires adds a requirement,
--field a line of METADATA.
"""
import base64
import hashlib
import sys
import zipfile

platform, record, files, requires = "linux_x86_64", None, [], ""
arguments = iter(sys.argv[1:])
for argument in arguments:
    if argument == "--platform":
        platform = next(arguments)
    elif argument == "--record":
        record = next(arguments)
    elif argument == "--requires":
        requires += "Requires-Dist: %s\n" % next(arguments)
    elif argument == "--field":
        requires += next(arguments) + "\n"
    else:
        path, file = argument.split("=", 1)
        files.append((path, open(file, "rb").read()))
INFO = "x-1.0.dist-info/"
with zipfile.ZipFile(f"x-1.0-py3-none-{platform}.whl", "w") as wheel:
    lines = ""
    for path, data in files:
        wheel.writestr(path, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        lines += "%s,sha256=%s,%d\n" % (
            path, digest.decode().rstrip("="), len(data))
    wheel.writestr(INFO + "METADATA",
                   "Metadata-Version: 1.2\nName: x\nVersion: 1.0\n" + requires)
    wheel.writestr(INFO + "WHEEL", "Wheel-Version: 1.0\n"
                   f"Root-Is-Purelib: false\nTag: py3-none-{platform}\n")
    wheel.writestr(INFO + "RECORD",
                   (lines if record is None else record + "\n") +
                   f"{INFO}METADATA,,\n{INFO}WHEEL,,\n{INFO}RECORD,,\n")
