# SPDX-License-Identifier: BSD-3-Clause
"""Many small kernels with states in memory in place of a large one: time and memory (figures 7 and 15 of the Dr.Jit paper,
section 3.4)."""
import os

import numpy as np

import report

SCENES = [("Cornell box", "cornell/scene.xml", ["white.reflectance.value"], ["-D", "resolution=128"]),
          ("room", "room/scene.xml", ["walls.reflectance.data"], []),
          ("smoke", "smoke/scene.xml", ["smoke.sigma_t.data"], [])]
FORMS = [("primal", "image"), ("gradient fused", "gradient, fused"), ("gradient separate", "gradient, separate"),
         ("gradient two-walk", "gradient, two walks")]


def measure(page, scene, colours, defines, device, how, spp, rounds):
    """By form and kernel: CPU seconds of rounds over those in one kernel, device memory over it, and the bytes themselves."""
    said = report.backlight("bench", os.path.join(report.ROOT, "assets", scene), "--wavefront", how, "--device", device,
                            "--rounds", rounds, "--spp", spp, "--spp-grad", max(2, spp // 2), "--max-depth", 8,
                            *defines, "--param", *colours)
    page.device = page.device or said["device"]
    forms = {f["name"]: f for f in said["forms"]}
    found = []
    for form, name in FORMS:
        for kernel in ("baked", "general"):
            one, many = (forms.get("%s, %s%s" % (form, kernel, end)) for end in ("", ", wavefront"))
            if one and many:
                time = np.array(many["cpu_seconds_rounds"]) / np.array(one["cpu_seconds_rounds"])
                found.append((name, kernel, report.Measured.of(time), many["device_bytes"] / one["device_bytes"],
                              many["device_bytes"]))
    return found


def run(page, tiny):
    rounds, spp, devices, scenes = (2, 2, ["native"], SCENES[:1]) if tiny else \
        (5, 32, ["native", "swiftshader"], SCENES)
    rows, curves, means = [], {}, []
    for device in devices:
        for how in ("vertex", "target"):
            ratios = []
            for name, *scene in scenes if device == "native" else scenes[:1]:
                for form, kernel, time, memory, size in measure(page, *scene, device, how,
                                                                spp if device == "native" else max(2, spp // 4), rounds):
                    rows.append([name, device, how, form, kernel, time, memory, size / 2**20])
                    ratios.append((time, memory))
                    curves.setdefault("%s, %s" % (device, how), []).append((memory, time))
            means.append("%s, by %s: %.2f in time, %.1f in memory" %
                         (device, how, *np.exp(np.mean(np.log(ratios), 0))))
    curves = {name: sorted(c) for name, c in curves.items()}
    page.write("Wavefront against one kernel", [
        "`backlight bench --wavefront`: a walk is cut into kernels by vertex or by target, and its states are in memory in between. Time "
        "is CPU time over that of one kernel in the same round, the mean of %d with its standard error; memory is all that the job has on the device, over that of "
        "one kernel. *baked* kernels have the geometry as constants, *general* ones traverse a hierarchy." % rounds,
        "Geometric means: %s." % "; ".join(means),
        "The paper reports factors of 13.7 in time and 82 in memory as geometric means. Its wavefronts hold all samples of an image at once, and a "
        "kernel ends at each bounce and each call of a function. Here a dispatch takes as many walks as have room in 64 MiB, "
        "a walk is cut once or twice a vertex, and indices are computed again instead of stored ([what was tried](../decisions/wavefront.md)). So memory stays small, "
        "and what remains of the loss is the traffic of states.",
        "Sorting by material is what a cut by target brings besides: on SwiftShader a scene of 16 materials takes 1.15 times the time of the costliest "
        "of them alone, and 2.8 times in one kernel (`scripts/compare-materials swiftshader 3 target`). The aim was 1.5. On native, where one kernel "
        "skips what no lane takes, a cut makes that scene slower, too.",
    ], ["scene", "device", "cut by", "what", "kernel", "time", "memory", "MiB"], rows, [
        {"title": "wavefront over one kernel", "x": "memory", "y": "time", "log_x": True, "log_y": False, "curves": curves}])
