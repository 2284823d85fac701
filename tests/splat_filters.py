# LABELS: native swiftshader=long lavapipe=long
# SPDX-License-Identifier: BSD-3-Clause
"""A splat of light tracing reaches every pixel that the film's filter does, with the filter's share: a lamp that is nearly a point, seen
at several places of the film, makes the filter's own picture. Radii are whole and not. Needs BL_PROGRAM, BL_DEVICE."""
import math
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM, DEVICE = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight")), os.environ.get("BL_DEVICE", "native")
SIDE, TINY = 12, 1e-4
SCENE = """<scene version="3.0.0"><integrator type="ptracer"><integer name="max_depth" value="1"/></integrator>
<sensor type="orthographic"><transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/>%s</film></sensor>
<shape type="rectangle"><transform name="to_world"><scale value="2"/><translate z="-1"/></transform></shape>
<shape type="rectangle"><transform name="to_world"><scale value="%g"/><translate x="%.9g" y="%.9g"/></transform><emitter type="area"><rgb name="radiance" value="%g"/></emitter></shape></scene>"""


def gaussian(deviation):
    edge = math.exp(-8)
    return lambda x: max(0, math.exp(-x * x / (2 * deviation**2)) - edge)


def mitchell(x):
    x = abs(x)
    if x < 1:
        return (7 * x**3 - 12 * x**2 + 16 / 3) / 6
    return (-7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3) / 6 if x < 2 else 0


def lanczos(x):
    sinc = lambda v: math.sin(math.pi * v) / (math.pi * v) if v else 1
    return sinc(x) * sinc(x / 3) if abs(x) < 3 else 0


FILTERS = {'<rfilter type="gaussian"/>': gaussian(.5), '<rfilter type="gaussian"><float name="stddev" value="0.4"/></rfilter>': gaussian(.4),
           '<rfilter type="gaussian"><float name="stddev" value="0.65"/></rfilter>': gaussian(.65),
           '<rfilter type="tent"/>': lambda x: max(0, 1 - abs(x)),
           '<rfilter type="tent"><float name="radius" value="1.3"/></rfilter>': lambda x: max(0, 1 - abs(x) / 1.3),
           '<rfilter type="mitchell"/>': mitchell, '<rfilter type="lanczos"/>': lanczos}
PLACES = [(5.5, 6.1), (5.02, 6.98), (4.71, 5.25), (6.3, 5.8)]  # of the lamp, in pixels


def picture(text, x, y):
    """Rows of luminance, the first one above; x and y count from the left and upper border."""
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % (SIDE, SIDE, text, TINY, 2 * x / SIDE - 1, 1 - 2 * y / SIDE, TINY**-2))
    ran = subprocess.run([PROGRAM, "render", "scene.xml", "-o", "image.pfm", "--spp", "4", "--device", DEVICE, "--quiet"],
                         capture_output=True, text=True, timeout=600)
    if ran.returncode:
        sys.exit("render: " + ran.stderr)
    with open("image.pfm", "rb") as f:
        data = f.read()
    values = struct.unpack("<%df" % (3 * SIDE * SIDE), data[-12 * SIDE * SIDE:])
    return [[values[3 * (row * SIDE + column)] for column in range(SIDE)] for row in reversed(range(SIDE))]


def main():
    os.chdir(tempfile.mkdtemp(prefix="splat_filters_", dir="."))
    problems = 0
    for text, value in FILTERS.items():
        worst = 0
        for x, y in PLACES:
            seen = picture(text, x, y)
            total = sum(map(sum, seen))
            across, down = ([value(k + .5 - at) for k in range(SIDE)] for at in (x, y))
            wanted = sum(across) * sum(down)
            worst = max([worst] + [abs(seen[r][c] / total - across[c] * down[r] / wanted) for r in range(SIDE) for c in range(SIDE)])
        print("%s: %.1e off at most" % (text, worst))
        problems += not worst < 2 * TINY * SIDE  # the lamp is as large: filters slope by about 1 a pixel
    print("%d problems" % problems)
    return bool(problems)


sys.exit(main())
