#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Photographs assets/field/scene.xml: 48 views to fit a radiance field to, and 8 to judge it by.

Cameras stand on the upper part of a sphere, at the points of a Fibonacci lattice, and look at its middle. The
images are PNG with alpha; transforms_train.json and transforms_test.json have the cameras as NeRF's synthetic
scenes have them (camera to world, looking along -z, y up).

    assets/field/views.py [--backlight build/backlight] [--device NAME] [--side 96] [--out assets/field]"""
import argparse
import json
import math
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RADIUS, TARGET, FOV = 3.6, (0.0, 0.0, 0.05), 38.0


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return tuple(x / length for x in v)


def places(count, shift):
    """`count` points over the sphere between 5 and 65 degrees above the horizon."""
    low, high = math.sin(math.radians(5)), math.sin(math.radians(65))
    for k in range(count):
        z = low + (high - low) * (k + 0.5) / count
        turn = 2 * math.pi * ((k * 0.618034 + shift) % 1)
        flat = math.sqrt(1 - z * z)
        yield tuple(RADIUS * x + c for x, c in zip((flat * math.cos(turn), flat * math.sin(turn), z), TARGET))


def pose(origin):
    """Camera to world, of a camera that looks along its -z, y up."""
    back = unit(tuple(o - t for o, t in zip(origin, TARGET)))
    right = unit(cross((0, 0, 1), back))
    up = cross(back, right)
    return [[right[r], up[r], back[r], origin[r]] for r in range(3)] + [[0, 0, 0, 1]]


def photograph(args, name, origins):
    folder = os.path.join(args.out, name)
    os.makedirs(folder, exist_ok=True)
    frames = []
    for k, origin in enumerate(origins):
        subprocess.run([args.backlight, "render", os.path.join(HERE, "scene.xml"), "--quiet", "-D",
                        "origin=%.9g, %.9g, %.9g" % origin, "-D", "side=%d" % args.side, "-o",
                        os.path.join(folder, "r_%02d.png" % k)]
                        + (["--device", args.device] if args.device else []),
                       check=True)
        frames.append({"file_path": "./%s/r_%02d" % (name, k), "transform_matrix": pose(origin)})
    with open(os.path.join(args.out, "transforms_%s.json" % name), "w", encoding="utf-8") as f:
        json.dump({"camera_angle_x": math.radians(FOV), "frames": frames}, f, indent=1)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backlight", default="build/backlight")
    parser.add_argument("--device", default="")
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--out", default=HERE)
    args = parser.parse_args()
    photograph(args, "train", list(places(48, 0.0)))
    around = sorted(places(8, 0.37),
                    key=lambda p: math.atan2(p[1], p[0]))  # one after another they turn the scene
    photograph(args, "test", around)


if __name__ == "__main__":
    main()
