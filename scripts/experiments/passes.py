# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of a gradient by pass and method in six scenes (figure 8 of the path replay paper)."""
import os
import re
import tempfile

import report

SIDE, SPP, DEPTH = 64, 8, 16
# name, path below assets, form of path replay, parameters, define that sets the side
SCENES = [
    ("Cornell box", "cornell/scene.xml", "prb", ["red.reflectance.value", "white.reflectance.value"], "resolution"),
    ("room", "room/scene.xml", "prb", ["walls.reflectance.data"], "side"),
    ("closed room", "papers/closed.xml", "prb", ["paint.reflectance.value"], "resolution"),
    ("plates", "papers/panels.xml", "prb", ["floor.reflectance.data", "rough.alpha.data", "bent.normalmap.data"], "resolution"),
    ("glass, attached", "papers/cups.xml", "prb_attached", ["ridges.normalmap.value", "glass.eta"], "resolution"),
    ("smoke", "smoke/scene.xml", "prbvolpath", ["smoke.sigma_t.data"], "resolution"),
]
METHODS = [(None, "path replay"), ("rb", "radiative"), ("rb_biased1", "biased I"), ("tape", "stored tape")]


def supported(replay, method):
    """Radiative backpropagation follows detached paths."""
    return method in (None, "tape") or replay != "prb_attached"


def attached_tape(path, folder):
    """The scene with the integrator `tape` along rays that move."""
    with open(path) as f:
        text = re.sub(r"<integrator.*?</integrator>", '<integrator type="tape"><integer name="rr_depth" value="65536"/>'
                      '<boolean name="attached" value="true"/></integrator>', f.read(), flags=re.S)
    copy = os.path.join(folder, "attached.xml")
    with open(copy, "w") as f:
        f.write(text.replace('name="filename" value="', 'name="filename" value="%s/' % os.path.dirname(path)))
    return copy


def measure(page, scene, method, side, spp, repetitions, folder):
    """CPU seconds of the adjoint phase, and MiB of the device."""
    _, path, replay, names, size = scene
    ones = os.path.join(folder, "ones.pfm")
    report.write_ones(ones, side)
    file = os.path.join(report.ROOT, "assets", path)
    if method == "tape" and replay == "prb_attached":
        file = attached_tape(file, folder)
    found, seconds = report.gradients(page, repetitions, file, "-D", "%s=%d" % (size, side),
                                      "--integrator", method or replay, "--edges", "none", "--max-depth", DEPTH, "--adjoint", ones,
                                      "--spp", spp, "-o", os.path.join(folder, "out"), "--param", *names)
    return seconds, found["memory"]["device_bytes"] / 2**20


def image_seconds(scene, side, spp, repetitions, folder):
    """CPU seconds of an image of 4 spp samples, as the paper's primal phase has."""
    _, path, _, _, size = scene
    each = []
    for _ in range(report.TIMES):
        taken = [report.timed("render", os.path.join(report.ROOT, "assets", path), "-D", "%s=%d" % (size, side), "--max-depth", DEPTH,
                              "--spp", n, "-o", os.path.join(folder, "image.pfm"))[1] for n in (1, 1 + 4 * spp * repetitions)]
        each.append(max(taken[1] - taken[0], 1e-6) / repetitions)
    return report.Measured.of(each)


def run(page, tiny):
    side, spp, repetitions, scenes = (8, 2, 3, SCENES[:2]) if tiny else (SIDE, SPP, 12, SCENES)
    rows, times, memory = [], {n: [] for _, n in METHODS}, {n: [] for _, n in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for k, scene in enumerate(scenes):
            primal = image_seconds(scene, side, spp, repetitions, folder)
            first = None
            for method, name in METHODS:
                if not supported(scene[2], method):
                    rows.append([scene[0], name, primal, None, None, None])
                    continue
                seconds, size = measure(page, scene, method, side, spp, repetitions, folder)
                first = first or seconds
                rows.append([scene[0], name, primal, seconds, seconds.over(first) if method else None, size])
                times[name].append((k + 1, seconds)), memory[name].append((k + 1, size))
    page.write("Time and memory by pass", [
        "%d x %d pixels, paths of up to %d segments. The primal phase takes %d samples per pixel and the adjoint phase %d, as in the paper "
        "(four times as many). The adjoint phase of path replay is two walks of each path: one for the light that it brings, one for derivatives. CPU "
        "seconds with the standard errors of %d measurements; memory is all of the job's buffers." % (side, side, DEPTH, 4 * spp, spp, report.TIMES),
        "The paper (figure 8) finds path replay and radiative backpropagation to need constant memory, and automatic differentiation more than 10 GiB in simple tests, and "
        "radiative backpropagation to be slow where paths are long. Empty cells: radiative backpropagation has no attached form. "
        "A vertex on the tape takes 312 bytes, in media 460, along rays that move 496.",
    ], ["scene", "method", "primal, s", "adjoint, s", "adjoint over path replay's", "MiB"], rows, [
        {"title": title, "x": "scene: " + ", ".join("%d %s" % (k + 1, s[0]) for k, s in enumerate(scenes)), "y": unit, "log_y": True,
         "curves": {n: c for n, c in curves.items() if c}}
        for title, unit, curves in (("adjoint phase", "CPU seconds", times), ("memory", "MiB", memory))])
