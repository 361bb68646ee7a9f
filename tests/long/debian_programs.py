#!/usr/bin/env python3
"""Programs of Debian 12 that use CUDA without NVIDIA's compiler: what GCC makes
of OpenMP and OpenACC for NVIDIA's GPUs, hashcat's kernels, compiled by NVRTC,
and ffmpeg's filters.

usage: debian_programs.py [--build DIR] [--arch gfx1100,gfx942]
                          [gcc|hashcat|ffmpeg ...]

Installs with apt-get what is not there. Each runs unchanged under `cerberus
run`. GCC's programs (tests/long/offload) check themselves, and once more
converted; hashcat has to find
the password of its own example for each kind of hash; ffmpeg's filters are
compared with those of the same name for the processor. hashcat needs NVRTC, by
the path of the toolkit (nvcc on PATH) or LD_LIBRARY_PATH. Prints one line for
each check; exit code 1 if any fails.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = {
    "gcc": ["gcc-12-offload-nvptx", "libgomp-plugin-nvptx1", "gfortran-12"],
    "hashcat": ["hashcat"],
    "ffmpeg": ["ffmpeg"],
}
# Raw and salted hashes, iterated ones, ciphers: MD5, SHA-1, NTLM, phpass,
# SHA-256, SHA-512, PBKDF2 (WPA), Whirlpool, RIPEMD-160, BLAKE2b, Keccak, DES.
HASHES = [0, 100, 1000, 400, 1400, 1710, 6100, 6000, 600, 17800, 1500, 26403]
# GCC's assembler asks the ptxas on PATH, which no longer knows its targets.
PLAIN_PATH = "/usr/bin:/bin"


class Programs:
    def __init__(self, tool, arch, folder):
        self.run_with = [str(tool), "run", "--emulate", arch, "--"]
        self.arch = arch
        self.folder = folder
        self.failed = 0

    def told(self, what, good, text=""):
        print("%-8s %s: %s" % (self.arch, what, "ok" if good else "FAILED"),
              flush=True)
        if not good:
            print(text)
            self.failed += 1

    def emulated(self, command, **options):
        return subprocess.run(self.run_with + command, cwd=self.folder,
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, **options)

    def gcc(self):
        options = {"teams.c": ["-fopenmp", "-foffload-options=nvptx-none="
                               "-lm -latomic"],
                   "tasks.c": ["-fopenmp"], "acc.c": ["-fopenacc"],
                   "sum.f90": ["-fopenmp"]}
        for source, flags in options.items():
            compiler = "gfortran-12" if source.endswith("90") else "gcc-12"
            program = str(self.folder / source.replace(".", "_"))
            subprocess.run([compiler, "-O2", "-foffload=nvptx-none", *flags,
                            str(HERE / "offload" / source), "-o", program,
                            "-lm", "-Wl,--no-warnings"],
                           env={**os.environ, "PATH": PLAIN_PATH}, check=True)
            done = self.emulated([program], text=True)
            self.told("gcc " + source, done.returncode == 0 and
                      "PASS" in done.stdout, done.stdout)
            # Converted, it needs no compiler.
            subprocess.run([self.run_with[0], "convert", "-q", program, "-o",
                            program + ".amd", "--arch", self.arch], check=True)
            done = subprocess.run(
                [program + ".amd"], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "CERBERUS_DEVICE": self.arch,
                     "CERBERUS_JIT": "/bin/false",
                     "CUDA_CACHE_PATH": str(self.folder / "no cache")})
            self.told("gcc %s, converted" % source, done.returncode == 0 and
                      "PASS" in done.stdout, done.stdout)

    def hashcat(self):
        listed = subprocess.run(["hashcat", "--hash-info", "--force"],
                                stdout=subprocess.PIPE, check=True,
                                text=True).stdout
        for number in HASHES:
            about = listed.split("Hash mode #%d\n" % number)[1].split(
                "\n\n")[0]
            known = {
                name: re.search(r"Example\.%s\.*: (.*)" % name, about).group(1)
                for name in ("Hash", "Pass")}
            (self.folder / "hash").write_text(known["Hash"] + "\n")
            (self.folder / "words").write_text(
                "not this\n%s\nnor that\n" % known["Pass"])
            done = self.emulated(
                ["hashcat", "-m", str(number), "-d", "1", "--force",
                 "--potfile-disable", "--logfile-disable", "-n", "1", "-u",
                 "1", "-T", "32", "hash", "words"], text=True)
            self.told("hashcat -m %d" % number,
                      re.search(r"Status\.*: Cracked", done.stdout),
                      done.stdout)

    def pixels(self, filters, second, on_gpu):
        """The bytes of five frames, or text of what went wrong."""
        inputs = ["testsrc2=size=320x240:rate=5:duration=1"]
        if second:
            inputs.append("smptebars=size=64x48:rate=5:duration=1")
        frames = self.folder / "frames"
        frames.unlink(missing_ok=True)
        command = ["ffmpeg", "-loglevel", "error", "-nostdin", "-y"]
        if on_gpu:
            command += ["-init_hw_device", "cuda=gpu", "-filter_hw_device",
                        "gpu"]
        for source in inputs:
            command += ["-f", "lavfi", "-i", source]
        command += ["-filter_complex", filters, "-f", "rawvideo", "-pix_fmt",
                    "yuv420p", str(frames)]
        if on_gpu:
            done = self.emulated(command, text=True)
        else:
            done = subprocess.run(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        return frames.read_bytes() if done.returncode == 0 else done.stdout

    def ffmpeg(self):
        upload = "format=yuv420p,hwupload_cuda"
        # Name, on the GPU, on the processor, how much a pixel is off at most
        # in the mean. yadif's scores of directions differ by one.
        for name, there, here, bound in (
                ("scale_cuda", "scale_cuda=160:120:interp_algo=nearest",
                 "scale=160:120:flags=neighbor", 0),
                ("scale_cuda, not scaled",
                 "scale_cuda=320:240:passthrough=0", "null", 0),
                ("thumbnail_cuda", "thumbnail_cuda=3", "thumbnail=3", 0),
                ("yadif_cuda", "yadif_cuda=mode=0:parity=0",
                 "yadif=mode=0:parity=0", 0.1),
                ("overlay_cuda", None, None, 0)):
            if there:
                there = "%s,%s" % (upload, there)
                here = "format=yuv420p," + here
            else:
                there = ("[0]%s[a];[1]%s[b];[a][b]overlay_cuda=x=16:y=8" %
                         (upload, upload))
                here = ("[0]format=yuv420p[a];[1]format=yuv420p[b];"
                        "[a][b]overlay=x=16:y=8:format=yuv420")
            second = name == "overlay_cuda"
            got = self.pixels(there + ",hwdownload,format=yuv420p", second,
                              on_gpu=True)
            want = self.pixels(here, second, on_gpu=False)
            good = (isinstance(got, bytes) and len(got) == len(want) and
                    got and sum(abs(a - b) for a, b in zip(got, want)) <=
                    bound * len(want))
            self.told("ffmpeg " + name, good,
                      got if isinstance(got, str) else "other pixels")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("which", nargs="*", metavar="gcc|hashcat|ffmpeg")
    options = parser.parse_args()
    which = options.which or list(PACKAGES)
    if set(which) - set(PACKAGES):
        parser.error("expected gcc, hashcat or ffmpeg, found %s" % which)
    wanted = [p for name in which for p in PACKAGES[name]]
    if subprocess.run(["dpkg", "-s", *wanted], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        print("+ apt-get install", *wanted, flush=True)
        subprocess.run(["apt-get", "install", "-y", "-qq",
                        "--no-install-recommends", *wanted],
                       stdout=subprocess.DEVNULL, check=True)
    nvcc = shutil.which("nvcc")
    if nvcc:
        lib = pathlib.Path(nvcc).resolve().parents[1] / "lib64"
        os.environ["LD_LIBRARY_PATH"] = "%s:%s" % (
            lib, os.environ.get("LD_LIBRARY_PATH", ""))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for arch in options.arch.split(","):
            programs = Programs(
                pathlib.Path(options.build).resolve() / "bin/cerberus", arch,
                pathlib.Path(name))
            for part in which:
                getattr(programs, part)()
            failed += programs.failed
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
