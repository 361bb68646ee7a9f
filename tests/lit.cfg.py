# The text tests: one file says input, command and expectation.
#
#   lit-22 tests --param build=build/release
#
# --param nvcc=build/cuda-newest/bin/nvcc builds with another toolkit.
#
# A test is a *.test file with RUN lines; docs/testing.md shows one.
import os
import shutil

import lit.formats

config.name = "cerberus"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".test"]
# Folders that hold sources and data for other runners.
config.excludes = ["unit", "fuzz", "Inputs", "bench", "golden", "exec",
                   "__pycache__"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))

root = os.path.dirname(config.test_source_root)
build = os.path.abspath(
    lit_config.params.get("build", os.path.join(root, "build", "release")))
config.cerberus_root = root
config.cerberus_build = build
config.test_exec_root = os.path.join(build, "tests", "lit")

llvm_bin = "/usr/lib/llvm-22/bin"
nvcc = os.path.abspath(
    lit_config.params.get("nvcc") or shutil.which("nvcc") or
    os.path.join(root, "build/cuda/bin/nvcc"))
venv_python = os.path.join(root, "build/venv/bin/python3")
python = venv_python if os.path.exists(venv_python) else "python3"

# Nothing of the caller's environment may decide a test.
config.environment = {
    "PATH": os.pathsep.join([
        os.path.join(build, "bin"), llvm_bin, os.path.dirname(nvcc),
        os.environ["PATH"]
    ]),
    "HOME": os.path.join(config.test_exec_root, "home"),
    "LC_ALL": "C",
    "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    # The driver's library to link with, where the toolkit has none.
    "LIBRARY_PATH": os.path.join(root, "build", "stubs"),
}
os.makedirs(config.environment["HOME"], exist_ok=True)

config.substitutions += [
    # %code COMMAND: its output, both streams, and then "exit N".
    ("%code", "sh %s" % os.path.join(root, "tests/cli/Inputs/code.sh")),
    # %check_help VERB, in tests/cli/verbs.
    ("%check_help",
     "sh %s %%s cerberus" % os.path.join(root, "tests/cli/Inputs/help.sh")),
    ("%cerberus-convert", os.path.join(build, "bin", "cerberus-convert")),
    ("%cerberus", os.path.join(build, "bin", "cerberus")),
    ("%build", build),
    ("%root", root),
    ("%nvcc", nvcc),
    ("%toolkit",
     os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))),
    ("%python", python),
    # What tests/e2e/samples.test runs on.
    ("%sample_targets",
     lit_config.params.get("sample_targets", "gfx1100,gfx1201,gfx942")),
]
config.nvcc = nvcc
config.python = python
