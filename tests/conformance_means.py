# LABELS: conformance swiftshader lavapipe
# SPDX-License-Identifier: BSD-3-Clause
"""The images of three cases of tests/reference have the mean that the other renderer found: within four
standard errors and 0.4 % (the means are stored to a few tenths of a percent), where these are below half a
percent."""
import json
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import conformance

SPP = {"cbox_colours": 1200, "texture": 200, "many_bounces": 250}


def mean_agrees(case, spp):
    folder = os.path.join(conformance.CASES, case)
    with open(os.path.join(folder, "expected.json")) as f:
        expected = np.array(json.load(f)["primal_mean"])
    got = conformance.render(os.path.join(folder, "scene.xml"), "--spp", str(spp), "--seed", "5")
    if got is None:
        return False
    image, variance = got
    mean, error = image.mean((0, 1)), np.sqrt(variance.sum((0, 1)) / spp) / (image.shape[0] * image.shape[1])
    good = bool((np.abs(mean - expected) <= 4 * error + 0.004 * expected).all()
                and (error < 0.005 * expected).all())
    print("%s %s: mean %s +- %s, expected %s" % ("pass" if good else "FAIL", case, mean, error, expected))
    return good


conformance.need_device()
sys.exit(0 if all([mean_agrees(case, spp) for case, spp in SPP.items()]) else 1)
