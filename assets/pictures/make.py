#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make.py FOLDER: what the scenes of this folder read: a tuft of hair, a knot of wire, normals of a wall, waves of a
pool. All of it is computed here, in a second; scripts/pictures calls this."""
import math
import os
import random
import struct
import sys
import zlib


def write_curves(path, curves):
    """Control points and radii, a line each; an empty line between curves."""
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join("".join("%.4f %.4f %.4f %.4f\n" % p for p in c) for c in curves))


def tuft(count):
    """Hair on the upper half of a ball of radius 1, combed to one side."""
    rng, curves = random.Random(1), []
    for _ in range(count):
        y, turn = rng.uniform(0.05, 1), rng.uniform(0, 2 * math.pi)
        r = math.sqrt(1 - y * y)
        root, length = (r * math.cos(turn), y, r * math.sin(turn)), rng.uniform(0.7, 1)
        curves.append([tuple(c * (1 + 0.25 * length * k) + s * 0.055 * k * k for c, s in zip(root, (1, -0.9, 0.3)))
                       + (0.012 * (1 - 0.2 * k),) for k in range(5)])
    return curves


def knot():
    """A torus knot of wire, closed by going a little over its begin."""
    points = []
    for k in range(163):
        t = 2 * math.pi * k / 160
        r = 0.75 + 0.3 * math.cos(3 * t)
        points.append((r * math.cos(2 * t), 1 + 0.55 * math.sin(3 * t) * 0.8, r * math.sin(2 * t), 0.07))
    return [points]


def write_png(path, width, height, rgb):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes(rgb[3 * width * y:3 * width * (y + 1)]) for y in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def ripples(side):
    """Normals of rings of waves around two points, as colours."""
    rgb = []
    for y in range(side):
        for x in range(side):
            slope = [0.0, 0.0]
            for cx, cy in ((0.3, 0.35), (0.75, 0.7)):
                dx, dy = x / side - cx, y / side - cy
                d = math.hypot(dx, dy) + 1e-6
                s = 0.45 * math.cos(60 * d) * math.exp(-3 * d)
                slope[0] += s * dx / d
                slope[1] += s * dy / d
            length = math.sqrt(1 + slope[0] ** 2 + slope[1] ** 2)
            rgb += [round(127.5 + 127.5 * v / length) for v in (-slope[0], -slope[1], 1)]
    return rgb


def waves(side, size):
    """Water from -size / 2 to size / 2 in x and z, as an OBJ mesh: waves in some directions around y = 0."""
    rng = random.Random(4)
    parts = []
    for _ in range(14):
        turn, number = rng.uniform(0, 2 * math.pi), rng.uniform(2.5, 7)
        parts.append((number * math.cos(turn), number * math.sin(turn), rng.uniform(0, 2 * math.pi), 0.08 / number))
    lines = []
    for j in range(side):
        for i in range(side):
            x, z = (i / (side - 1) - 0.5) * size, (j / (side - 1) - 0.5) * size
            phases = [(a * math.cos(u * x + w * z + p), a * math.sin(u * x + w * z + p), u, w) for u, w, p, a in parts]
            y = sum(s for _, s, _, _ in phases)
            normal = (-sum(c * u for c, _, u, _ in phases), 1, -sum(c * w for c, _, _, w in phases))
            lines.append("v %.5f %.5f %.5f\nvn %.5f %.5f %.5f\n" % (x, y, z, *normal))
    for j in range(side - 1):
        for i in range(side - 1):
            a = j * side + i + 1
            b, c, d = a + 1, a + side, a + side + 1
            lines.append("f %d//%d %d//%d %d//%d\nf %d//%d %d//%d %d//%d\n" % (a, a, c, c, b, b, b, b, c, c, d, d))
    return "".join(lines)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    write_curves(os.path.join(folder, "hair.txt"), tuft(900))
    write_curves(os.path.join(folder, "wire.txt"), knot())
    with open(os.path.join(folder, "waves.obj"), "w", encoding="ascii") as f:
        f.write(waves(140, 8))
    write_png(os.path.join(folder, "ripples.png"), 256, 256, ripples(256))


if __name__ == "__main__":
    main()
