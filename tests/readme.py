# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""The README's promises that a program can check: its C program compiles against the public header, its links
and folders exist. And docs/status.md stays a screen: no cell of its table is longer than CELL_MOST."""
import os
import re
import subprocess
import sys
import tempfile

CELL_MOST = 200
ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def documents():
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"],
                         capture_output=True, text=True).stdout.split()
    return out or ["README.md"]


def main():
    failures = 0
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    programs = re.findall(r"```c\n(.*?)```", readme, re.S)
    if not programs:
        print("README.md: no C program")
        failures += 1
    for program in programs:
        with tempfile.NamedTemporaryFile("w", suffix=".c", delete=False) as f:
            f.write(program)
        r = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror",
                            "-fsyntax-only", "-I" + os.path.join(ROOT, "include"), f.name])
        os.unlink(f.name)
        failures += r.returncode != 0
    links = 0
    for name in documents():
        folder = os.path.dirname(os.path.join(ROOT, name))
        with open(os.path.join(ROOT, name), encoding="utf-8") as f:
            content = re.sub(r"```.*?```", "", f.read(), flags=re.S)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", content):
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            if not os.path.exists(os.path.join(folder, link)):
                print("%s: link to %s, which does not exist" % (name, link))
                failures += 1
    for row in re.findall(r"^\| (`[^|]+) \|", readme, re.M):
        for folder in re.findall(r"`([^`]+)`", row):
            if not os.path.isdir(os.path.join(ROOT, folder)):
                print("README.md: folder %s does not exist" % folder)
                failures += 1
    with open(os.path.join(ROOT, "docs", "status.md"), encoding="utf-8") as f:
        cells = [cell.strip() for line in f if line.startswith("|")
                 for cell in line.strip().strip("|").split("|")]
    for cell in cells:
        if len(cell) > CELL_MOST:
            print("docs/status.md: a cell of %d characters, more than %d: %s..." %
                  (len(cell), CELL_MOST, cell[:40]))
            failures += 1
    print("%d programs, %d links, %d failures" % (len(programs), links, failures))
    return 1 if failures or links == 0 or len(cells) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
