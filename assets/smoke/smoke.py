#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""smoke.py OUT.vol [SIDE]: a rising, twisting plume as a cubic grid of extinctions (default 32), in Mitsuba's
format, x fastest, y up.

A column that widens with height around an axis that winds, torn by three octaves of value noise that is
stretched upwards; empty where neither reaches."""
import math
import struct
import sys

DENSEST, OCTAVES = 7.0, 3


def lattice(x, y, z):
    """A number in [0, 1] for a point of the lattice."""
    h = (x * 0x8DA6B343 + y * 0xD8163841 + z * 0xCB1AB31F) & 0xFFFFFFFF
    h = (h ^ h >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    h = (h ^ h >> 12) * 0x297A2D39 & 0xFFFFFFFF
    return ((h ^ h >> 15) & 0xFFFFFF) / 0xFFFFFF


def noise(x, y, z):
    """Lattice values, smoothly between them."""
    cell = [math.floor(v) for v in (x, y, z)]
    t = [v - c for v, c in zip((x, y, z), cell)]
    t = [v * v * (3 - 2 * v) for v in t]
    total = 0.0
    for corner in range(8):
        bits = (corner & 1, corner >> 1 & 1, corner >> 2 & 1)
        weight = math.prod(v if b else 1 - v for v, b in zip(t, bits))
        total += weight * lattice(*(c + b for c, b in zip(cell, bits)))
    return total


def density(x, y, z):
    """At a point of the unit cube."""
    angle, away = 5 * y + 0.5, 0.03 + 0.13 * y
    dx, dz = x - 0.5 - away * math.cos(angle), z - 0.5 - away * math.sin(angle)
    radius = 0.08 + 0.22 * y ** 1.5
    column = 1 - (dx * dx + dz * dz) / (radius * radius)
    torn = sum(noise(5 * 2 ** k * x, 3 * 2 ** k * y + 7 * k, 5 * 2 ** k * z) / 2 ** k
               for k in range(OCTAVES)) / 1.75
    ends = min(1, 12 * y, 6 * (0.95 - y))
    return DENSEST * max(0.0, min(1.0, 1.2 * (column + 1.6 * (torn - 0.5)))) * max(0.0, ends) * (1 - 0.4 * y)


def main():
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 32
    centres = [(i + 0.5) / side for i in range(side)]
    values = [density(x, y, z) for z in centres for y in centres for x in centres]
    with open(sys.argv[1], "wb") as f:
        f.write(b"VOL\x03" + struct.pack("<5i6f", 1, side, side, side, 1, -1, -1, -1, 1, 1, 1))
        f.write(struct.pack("<%df" % len(values), *values))


if __name__ == "__main__":
    main()
