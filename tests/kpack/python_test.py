#!/usr/bin/env python3
"""cerberus.kpack: made into a wheel, installed without a network, used.

    python_test.py --library build/release/lib/librocm_kpack.so.1
"""
import argparse
import gc
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden/v1"
MAKE_WHEEL = HERE.parents[1] / "kpack/python/make_wheel.py"


def pattern(size, seed):
    """The content of the golden archives' blobs (golden_test.cc)."""
    out = bytearray()
    for _ in range(size):
        seed = (seed * 1664525 + 1013904223) & 0xffffffff
        out.append(ord("a") + (seed >> 24) % 16)
    return bytes(out)


class Reading(unittest.TestCase):

    def test_lists(self):
        with kpack.open(GOLDEN / "plain.kpack") as archive:
            self.assertEqual(list(archive), [
                ("app#0", "gfx1100"), ("app#0", "gfx90a:xnack+"),
                ("app#1", "gfx1100")])
            self.assertEqual(set(archive.architectures),
                             {"gfx1100", "gfx90a:xnack+"})
            self.assertEqual(archive.kernels("gfx1100", "app"),
                             ("app#0", "app#1"))
            self.assertEqual(archive.kernels("gfx1100", "ap"), ())
            self.assertEqual(archive.kernels("gfx942"), ())

    def test_bytes(self):
        with kpack.open(str(GOLDEN / "plain.kpack")) as archive:
            self.assertEqual(archive.read("app#1", "gfx1100"), pattern(219, 2))
        with kpack.open(GOLDEN / "zstd.kpack") as archive:
            self.assertEqual(archive.read("app#0", "gfx1100"),
                             pattern(5000, 4))
            self.assertEqual(archive.read("app#1", "gfx1100"), b"")

    def test_metadata(self):
        with kpack.open(GOLDEN / "zstd.kpack") as archive:
            said = archive.metadata("app#0", "gfx1100")
        self.assertEqual(said["original_size"], 5000)
        self.assertEqual(said["metadata"]["ptx_version"], "9.0")
        self.assertEqual(said["metadata"]["failed"]["tex_kernel"],
                         "'tex.2d' is not supported on gfx1100")

    def test_errors(self):
        with self.assertRaises(kpack.KpackError) as missing:
            kpack.open("/nowhere/x.kpack")
        self.assertEqual(missing.exception.code, 2)
        self.assertIn("/nowhere/x.kpack", str(missing.exception))
        with kpack.open(GOLDEN / "plain.kpack") as archive:
            with self.assertRaisesRegex(KeyError, "no 'app#9' for gfx1100"):
                archive.read("app#9", "gfx1100")
            with self.assertRaises(KeyError):
                archive.metadata("app#0", "gfx942")
        with self.assertRaisesRegex(ValueError, "closed"):
            archive.read("app#0", "gfx1100")

    def test_damage(self):
        whole = (GOLDEN / "checksums.kpack").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "damaged.kpack"
            path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) +
                             whole[101:])
            with kpack.open(path) as archive:
                with self.assertRaisesRegex(
                        kpack.KpackError,
                        "damaged.kpack.*'app#0' for gfx1100.*checksum"):
                    archive.read("app#0", "gfx1100")
                self.assertEqual(archive.read("lib/app.so#2", "gfx1100"),
                                 pattern(1, 5))


class Views(unittest.TestCase):

    def test_outlive_the_archive(self):
        for name in ("plain.kpack", "checksums.kpack"):
            with kpack.open(GOLDEN / name) as archive:
                view = archive.view("app#0", "gfx90a:xnack+")
            del archive
            gc.collect()
            self.assertEqual(bytes(view), pattern(77, 3))
            part = view[10:20]
            del view
            gc.collect()
            self.assertEqual(bytes(part), pattern(77, 3)[10:20])

    def test_are_read_only(self):
        with kpack.open(GOLDEN / "plain.kpack") as archive:
            view = archive.view("app#0", "gfx1100")
            self.assertTrue(view.readonly)
            with self.assertRaises(TypeError):
                view[0] = 1
            # No copy: hashlib and others take it as it is.
            self.assertEqual(hashlib.sha256(view).digest(),
                             hashlib.sha256(pattern(119, 1)).digest())

    def test_of_nothing(self):
        with kpack.open(GOLDEN / "zstd.kpack") as archive:
            self.assertEqual(len(archive.view("app#1", "gfx1100")), 0)

    def test_in_threads(self):
        wrong = []
        with kpack.open(GOLDEN / "checksums.kpack") as archive:
            def work():
                for _ in range(300):
                    if archive.read("app#0", "gfx1100") != pattern_of_5000:
                        wrong.append(1)
            pattern_of_5000 = pattern(5000, 4)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


class Wheel(unittest.TestCase):

    def test_is_the_same_again(self):
        with tempfile.TemporaryDirectory() as folder:
            again = make_wheel(folder)
            self.assertEqual(again.read_bytes(), wheel.read_bytes())

    def test_has_what_pip_wants(self):
        self.assertRegex(
            wheel.name,
            r"cerberus_kpack-0\.0\.1-py3-none-manylinux_2_\d+_\w+\.whl")
        with zipfile.ZipFile(wheel) as contents:
            names = contents.namelist()
        self.assertTrue(names[-1].endswith("/RECORD"))
        # A namespace: other distributions may have parts of `cerberus`.
        self.assertNotIn("cerberus/__init__.py", names)


def make_wheel(folder):
    done = subprocess.run(
        [sys.executable, str(MAKE_WHEEL), "--library", str(args.library),
         "--version", "0.0.1", "--dir", folder],
        text=True, check=True, stdout=subprocess.PIPE)
    return pathlib.Path(done.stdout.strip())


parser = argparse.ArgumentParser()
parser.add_argument("--library", type=pathlib.Path, required=True)
args = parser.parse_args()
with tempfile.TemporaryDirectory() as temporary:
    wheel = make_wheel(temporary)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
         "--no-cache-dir", "--disable-pip-version-check", "--root-user-action",
         "ignore", "--target", temporary + "/site", str(wheel)], check=True)
    sys.path.insert(0, temporary + "/site")
    from cerberus import kpack  # pylint: disable=wrong-import-position
    if not kpack.__file__.startswith(temporary):
        sys.exit(f"{kpack.__file__} is not what was installed")
    unittest.main(argv=sys.argv[:1])
