# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A lamp of a tenth of a millimetre in a room of metres lights it like a larger one of the same power: by light tracing, whose image is summed in
fixed point, and in gradients by a texture, which are, too. The unit of such sums follows from what a lamp gives to others, not from how bright it
is itself. Needs BL_PROGRAM, BL_DEVICE."""
import ast
import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM, DEVICE = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight")), os.environ.get("BL_DEVICE", "native")
SIDE = 12
SCENE = """<scene version="3.0.0"><integrator type="%s"><integer name="max_depth" value="3"/></integrator>
<sensor type="perspective"><transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="12"/><integer name="height" value="12"/><rfilter type="box"/></film></sensor>
<shape type="rectangle"><bsdf type="diffuse" id="wall"><texture type="bitmap" name="reflectance"><string name="filename" value="wall.pfm"/>
<boolean name="raw" value="true"/></texture></bsdf></shape>
<shape type="rectangle"><transform name="to_world"><scale value="%g"/><rotate x="1" angle="180"/><translate x="-.08" y="-.02" z="1"/></transform>
<emitter type="area"><rgb name="radiance" value="%g"/></emitter></shape></scene>"""


def write_pfm(name, side, values):
    with open(name, "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (side, side) + struct.pack("<%df" % len(values), *values))


def run(*words):
    ran = subprocess.run([PROGRAM, *words, "--device", DEVICE, "--quiet"], capture_output=True, text=True, timeout=1000)
    if ran.returncode:
        sys.exit("%s: %s" % (words[0], ran.stderr))


def write_scene(integrator, size):
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % (integrator, size, size**-2))


def brightness(integrator, size):
    write_scene(integrator, size)
    run("render", "scene.xml", "-o", "image.pfm", "--spp", "1024")
    with open("image.pfm", "rb") as f:
        values = struct.unpack("<%df" % (3 * SIDE * SIDE), f.read()[-12 * SIDE * SIDE:])
    return sum(values) / len(values)


def gradient(size):
    """The sum over all texels, and how many contributions were lost."""
    write_scene("path", size)
    run("grad", "scene.xml", "--target", "black.pfm", "--param", "wall.reflectance.data", "-o", "g", "--spp", "256")
    with open("g/wall.reflectance.data.npy", "rb") as f:
        data = f.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    count = 1
    for n in ast.literal_eval(data[10:start].decode().strip())["shape"]:
        count *= n
    with open("g/summary.json", encoding="utf-8") as f:
        return sum(struct.unpack("<%df" % count, data[start:])), json.load(f)["underflow"]


def main():
    os.chdir(tempfile.mkdtemp(prefix="small_lamps_", dir="."))
    write_pfm("wall.pfm", 8, [.2 + .6 * (k * 37 % 64) / 64 for k in range(192)])
    write_pfm("black.pfm", SIDE, [0.0] * (3 * SIDE * SIDE))
    wanted, slope = brightness("path", .01), gradient(.01)[0]
    problems = 0
    for size in (.01, 1e-3, 1e-4, 1e-5):
        seen, (by_texture, lost) = brightness("ptracer", size), gradient(size)
        print("a lamp of %g: image %.4f of path tracing's, gradient %.4f of a large lamp's, %d contributions lost" %
              (size, seen / wanted, by_texture / slope, lost))
        # 150,000 paths, of which one in four is seen: .3 %. The gradient has the same random numbers, and the lamp's size changes little.
        problems += abs(seen / wanted - 1) > .015 or abs(by_texture / slope - 1) > .005 or lost > 0
    print("%d problems" % problems)
    return bool(problems)


sys.exit(main())
