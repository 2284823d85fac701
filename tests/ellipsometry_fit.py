# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The fit assets/ellipsometry finds the complex index of a metal from Stokes vectors, which are the image there
(stokesfilm). From the intensities of the same light it does not, though it explains them as well: the test shows that
polarisation is what tells."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../assets/ellipsometry/fit.json")
TRUTH = {"metal.eta.value": [.22, .9, 1.3], "metal.k.value": [3.2, 2.4, 1.9]}


def worst(film):
    """The largest relative error that the fit leaves in an image of this type."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, "fit", JOB, "-D", "film=" + film, "-o", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
            found = {p["name"]: p["final"] for p in json.load(f)["parameters"]}
    assert set(found) == set(TRUTH)
    error = max(abs(x - y) / y for name, truth in TRUTH.items() for x, y in zip(found[name], truth))
    print("%s: off by %.4f at most: %s" % (film, error, found))
    return error


def main():
    assert worst("stokesfilm") < .01
    assert worst("hdrfilm") > .05


if __name__ == "__main__":
    sys.exit(main())
