# LABELS: conformance swiftshader lavapipe rayquery timeout=1500
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients against reference values of another renderer ($BL_REFERENCE, by default ../shared/reference beside the checkout).

The reference's own judge decides, by its rule: |g - ref| <= 4 sqrt(se^2 + se_ref^2) + 1 % per entry, and a run whose noise
could hide a 10 % error means nothing. The program takes device and ray backend from BL_DEVICE and BL_RAY_BACKEND. Ordinary tier: all parameters of a case in one `grad` call and fewer samples; seeds are added until
the noise is low enough to judge; parameters that need more than this tier has time for (NOISY) are left to the other. BL_LONG=1: the judge runs by
itself, with its own counts, one call for every parameter.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

BACKEND = os.environ.get("BL_RAY_BACKEND")
CASES = ["cbox_colours", "texture", "many_bounces", "lights", "envmap", "conductor", "plastic", "blend_mask", "dielectric_rough", "shading_normals",
         "homogeneous", "heterogeneous", "rgb_extinction", "principled", "smooth_glass_ior", "mirror_normal"]
# Kernels of media and of principled glass take seconds to compile: in the ordinary tier each of these is judged on one device.
ON_ONE_DEVICE = {"homogeneous": "swiftshader", "heterogeneous": "lavapipe", "rgb_extinction": "swiftshader", "principled": "swiftshader"}
# Where the half vector turns with the index, the derivative at a fixed direction is noisy: it takes some ten of the judge's seeds of 4394 samples.
NOISY = {"dielectric_rough": ["glass.eta"]}
if BACKEND == "query" and os.environ.get("BL_LONG") != "1":
    CASES = ["cbox_colours", "texture", "lights"]
if os.environ.get("BL_LONG") != "1":
    CASES = [case for case in CASES if ON_ONE_DEVICE.get(case, os.environ.get("BL_DEVICE")) == os.environ.get("BL_DEVICE")]
SPP = {"cbox_colours": 192, "texture": 96, "many_bounces": 160, "lights": 144, "envmap": 64, "conductor": 384, "plastic": 384, "blend_mask": 512,
       "dielectric_rough": 384, "shading_normals": 64, "homogeneous": 128, "heterogeneous": 96, "rgb_extinction": 256, "principled": 384,
       "smooth_glass_ior": 32, "mirror_normal": 16}
SHARE = 2 if BACKEND == "query" else 1  # of the samples: CPU devices are slow at ray queries
SEEDS, MAX_SEEDS = 4, 16

program = os.environ["BL_PROGRAM"]
source = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
reference = os.environ.get("BL_REFERENCE") or os.path.join(source, "..", "shared", "reference")
judge_path = os.path.join(reference, "judge_gradients.py")


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)


def load_judge():
    spec = importlib.util.spec_from_file_location("judge_gradients", judge_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder, parameters, spp, seed):
    """gradients of all parameters by name, each flat float64; None after a failure"""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "grad", "scene.xml", "--adjoint", "adjoint.exr", "--spp", str(spp), "--seed", str(seed), "-o", out, "--quiet"]
        for name in parameters:
            command += ["--param", name]
        r = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode != 0:
            print("FAILED: %s\n%s" % (" ".join(command), r.stdout))
            return None
        with open(os.path.join(out, "summary.json")) as f:
            summary = json.load(f)
        if BACKEND == "query" and summary["ray_backend"] != "query":
            print("FAILED: rays went by %s" % summary["ray_backend"])
            return None
        if summary["drift"] != 0 or summary["overflow"] != 0 or summary["non_finite"] != 0:
            print("FAILED: drift %g, overflow %g, non-finite %g" % (summary["drift"], summary["overflow"], summary["non_finite"]))
            return None
        gradients = {}
        for name, p in parameters.items():
            a = np.load(os.path.join(out, name + ".npy"), allow_pickle=False)
            if a.dtype != np.float32 or list(a.shape) != list(p["shape"]) or not np.isfinite(a).all():
                print("FAILED: %s: %s %s, expected float32 %s, finite" % (name, a.dtype, a.shape, p["shape"]))
                return None
            gradients[name] = a.astype(np.float64).reshape(-1)
        return gradients


def case_passes(judge, case):
    folder = os.path.join(reference, "gradients", case)
    with open(os.path.join(folder, "expected.json")) as f:
        parameters = {name: p for name, p in json.load(f)["parameters"].items() if name not in NOISY.get(case, [])}
    rows = {name: [] for name in parameters}
    verdicts = {}
    for seed in range(1, MAX_SEEDS + 1):
        got = run(folder, parameters, SPP[case] // SHARE, seed)
        if got is None:
            return False
        for name in parameters:
            rows[name].append(got[name])
        if seed < SEEDS:
            continue
        verdicts = {name: judge.judge(folder, p, rows[name]) for name, p in parameters.items()}
        if all(ok is not None for ok, _ in verdicts.values()):
            break
    for name, (ok, text) in verdicts.items():
        print("%s %s %s: %s (%d seeds)" % ("pass" if ok is True else "FAIL", case, name, text, len(rows[name])), flush=True)
    return len(verdicts) > 0 and all(ok is True for ok, _ in verdicts.values())


def a_wrong_gradient_fails(judge):
    """The judge is only worth something if it notices: 10 % off, and a swapped channel."""
    folder = os.path.join(reference, "gradients", "cbox_colours")
    with open(os.path.join(folder, "expected.json")) as f:
        p = json.load(f)["parameters"]["red.reflectance.value"]
    right = np.array(p["gradient"], dtype=np.float64)
    noise = [right * (1 + 0.001 * k) for k in (-1, 0, 1, 0)]
    return (judge.judge(folder, p, noise)[0] is True and judge.judge(folder, p, [1.1 * g for g in noise])[0] is False
            and judge.judge(folder, p, [g[::-1] for g in noise])[0] is False)


def main():
    if not os.path.isfile(judge_path):
        skip("no references at %s (BL_REFERENCE)" % reference)
    devices = subprocess.run([program, "devices", "--json"], stdout=subprocess.PIPE, text=True)
    named = os.environ.get("BL_DEVICE", "")
    if devices.returncode != 0 or (named in ("swiftshader", "lavapipe") and '"%s"' % named not in devices.stdout):
        skip("no device %s" % named)
    if os.environ.get("BL_LONG") == "1":
        command = [sys.executable, judge_path, program, os.path.join(reference, "gradients"), "--only", ",".join(CASES)]
        long_passes = subprocess.run(command).returncode == 0
        CASES.clear()
    else:
        long_passes = True
    judge = load_judge()
    ok = long_passes and a_wrong_gradient_fails(judge)
    if not ok:
        print("FAILED: the judge accepts wrong gradients, or rejects right ones")
    for case in CASES:
        ok = case_passes(judge, case) and ok
    sys.exit(0 if ok else 1)


main()
