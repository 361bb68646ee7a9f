"""Packages at the compatibility level that only a later debhelper has, 14."""
import os
import pathlib
import re

SUBSTITUTIONS = r"\$\{(?:misc|shlibs|perl|cerberus):\w+\}"
# Of a lintian that is older than the field Commands.
LINTIAN = ["--suppress-tags", "unknown-field"]


def raise_level(control):
    """Without what the level fills in by itself: relations that come of
    substitution variables."""
    text = control.read_text().replace("compat (= 13)", "compat (= 14)")
    text = re.sub(rf"\n {SUBSTITUTIONS},", "", text)
    text = re.sub(rf",? ?{SUBSTITUTIONS}", "", text)
    text = re.sub(r"(?m)^(Depends|Suggests):\n(?! )", "", text)
    assert ":Depends" not in text and "(= 14)" in text, text
    control.write_text(text)


def environment(root, path, perl=()):
    """Variables for who finds programs in `path`, modules in `perl`, and else
    takes those of `root`, where debhelper and dpkg's modules are unpacked."""
    usr = pathlib.Path(root).resolve() / "usr"
    return {
        "PATH": os.pathsep.join(map(str, [*path, usr / "bin",
                                          os.environ["PATH"]])),
        "PERL5LIB": os.pathsep.join(map(str, [*perl, usr / "share/perl5"])),
        "DPKG_DATADIR": str(usr / "share/dpkg"),
    }
