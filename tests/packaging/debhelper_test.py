#!/usr/bin/env python3
"""Builds the sample source packages with `dh --with cerberus`, shows them to
lintian, unpacks them into a folder and runs them there on the emulator. With
--debhelper at the compatibility level that only a later debhelper has, 14, and
without the fields that it fills in by itself.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import newer_debhelper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBHELPER = ROOT / "packaging/debhelper"
MULTIARCH = "x86_64-linux-gnu"
KPACK = f"usr/lib/{MULTIARCH}/kpack/bin"
# program -> what it prints
SAMPLES = {
    "gpu-collatz": ("collatz", "17647 takes 278 steps"),
    "gpu-primes": ("primes", "2262 primes below 20000"),
}


def run(*command, cwd=None, env=None, code=0):
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, command))}: exit "
                         f"{done.returncode}, expected {code}\n{done.stdout}")
    return done.stdout


def fields(deb):
    """The control file of a package."""
    found = {}
    for line in run("dpkg-deb", "-f", deb).splitlines():
        if not line.startswith(" "):
            name, value = line.split(":", 1)
            found[name] = value.strip()
    return found


class Builder:
    def __init__(self, options, work):
        self.work = work
        self.nvcc = pathlib.Path(options.nvcc).parent
        if options.root:
            usr = pathlib.Path(options.root).resolve() / "usr"
            self.programs = [usr / "bin"]
            self.perl = usr / "share/perl5"
            self.private = usr / "lib" / MULTIARCH / "cerberus"
        else:
            build = pathlib.Path(options.build).resolve()
            self.programs = [DEBHELPER, build / "bin"]
            self.perl = DEBHELPER
            self.private = build / "lib/cerberus"
        self.emulator = self.private / "emulator"
        self.debhelper = options.debhelper

    def environment(self, path=(), **more):
        folders = [*path, *self.programs, self.nvcc]
        found = {
            "PATH": ":".join(map(str, [*folders, os.environ["PATH"]])),
            "PERL5LIB": str(self.perl),
        }
        if self.debhelper:
            found = newer_debhelper.environment(self.debhelper, folders,
                                                [self.perl])
        return {
            **found,
            "HOME": str(self.work),
            "LC_ALL": "C.UTF-8",
            "EMULATOR": str(self.emulator),
            **more,
        }

    def package(self, sample, name, code=0, change=None, **more):
        """The folder with the packages, and the log."""
        folder = self.work / name
        source = folder / "a" / sample
        shutil.copytree(ROOT / "packaging/samples" / sample, source)
        if self.debhelper:
            newer_debhelper.raise_level(source / "debian/control")
        if change:
            change(source)
        log = run("dpkg-buildpackage", "-us", "-uc", "-d", "-b", cwd=source,
                  env=self.environment(**more), code=code)
        return folder / "a", log

    def unpack(self, packages, to):
        for package in packages:
            run("dpkg-deb", "-x", package, to)
        # Where cerberus-runtime and cerberus-emulator put their files.
        (to / f"usr/lib/{MULTIARCH}").mkdir(parents=True, exist_ok=True)
        (to / f"usr/lib/{MULTIARCH}/cerberus").symlink_to(self.private)

    def execute(self, program, target, code=0, **more):
        """stdout and stderr of a program of HIP or CUDA."""
        return run(program, code=code, env={
            "LD_LIBRARY_PATH": str(self.emulator),
            "CERBERUS_EMU_TARGETS": target,
            "CUDA_CACHE_DISABLE": "1", **more})


def packages_in(folder):
    return {path.name.split("_")[0]: path
            for path in sorted(folder.glob("*.deb"))}


def files_of(deb):
    return [line.split()[5][2:] for line in
            run("dpkg-deb", "-c", deb).splitlines() if line[0] == "-"]


def check_packages(sample, folder, *suppress):
    program, _ = SAMPLES[sample]
    found = packages_in(folder)
    targets = ("gfx1100", "gfx942")
    assert set(found) == {sample, f"{sample}-dbgsym",
                          *(f"{sample}-{t}" for t in targets)}, found
    for target in targets:
        deb = found[f"{sample}-{target}"]
        control = fields(deb)
        assert control["Depends"] == f"{sample} (= 1.0)", control
        assert control["X-Rocm-Gpu-Architecture"] == target, control
        code = [f for f in files_of(deb) if f.endswith(".kpack")]
        assert code == [f"{KPACK}/{program}-{target}.kpack"], code
    control = fields(found[sample])
    assert control["Suggests"] == ", ".join(
        f"{sample}-{t}" for t in targets), control
    is_cuda = sample == "gpu-primes"
    assert is_cuda == ("cerberus-runtime (>= " in control["Depends"]), control
    archives = [f for f in files_of(found[sample]) if f.endswith(".kpack")]
    assert archives == [f"{KPACK}/{program}-ptx.kpack"] * is_cuda, archives
    run("lintian", "--allow-root", "--fail-on", "error,warning", *suppress,
        *folder.glob("*.changes"), env={**os.environ, "LC_ALL": "C.UTF-8"})
    return found


def check_sample(builder, sample):
    program, answer = SAMPLES[sample]
    folder, log = builder.package(sample, f"{sample}.first")
    # dh_dwz is left out of level 14.
    for before in ("dh_dwz", "dh_strip", "dh_makeshlibs",
                   "shlibdeps")[bool(builder.debhelper):]:
        assert log.index(before) < log.index("dh_cerberus\n"), log
    if builder.debhelper:
        assert log.index("dh_cerberus\n") < log.index("dh_fixperms"), log
    found = check_packages(
        sample, folder, *newer_debhelper.LINTIAN * bool(builder.debhelper))

    root = builder.work / f"{sample}.root"
    builder.unpack([found[sample], found[f"{sample}-gfx1100"],
                    found[f"{sample}-gfx942"]], root)
    # Nothing of it knows where it was built.
    shutil.rmtree(folder / sample)
    for target in ("gfx1100", "gfx942"):
        said = builder.execute(root / "usr/bin" / program, target,
                               CUDA_DISABLE_PTX_JIT="1")
        assert answer in said, said
    # A GPU without a package: HIP says so, CUDA compiles the PTX.
    if sample == "gpu-collatz":
        said = builder.execute(root / "usr/bin" / program, "gfx1030", code=1)
        assert "no code object for gfx1030" in said, said
    else:
        said = builder.execute(root / "usr/bin" / program, "gfx1030")
        assert answer in said, said

    again, _ = builder.package(sample, f"{sample}.second")
    for package, path in found.items():
        # nvcc writes random names into programs.
        if sample == "gpu-primes" and "-gfx" not in package:
            continue
        same = packages_in(again)[package]
        assert path.read_bytes() == same.read_bytes(), f"{package} differs"
    print(f"{sample}: {', '.join(sorted(found))}: lintian, run, the same again")


def check_targets(builder):
    """Who says which GPUs a build is for."""
    sample = "gpu-collatz"
    one, _ = builder.package(sample, "one", CERBERUS_ARCHES="gfx942")
    assert f"{sample}-gfx1100" not in packages_in(one), packages_in(one)
    assert f"{sample}-gfx942" in packages_in(one), packages_in(one)

    _, log = builder.package(sample, "lacks", code=2,
                             CERBERUS_ARCHES="gfx942, gfx1030")
    assert (f"no package for {sample}-gfx1030; dh_cerberus --stanzas "
            f"-p{sample} prints what to add") in log, log

    # What it prints is enough.
    def add_stanza(source):
        printed = run("dh_cerberus", "--stanzas", f"-p{sample}", cwd=source,
                      env=builder.environment(CERBERUS_ARCHES="gfx1030"))
        with open(source / "debian/control", "a") as control:
            control.write(printed)
    added, _ = builder.package(sample, "added", change=add_stanza,
                               CERBERUS_ARCHES="gfx1030 gfx942")
    assert {f"{sample}-gfx1030", f"{sample}-gfx942"} == {
        p for p in packages_in(added) if "-gfx" in p}, packages_in(added)

    # The distribution's list; its other targets are said.
    tools = builder.work / "tools"
    tools.mkdir()
    (tools / "rocm-target-arch").write_text(
        "#!/bin/sh\nprintf 'gfx906 gfx1100'\n")
    (tools / "rocm-target-arch").chmod(0o755)
    _, log = builder.package("gpu-primes", "list", path=[tools])
    assert ("no package of gpu-primes for gfx906, which rocm-target-arch "
            "names") in log, log
    listed = packages_in(builder.work / "list/a")
    assert "gpu-primes-gfx1100" in listed, listed
    assert "gpu-primes-gfx942" not in listed, listed
    print("targets: of the environment, of the distribution, of the control "
          "file")


def check_refusals(builder):
    def edit(old, new):
        def change(source):
            path = source / "debian/control"
            text = path.read_text()
            assert old in text, old
            path.write_text(text.replace(old, new))
        return change
    for name, change, expected in (
            ("field", edit("Architecture: gfx942", "Architecture: gfx90a"),
             "gpu-primes-gfx942 needs the field XB-X-ROCm-GPU-Architecture: "
             "gfx942"),
            ("depends", edit("gpu-primes (= ${binary:Version})",
                             "gpu-primes"),
             "gpu-primes-gfx1100 needs in its Depends: gpu-primes (= "
             "${binary:Version})")):
        _, log = builder.package("gpu-primes", name, code=2, change=change)
        assert expected in log, log

    # A kernel that cannot be compiled: an error, or a warning if asked for.
    def use_sass_only(source):
        path = source / "Makefile"
        path.write_text(path.read_text().replace(
            "-O2 $(host)", "-O2 -gencode arch=compute_80,code=sm_80 $(host)"))
    _, log = builder.package("gpu-primes", "no-ptx", code=2,
                             change=use_sass_only)
    assert "dh_cerberus: error: debian/gpu-primes/usr/bin/primes: " in log, log
    # The original is there again.
    left = builder.work / "no-ptx/a/gpu-primes/debian/gpu-primes/usr/bin"
    assert os.listdir(left) == ["primes"], os.listdir(left)
    print("refused: stanzas that do not fit, machine code without PTX")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--build", help="a finished build")
    where.add_argument("--root", help="where Cerberus' packages are unpacked")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--debhelper", help="where a later debhelper and "
                        "dpkg's Perl modules are unpacked")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        builder = Builder(options, pathlib.Path(work).resolve())
        for sample in SAMPLES:
            check_sample(builder, sample)
        check_targets(builder)
        check_refusals(builder)


if __name__ == "__main__":
    main()
