#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes relief.ply, a bumpy square of 32 x 32 vertices, and fit.json, the job that finds its heights from one
picture under three lights, beginning with a flat square: make.py, in this folder."""
import json
import math

SIDE = 32
BUMPS = [  # x, y, height, width
    (-0.45, 0.4, 0.16, 0.22), (0.4, 0.45, -0.12, 0.25), (0.05, -0.1, 0.2, 0.3), (-0.5, -0.45, -0.14, 0.2),
    (0.55, -0.4, 0.12, 0.18), (0.0, 0.7, 0.07, 0.15)]


def height(x, y):
    return sum(h * math.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * w * w)) for a, b, h, w in BUMPS)


def vertices(z):
    for j in range(SIDE):
        for i in range(SIDE):
            x, y = 2 * i / (SIDE - 1) - 1, 2 * j / (SIDE - 1) - 1
            yield (round(x, 5), round(y, 5), round(z(x, y), 5))


def faces():
    for j in range(SIDE - 1):
        for i in range(SIDE - 1):
            a, b, c, d = j * SIDE + i, j * SIDE + i + 1, (j + 1) * SIDE + i, (j + 1) * SIDE + i + 1
            yield from ((a, b, d), (a, d, c)) if (i + j) % 2 else ((a, b, c), (b, d, c))


with open("relief.ply", "w") as f:
    f.write("ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
            % SIDE ** 2)
    f.write("element face %d\nproperty list uchar int vertex_indices\nend_header\n" % (2 * (SIDE - 1) ** 2))
    f.writelines("%g %g %g\n" % v for v in vertices(height))
    f.writelines("3 %d %d %d\n" % t for t in faces())

job = {
    "$schema": "../../docs/fit-job.schema.json",
    "scene": "scene.xml",
    "target": {"render": True, "spp": 256, "seed": 4242},
    "loss": "l2",
    "parameters": [{"name": "relief.vertex_positions", "large_steps": {"lambda": 19, "fixed": "xy"},
                    "rate": 0.02, "initial": "FLAT"}],
    "optimizer": {"type": "adam", "beta_2": 0.99},
    "schedule": [{"step": 100, "factor": 0.3}, {"step": 150, "factor": 0.1}],
    "steps": 180,
    "spp": 16,
    "spp_grad": 16,
    "seed": 1,
}
flat = "[%s]" % ", ".join("%g" % c for v in vertices(lambda x, y: 0) for c in v)
with open("fit.json", "w") as f:
    f.write(json.dumps(job, indent=4).replace('"FLAT"', flat) + "\n")
