# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""docs/tutorial.md is true: its files are written and its commands run, in order, with few samples
(scripts/tutorial --quick); each command that the text tells of is one of them, and its pictures are there."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def main():
    problems = []
    with open(os.path.join(ROOT, "docs/tutorial.md"), encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/tutorial"), "--quick", "--keep", folder],
                              check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            problems.append(done.stdout + done.stderr)
        for name in ("ball.png", "check.png", "target.exr", "out/report.html", "out/result.json"):
            if not os.path.exists(os.path.join(folder, name)):
                problems.append("the tutorial makes no %s" % name)
    commands = re.findall(r"^\$ backlight (\w+)", text, re.M)
    if commands != ["render", "params", "check", "render", "fit"]:
        problems.append("commands of the tutorial: %s" % commands)
    if "%d commands" % len(commands) not in done.stdout:
        problems.append("the script ran other commands: " + done.stdout[-200:])
    pictures = re.findall(r"\]\((images/tutorial-[^)]+)\)", text)
    problems += ["%s is missing" % p for p in pictures if not os.path.exists(os.path.join(ROOT, "docs", p))]
    if len(pictures) != 3:
        problems.append("%d pictures" % len(pictures))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
