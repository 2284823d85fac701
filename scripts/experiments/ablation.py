# SPDX-License-Identifier: BSD-3-Clause
"""What each optimisation of the compiler gains, of images and gradients, and how kernels grow by differentiation (figures 7, 15
and 17 and table 1 of the Dr.Jit paper)."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import report

MANY = "750 shapes"
COLOURS = {"Cornell box": ["white.reflectance.value", "red.reflectance.value", "green.reflectance.value"],
           "room": ["walls.reflectance.data"], MANY: ["m0.brdf_0.reflectance.value", "m4.reflectance.value"]}
# Naive kernels of the largest scene take the drivers minutes to compile.
RUNS = [("native", list(COLOURS)), ("swiftshader", ["Cornell box", "room"]), ("lavapipe", ["Cornell box"])]
ALL = "all"
# From the naive form to all passes, as the paper adds them up.
STEPS = [("none", "none"), ("none but shape_sharing", "one function a kind of shape"),
         ("none but sharing, shape_sharing", "one function a kind of material, too"), (ALL, "all passes")]


def path_of(name, folder):
    if name != MANY:
        return os.path.join(report.ROOT, "assets", {"Cornell box": "cornell", "room": "room"}[name], "scene.xml")
    path = os.path.join(folder, "many.xml")
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(report.ROOT, "tests", "dispatch.py"), path], check=True)
    return path


def variants(scene, colours, device, rounds, spp):
    """By pass, in the order of the program: variant -> its figures. `slower` is the mean over rounds of the run time over that
    with all passes in the same round."""
    said = report.backlight("bench", scene, "--ablation", "--device", device, "--rounds", rounds, "--spp", spp, "--spp-grad", spp,
                            "--max-depth", 6, *(["-D", "resolution=64"] if "cornell" in scene else []), "--param", *colours)
    found = {}
    for v in said["variants"]:
        found.setdefault(v["pass"], {})[v["variant"]] = v
    for kernels in found.values():
        least = np.array(kernels[ALL]["run_seconds_rounds"])
        for v in kernels.values():
            v["slower"] = report.Measured.of(np.array(v["run_seconds_rounds"]) / least)
    return found, said["device"]


def row_of(scene, device, what, name, v):
    return [scene, device, what, name, str(v["ops"]), str(v["functions"]), str(v["call_bytes"]), str(v["state_bytes"]),
            v["own_seconds"] * 1e3, v["driver_seconds"] * 1e3, 1.0 if v["variant"] == ALL else v["slower"]]


def summary(passes):
    """Of one pass on native, over all scenes: what each single pass of the compiler removes, the worst scene."""
    names = [n for n in next(iter(passes.values())) if n.startswith("without ")]
    most = [(max(p[n]["ops"] / p[ALL]["ops"] for p in passes.values()), max(p[n]["slower"] for p in passes.values()), n[8:])
            for n in names]
    return sorted(most, reverse=True)


def run(page, tiny):
    rounds, spp, runs = (2, 2, [("native", ["Cornell box"])]) if tiny else (5, 8, RUNS)
    rows, by_pass, curves, growth = [], {"primal": {}, "gradient": {}}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        for device, scenes in runs:
            for scene in scenes:
                found, said = variants(path_of(scene, folder), COLOURS[scene], device, rounds, spp)
                page.device = page.device or said
                for what, kernels in found.items():
                    rows += [row_of(scene, device, what, name, kernels[v]) for v, name in STEPS]
                    curves["%s, %s, %s" % (scene, device, what)] = [
                        (k, kernels[v]["slower"]) for k, (v, _) in enumerate(STEPS)]
                    if device == "native":
                        by_pass[what][scene] = kernels
                if device == "native":
                    growth.append([found["gradient"][v]["ops"] / found["primal"][v]["ops"] for v, _ in STEPS])
    ratios = np.exp(np.mean(np.log(growth), 0))
    single = {what: ", ".join("`%s` %.2f and %s" % (n, ops, format(slow, ".2f")) for ops, slow, n in summary(p)[:5])
              for what, p in by_pass.items()}
    page.write("What the compiler's passes gain", [
        "`backlight bench --ablation`, %d samples a pixel, paths of up to 6 segments, %d rounds: kernels without any pass "
        "and with more and more of them. *750 shapes* has 24 materials of 5 kinds (`tests/dispatch.py`). Gradients are fused, by "
        "diffuse colours. *ours* and *driver* are milliseconds of compiling, *slower* is run time over that with all passes in the "
        "same round, the mean of rounds with its standard error; that holds on a busy machine, and milliseconds do not." % (spp, rounds),
        "Figures 7 and 15 of the paper go from kernels for each bounce and function, with all states in memory, to one kernel, and "
        "find time to fall by up to 111 and 125 times on processors. A trace has loops from the start here, so the naive form is a "
        "function of its own for each shape and material. What states in memory cost is on [its own page](wavefront.md).",
        "Table 1 of the paper gives a gradient %.2f to %.2f times the primal's operations. Here it is %s times, from the naive form to all "
        "passes (geometric mean of the scenes, native)." % (3.39, 4.63, ", ".join("%.2f" % r for r in ratios)),
        "Passes that matter most when only they are left out: operations over those with all passes and run time over it, the worst scene, on native. "
        "Images: %s. Gradients: %s." % (single["primal"], single["gradient"]),
    ], ["scene", "device", "kernel", "passes", "ops", "functions", "bytes through calls", "bytes of states", "ours, ms",
        "driver, ms", "slower"], rows, [
            {"title": "%ss" % what, "x": "naive, by shape kind, by material kind, all", "y": "slower than with all", "log_y": True,
             "curves": {n.rsplit(",", 1)[0]: c for n, c in curves.items() if n.endswith(what)}} for what in by_pass])
