#!/usr/bin/env python3
"""Archives that Cerberus writes, read by a reader that is not Cerberus'.

    reference_test.py --cerberus build/release/bin/cerberus
"""
import argparse
import pathlib
import random
import re
import struct
import subprocess
import tempfile
import unittest

import msgpack

from reference_reader import Archive, FormatError

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"


def contents():
    """{(key, target): bytes}, some much alike, one empty, one twice."""
    noise = random.Random(7)
    code = noise.randbytes(20000)
    return {
        ("lib/x.so#0", "gfx1100"): code,
        ("lib/x.so#0", "gfx1101"): code[:9000] + b"other" + code[9000:],
        ("lib/x.so#0", "gfx90a:xnack+"): noise.randbytes(3000),
        ("lib/x.so#1", "gfx1100"): b"v_add_f32 v0, v1, v2\n" * 400,
        ("lib/y.so#0", "gfx1100"): code,
        ("empty#0", "gfx1100"): b"",
    }


def cerberus(*arguments):
    subprocess.run([args.cerberus, "kpack", *map(str, arguments), "-q"],
                   check=True)


class Written(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        for (key, target), data in contents().items():
            name = key.replace("/", "%2F") + ".hsaco"
            (cls.path / "in" / target).mkdir(parents=True, exist_ok=True)
            (cls.path / "in" / target / name).write_bytes(data)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def create(self, *options):
        path = self.path / "out.kpack"
        cerberus("create", self.path / "in", "-o", path, "--group", "g",
                 *options)
        return path

    def check(self, archive):
        self.assertEqual({name: archive.read(*name)
                          for name in archive.entries}, contents())
        self.assertEqual(archive.group, "g")
        self.assertEqual(sorted(archive.arches),
                         ["gfx1100", "gfx1101", "gfx90a:xnack+"])

    def test_version_1(self):
        for options in ([], ["--compression", "none"], ["--level", "19"]):
            path = self.create(*options)
            self.check(Archive(path))
            # As readers see it that know no checksums.
            self.check(Archive(path, checksums=False))

    def test_version_1_is_what_upstream_writes(self):
        """All but the checksums: the keys, their order, where blobs stand."""
        data = self.create("--compression", "none").read_bytes()
        (offset,) = struct.unpack_from("<Q", data, 8)
        top = msgpack.unpackb(data[offset:])
        self.assertEqual(
            list(top)[:6], ["format_version", "group_name", "gfx_arch_family",
                            "gfx_arches", "toc", "compression_scheme"])
        self.assertEqual(top["blobs"][0]["offset"], 64)
        row = top["toc"]["lib/x.so#0"]["gfx1100"]
        self.assertEqual(list(row),
                         ["type", "ordinal", "original_size", "metadata"])

    def test_version_2(self):
        for options in ([], ["--compression", "none"], ["--level", "19"]):
            self.check(Archive(self.create("--format", "v2", *options)))
        archive = Archive(self.create("--format", "v2"))
        other = archive.entries["lib/x.so#0", "gfx1101"]
        self.assertIsNotNone(other["reference"])

    def test_damage(self):
        for options in ([], ["--format", "v2"]):
            whole = self.create(*options).read_bytes()
            path = self.path / "damaged.kpack"
            noise = random.Random(1)
            for _ in range(100):
                at = noise.randrange(len(whole))
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) +
                                 whole[at + 1:])
                with self.assertRaises(Exception, msg=f"byte {at}"):
                    archive = Archive(path)
                    for name in archive.entries:
                        archive.read(*name)


class Golden(unittest.TestCase):

    def test_are_read(self):
        for path in GOLDEN.glob("v*/*.kpack"):
            archive = Archive(path)
            self.assertTrue(archive.entries, path)
            for name, row in archive.entries.items():
                self.assertEqual(len(archive.read(*name)), row["size"])

    def test_version_2_is_refused_by_version(self):
        """Upstream's readers look at the version before anything else."""
        for path in (GOLDEN / "v2").glob("*.kpack"):
            self.assertEqual(struct.unpack_from("<4sI", path.read_bytes()),
                             (b"KPAK", 2))

    def test_the_documents_vector(self):
        page = (GOLDEN.parents[2] / "docs/kpack-format.md").read_text()
        lines = re.findall(r"^[0-9a-f]{2}  ([0-9a-f ]+)$", page, re.M)
        self.assertEqual(bytes.fromhex("".join(lines)),
                         (GOLDEN / "v2/plain.kpack").read_bytes())

    def test_another_version(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"KPAK" + struct.pack("<IQ", 3, 64) + bytes(60))
            file.flush()
            with self.assertRaisesRegex(FormatError, "version 3"):
                Archive(file.name)


parser = argparse.ArgumentParser()
parser.add_argument("--cerberus", required=True)
args = parser.parse_args()
unittest.main(argv=["reference_test.py"])
