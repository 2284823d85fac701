# LABELS: native long timeout=6000
# SPDX-License-Identifier: BSD-3-Clause
"""The fits of assets/shapes as they are. A ball's place is found within 0.5 % of its radius; a pose within 0.1 degree
and 0.1 % of the size of what stands there, or of its distance from a camera; surfaces within 2 % of their size, in the mean."""
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import numpy as np
import shape_fits as fits

RADIUS = 0.5  # of the ball in ball.xml
AWAY = 2.2  # what the cameras of cameras.xml look at
problems = []


def expect(what, value, most, unit):
    print("%s: off by %.4g %s of at most %g" % (what, value, unit, most))
    if not value <= most:
        problems.append("%s is off by too much" % what)


def main():
    for name in ("ball", "ball-behind"):
        end, start = fits.errors(fits.fit(name, "shape_whole_" + name))["ball.translation"]
        expect(name, 100 * end / RADIUS, 0.5, "% of the radius")
    pose, size = fits.errors(fits.fit("pose", "shape_whole_pose")), np.ptp(fits.read_ply("head.ply")[0], axis=0).max()
    expect("the pose's place", 100 * pose["head.translation"][0] / size, 0.1, "% of the size")
    expect("the pose's turn", math.degrees(pose["head.rotation"][0]), 0.1, "degrees")
    cameras = fits.errors(fits.fit("cameras", "shape_whole_cameras"))
    for side in ("left", "right"):
        expect("the place of the camera on the " + side, 100 * cameras[side + ".translation"][0] / AWAY, 0.1, "% of the distance")
        expect("its turn", cameras[side + ".rotation"][0], 0.1, "degrees")
    for name, parameter, start, truth in (("head", "head.vertex_positions", "ball.ply", "head.ply"),
                                          ("shadows", "loop.vertex_positions", "ring.ply", "loop.ply")):
        folder = "shape_whole_" + name
        fits.fit(name, folder)
        apart = fits.chamfer(fits.fitted(folder, parameter), fits.read_ply(start)[1], fits.read_ply(truth))
        expect(name, 100 * apart, 2, "% of the size (chamfer distance)")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
