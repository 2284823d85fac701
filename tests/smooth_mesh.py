# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A ball of triangles with interpolated normals moves before a plain sky: its gradient is that of plain differences of images,
however fine the triangles are. Normals turn away from the viewer before faces do; the finer the mesh, the narrower is the dark
stripe between, until rays past an edge step over it (render/integrator/boundary/sides.c). Needs BL_PROGRAM, BL_DEVICE."""
import json
import math
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = """<scene version="3.0.0"><integrator type="direct"/>
<sensor type="perspective"><float name="fov" value="38"/><transform name="to_world"><lookat origin="0,0,5" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="24"/><integer name="height" value="24"/><rfilter type="box"/></film></sensor>
<shape type="obj" id="ball"><string name="filename" value="ball.obj"/><bsdf type="diffuse"/></shape>
<emitter type="constant"><rgb name="radiance" value="0.5"/></emitter></scene>"""


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
        with open(scene, "w", encoding="ascii") as f:
            f.write(SCENE)
        for across in (8, 16, 32, 64, 128, 192):
            write_ball(os.path.join(folder, "ball.obj"), across)
            done = subprocess.run([PROGRAM, "check", scene, "--param", "ball.translation", "--epsilon", "0.004", "--spp", "64", "--seeds", "8",
                                   "-o", os.path.join(folder, "check.png"), "--json", "--quiet"], capture_output=True, text=True)
            if "no device" in done.stderr:
                print(done.stderr)
                return 77
            found = json.loads(done.stdout)["parameters"][0]
            gradient, plain = found["gradient"], found["plain"]
            print("%d rings: %.5f +- %.5f, differences %.5f +- %.5f" %
                  (across, gradient["value"], gradient["std_err"], plain["value"], plain["std_err"]))
            if not abs(plain["z"]) < 3.5 or not plain["std_err"] < 0.1 * abs(plain["value"]):
                problems.append("%d rings: z %.2f" % (across, plain["z"]))
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
