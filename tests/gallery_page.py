# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""docs/gallery.md is true: each of its pictures is there, and its command runs (with few samples, scripts/pictures
--quick) and leaves the picture."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def main():
    problems = []
    with open(os.path.join(ROOT, "docs/gallery.md"), encoding="utf-8") as f:
        text = f.read()
    names = re.findall(r"\]\(images/gallery/([\w-]+)\.png\)", text)
    commands = re.findall(r"^\$ backlight ", text, re.M)
    if len(names) < 12 or len(names) != len(commands):
        problems.append("%d pictures, %d commands" % (len(names), len(commands)))
    problems += ["%s has no picture" % n for n in names
                 if not os.path.exists(os.path.join(ROOT, "docs/images/gallery", n + ".png"))]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/pictures"), "--quick", "-o", folder], check=False,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode or "%d pictures" % len(names) not in done.stdout:
            problems.append(done.stdout)
        problems += ["no command makes %s.png" % n for n in names if not os.path.exists(os.path.join(folder, n + ".png"))]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
