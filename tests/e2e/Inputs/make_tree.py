"""Makes an install tree: programs, libraries, links of all kinds, files with
holes, attributes and old times.

usage: make_tree.py FOLDER FILE=SOURCE...
"""
import os
import shutil
import sys

root = sys.argv[1]
for pair in sys.argv[2:]:
    path, source = pair.split("=", 1)
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(source, path)
os.makedirs(root + "/share/empty")
with open(root + "/share/read me.txt", "w") as out:
    out.write("text\n")
with open(root + "/share/b\xe4d\n name#", "w", errors="surrogateescape") as out:
    out.write("odd\n")
with open(root + "/share/sparse", "wb") as out:
    out.truncate(8 << 20)
    out.seek(4 << 20)
    out.write(b"x")
os.link(root + "/share/read me.txt", root + "/share/again.txt")
os.symlink("../share/read me.txt", root + "/share/link")
os.symlink("nowhere", root + "/share/dangling")
os.symlink("/etc/hostname", root + "/share/absolute")
os.symlink("../../outside", root + "/share/up")
os.chmod(root + "/share/read me.txt", 0o640)
try:
    os.setxattr(root + "/share/sparse", "user.note", b"kept")
except OSError as error:
    print("no extended attributes here:", error)
os.mkdir(root + "/closed")
with open(root + "/closed/file", "w") as out:
    out.write("in a folder that nobody may write to\n")
os.chmod(root + "/closed", 0o555)
for folder, folders, files in os.walk(root, topdown=False):
    for name in files + folders:
        os.utime(os.path.join(folder, name), (1e9, 1e9 + 0.5),
                 follow_symlinks=False)
os.utime(root, (1e9, 1e9))
