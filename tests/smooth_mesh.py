# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A ball of triangles with interpolated normals moves under a sky, a sun that shines from behind, or a lamp: its gradient is
that of plain differences of images, however fine the triangles are. Normals turn away from the viewer before faces do; the
finer the mesh, the narrower is the dark stripe between. Under the sun each face lies in its own shadow or does not. A third of the cases each day. Needs
BL_PROGRAM, BL_DEVICE."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from today import today

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = """<scene version="3.0.0"><integrator type="direct"/>
<sensor type="perspective"><float name="fov" value="38"/><transform name="to_world"><lookat origin="0,0,5" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="24"/><integer name="height" value="24"/><rfilter type="box"/></film></sensor>
<shape type="obj" id="ball"><string name="filename" value="ball.obj"/><bsdf type="diffuse"/></shape>
%s</scene>"""
LIGHTS = {
    "sky": '<emitter type="constant"><rgb name="radiance" value="0.5"/></emitter>',
    "sun": '<emitter type="directional"><vector name="direction" x="-1" y="-0.3" z="0.6"/><rgb name="irradiance" value="2"/></emitter>',
    "lamp": '<shape type="sphere"><float name="radius" value="0.5"/><transform name="to_world"><translate value="3,2,2"/></transform>'
            '<emitter type="area"><rgb name="radiance" value="20"/></emitter></shape>',
}
ERROR_MOST = {"sky": 0.004, "sun": 0.001, "lamp": 0.001}  # of differences, as a standard error
CASES = [(light, across) for light in LIGHTS for across in (8, 32, 192)]
if not os.environ.get("BL_LONG"):
    CASES = CASES[today() % 3::3]


def write_ball(path, across):
    """Radius 0.8; so many rings of vertices, without its poles."""
    around = 2 * across
    with open(path, "w", encoding="ascii") as f:
        for i in range(around):
            for j in range(across):
                u, v = 2 * math.pi * i / around, math.pi * (j + 0.5) / across
                x, y, z = math.sin(v) * math.cos(u), math.cos(v), math.sin(v) * math.sin(u)
                f.write("v %.7g %.7g %.7g\n" % (0.8 * x, 0.8 * y, 0.8 * z))
        for i in range(around):
            for j in range(across - 1):
                a, b = i * across + j + 1, (i + 1) % around * across + j + 1
                f.write("f %d %d %d\nf %d %d %d\n" % (a, b + 1, a + 1, a, b, b + 1))


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "scene.xml")
        for light, across in CASES:
            with open(scene, "w", encoding="ascii") as f:
                f.write(SCENE % LIGHTS[light])
            write_ball(os.path.join(folder, "ball.obj"), across)
            done = subprocess.run([PROGRAM, "check", scene, "--param", "ball.translation", "--epsilon", "0.004", "--spp", "64", "--seeds", "8",
                                   "-o", os.path.join(folder, "check.png"), "--json", "--quiet"], capture_output=True, text=True)
            if "no device" in done.stderr:
                print(done.stderr)
                return 77
            found = json.loads(done.stdout)["parameters"][0]
            gradient, plain = found["gradient"], found["plain"]
            name = "%s, %d rings" % (light, across)
            print("%s: %.5f +- %.5f, differences %.5f +- %.5f" %
                  (name, gradient["value"], gradient["std_err"], plain["value"], plain["std_err"]))
            if not abs(plain["z"]) < 3.5 or not plain["std_err"] < ERROR_MOST[light]:
                problems.append("%s: z %.2f" % (name, plain["z"]))
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
