# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The fit assets/polarizers finds the angles of five polarisers and the delay of a retarder from one picture, by
gradients of polarised light alone: without polarisation none of them has a gradient."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../assets/polarizers/fit.json")
TRUTH = {"pane0.theta.value": 15, "pane1.theta.value": 30, "pane2.theta.value": 45, "pane3.theta.value": 62,
         "pane4.theta.value": 80, "film.delta.value": 110}
DEGREES = 2


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, "fit", JOB, "-o", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
            found = {p["name"]: p for p in json.load(f)["parameters"]}
    assert set(found) == set(TRUTH)
    for name, degrees in TRUTH.items():
        start, end = found[name]["initial"][0], found[name]["final"][0]
        print("%s: %g to %.2f, truth %g" % (name, start, end, degrees))
        assert abs(end - degrees) < DEGREES and abs(start - degrees) > 10 * abs(end - degrees)


if __name__ == "__main__":
    sys.exit(main())
