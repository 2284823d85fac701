# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""Every C, C++ and GLSL file keeps to 110 columns, and C is as clang-format 14 writes it (scripts/format)."""
import os
import shutil
import subprocess
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDERS = ("include", "src", "spirv_gen", "tests", "samples", "glsl", "python")
COLUMNS = 110


def sources():
    for folder in FOLDERS:
        for base, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cpp", ".glsl", ".comp")):  # a row of a .def table is one line
                    yield os.path.join(base, name)


def wide_lines(path):
    with open(path, encoding="utf-8") as f:
        return [n for n, line in enumerate(f, 1) if len(line.rstrip("\n")) > COLUMNS]


def main():
    problems, files = [], list(sources())
    for path in files:
        where = os.path.relpath(path, ROOT)
        problems += ["%s:%d: more than %d columns" % (where, n, COLUMNS) for n in wide_lines(path)]
    version = ""
    if shutil.which("clang-format"):
        version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    if "version 14." in version:
        script = subprocess.run([os.path.join(ROOT, "scripts", "format")], capture_output=True, text=True)
        problems += [line + ": not as scripts/format --fix writes it" for line in script.stdout.split()]
    elif os.environ.get("BL_REQUIRE_ALL") == "1":
        problems.append("clang-format 14 is missing: scripts/setup --full installs it")
    for p in problems:
        print(p)
    print("%d files read, %d problems" % (len(files), len(problems)))
    return 1 if problems or len(files) < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
