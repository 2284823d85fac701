#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the pictures of the scenes here, in this folder: screen.pfm, seen through glass; sky.pfm, seen in a
mirror, in which every direction has a colour of its own; normals.pfm, the mirror's normal map; roughness.pfm, a plate's roughness. And ink.vol and grin.vol, an albedo and an index of
refraction that are the same everywhere."""
import math
import struct


def save(name, width, height, pixel):
    with open(name, "wb") as f:
        f.write(b"PF\n%d %d\n-1.0\n" % (width, height))
        for y in reversed(range(height)):
            for x in range(width):
                f.write(struct.pack("<3f", *pixel((x + 0.5) / width, (y + 0.5) / height)))


def screen(u, v):
    return [0.6 + 0.4 * math.sin(2 * math.pi * (a * u + b * v) + c)
            for a, b, c in ((4, 1, 0), (-2, 4, 1), (3, -4, 2))]


def sky(u, v):
    theta, phi = math.pi * v, 2 * math.pi * u
    d = (math.sin(theta) * math.sin(phi), math.cos(theta), -math.sin(theta) * math.cos(phi))
    return [0.6 + 0.5 * c for c in d]


def normals(u, v):
    x, y = 2 * u - 1, 2 * v - 1
    slope = [sum(h * (p - q) / w**2 * math.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * w * w))
                 for a, b, h, w, p, q in
                 ((-0.4, 0.3, 0.05, 0.35, c, o), (0.4, -0.3, -0.06, 0.4, c, d)))
                 for c, o, d in ((x, -0.4, 0.4), (y, 0.3, -0.3))]
    length = math.sqrt(1 + slope[0] ** 2 + slope[1] ** 2)
    return [0.5 + 0.5 * n / length for n in (slope[0], slope[1], 1)]


def roughness(u, v):
    return [0.3 + 0.15 * math.sin(2 * math.pi * u) * math.cos(4 * math.pi * v)] * 3


save("screen.pfm", 32, 32, screen)
save("sky.pfm", 64, 32, sky)
save("normals.pfm", 12, 12, normals)
save("roughness.pfm", 12, 12, roughness)
with open("ink.vol", "wb") as volume:
    volume.write(b"VOL\x03" + struct.pack("<5i6f", 1, 2, 2, 2, 3, 0, 0, 0, 1, 1, 1) + struct.pack("<24f", *[0.9, 0.6, 0.3] * 8))
with open("grin.vol", "wb") as volume:
    volume.write(b"VOL\x03" + struct.pack("<5i6f", 1, 2, 2, 2, 1, 0, 0, 0, 1, 1, 1) + struct.pack("<8f", *[1.5] * 8))
