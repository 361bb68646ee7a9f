"""Roots with the ROCm of a Debian suite, and how to run programs in them over
the emulator's HSA face."""
import argparse
import dataclasses
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = "usr/lib/x86_64-linux-gnu"

# What is unpacked of each suite. bookworm's is scripts/setup.sh's.
SUITES = {
    "bookworm": [],
    "trixie": ["libamdhip64-dev", "rocm-device-libs-17", "rocminfo"],
    "unstable": ["libamdhip64-dev", "rocm-device-libs-21", "rocminfo"],
}


@dataclasses.dataclass
class RocmRoot:
    folder: pathlib.Path
    own_loader: bool  # the machine's C library is too old
    hsa: pathlib.Path
    preloads: list

    def command(self, environment, program, *arguments):
        """How to start a program; adds to its environment what that takes.
        Programs that it starts run as they always do where the root has a
        loader of its own."""
        if not self.own_loader:
            environment["LD_PRELOAD"] = ":".join(map(str, self.preloads))
            environment["LD_LIBRARY_PATH"] = str(self.folder / LIBRARIES)
            return [str(program), *arguments]
        return [str(self.folder / LIBRARIES / "ld-linux-x86-64.so.2"),
                "--library-path", str(self.folder / LIBRARIES),
                "--preload", ":".join(map(str, self.preloads)), str(program),
                *arguments]

    def command_within(self, environment, program):
        """The same for a program that starts others by paths of the root, which
        it gets as its file system: this needs namespaces of users. Its folder
        and that of the preloads lie in /mnt."""
        for name in ("bin", "lib", "lib64"):
            link = self.folder / name
            if not link.exists():
                link.symlink_to("usr/" + name)
        for name in ("mnt/program", "mnt/preloads", "proc"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        environment["LD_PRELOAD"] = ":".join(
            f"/mnt/preloads/{preload.name}" for preload in self.preloads)
        return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
                WITHIN, "sh", str(self.folder), str(program.parent),
                str(self.hsa.parent), f"/mnt/program/{program.name}"]


# Mounts what a program needs in a root, and starts it there.
WITHIN = """
mount --bind "$2" "$1/mnt/program"
mount --bind "$3" "$1/mnt/preloads"
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs none "$1/tmp"
exec /usr/sbin/chroot "$1" "$4"
"""


def options_of(doc, suites, targets, only=None):
    """What the scripts that use roots are told; the first suite is the default.
    `only`: the names that there are, if they are few."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("--suite", default=suites[0], choices=suites)
    parser.add_argument("--targets", default=targets)
    parser.add_argument("--build", default=ROOT / "build/release",
                        type=pathlib.Path)
    parser.add_argument("--roots", default=ROOT / "build/rocm-roots",
                        type=pathlib.Path)
    parser.add_argument("--only", default="", choices=only,
                        help="what names must hold")
    parser.add_argument("--download", action="store_true")
    return parser.parse_args()


def mirror():
    """Where this machine has its Debian from."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)",
         "Created-By: Packages", "Origin: Debian", "Label: Debian"],
        stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    if not found:
        sys.exit("apt-get indextargets names no repository of Debian's")
    return found[0]


def unpack(folder, suite, packages):
    """mmdebstrap unpacks and installs nothing; that needs no root."""
    if not shutil.which("mmdebstrap"):
        sys.exit("mmdebstrap is missing: apt-get install mmdebstrap")
    part = folder.with_suffix(".part")
    subprocess.run(["rm", "-rf", part], check=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    print(f"downloading {', '.join(packages)} of Debian {suite}, and what they "
          f"need, into {folder}", flush=True)
    # A mirror that stands still has an old Release file.
    subprocess.run(["mmdebstrap", "--quiet", "--variant=extract",
                    '--aptopt=Acquire::Check-Valid-Until "false"',
                    "--include=" + ",".join(packages), suite, part, mirror()],
                   check=True)
    part.rename(folder)


def unpack_alone(folder, suite, packages):
    """The packages without what they need, by lists of apt's own for the suite."""
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for each in ("lists/partial", "cache/archives/partial", "debs"):
            (work / each).mkdir(parents=True)
        (work / "status").touch()
        # A mirror that stands still has an old Release file.
        (work / "sources").write_text(
            "deb [check-valid-until=no "
            "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
            f"{mirror()} {suite} main\n", encoding="utf-8")
        apt = ["apt-get", "-qq"]
        for option in (f"Dir::Etc::sourcelist={work}/sources",
                       "Dir::Etc::sourceparts=-",
                       f"Dir::State::lists={work}/lists",
                       f"Dir::State::status={work}/status",
                       f"Dir::Cache={work}/cache",
                       "Acquire::Languages=none", "APT::Sandbox::User="):
            apt += ["-o", option]
        subprocess.run([*apt, "update"], check=True)
        subprocess.run([*apt, "download", *packages], check=True,
                       cwd=work / "debs")
        part.mkdir(parents=True)
        for deb in sorted((work / "debs").glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, part], check=True)
    part.rename(folder)


def open_root(suite, roots, build, more=()):
    """The root of a suite, downloaded unless it is there; with `more` packages
    another one."""
    hsa = build.absolute() / "lib/cerberus/emulator/libhsa-runtime64.so.1"
    if suite == "bookworm" and not more:
        return RocmRoot(ROOT / "build/rocm-debian", False, hsa, [hsa])
    folder = roots.absolute() / "-".join([suite, *more])
    if not folder.exists():
        unpack(folder, suite, [*SUITES[suite], *more])
    return RocmRoot(folder, suite != "bookworm", hsa, [hsa])
