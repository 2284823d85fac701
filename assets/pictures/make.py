#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make.py FOLDER: what the scenes of this folder read: tresses of hair, a knot of wire, normals of padded leather, waves
of a pool. All of it is computed here, in a second; scripts/pictures calls this."""
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


def tress(seed, count):
    """Wavy hair hanging from a band of 0.9 x 0.3 at height 2, drawn together below."""
    rng, curves = random.Random(seed), []
    for _ in range(count):
        r, turn = math.sqrt(rng.random()), rng.uniform(0, 2 * math.pi)
        x, z, own = 0.45 * r * math.cos(turn), 0.15 * r * math.sin(turn), rng.uniform(-0.25, 0.25)
        length, loose = rng.uniform(1.75, 2), 0.05 * rng.random() ** 3
        stray, points = (rng.uniform(-1, 1), rng.uniform(-1, 1)), []
        for k in range(12):
            t = k / 11
            wave, narrow = 0.13 * t * math.sin(9 * t + own + 0.8 * x), 1 - 0.45 * t * t
            points.append((x * narrow + wave + loose * t * 6 * stray[0], 2 - length * t,
                           z * narrow + 0.09 * t * math.cos(9 * t + own) + loose * t * 6 * stray[1], 0.0085 * (1 - 0.6 * t)))
        curves.append(points)
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


def quilt(side):
    """Normals of padded leather, sewn in diamonds with a button at each corner, as colours. It repeats."""
    def height(x, y):
        u, v = math.pi * (x + y), math.pi * (x - y)
        near = math.sin(u) ** 2 + math.sin(v) ** 2  # 0 at the buttons
        button = 0.1 * math.sqrt(max(0, 1 - near / 0.06))
        return 0.3 * abs(math.sin(u) * math.sin(v)) ** 0.6 + button

    rgb, step = [], 0.5 / side
    for row in range(side):
        for column in range(side):
            x, y = column / side, -row / side
            dx, dy = ((height(x + a, y + b) - height(x - a, y - b)) / (2 * step) for a, b in ((step, 0), (0, step)))
            length = math.sqrt(1 + dx * dx + dy * dy)
            rgb += [round(127.5 + 127.5 * v / length) for v in (-dx, -dy, 1)]
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
    for k in range(3):
        write_curves(os.path.join(folder, "hair-%d.txt" % k), tress(k, 450))
    write_curves(os.path.join(folder, "wire.txt"), knot())
    with open(os.path.join(folder, "waves.obj"), "w", encoding="ascii") as f:
        f.write(waves(140, 8))
    write_png(os.path.join(folder, "quilt.png"), 256, 256, quilt(256))


if __name__ == "__main__":
    main()
