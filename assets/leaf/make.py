#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make.py [FILE]: draws leaf.png, 128 x 128, the target of design.json: a leaf with its veins."""
import os
import struct
import sys
import zlib

import numpy as np


def smooth(x, low, high):
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def leaf(side):
    """Linear grey values; row 0 is the top."""
    row, column = np.mgrid[0:side, 0:side]
    u, v = 2 * (column + .5) / side - 1, 1 - 2 * (row + .5) / side
    along, across = np.cos(.6) * u + np.sin(.6) * v, np.cos(.6) * v - np.sin(.6) * u
    t = np.clip((along + .78) / 1.5, 0, 1)
    width = .62 * np.sin(np.pi * t)**.8 * (1 - .35 * t)
    inside = smooth(width - np.abs(across), -.02, .03) * smooth(along, -.8, -.76) * smooth(.74 - along, 0, .04)
    stem = np.exp(-(across / .022)**2) * smooth(along, -.95, -.9) * smooth(.72 - along, 0, .05)
    veins = np.zeros_like(u)
    for where in np.linspace(-.55, .5, 6):
        vein = np.exp(-((along - where - .75 * np.abs(across)) / .02)**2)
        veins = np.maximum(veins, vein * inside * smooth(.92 * width - np.abs(across), 0, .03))
    grey = .12 + .75 * inside * (.75 + .25 * np.cos(2.2 * across))
    grey *= (1 - .62 * veins) * (1 - .7 * stem * inside)
    return np.maximum(grey, .8 * stem * (1 - inside))


def png(pixels):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    linear = np.clip(leaf(128), 0, 1)
    srgb = np.where(linear < .0031308, 12.92 * linear, 1.055 * linear**(1 / 2.4) - .055)
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaf.png")
    with open(path, "wb") as f:
        f.write(png(np.round(255 * srgb).astype(np.uint8)))


main()
