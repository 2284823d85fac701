# SPDX-License-Identifier: BSD-3-Clause
"""scripts/gpu-check --pack: what a machine with nothing but python3, numpy and a Vulkan loader needs, in one archive.
The program and the tests of devices without debug information, the libraries that they are linked with except those of
the C and C++ run time, and of the repository what the tests read."""
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

# Every Linux of the same processor has these, and newer ones serve older programs.
SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)[.-]")
FOLDERS = ("scripts", "tests", "assets", "docs", "python", "include", "LICENSE", "README.md")


def linked(program):
    """Paths of the libraries that a program is linked with, by the names that it asks for."""
    lines = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"^\s*(\S+) => (/\S+)", lines, re.M)
    return {name: path for name, path in found if not SYSTEM.match(name)}


def strip(source, target):
    shutil.copy(source, target)
    if shutil.which("strip"):
        subprocess.run(["strip", target], check=True)


def pack(archive, root, program, tests, names):
    """names: the programs of tests to take, of the folder tests."""
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "backlight")
        for below in ("build/tests", "lib"):
            os.makedirs(os.path.join(base, below))
        strip(program, os.path.join(base, "build", "backlight"))
        libraries = linked(program)
        for name in names:
            path = os.path.join(tests, name)
            if os.path.isfile(path):
                strip(path, os.path.join(base, "build", "tests", name))
                libraries.update(linked(path))
        for name, path in libraries.items():
            shutil.copy(os.path.realpath(path), os.path.join(base, "lib", name))
        for name in FOLDERS:
            source, target = os.path.join(root, name), os.path.join(base, name)
            if os.path.isdir(source):
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "build"))
            else:
                shutil.copy(source, target)
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(base, "backlight")
    print("%s: %.1f MiB, %d libraries" % (archive, os.path.getsize(archive) / 2**20, len(libraries)))
