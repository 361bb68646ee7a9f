#!/usr/bin/env python3
"""Makes Cerberus' own Debian packages of a finished build, without compiling:
each file that is installed is in one component of CMake and in its package,
and lintian finds no fault. tests/long/debian_packages.py builds them. With
--debhelper at the compatibility level of a later debhelper, 14.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import newer_debhelper

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPONENTS = {
    "tools": "cerberus",
    "runtime": "cerberus-runtime",
    "emulator": "cerberus-emulator",
    "kpack": "librocm-kpack1",
    "kpack-dev": "librocm-kpack-dev",
    "ptxc-dev": None,  # of no package: this interface may change
}
# What a distribution's build does not have: libraries and pkg-config's files
# outside of the machine's folder; zlib linked in (CERBERUS_PORTABLE).
SUPPRESSED = ("arch-dependent-file-not-in-arch-specific-directory,"
              "pkg-config-unavailable-for-cross-compilation,embedded-library")


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit "
                         f"{done.returncode}\n{done.stdout}")
    return done.stdout


def files_in(folder):
    return {os.path.relpath(os.path.join(path, name), folder)
            for path, _, names in os.walk(folder) for name in names}


def installed(build, to, *component):
    run("cmake", "--install", build, "--prefix", "/usr", *component,
        env={**os.environ, "DESTDIR": str(to)})
    return files_in(to)


def check_components(build, work):
    everything = installed(build, work / "all")
    found = {}
    for component in COMPONENTS:
        for path in installed(build, work / component, "--component",
                              component):
            assert path not in found, f"{path}: {found[path]}, {component}"
            found[path] = component
    lost = everything - set(found)
    assert not lost, f"in no component: {sorted(lost)}"
    return found


def packaged_name(path):
    """Where an installed file is in its package; None: it is left out."""
    if path == "usr/share/doc/cerberus/LICENSE":
        return None  # debian/copyright says it
    path = path.replace("zsh/site-functions", "zsh/vendor-completions")
    is_compressed = path.startswith(("usr/share/man/",
                                     "usr/share/doc/cerberus/README"))
    return path, path + ".gz" if is_compressed else path


def check_packages(packages, components):
    for path, component in sorted(components.items()):
        package, names = COMPONENTS[component], packaged_name(path)
        if package is None or names is None:
            continue
        held = packages[package]
        assert held & set(names), f"{package} lacks {path}: {sorted(held)}"
    assert packages["dh-cerberus"] >= {
        "usr/bin/dh_cerberus", "usr/share/man/man1/dh_cerberus.1.gz",
        "usr/share/perl5/Debian/Debhelper/Cerberus.pm",
        "usr/share/perl5/Debian/Debhelper/Sequence/cerberus.pm",
    }, packages["dh-cerberus"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--debhelper", help="where a later debhelper and "
                        "dpkg's Perl modules are unpacked")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    later, lintian = {}, []
    if options.debhelper:
        later = newer_debhelper.environment(options.debhelper, [])
        lintian = newer_debhelper.LINTIAN
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        components = check_components(build, work)
        source = work / "source/cerberus"
        for part in ("debian", "docs", "packaging"):
            shutil.copytree(ROOT / part, source / part, symlinks=True)
        if options.debhelper:
            newer_debhelper.raise_level(source / "debian/control")
        run("dpkg-buildpackage", "-us", "-uc", "-d", "-b", cwd=source, env={
            **os.environ, **later, "CERBERUS_BUILD": str(build), "LC_ALL": "C.UTF-8",
            "DEB_BUILD_OPTIONS": "noautodbgsym",
            # Nobody keeps them.
            "DPKG_DEB_COMPRESSOR_TYPE": "gzip",
            "DPKG_DEB_COMPRESSOR_LEVEL": "1"})
        packages = {}
        for path in (work / "source").glob("*.deb"):
            package = path.name.split("_")[0]
            run("dpkg-deb", "-x", path, work / package)
            packages[package] = files_in(work / package)
        check_packages(packages, components)
        run("lintian", "--allow-root", "--fail-on", "error,warning",
            "--suppress-tags", SUPPRESSED, *lintian,
            *(work / "source").glob("*.changes"),
            env={**os.environ, "LC_ALL": "C.UTF-8"})
        print(f"{len(components)} installed files, {len(packages)} packages: "
              f"{', '.join(sorted(packages))}")


if __name__ == "__main__":
    main()
