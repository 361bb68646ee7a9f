"""The code objects of HIP libraries by tools that know nothing of Cerberus:
clang-offload-bundler for libraries as they are built, LIEF and a reader made
of msgpack and zstandard for what is split."""
import json
import os
import re
import subprocess
import sys

LLVM = "/usr/lib/llvm-22/bin"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def unbundle(part):
    """{target: code object} of a file that holds one bundle."""
    objects = {}
    for entry in run(f"{LLVM}/clang-offload-bundler", "--list", "--type=o",
                     f"--input={part}").split():
        if not entry.startswith("hip"):
            continue
        run(f"{LLVM}/clang-offload-bundler", "--unbundle", "--type=o",
            f"--input={part}", f"--targets={entry}", f"--output={part}.out")
        with open(f"{part}.out", "rb") as file:
            objects["gfx" + entry.split("-gfx", 1)[1]] = file.read()
    return objects


def bundled(cerberus, path, work):
    """{(wrapper, target): code object}. Where images are, and which wrapper
    leads to which, is Cerberus' word; what is in them is the bundler's."""
    listed = json.loads(run(cerberus, "list", "--json", path))
    with open(path, "rb") as file:
        content = file.read()
    found = {}
    for image in listed["hip_images"]:
        part = f"{work}/image"
        data = content[image["offset"]:][:image["size"]]
        with open(part, "wb") as out:
            # The bundler does not take the host's name of older compilers.
            out.write(re.sub(b"host-x86_64-unknown-linux(?!-)",
                             b"host-x86_64-pc-linux-gnu-", data[:4096]))
            out.write(data[4096:])
        if image["kind"] == "code object":
            objects = {image["code_objects"][0]["target"]: data}
        else:
            objects = unbundle(part)
        targets = {o["target"] for o in image["code_objects"]}
        assert targets == set(objects), (path, targets, set(objects))
        for wrapper in image["wrappers"]:
            for target, code in objects.items():
                found[wrapper, target] = code
    return found


def split(path, targets):
    """The same of a split library and its archives, by what AMD's runtime
    looks at: the wrappers and the marker."""
    import lief
    import msgpack
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))), "kpack"))
    from reference_reader import Archive
    # LIEF 1.0.0 takes a .gnu.hash that ends where its segment does for cut off.
    lief.logging.disable()
    binary = lief.ELF.parse(path)
    wrappers = bytes(binary.get_section(".hipFatBinSegment").content)
    marker = msgpack.unpackb(
        bytes(binary.get_section(".rocm_kpack_ref").content))
    found = {}
    for target in targets:
        for place in marker["kpack_search_paths"]:
            archive = os.path.join(os.path.dirname(path),
                                   place.replace("@GFXARCH@", target))
            if not os.path.exists(archive):
                continue
            opened = Archive(archive)
            for wrapper in range(len(wrappers) // 24):
                at = wrappers[24 * wrapper:]
                assert at[:4] == b"HIPK", (path, wrapper)
                number = int.from_bytes(at[16:20], "little")
                key = "%s#%d" % (marker["kernel_name"], number)
                if (key, target) in opened.entries:
                    found[wrapper, target] = opened.read(key, target)
    return found
