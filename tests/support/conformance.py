# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share that compare the program with another renderer (tests/conformance_*.py)."""
import os
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = os.environ["BL_PROGRAM"]
SOURCE = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CASES = os.path.join(SOURCE, "tests", "reference")  # gradients, in every clone
IMAGES = os.path.join(os.environ.get("BL_REFERENCE") or os.path.join(SOURCE, "..", "shared", "reference"),
                      "images")


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)


def need_device():
    """Skips the test where the device that BL_DEVICE names is missing."""
    devices = subprocess.run([PROGRAM, "devices", "--json"], stdout=subprocess.PIPE, text=True)
    named = os.environ.get("BL_DEVICE", "")
    if devices.returncode != 0 or (named in ("swiftshader", "lavapipe") and '"%s"' %
                                   named not in devices.stdout):
        skip("no device %s" % named)


def read_pfm(path):
    with open(path, "rb") as f:
        kind, size, scale = f.readline().split()[0], f.readline().split(), float(f.readline())
        channels = {b"PF": 3, b"Pf": 1}[kind]
        a = np.frombuffer(f.read(), dtype="<f4" if scale < 0 else ">f4")
    return a.reshape(int(size[1]), int(size[0]), channels)[::-1].astype(np.float64)


def render(scene, *options):
    """image and its variance per sample; None after a failure"""
    with tempfile.TemporaryDirectory() as out:
        image, variance = os.path.join(out, "image.pfm"), os.path.join(out, "variance.pfm")
        command = [PROGRAM, "render", os.path.basename(scene), "-o", image, "--variance", variance, "--quiet",
                   *options]
        r = subprocess.run(command, cwd=os.path.dirname(scene), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        if r.returncode != 0:
            print("FAILED: %s\n%s" % (" ".join(command), r.stdout))
            return None
        return read_pfm(image), read_pfm(variance)
