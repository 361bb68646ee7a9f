"""Checks a converted ELF file against the one it was made from.

usage: check_elf.py INPUT OUTPUT

Written without looking at the rewriter: the limits are those of
docs/marker-format.md and of the project's promises.
"""
import subprocess
import sys

import lief

# Changed in place: headers and tables, and 24 bytes for each wrapper.
HEADER_BYTES = 4096
WRAPPER_BYTES = 24
# What leaves the file by whole pages.
DEVICE_CODE = {".nv_fatbin", "__nv_relfatbin"}


def fail(message):
    sys.exit("check_elf: error: %s: %s" % (sys.argv[2], message))


def loaded(binary):
    """Address and bytes of all that is loaded."""
    return [(s.virtual_address,
             bytes(s.content).ljust(s.virtual_size, b"\0"))
            for s in binary.segments if s.type == lief.ELF.Segment.TYPE.LOAD]


def memory(binary):
    """The same as one piece, from address 0 on."""
    parts = loaded(binary)
    image = bytearray(max(at + len(content) for at, content in parts))
    for at, content in parts:
        image[at:at + len(content)] = content
    return image


def check_bytes(old, new):
    """All that was loaded is loaded to the same addresses."""
    wrappers = old.get_section(".nvFatBinSegment").size // 24
    device_code = [s for s in old.sections if s.name in DEVICE_CODE]
    now = memory(new)
    changed = cut = 0
    for start, content in loaded(old):
        for at, byte in enumerate(content, start):
            is_now = now[at]
            if is_now == byte:
                continue
            if any(s.virtual_address <= at < s.virtual_address + s.size
                   for s in device_code):
                cut += 1
                if is_now != 0:
                    fail("device code at 0x%x is neither there nor gone" % at)
            else:
                changed += 1
    if changed == 0:
        fail("nothing was changed")
    if changed > HEADER_BYTES + WRAPPER_BYTES * wrappers:
        fail("%d bytes of the input were changed" % changed)
    if cut < 4096 // 2:
        fail("no device code has left the file")


def check_layout(old, new):
    """Every section has the address it had.

    Two kinds may stand in the new segment: tables that had to grow, and what
    gave its place at the start of the file to one more program header; code
    and data refer to none of those.
    """
    grown = {".dynamic", ".dynstr", ".shstrtab"}
    gave_place = {".interp", ".hash", ".gnu.hash", ".dynsym"}
    if len(new.sections) < len(old.sections):
        fail("a section is gone")
    # By number: linkers write several sections of one name.
    for section, other in zip(old.sections, new.sections):
        if section.name != other.name:
            fail("section %s is now %s" % (section.name, other.name))
        if not section.name or section.name in grown:
            continue
        if section.name in gave_place or section.name.startswith(".note"):
            if bytes(section.content) != bytes(other.content):
                fail("section %s has changed" % section.name)
        elif section.name in DEVICE_CODE:
            if not (section.virtual_address <= other.virtual_address <
                    section.virtual_address + section.size):
                fail("section %s moved" % section.name)
        elif ((section.virtual_address, section.size) !=
                (other.virtual_address, other.size)):
            fail("section %s moved" % section.name)
        elif (not section.virtual_address and
              bytes(section.content) != bytes(other.content)):
            fail("section %s has changed" % section.name)
    loads = [s for s in new.segments
             if s.type == lief.ELF.Segment.TYPE.LOAD]
    if [s.virtual_address for s in loads] != sorted(
            s.virtual_address for s in loads):
        fail("PT_LOADs are not sorted")
    for segment in loads:
        if (segment.virtual_address - segment.file_offset) % 4096:
            fail("a PT_LOAD's address and offset differ within a page")
        if segment.has(lief.ELF.Segment.FLAGS.W) and segment.has(
                lief.ELF.Segment.FLAGS.X):
            fail("a segment is writable and executable")


def check_tools(path, interpreter):
    done = subprocess.run(["readelf", "--wide", "--all", path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0 or done.stderr.strip():
        fail("readelf says: " + done.stderr.strip())
    # --list maps the file and resolves its libraries without running it.
    done = subprocess.run([interpreter, "--list", path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0 or "not found" in done.stdout:
        fail("ld.so says: " + done.stdout.strip())


def main():
    old = lief.ELF.parse(sys.argv[1])
    new = lief.ELF.parse(sys.argv[2])
    if new is None:
        fail("LIEF cannot read it")
    check_bytes(old, new)
    check_layout(old, new)
    if not new.has_section(".rocm_kpack_ref"):
        fail("no section .rocm_kpack_ref")
    content = bytes(new.get_section(".rocm_kpack_ref").content)
    if content[:8] != b"CERBSEG1":
        fail(".rocm_kpack_ref does not start with CERBSEG1")
    check_tools(sys.argv[2], "/lib64/ld-linux-x86-64.so.2")


if __name__ == "__main__":
    main()
