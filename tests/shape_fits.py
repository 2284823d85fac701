# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The fits of assets/shapes with few steps and pixels: each must come much nearer to the truth. A ball that begins
outside its own silhouette must not where moving edges are left out: they are what finds it. shape_fits_long has the
whole fits. Places one day, surfaces the next."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import shape_fits as fits
from today import today

SMALL = {"defines": {"side": "24"}, "target": {"render": True, "spp": 256, "seed": 4242}}
problems = []


def expect(what, ratio, least=0.0, most=1e9):
    print("%s: %.3f of the error at the start" % (what, ratio))
    if not least <= ratio <= most:
        problems.append("%s: that is not in [%g, %g]" % (what, least, most))


def ratios(name, folder, options=(), **changes):
    return {k: end / start for k, (end, start) in fits.errors(fits.fit(name, folder, options, **changes)).items()}


def surface(name, parameter, start, truth, **changes):
    folder, (positions, faces), true = "shape_" + name, fits.read_ply(start), fits.read_ply(truth)
    fits.fit(name, folder, **changes)
    return (fits.chamfer(fits.fitted(folder, parameter), faces, true) / fits.chamfer(positions, faces, true))


def places():
    ball = dict(SMALL, steps=100, schedule=[{"step": 80, "factor": 0.3}])
    for name in ("ball", "ball-behind"):
        expect(name, ratios(name, "shape_" + name, **ball)["ball.translation"], most=0.1)
    blind = ratios("ball-behind", "shape_blind", ("--edges", "none"), **ball)
    expect("ball-behind without edges", blind["ball.translation"], least=0.9)
    pose = ratios("pose", "shape_pose", **dict(SMALL, steps=50, schedule=[{"step": 35, "factor": 0.3}]))
    for name, ratio in pose.items():
        expect(name, ratio, most=0.3)
    cameras = ratios("cameras", "shape_cameras", defines={"side": "24"}, steps=200, schedule=[{"step": 160, "factor": 0.2}])
    for name, ratio in cameras.items():
        expect(name, ratio, most=0.3)


def surfaces():
    expect("head", surface("head", "head.vertex_positions", "ball.ply", "head.ply", views=slice(0, 8, 2), steps=25,
                           schedule=[]), most=0.7)
    expect("loop", surface("shadows", "loop.vertex_positions", "ring.ply", "loop.ply", steps=25, schedule=[]),
           most=0.7)


def main():
    parts = (places, surfaces)
    for part in parts if os.environ.get("BL_LONG") else parts[today() % 2:][:1]:
        part()
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
