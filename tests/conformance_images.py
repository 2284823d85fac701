# LABELS: conformance swiftshader lavapipe native
# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of others: the Cornell box of the reference folder's images/scenes loads unchanged and renders. The
z-test against stored images is image_references, in C. BL_LONG=1 runs the folder's own judge here as well,
where Python's OpenEXR module exists to read them."""
import os
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import conformance


def cornell_box():
    got = conformance.render(os.path.join(conformance.IMAGES, "scenes", "cbox", "cbox-rgb.xml"), "--spp", "8")
    if got is None:
        return False
    image = got[0]
    left, right = image[:, :image.shape[1] // 8].mean((0, 1)), image[:, -image.shape[1] // 8:].mean((0, 1))
    good = np.isfinite(image).all() and image.min() >= 0 and image.mean() > 0.05
    # Red on the left, green on the right, and a lamp.
    good = good and left[0] > 2 * left[1] and right[1] > right[0] and image.max() > 10
    print("%s scenes/cbox: mean %s" % ("pass" if good else "FAIL", image.mean((0, 1))))
    return good


def judged_images():
    try:
        import OpenEXR  # noqa: F401
    except ImportError:
        print("the reference's own judge was left out: Python has no OpenEXR module")
        return True
    command = [sys.executable, os.path.join(conformance.IMAGES, "..", "judge_images.py"), conformance.PROGRAM,
               os.path.join(conformance.IMAGES, "manifest.json")]
    names = os.environ.get("BL_JUDGED_IMAGES", "arealight,textured_diffuse").split(",")
    return all([subprocess.run(command + ["--only", name]).returncode == 0 for name in names])


def main():
    if not os.path.isdir(conformance.IMAGES):
        conformance.skip("no images at %s; BL_REFERENCE=FOLDER names the folder that holds images/" %
                         conformance.IMAGES)
    conformance.need_device()
    ok = cornell_box()
    if os.environ.get("BL_LONG") == "1":
        ok = judged_images() and ok
    sys.exit(0 if ok else 1)


main()
