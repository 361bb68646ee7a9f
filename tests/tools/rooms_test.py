#!/usr/bin/env python3
"""The table of rooms in docs/how-it-works.md, compared with what the build
lets each room include and with what each includes.

    rooms_test.py --build build/release

A room may include another if its row says so, and only then: an include of a
room that is not there must fail to compile, which is tried for every pair.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (".cc", ".h", ".c", ".def")


def table():
    """room -> rooms in the third column of its row."""
    rows = {}
    for line in (ROOT / "docs/how-it-works.md").read_text().splitlines():
        row = re.match(r"\| `([a-z-]+)/` \| .* \| ([^|]*) \|$", line)
        if row:
            rows[row[1]] = row[2]
    if len(rows) < 10:
        sys.exit(f"docs/how-it-works.md: {len(rows)} rooms found, expected 10 "
                 "or more")
    word = {room: re.compile(rf"(?<![\w-]){room}(?![\w-])") for room in rows}
    return {room: {other for other in rows
                   if other != room and word[other].search(may)}
            for room, may in rows.items()}


def inner_walls():
    """folder -> headers of the rest of its room that it includes, for the rows
    of folders in rooms whose third column says something."""
    rows = {}
    for line in (ROOT / "docs/how-it-works.md").read_text().splitlines():
        row = re.match(r"\| `([a-z-]+/[a-z/]+)/` \| .* \| ([^|]+) \|$", line)
        if row:
            rows[row[1]] = set(re.findall(r"`([^`]+)`", row[2]))
    if len(rows) < 3:
        sys.exit(f"docs/how-it-works.md: {len(rows)} walls inside rooms found, "
                 "expected 3 or more")
    return rows


def includes(folder):
    """What sources below a folder include with quotes, as written."""
    return {name for path in (ROOT / folder).rglob("*")
            if path.suffix in SOURCES
            for name in re.findall(r'^\s*#\s*include "([a-z_-]+/[^"]+)"',
                                   path.read_text(), re.M)}


def built_for(entry):
    """The room whose CMake file has this compilation; tests compile sources of
    rooms, too."""
    return re.search(r" -o (\S+?)/", entry["command"])[1]


def without_output(command):
    arguments = shlex.split(command)
    if pathlib.Path(arguments[0]).name == "ccache":
        arguments = arguments[1:]
    out = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-o", "-MF", "-MT", "-c"):
            skip = True
        elif argument != "-MD":
            out.append(argument)
    return out


def a_header(room):
    paths = sorted(path.relative_to(ROOT) for path in (ROOT / room).rglob("*.h")
                   if "include" not in path.parts)
    return str(paths[0]) if paths else None


def try_include(entry, header):
    """"", or why it fails."""
    run = subprocess.run(
        [*without_output(entry["command"]), "-E", "-x", "c++", "-o",
         "/dev/null", "-"], cwd=entry["directory"], text=True,
        input=f'#include "{header}"\n', stderr=subprocess.PIPE)
    return run.stderr if run.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    may = table()
    wrong = []

    folders = {path.parent.name for path in ROOT.glob("*/CMakeLists.txt")}
    for room in sorted((folders - {"tests"}) ^ may.keys()):
        wrong.append(f"{room}: has a CMakeLists.txt or a row in "
                     "docs/how-it-works.md, expected both")

    # What the compiler sees, over all that a room compiles.
    sees = {room: set() for room in may}
    entries = {room: {} for room in may}
    rooms = re.compile(r"-I\S*/rooms/([a-z-]+)(?=\s)")
    for entry in json.loads(
            (options.build / "compile_commands.json").read_text()):
        room = built_for(entry)
        if room in may:
            found = frozenset(rooms.findall(entry["command"]))
            sees[room] |= found - {room}
            entries[room].setdefault(found, entry)
    for room in sorted(may):
        if entries[room] and sees[room] != may[room]:
            wrong.append(f"{room}: its CMakeLists.txt lets it include "
                         f"{sorted(sees[room])}, the table "
                         f"{sorted(may[room])}")

    # What is included: no less, or the arrow is not needed. What a room
    # offers to others' programs lies in <room>/include/<name>.
    room_of = {room: room for room in may} | {
        path.name: path.parents[1].name for path in ROOT.glob("*/include/*")}
    for room in sorted(may):
        used = {room_of[name.split("/")[0]] for name in includes(room)
                if name.split("/")[0] in room_of} - {room}
        if used != may[room]:
            wrong.append(f"{room}: includes {sorted(used)}, the table says "
                         f"{sorted(may[room])}")

    for folder, headers in sorted(inner_walls().items()):
        room = folder.split("/")[0]
        used = {name for name in includes(folder)
                if name.startswith(room + "/")
                and not name.startswith(folder + "/")}
        if used != headers:
            wrong.append(f"{folder}: includes {sorted(used)} of {room}, the "
                         f"table says {sorted(headers)}")

    # Tried.
    tried = 0
    for room, kinds in entries.items():
        for seen, entry in kinds.items():
            for other in sorted(may):
                header = a_header(other)
                if header is None:
                    continue
                tried += 1
                error = try_include(entry, header)
                if other in seen and error:
                    wrong.append(f"{entry['file']}: cannot include {header}: "
                                 + error)
                elif (other not in seen and
                      f"'{header}' file not found" not in error):
                    wrong.append(f"{entry['file']}: including {header}: "
                                 f"{error or 'works'}, expected not to find "
                                 "it")

    for line in wrong:
        print(line)
    print(f"{len(may)} rooms, {sum(map(len, may.values()))} arrows, {tried} "
          f"includes tried: {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
