# LABELS: conformance swiftshader=long lavapipe native rayquery timeout=3600
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of reverse mode against those of another renderer: the cases of tests/reference, judged by the
rule that tests/reference/judge.py states. The program takes device and ray backend from BL_DEVICE and
BL_RAY_BACKEND.

Ordinary tier: one `grad` call for all parameters of a case, and fewer samples than the judge takes by itself.
Seeds are added until the noise is low enough to judge. Parameters that need more than this tier has time for
(NOISY) are left to BL_LONG=1, where the judge runs by itself, with its own counts and one call for every
parameter. """
import os
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "support"), os.path.join(HERE, "reference")]
import conformance
import judge
from today import today

BACKEND = os.environ.get("BL_RAY_BACKEND")
CASES = ["cbox_colours", "texture", "many_bounces", "lights", "envmap", "conductor", "plastic", "blend_mask",
         "dielectric_rough", "shading_normals",
         "homogeneous", "heterogeneous", "rgb_extinction", "principled", "smooth_glass_ior", "mirror_normal"]
# Kernels of media and of principled glass take lavapipe long to compile: in the ordinary tier it has one of
# these. Of its cases it has every fourth one, the next day others; other devices have every second one.
SLOW_ON_LAVAPIPE = ["homogeneous", "rgb_extinction", "principled"]
# Where the half vector turns with the index, the derivative at a fixed direction is noisy: it takes some ten
# of the judge's seeds of 4394 samples.
NOISY = {"dielectric_rough": ["glass.eta"]}
if BACKEND == "query" and os.environ.get("BL_LONG") != "1":
    CASES = ["cbox_colours", "texture", "lights"]
elif os.environ.get("BL_DEVICE") == "lavapipe" and os.environ.get("BL_LONG") != "1":
    CASES = [case for case in CASES if case not in SLOW_ON_LAVAPIPE][today() % 4::4]
elif os.environ.get("BL_LONG") != "1":
    CASES = CASES[today() % 2::2]
SPP = {"cbox_colours": 192, "texture": 96, "many_bounces": 160, "lights": 144, "envmap": 64, "conductor": 384,
       "plastic": 384, "blend_mask": 512,
       "dielectric_rough": 384, "shading_normals": 64, "homogeneous": 128, "heterogeneous": 96,
       "rgb_extinction": 256, "principled": 384,
       "smooth_glass_ior": 32, "mirror_normal": 16}
SHARE = 2 if BACKEND == "query" else 1  # of the samples: CPU devices are slow at ray queries
SEEDS, MAX_SEEDS = 4, 16

def run(folder, parameters, spp, seed):
    gradients, summary = judge.run(conformance.PROGRAM, folder, parameters, spp, seed)
    if BACKEND == "query" and summary["ray_backend"] != "query":
        raise judge.RunFailed("rays went by %s" % summary["ray_backend"])
    if summary["drift"] != 0 or summary["overflow"] != 0 or summary["non_finite"] != 0:
        raise judge.RunFailed("drift %g, overflow %g, non-finite %g" %
                              (summary["drift"], summary["overflow"], summary["non_finite"]))
    return gradients


def case_passes(case):
    folder = os.path.join(conformance.CASES, case)
    parameters = {name: p for name, p in judge.expected(folder)["parameters"].items()
                  if name not in NOISY.get(case, [])}
    rows = {name: [] for name in parameters}
    verdicts = {}
    for seed in range(1, MAX_SEEDS + 1):
        try:
            got = run(folder, parameters, SPP[case] // SHARE, seed)
        except judge.RunFailed as e:
            print("FAILED: %s: %s" % (case, e))
            return False
        for name in parameters:
            rows[name].append(got[name])
        if seed < SEEDS:
            continue
        verdicts = {name: judge.judge(folder, p, rows[name]) for name, p in parameters.items()}
        if all(ok is not None for ok, _ in verdicts.values()):
            break
    for name, (ok, text) in verdicts.items():
        print("%s %s %s: %s (%d seeds)" % ("pass" if ok is True else "FAIL", case, name, text,
                                           len(rows[name])), flush=True)
    return len(verdicts) > 0 and all(ok is True for ok, _ in verdicts.values())


def wrong_gradients_fail():
    """The judge is only worth something if it notices: a tenth too much, swapped channels, an array of the
    wrong scale, noise."""
    folder = os.path.join(conformance.CASES, "cbox_colours")
    p = judge.expected(folder)["parameters"]["red.reflectance.value"]
    steps = (-1, 0, 1, 0)
    right = np.array(p["gradient"])
    rows = [right * (1 + 0.001 * k) for k in steps]
    sky = os.path.join(conformance.CASES, "envmap")
    image = judge.expected(sky)["parameters"]["env.data"]
    texels = judge.reference_values(sky, image["gradient"])
    array = [texels * (1 + 0.001 * k) for k in steps]
    verdicts = {
        "the right colour": (judge.judge(folder, p, rows)[0], True),
        "a colour 10 % too large": (judge.judge(folder, p, [1.1 * g for g in rows])[0], False),
        "swapped channels": (judge.judge(folder, p, [g[::-1] for g in rows])[0], False),
        "a colour in noise": (judge.judge(folder, p, [right * (1 + 0.1 * k) for k in steps])[0], None),
        "the right array": (judge.judge(sky, image, array)[0], True),
        "an array 10 % too large": (judge.judge(sky, image, [1.1 * g for g in array])[0], False),
        "an array of zeros": (judge.judge(sky, image, [0 * g for g in array])[0], False),
        "a gradient that is not finite": (judge.judge(folder, p, [g * float("nan") for g in rows])[0], False),
    }
    for what, (got, wanted) in verdicts.items():
        if got is not wanted:
            print("FAILED: the judge says %s of %s" % (got, what))
    return all(got is wanted for got, wanted in verdicts.values())


def main():
    conformance.need_device()
    ok = wrong_gradients_fail()
    if os.environ.get("BL_LONG") == "1":
        command = [sys.executable, os.path.join(conformance.CASES, "judge.py"), conformance.PROGRAM, "--only",
                   ",".join(CASES)]
        ok = subprocess.run(command).returncode == 0 and ok
    else:
        for case in CASES:
            ok = case_passes(case) and ok
    sys.exit(0 if ok else 1)


main()
