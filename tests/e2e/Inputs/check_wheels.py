"""Checks wheels by the words of the format, with Python's own modules.

usage: check_wheels.py FOLDER

Prints each wheel, its files but those of the stub, and its METADATA.
"""
import base64
import csv
import email.parser
import hashlib
import io
import os
import re
import stat
import sys
import zipfile

folder = sys.argv[1]
for file in sorted(os.listdir(folder)):
    print("WHEEL", file)
    stem, tags = file[:-len(".whl")].split("-", 2)[:2], file[:-4].split("-", 2)[2]
    info = "-".join(stem) + ".dist-info/"
    with zipfile.ZipFile(os.path.join(folder, file)) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        assert len(names) == len(set(names))
        assert names[-1] == info + "RECORD"
        rows = list(csv.reader(io.StringIO(wheel.read(names[-1]).decode())))
        assert [row[0] for row in rows] == names, "RECORD lists other files"
        for path, digest, size in rows[:-1]:
            data = wheel.read(path)
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            assert digest == "sha256=" + expected.rstrip(b"=").decode(), path
            assert int(size) == len(data), path
        assert rows[-1][1:] == ["", ""]
        for member in wheel.infolist():
            assert member.date_time == (1980, 1, 1, 0, 0, 0), member
            mode = member.external_attr >> 16
            assert stat.S_ISREG(mode) or stat.S_ISLNK(mode), member
            if not re.search("cerberus(_runtime)?/(lib|bin)/", member.filename):
                print(oct(mode)[2:], member.filename)
        fields = email.parser.Parser().parsestr(
            wheel.read(info + "WHEEL").decode())
        listed = fields.get_all("Tag")
        python, abi, platforms = tags.split("-")
        assert listed == [f"{python}-{abi}-{p}" for p in platforms.split(".")]
        print(wheel.read(info + "METADATA").decode())
