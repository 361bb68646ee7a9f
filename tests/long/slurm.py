#!/usr/bin/env python3
"""Packs a tree by jobs of Slurm, on a cluster of this machine alone.

usage: slurm.py [--build DIR] [--nvcc FILE] [--keep DIR]

Needs Debian's packages slurmctld, slurmd and slurm-client; no right of root and
no munge: the daemons run as this user, listen on this machine only, with the
plugin auth/none, and end with this script. What it does is what docs/scale.md
says: an array of jobs that compile a shard each into a shared cache, and behind
it one that packs. The tree must be, byte for byte, the one that is packed
without Slurm, nothing in it compiled twice; the shards' archives merged must be
the archives of that tree. Exit code 1 if anything failed.
"""
import argparse
import filecmp
import getpass
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARDS = 3
CONFIG = """ClusterName=cerberus
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=node Default=YES MaxTime=30 State=UP
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError("waited for %s in vain" % what)
        time.sleep(0.5)


class Cluster:
    """Two daemons, ended with the block."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []

    def __enter__(self):
        for name in ("state", "spool"):
            os.makedirs(os.path.join(self.folder, name))
        config = os.path.join(self.folder, "slurm.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(
                host=socket.gethostname().split(".")[0], user=getpass.getuser(),
                ctld_port=free_port(), slurmd_port=free_port(),
                folder=self.folder, cpus=os.cpu_count()))
        os.environ["SLURM_CONF"] = config
        path = "/usr/sbin:" + os.environ["PATH"]
        for command in (["slurmctld", "-D", "-f", config],
                        ["slurmd", "-D", "-f", config, "-N", "node"]):
            self.daemons.append(subprocess.Popen(
                [shutil.which(command[0], path=path)] + command[1:],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_until("the node", lambda: subprocess.run(
            ["sinfo", "-h", "-o", "%t"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, check=False).stdout.strip() == "idle")
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def submit(folder, name, command, *options):
    """The number of the job."""
    return subprocess.run(
        ["sbatch", "--parsable", "--job-name", name, "--chdir", folder,
         "--output", os.path.join(folder, name + "-%a.log"), "--cpus-per-task=1",
         *options, "--wrap", command],
        check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def wait_for(job):
    def ended():
        left = subprocess.run(["squeue", "-h", "-j", job], check=False,
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL)
        return left.returncode != 0 or not left.stdout.strip()
    wait_until("job " + job, ended, 600)


def make_tree(args, folder):
    tree = os.path.join(folder, "in")
    os.makedirs(os.path.join(tree, "lib"))
    with open(os.path.join(tree, "notes"), "w", encoding="utf-8") as file:
        file.write("text\n")
    for library in range(3):
        sources = []
        for unit in range(4):
            source = os.path.join(folder, "k%d%d.cu" % (library, unit))
            with open(source, "w", encoding="utf-8") as file:
                body = "".join("x = x * 3 + %d; " % i
                               for i in range(20 * (unit + 1)))
                file.write("__global__ void k%d%d(int *p) { int x = *p; %s *p = x;"
                           " }\nvoid f%d%d(int *p) { k%d%d<<<1, 1>>>(p); }\n"
                           % (library, unit, body, library, unit, library, unit))
            sources.append(source)
        subprocess.run(
            [args.nvcc, "-shared", "-Xcompiler", "-fPIC", "-o",
             os.path.join(tree, "lib", "k%d.so" % library)] + sources, check=True)
    return tree


def same_trees(left, right):
    compared = filecmp.dircmp(left, right, ignore=[], hide=[])
    names = compared.left_only + compared.right_only
    differing = filecmp.cmpfiles(left, right, compared.common_files,
                                 shallow=False)
    for name in names + differing[1] + differing[2]:
        print("FAIL differs:", os.path.join(left, name))
    return not names and not differing[1] and not differing[2] and all(
        [same_trees(os.path.join(left, name), os.path.join(right, name))
         for name in compared.common_dirs])


def run(args, folder):
    cerberus = os.path.join(args.build, "bin", "cerberus")
    arches = ["--arch", "gfx1100,gfx942", "--group", "app"]
    make_tree(args, folder)
    subprocess.run([cerberus, "pack-tree", "in", "direct", *arches, "-q"],
                   cwd=folder, check=True)
    words = " ".join(arches)
    with Cluster(os.path.join(folder, "cluster")):
        array = submit(
            folder, "shard",
            "%s pack-tree in shard-$SLURM_ARRAY_TASK_ID %s --cache code -j 1 -q "
            "--shard $SLURM_ARRAY_TASK_ID/%d" % (cerberus, words, SHARDS),
            "--array=1-%d" % SHARDS)
        pack = submit(folder, "pack",
                      "%s pack-tree in packed %s --cache code -q --json > packed.json"
                      % (cerberus, words), "--dependency=afterok:" + array,
                      "--kill-on-invalid-dep=yes")
        wait_for(array)
        wait_for(pack)
    good = True
    for log in glob.glob(os.path.join(folder, "*.log")):
        with open(log, encoding="utf-8") as file:
            sys.stdout.write(file.read())
    good = same_trees(os.path.join(folder, "direct"),
                      os.path.join(folder, "packed")) and good
    # That it found all, and did not compile it again.
    before = len(glob.glob(os.path.join(folder, "code", "*.cerbjit")))
    with open(os.path.join(folder, "packed.json"), encoding="utf-8") as file:
        report = json.load(file)
    if (report["code_objects"], report["found"], before) != (24, 24, 24):
        print("FAIL %d code objects, %d found again, %d in the cache; expected 24"
              % (report["code_objects"], report["found"], before))
        good = False
    for archive in sorted(os.listdir(os.path.join(folder, "direct/.kpack"))):
        if not archive.endswith(".kpack"):
            continue
        parts = [os.path.join(folder, "shard-%d/.kpack" % i, archive)
                 for i in range(1, SHARDS + 1)]
        merged = os.path.join(folder, archive)
        subprocess.run([cerberus, "kpack", "merge", "--in-order", "-q", "-o", merged] +
                       [part for part in parts if os.path.exists(part)],
                       check=True)
        if not filecmp.cmp(merged, os.path.join(folder, "direct/.kpack", archive),
                           shallow=False):
            print("FAIL the shards' %s merged is another" % archive)
            good = False
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "nvcc")
    parser.add_argument("--keep", help="a new folder, which stays")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    if args.keep:
        os.makedirs(args.keep)
        good = run(args, os.path.abspath(args.keep))
    else:
        with tempfile.TemporaryDirectory() as folder:
            good = run(args, folder)
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
