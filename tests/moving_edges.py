# LABELS: native conformance
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by what moves, in whole scenes: of parameters that `params` calls complete, the gradient and plain differences of images
agree (`check --strict`). The scenes are assets, and those of BL_REFERENCE where that folder is known.

Bound and false alarms: seeds are fixed, so a row that has passed passes again until the code draws other samples. Then a right row
is beyond 2.5 standard errors once in 80 times, and one of all rows in every third run. So a row beyond it is taken again with four
times as many seeds, all others, and must be within 2.5 there: a right row fails once in some thousands of times, while an error that
was seen the first time has twice the z the second time.

A short run takes a few rows, others each day (BL_DAY), with 8 seeds; BL_LONG=1 takes all with 32. Then edges must also matter: without
them, some rows must be wrong by 5 standard errors. Argument: part of the names of the rows to take. Needs BL_PROGRAM,
BL_DEVICE."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
from today import today  # noqa: E402

PROGRAM = os.environ.get("BL_PROGRAM", "build/backlight")
ASSETS = os.path.join(HERE, "..", "assets")
REFERENCE = os.environ.get("BL_REFERENCE", os.path.join(HERE, "..", "..", "shared", "reference"))
LONG = bool(os.environ.get("BL_LONG"))
Z_MOST, Z_WRONG, WRONG_LEAST = 2.5, 5, 3
SEEDS, AGAIN = 32 if LONG else 8, 4
TODAY = 3  # rows of a short run

BOX, SIDE = ["-D", "resolution=32", "--max-depth", "4"], ["-D", "side=32"]
X, Y, Z, ALL = (1, 0, 0), (0, 1, 0), (0, 0, 1), None
# scene, parameter, direction, step, samples per pixel, options
ROWS = [
    ("cornell", "tall_box.translation", Y, .01, 32, BOX),
    ("cornell", "short_box.rotation", X, .01, 32, BOX),
    ("cornell", "light.scale", ALL, .01, 32, BOX),
    ("cornell", "sensor.translation", X, .01, 32, BOX),
    ("cornell", "short_box.vertex_positions", ALL, .02, 32, BOX),
    ("papers/closed", "shape_1.translation", X, .01, 32, []),
    ("papers/sheet", "shape.rotation", Y, .01, 32, []),
    ("relief", "relief.vertex_positions", ALL, .004, 32, SIDE),
    ("relief", "red.position", ALL, .01, 32, SIDE),
    ("relief", "sensor.x_fov", ALL, .05, 32, SIDE),
    ("room", "eye.rotation", ALL, .003, 16, SIDE),
    ("room", "emitter.position", X, .01, 16, SIDE),
    ("room", "emitter.position", Y, .01, 16, SIDE),
    ("shapes/ball", "ball.translation", ALL, .01, 32, SIDE),
    ("shapes/pose", "sensor.translation", X, .01, 32, SIDE),
    ("shapes/head", "head.translation", ALL, .003, 64, SIDE),
    ("shapes/shadows", "loop.scale", ALL, .01, 32, SIDE),
    ("shapes/shadows", "emitter_1.position", ALL, .01, 32, SIDE),
    ("gradients/cbox_colours", "largebox.rotation", ALL, .005, 32, []),
    ("gradients/conductor", "ball.translation", ALL, .01, 32, []),
    ("gradients/dielectric_rough", "ball.scale", ALL, .01, 32, []),
    ("gradients/envmap", "env.to_world", ALL, .01, 32, []),
    ("gradients/heterogeneous", "box.translation", ALL, .01, 32, []),
    ("gradients/lights", "pt.position", ALL, .01, 32, []),
    ("gradients/lights", "spot.to_world", ALL, .01, 32, []),
    ("gradients/lights", "block.translation", Y, .01, 32, []),
    ("gradients/many_bounces", "block.translation", X, .01, 16, []),
    ("gradients/principled", "ball.translation", ALL, .01, 32, []),
    ("gradients/rgb_extinction", "ball.translation", X, .01, 32, []),
    ("gradients/shading_normals", "dome.translation", ALL, .01, 32, []),
    ("gradients/shading_normals", "sensor.translation", X, .01, 32, []),
    ("gradients/texture", "block.rotation", ALL, .01, 32, []),
]
# In these scenes the grid of a medium ends at the box around it, where there is no derivative (docs/theory/edges.md). Their copies
# have a grid that is 1.2 times as wide.
WIDER = {"gradients/heterogeneous": [("2.0, 2.0, 2.0", "2.4, 2.4, 2.4"), ("-1.0, -1.0, -1.0", "-1.2, -1.2, -1.2")]}


def file_of(name):
    if name.startswith("gradients/"):
        return os.path.join(REFERENCE, name, "scene.xml")
    file = os.path.join(ASSETS, name)
    return file + ".xml" if os.path.isfile(file + ".xml") else os.path.join(file, "scene.xml")


def scene_of(name, folder):
    """The file that is checked: the scene's, or that of a copy with another text."""
    if name not in WIDER:
        return file_of(name)
    copy = os.path.join(folder, name)
    if not os.path.isdir(copy):
        shutil.copytree(os.path.dirname(file_of(name)), copy)
        file = os.path.join(copy, "scene.xml")
        with open(file, encoding="utf-8") as f:
            text = f.read()
        for before, after in WIDER[name]:
            assert before in text, before
            text = text.replace(before, after)
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
    return os.path.join(copy, "scene.xml")


def check(row, folder, seeds, first, edges=True):
    name, parameter, direction, step, spp, options = row
    command = [PROGRAM, "check", scene_of(name, folder), "--param", parameter, "--epsilon", str(step), "--spp", str(spp), "--seeds", str(seeds),
               "--seed", str(first), "--device", os.environ.get("BL_DEVICE", "native"), "--json", "--quiet",
               "-o", os.path.join(folder, "check.png"), *options]
    command += ["--strict"] if edges else ["--edges", "none"]
    if direction:
        file = os.path.join(folder, "direction.npy")
        np.save(file, np.array(direction, np.float32))
        command += ["--direction", file]
    done = subprocess.run(command, capture_output=True, text=True)
    if "no device" in done.stderr:
        print(done.stderr)
        sys.exit(77)
    answer = json.loads(done.stdout)
    if "error" in answer:  # not complete, or another error
        return None, answer["error"]
    found = answer["parameters"][0]
    gradient, plain = found["gradient"], found["plain"]
    return plain["z"], "%.4g +- %.2g, differences %.4g +- %.2g, z %.2f" % (
        gradient["value"], gradient["std_err"], plain["value"], plain["std_err"], plain["z"])


def main():
    rows = [r for r in ROWS if os.path.isfile(file_of(r[0]))]
    if len(sys.argv) > 1:
        rows = [r for r in rows if sys.argv[1] in r[0] + " " + r[1]]
    elif not LONG:
        rows = [rows[(TODAY * today() + k) % len(rows)] for k in range(TODAY)]
    problems, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            name = "%s %s" % row[:2]
            z, text = check(row, folder, SEEDS, 0)
            if z is not None and not abs(z) <= Z_MOST:
                print(name + ": " + text + ": again", flush=True)
                z, text = check(row, folder, AGAIN * SEEDS, SEEDS)
            if z is None or not abs(z) <= Z_MOST:
                problems.append(name + ": " + text)
            print(name + ": " + text, flush=True)
            if LONG:
                z, text = check(row, folder, SEEDS, 0, edges=False)
                print("    without edges: " + text, flush=True)
                wrong += z is not None and abs(z) > Z_WRONG
    if LONG and len(sys.argv) < 2 and wrong < WRONG_LEAST:
        problems.append("without edges only %d of %d rows are wrong" % (wrong, len(rows)))
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
