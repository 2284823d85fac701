#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make.py FOLDER: the meshes, textures and grids that the scenes of this folder read. All of them are
computed here, in a minute or two; scripts/gallery calls this."""
import importlib.util
import math
import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


smoke = load(os.path.join(HERE, "..", "smoke", "smoke.py"), "smoke")


# ---- vectors
# ------------------------------------------------------------------------------------------------------

def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(a):
    length = math.sqrt(sum(x * x for x in a)) or 1.0
    return tuple(x / length for x in a)


def between(a, b, t):
    return tuple(x + (y - x) * t for x, y in zip(a, b))


# ---- meshes
# -------------------------------------------------------------------------------------------------------

def write_grid(path, across, along, point):
    """A surface of (across + 1) x (along + 1) vertices at point(u, v); normals by differences."""
    vertices = []
    for j in range(along + 1):
        for i in range(across + 1):
            u, v, h = i / across, j / along, 1e-4
            du = tuple(b - a for a, b in zip(point(u - h, v), point(u + h, v)))
            dv = tuple(b - a for a, b in zip(point(u, max(v - h, 0)), point(u, min(v + h, 1))))
            vertices.append(point(u, v) + unit(cross(du, dv)) + (u, v))
    with open(path, "wb") as f:
        f.write(b"ply\nformat binary_little_endian 1.0\nelement vertex %d\n" % len(vertices))
        f.write(b"".join(b"property float %s\n" % name
                         for name in (b"x", b"y", b"z", b"nx", b"ny", b"nz", b"u", b"v")))
        f.write(b"element face %d\nproperty list uchar int vertex_indices\nend_header\n" %
                (2 * across * along))
        for vertex in vertices:
            f.write(struct.pack("<8f", *vertex))
        for j in range(along):
            for i in range(across):
                a, b = j * (across + 1) + i, (j + 1) * (across + 1) + i
                f.write(struct.pack("<B3iB3i", 3, a, a + 1, b + 1, 3, a, b + 1, b))


def knot(u, v):
    """A tube around a torus knot: u around the tube, v along the knot."""
    def spine(t):
        r = 1 + 0.42 * math.cos(3 * t)
        return (r * math.cos(2 * t), 0.42 * math.sin(3 * t), r * math.sin(2 * t))
    t = 2 * math.pi * v
    here, ahead = spine(t), spine(t + 1e-3)
    along = unit(tuple(b - a for a, b in zip(here, ahead)))
    side = unit(cross(along, tuple(a + b for a, b in zip(here, ahead))))
    other = cross(side, along)
    angle = -2 * math.pi * u
    return tuple(p + 0.245 * (math.cos(angle) * s + math.sin(angle) * o)
                 for p, s, o in zip(here, side, other))


def revolved(profile):
    """A smooth curve through the (radius, height) of `profile`, turned around y."""
    def point(u, v):
        at = max(0.0, min(v, 1.0)) * (len(profile) - 1)
        k = min(int(at), len(profile) - 2)
        t = at - k
        p = [profile[max(0, min(len(profile) - 1, k + d))] for d in (-1, 0, 1, 2)]
        r, y = (0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t + (3 * b - a - 3 * c + d)
                       * t ** 3)
                for a, b, c, d in zip(*p))
        angle = -2 * math.pi * u
        return (max(r, 1e-4) * math.cos(angle), y, max(r, 1e-4) * math.sin(angle))
    return point


AMPHORA = [(0.0, 0.0), (0.3, 0.0), (0.33, 0.05), (0.3, 0.1), (0.47, 0.35), (0.66, 0.75), (0.72, 1.1),
           (0.6, 1.42), (0.36, 1.6), (0.24, 1.75), (0.22, 1.92), (0.3, 2.05), (0.36, 2.08), (0.33, 2.07),
           (0.2, 1.92), (0.19, 1.6)]
BOWL = [(0.0, 0.0), (0.3, 0.0), (0.32, 0.05), (0.3, 0.1), (0.55, 0.2), (0.8, 0.42), (0.9, 0.68),
        (0.925, 0.72), (0.9, 0.72),
        (0.77, 0.45), (0.5, 0.25), (0.2, 0.18), (0.0, 0.17)]
BOTTLE = [(0.0, 0.0), (0.42, 0.0), (0.46, 0.04), (0.47, 0.3), (0.5, 0.8), (0.5, 1.15), (0.4, 1.36),
          (0.17, 1.55), (0.14, 1.75), (0.14, 2.2),
          (0.19, 2.25), (0.19, 2.32), (0.15, 2.34), (0.1, 2.28), (0.09, 1.7)]


# ---- textures
# -----------------------------------------------------------------------------------------------------

def write_png(path, width, height, pixel):
    """pixel(u, v) is the colour as the file keeps it; v runs down the rows, as texture coordinates of PLY
    files do."""
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            row += bytes(max(0, min(255, int(255 * c + 0.5)))
                         for c in pixel((x + 0.5) / width, (y + 0.5) / height))
        rows.append(b"\0" + bytes(row))
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        f.write(chunk(b"IDAT", zlib.compress(b"".join(rows), 6)) + chunk(b"IEND", b""))


def edge(distance, width=0.012):
    """1 inside, 0 outside, smooth between."""
    return max(0.0, min(1.0, 0.5 - distance / width))


def porcelain(u, v):
    """Cobalt on white: a wreath of leaves between bands, and waves. v runs from the foot over the outside (to
    0.75) into the neck."""
    white, blue = (0.93, 0.93, 0.9), (0.10, 0.18, 0.52)
    ink = 0.0
    for at, half in ((0.175, 0.006), (0.2, 0.0025), (0.305, 0.003), (0.5, 0.003), (0.52, 0.006),
                     (0.705, 0.008)):
        ink = max(ink, edge(abs(v - at) - half, 0.004))
    if 0.31 < v < 0.49:  # leaves along a wave
        t, y = 16 * u, (v - 0.4) / 0.09
        stem = 0.45 * math.sin(math.pi * t)
        ink = max(ink, edge(abs(y - stem) - 0.05, 0.06))
        for k in range(-1, 2):
            centre = math.floor(t) + 0.5 + k
            for side, x0 in ((1, 0.0), (-1, 0.25)):
                x, s = (t - centre - x0), math.sin(math.pi * (centre + x0))
                dx, dy = x, y - 0.45 * s - side * 0.34
                along, across = dx * 0.8 * side + dy * 0.5, dy * 0.8 - dx * 0.5 * side
                ink = max(ink, 0.8 * edge(math.hypot(along / 0.42, across / 0.16) - 1, 0.2))
    if 0.21 < v < 0.3:  # arches
        t = (20 * u) % 1 - 0.5
        arch, dot = math.hypot(t, (v - 0.215) / 0.08), math.hypot(t, (v - 0.232) / 0.08)
        ink = max(ink, edge(abs(arch - 0.5) - 0.07, 0.08), edge(dot - 0.13, 0.08))
    if 0.53 < v < 0.6:  # rays
        t = abs((28 * u) % 1 - 0.5)
        ink = max(ink, edge(t - 0.42 * (0.6 - v) / 0.07, 0.08))
    return between(white, blue, ink * (0.86 + 0.14 * smoke.noise(60 * u, 40 * v, 0)))


def terracotta(u, v):
    """Fired clay with black bands of zigzags."""
    n = smoke.noise(90 * u, 60 * v, 3) * 0.6 + smoke.noise(25 * u, 20 * v, 9) * 0.4
    clay = between((0.66, 0.36, 0.22), (0.8, 0.47, 0.3), n)
    ink = 0.0
    for at in (0.2, 0.31, 0.42, 0.6):
        ink = max(ink, edge(abs(v - at) - 0.006, 0.004))
    if 0.21 < v < 0.3:
        ink = max(ink, edge(abs(abs((18 * u) % 1 - 0.5) * 2 - (v - 0.21) / 0.09) - 0.16, 0.1))
    if 0.32 < v < 0.41:
        t = (18 * u) % 1 - 0.5
        ink = max(ink, edge(max(abs(t), abs(v - 0.365) / 0.09) - 0.42, 0.05)
                  - edge(max(abs(t), abs(v - 0.365) / 0.09) - 0.3, 0.05)
                  + edge(max(abs(t), abs(v - 0.365) / 0.09) - 0.15, 0.05))
    return between(clay, (0.09, 0.07, 0.07), 0.92 * max(0.0, min(1.0, ink)))


def wood(u, v):
    """Five planks of a table."""
    plank = int(5 * v)
    shift = 7.3 * plank + 3
    y = 5 * v - plank
    bend = smoke.noise(3 * u + shift, 2 * y, shift) * 1.4 + smoke.noise(9 * u + shift, 5 * y, shift) * 0.25
    ring = 0.5 + 0.5 * math.sin(26 * (0.35 * y + 0.35 * bend + 0.02 * u))
    fibre = smoke.noise(30 * u + shift, 240 * y, 1)
    dark, light = between((0.36, 0.22, 0.13), (0.42, 0.27, 0.16),
                          plank % 3 / 2), between((0.57, 0.38, 0.24), (0.52, 0.34, 0.2), plank % 2)
    colour = between(dark, light, 0.65 * ring ** 0.7 + 0.35 * fibre)
    gap = max(edge(y - 0.012, 0.01), edge(1 - y - 0.012, 0.01))
    return between(colour, (0.1, 0.06, 0.04), 0.8 * gap)


def hammered(u, v):
    """Heights of beaten metal: round dents."""
    best = 9.0
    x, y = 26 * u, 22 * v
    for j in range(-1, 2):
        for i in range(-1, 2):
            cx, cy = math.floor(x) + i, math.floor(y) + j
            wx, wy = cx + 0.15 + 0.7 * smoke.lattice(cx % 26, cy,
                                                     5), cy + 0.15 + 0.7 * smoke.lattice(cx % 26, cy, 6)
            best = min(best, math.hypot(x - wx, y - wy))
    h = min(best / 0.8, 1.0) ** 2
    return (h, h, h)


def plaster(u, v):
    """Normals of a trowelled wall, as a map."""
    def height(x, y):
        return 0.6 * smoke.noise(14 * x + 2 * smoke.noise(6 * x, 6 * y, 1), 22 * y,
                                 2) + 0.3 * smoke.noise(50 * x, 60 * y, 4)
    e = 1 / 512
    dx, dy = (height(u + e, v) - height(u - e, v)) / (2 * e), (height(u, v + e) - height(u, v - e)) / (2 * e)
    n = unit((-0.016 * dx, -0.016 * dy, 1))
    return tuple(0.5 + 0.5 * c for c in n)


# ---- grids
# --------------------------------------------------------------------------------------------------------

def write_grid_volume(path, side, channels, value):
    values = []
    for k in range(side):
        for j in range(side):
            for i in range(side):
                values.extend(value((i + 0.5) / side, (j + 0.5) / side, (k + 0.5) / side))
    with open(path, "wb") as f:
        f.write(b"VOL\x03" + struct.pack("<5i6f", 1, side, side, side, channels, -1, -1, -1, 1, 1, 1))
        f.write(struct.pack("<%df" % len(values), *values))


def plume(x, y, z):
    """The smoke of assets/smoke, stirred by noise so that it curls and frays."""
    strength = 0.16 * min(1.0, 2 * y)
    def stir(k):
        return sum((smoke.noise(f * x + 11 * k, f * y + 5 * k, f * z) - 0.5) * 4 / f
                   for f in (4, 9, 19)) * strength
    d = smoke.density(x + stir(1), y + 0.5 * stir(2), z + stir(3))
    return d and d * (0.35 + 1.3 * smoke.noise(23 * x, 17 * y, 23 * z))


def embers(x, y, z):
    """What the foot of the smoke emits: bright where it is dense and low."""
    if y > 0.6:
        return (0.0, 0.0, 0.0)
    d = plume(x, y, z)
    heat = 2 * d * math.exp(-y / 0.12)
    return (heat, heat * min(1.0, 0.16 + 0.1 * heat), heat * min(0.3, 0.012 * heat))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)

    def path(name):
        return os.path.join(out, name)
    write_grid(path("knot.ply"), 40, 480, knot)
    write_grid(path("amphora.ply"), 96, 120, revolved(AMPHORA))
    write_grid(path("bowl.ply"), 96, 96, revolved(BOWL))
    write_grid(path("bottle.ply"), 96, 120, revolved(BOTTLE))
    write_png(path("porcelain.png"), 1024, 512, porcelain)
    write_png(path("terracotta.png"), 1024, 512, terracotta)
    write_png(path("wood.png"), 512, 512, wood)
    write_png(path("hammered.png"), 512, 384, hammered)
    write_png(path("plaster.png"), 384, 384, plaster)
    write_grid_volume(path("smoke.vol"), 72, 1, lambda x, y, z: (plume(x, y, z),))
    write_grid_volume(path("embers.vol"), 72, 3, embers)


if __name__ == "__main__":
    main()
