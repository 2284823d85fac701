# SPDX-License-Identifier: BSD-3-Clause
"""The fits of assets/shapes, and how far surfaces are apart."""
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
DEVICE = os.environ.get("BL_DEVICE", "native")
ASSETS = os.path.join(ROOT, "assets", "shapes")


def fit(name, folder, options=(), views=None, **changes):
    """Runs assets/shapes/NAME.json, changed. Returns what result.json says, or ends the test."""
    with open(os.path.join(ASSETS, name + ".json"), encoding="utf-8") as f:
        job = json.load(f)
    job.update(changes, scene=os.path.join(ASSETS, job["scene"]))
    for view in job.get("views", ()):
        if isinstance(view["target"], str):
            view["target"] = os.path.join(ASSETS, view["target"])
    if views:
        job["views"] = job["views"][views]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    run = subprocess.run([PROGRAM, "fit", path, "-o", folder, "--device", DEVICE, "--quiet", *options],
                         capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stderr)
        sys.exit(77 if "no device" in run.stderr and os.environ.get("BL_REQUIRE_ALL") != "1" else 1)
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        return json.load(f)


def errors(result):
    """By parameter: the length of the error at the end, and that at the start. The truth must be known."""
    apart = [(p["name"], *(float(np.linalg.norm(np.subtract(p[which], p["true"]))) for which in ("final", "initial")))
             for p in result["parameters"]]
    return {name: (end, start) for name, end, start in apart}


def read_ply(name):
    """Positions and faces of a mesh that assets/shapes/make.py has written."""
    with open(os.path.join(ASSETS, name), "rb") as f:
        data = f.read()
    body = data.index(b"end_header\n") + len(b"end_header\n")
    words = data[:body].decode().split()
    vertices, faces = (int(words[words.index(what) + 1]) for what in ("vertex", "face"))
    positions = np.frombuffer(data, "<f4", 3 * vertices, body).reshape(-1, 3)
    triangles = np.frombuffer(data, [("corners", "u1"), ("vertices", "<i4", 3)], faces, body + 12 * vertices)
    return positions, triangles["vertices"]


def fitted(folder, parameter):
    return np.load(os.path.join(folder, parameter + ".npy")).reshape(-1, 3)


def points_on(positions, faces, count, random):
    a, b, c = (positions[faces[:, k]].astype(float) for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    k = random.choice(len(faces), count, p=area / area.sum())
    u, v = random.random((2, count, 1))
    over = u + v > 1
    u, v = np.where(over, 1 - u, u), np.where(over, 1 - v, v)
    return a[k] + u * (b - a)[k] + v * (c - a)[k]


def chamfer(positions, faces, truth):
    """The mean distance of points of either surface to the nearest of many points of the other, over the longest side
    of the truth's box. Of a surface and itself it is about 0.003, as the points are not dense."""
    random, apart = np.random.default_rng(1), []
    for here, there in (((positions, faces), truth), (truth, (positions, faces))):
        few, many = points_on(*here, 2000, random), points_on(*there, 30000, random)
        square = (many ** 2).sum(1)
        near = [(square - 2 * p @ many.T).min(1) + (p ** 2).sum(1) for p in np.array_split(few, 20)]
        apart.append(np.sqrt(np.maximum(np.concatenate(near), 0)).mean())
    return float(np.mean(apart) / np.ptp(truth[0], axis=0).max())
