"""Compares a packed tree with what it was made of, by Python's own means.

usage: check_tree.py IN OUT [--linked]

Prints what is in OUT and not in IN, then what differs, by path.
"""
import hashlib
import os
import re
import stat
import sys

source, made = sys.argv[1:3]
linked = "--linked" in sys.argv


def walk(root):
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = os.lstat(path)
    found["."] = os.lstat(root)
    return found


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as file:
            return file.read()
    return None


before, after = walk(source), walk(made)
assert not set(before) - set(after), set(before) - set(after)
for path in sorted(set(after) - set(before)):
    print("new", path)
for path, st in sorted(before.items()):
    a, b = os.path.join(source, path), os.path.join(made, path)
    other = after[path]
    assert stat.S_IFMT(st.st_mode) == stat.S_IFMT(other.st_mode), path
    if content(a, st) != content(b, other):
        print("changed", path)
    elif linked and stat.S_ISREG(st.st_mode):
        assert st.st_ino == other.st_ino, path
    for field in ("st_mode", "st_uid", "st_gid", "st_mtime_ns"):
        # Folders that archives went into are as old as before, too.
        assert getattr(st, field) == getattr(other, field), (path, field)
    assert os.listxattr(a, follow_symlinks=False) == os.listxattr(
        b, follow_symlinks=False), path
    if not linked and stat.S_ISREG(st.st_mode):
        assert st.st_ino != other.st_ino, path

# The manifests list all of it, each file once, with its hash.
listed = {}
for name in sorted(os.listdir(made + "/.kpack")):
    if not name.endswith(".mtree"):
        continue
    with open(f"{made}/.kpack/{name}", "rb") as file:
        text = file.read()
    assert text.startswith(b"#mtree\n# cerberus tree 1 group="), name
    body, last = text[:-1].rsplit(b"\n", 1)
    digest = hashlib.sha256(body + b"\n").hexdigest()
    assert last.decode().endswith("sha256=" + digest), last
    for line in body.decode().splitlines():
        if line.startswith("#"):
            continue
        words = line.split(" ")
        path = re.sub(rb"\\([0-7]{3})",
                      lambda m: bytes([int(m.group(1), 8)]),
                      words[0].encode())
        path = os.path.normpath(os.fsdecode(path))
        keys = dict(word.split("=", 1) for word in words[1:])
        st = after[path]
        if keys["type"] == "file":
            assert path not in listed, path
            listed[path] = name
            data = content(os.path.join(made, path), st)
            assert keys["sha256"] == hashlib.sha256(data).hexdigest(), path
            assert int(keys["size"]) == len(data), path
            assert int(keys["mode"], 8) == stat.S_IMODE(st.st_mode), path
            if keys["tags"] != "copied":
                print(keys["tags"], path)
files = {path for path, st in after.items() if stat.S_ISREG(st.st_mode) and
         not path.endswith(".mtree")}
assert files == set(listed), files ^ set(listed)
print("same otherwise")
