# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/measure writes docs/measurements.md: that page has the script's head and its sections, in their order. A section that is
taken replaces the old one, all others stay, and so does one whose command fails, with status 1. `bench`, which it asks, takes CPU
time for speed where the device is the processor; scripts/measure-scenes has a row of a scene whose shapes can move, too."""
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, DEVICE = os.environ.get("BL_SOURCE_DIR", "."), os.environ.get("BL_DEVICE", "native")
PROGRAM = os.environ.get("BL_PROGRAM", "build/backlight")
MEASURE = os.path.join(SOURCE, "scripts", "measure")
PAGE = os.path.join(SOURCE, "docs", "measurements.md")


def measure(*words):
    return subprocess.run([sys.executable, MEASURE, *words], capture_output=True, text=True, timeout=600)


def sections(text):
    """name -> text, in the page's order"""
    return dict(re.findall(r"<!-- section (\S+) -->\n(.*?)<!-- end -->\n", text, re.S))


def main():
    problems = []

    def check(right, what):
        if not right:
            problems.append(what)

    with open(PAGE, encoding="utf-8") as f:
        committed = f.read()
    names = [line.split()[0] for line in measure("--list").stdout.splitlines()]
    check(list(sections(committed)) == names, "docs/measurements.md has %s, the script %s" % (list(sections(committed)), names))
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.md")
        kept = "## Fits\n\nas it was\n"
        with open(page, "w", encoding="utf-8") as f:
            f.write("an old head\n\n<!-- section fits -->\n%s<!-- end -->\n" % kept)
        done = measure("--only", "kernels", "memory", "--rounds", "1", "--devices", DEVICE, "-o", page)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        found = sections(text)
        check(done.returncode == 0, "status %d: %s" % (done.returncode, done.stderr))
        check(text.split("<!--")[0] == committed.split("<!--")[0], "the head of the page is not the script's: " + text[:300])
        check(list(found) == ["kernels", "memory", "fits"], "sections %s" % list(found))
        check(found.get("fits") == kept, "a section that was not taken has changed")
        for name in ("kernels", "memory"):
            check(str(datetime.date.today()) in found.get(name, ""), "%s lacks its date" % name)
        check(re.search(r"\| replay \| \d+ \| [\d.]+ \|", found.get("kernels", "")), "no row of the replay kernel")
        depths = re.findall(r"depth \d+ \| ([\d,]+) \|", found.get("memory", ""))
        check(len(depths) == 2 and depths[0] == depths[1], "memory depends on depth: %s" % depths)

        failed = measure("--only", "memory", "--devices", "no-such-device", "-o", page)
        check(failed.returncode == 1 and "memory stays as it was" in failed.stderr, "of a missing device: %d %s" % (failed.returncode, failed.stderr))
        with open(page, encoding="utf-8") as f:
            check(f.read() == text, "a section whose command failed has changed the page")

    told = subprocess.run([PROGRAM, "bench", os.path.join(SOURCE, "assets/cornell/scene.xml"), "-D", "resolution=16", "--spp", "2",
                           "--rounds", "1", "--device", DEVICE, "--json", "--quiet"], capture_output=True, text=True, timeout=600)
    rates = json.loads(told.stdout)["rates_from"] if told.returncode == 0 else told.stderr
    check(rates == "cpu_seconds / cores", "bench takes speeds from " + rates)
    row = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts/measure-scenes"), "--device", DEVICE,
                          os.path.join(SOURCE, "tests/reference/texture/scene.xml")], capture_output=True, text=True, timeout=600,
                         env={**os.environ, "BL_PROGRAM": PROGRAM})
    check(row.returncode == 0 and re.search(r"texture \| %s \| [\d.]+ \| \d+ \| [\d.]+ \| \d+ \|" % DEVICE, row.stdout),
          "measure-scenes has no row of a scene whose shapes can move: %s" % (row.stdout + row.stderr))
    print("\n".join(problems + ["%d problems" % len(problems)]))
    return 1 if problems else 0


sys.exit(main())
