# LABELS: conformance swiftshader lavapipe timeout=1500
# SPDX-License-Identifier: BSD-3-Clause
"""Other people's scenes ($BL_REFERENCE, by default ../shared/reference beside the checkout): the Cornell box of images/scenes loads unchanged
and renders; images of the gradient cases have the mean that the reference states. The z-test against stored images is image_references, in
C; BL_LONG=1 runs the reference's own judge here as well, where Python's OpenEXR module exists to read them."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

MEANS = {"cbox_colours": 1200, "texture": 200, "many_bounces": 250}  # case: samples per pixel

program = os.environ["BL_PROGRAM"]
source = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
reference = os.environ.get("BL_REFERENCE") or os.path.join(source, "..", "shared", "reference")


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)


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
        command = [program, "render", os.path.basename(scene), "-o", image, "--variance", variance, "--quiet", *options]
        r = subprocess.run(command, cwd=os.path.dirname(scene), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode != 0:
            print("FAILED: %s\n%s" % (" ".join(command), r.stdout))
            return None
        return read_pfm(image), read_pfm(variance)


def cornell_box():
    got = render(os.path.join(reference, "images", "scenes", "cbox", "cbox-rgb.xml"), "--spp", "8")
    if got is None:
        return False
    image = got[0]
    left, right = image[:, :image.shape[1] // 8].mean((0, 1)), image[:, -image.shape[1] // 8:].mean((0, 1))
    good = np.isfinite(image).all() and image.min() >= 0 and image.mean() > 0.05
    good = good and left[0] > 2 * left[1] and right[1] > right[0] and image.max() > 10  # red left, green right, a lamp
    print("%s scenes/cbox: mean %s" % ("pass" if good else "FAIL", image.mean((0, 1))))
    return good


def mean_agrees(case, spp):
    folder = os.path.join(reference, "gradients", case)
    with open(os.path.join(folder, "expected.json")) as f:
        expected = np.array(json.load(f)["primal_mean"])
    got = render(os.path.join(folder, "scene.xml"), "--spp", str(spp), "--seed", "5")
    if got is None:
        return False
    image, variance = got
    error = np.sqrt(variance.sum((0, 1)) / spp) / (image.shape[0] * image.shape[1])
    off = np.abs(image.mean((0, 1)) - expected)
    good = bool((off <= 4 * error + 0.004 * expected).all() and (error < 0.005 * expected).all())
    print("%s %s: mean %s +- %s, expected %s" % ("pass" if good else "FAIL", case, image.mean((0, 1)), error, expected))
    return good


def main():
    if not os.path.isdir(os.path.join(reference, "images")):
        skip("no references at %s (BL_REFERENCE)" % reference)
    devices = subprocess.run([program, "devices", "--json"], stdout=subprocess.PIPE, text=True)
    named = os.environ.get("BL_DEVICE", "")
    if devices.returncode != 0 or (named in ("swiftshader", "lavapipe") and '"%s"' % named not in devices.stdout):
        skip("no device %s" % named)
    ok = cornell_box()
    for case, spp in MEANS.items():
        ok = mean_agrees(case, spp) and ok
    if os.environ.get("BL_LONG") == "1":
        try:
            import OpenEXR  # noqa: F401
        except ImportError:
            print("the reference's own judge was left out: Python has no OpenEXR module")
        else:
            judge = [sys.executable, os.path.join(reference, "judge_images.py"), program, os.path.join(reference, "images", "manifest.json")]
            for name in os.environ.get("BL_JUDGED_IMAGES", "arealight,textured_diffuse").split(","):
                ok = subprocess.run(judge + ["--only", name]).returncode == 0 and ok
    sys.exit(0 if ok else 1)


main()
