# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of moving edges in Mitsuba 3, and the five scenes of `scripts/compare-mitsuba edges` and
`scripts/compare-reparam`.

In each scene the shape `it` is translated, and the gradient of sum(W * image) by the three numbers of its
translation is taken, with weights W that are the same in each block of 4 x 4 pixels and random otherwise.

    mitsuba_edges.py JOB.json    under Mitsuba's python. A job has the file of a scene, the resolution, the
    samples, the number of gradients and the file of W (.npy). One line of JSON: the gradients, and the CPU
    seconds of each."""
import json
import math
import sys
import time

FRONT = "origin='0,0,4' target='0.03,0.02,0' up='0,1,0'"
WALL = ("<shape type='rectangle'><transform name='to_world'><scale value='5'/><translate z='-1'/></transform>"
        "<bsdf type='diffuse'><rgb name='reflectance' value='.7,.6,.3'/></bsdf></shape>")
SKY = "<emitter type='constant'><rgb name='radiance' value='.5'/></emitter>"


def lamp(size, place):
    return ("<shape type='rectangle'><transform name='to_world'><scale value='%s'/><rotate x='1' angle='180'/>"
            "<translate value='%s'/></transform><bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"
            "<emitter type='area'><rgb name='radiance' value='10'/></emitter></shape>" % (size, place))


def it(kind, ops, inner=""):
    flat = "<boolean name='face_normals' value='true'/>" if kind == "ply" else ""
    return ("<shape type='%s' id='it'>%s<transform name='to_world'>%s</transform>%s<bsdf type='diffuse'>"
            "<rgb name='reflectance' value='.2,.5,.8'/></bsdf></shape>" % (kind, inner, ops, flat))


def room():
    """A closed box around the camera, with a lamp at its top."""
    walls = [("x='1' angle='-90'", "0,-1,0"), ("x='1' angle='90'", "0,1,0"), ("y='1' angle='90'", "-1,0,0"),
             ("y='1' angle='-90'", "1,0,0"), ("x='1' angle='0'", "0,0,-1"), ("x='1' angle='180'", "0,0,1")]
    return "".join("<shape type='rectangle'><transform name='to_world'><rotate %s/><translate value='%s'/>"
                   "</transform><bsdf type='diffuse'><rgb name='reflectance' value='.6,.5,.4'/></bsdf></shape>"
                   % wall for wall in walls)


# Not the plugin `cube`: each of its faces has vertices of its own, so Mitsuba takes each edge for two borders,
# and its gradients are twice what differences of its images say.
CUBE_FILE = "<string name='filename' value='cube.ply'/>"
CUBE = "<scale value='%s'/><rotate x='1' y='.3' angle='35'/><translate value='%s'/>"
# name: depth of paths, camera, shapes and lights
SCENES = {
    "ball under a sky": (3, FRONT, WALL + SKY + it("sphere", "<scale value='.6'/><translate value='.1,.1,.5'/>")),
    "shadow of a cube": (2, "origin='0,0,1' target='0.02,0.01,-1' up='0,1,0'",
                         WALL + lamp(".3", "0,0,3.2") + it("ply", CUBE % (".3", ".1,.1,1.6"), CUBE_FILE)),
    "cube in a rough mirror": (3, "origin='0,0,2' target='0,0.03,-1' up='0,1,0'",
                               "<shape type='rectangle'><transform name='to_world'><scale value='5'/>"
                               "<rotate x='1' angle='-20'/><translate z='-1'/></transform><bsdf type='roughconductor'>"
                               "<float name='alpha' value='.2'/><string name='material' value='none'/></bsdf></shape>"
                               + SKY + it("ply", CUBE % (".4", ".1,1.2,1.6"), CUBE_FILE)),
    "bumpy ball": (3, FRONT, WALL + SKY + it("ply", "<translate value='.1,.1,.5'/>",
                                             "<string name='filename' value='bumpy.ply'/>")),
    "cube in a room": (6, "origin='0,0,.95' target='0.03,0.02,0' up='0,1,0'",
                       room() + "<shape type='rectangle'><transform name='to_world'><scale value='.3'/>"
                       "<rotate x='1' angle='90'/><translate value='0,.99,0'/></transform><bsdf type='diffuse'/>"
                       "<emitter type='area'><rgb name='radiance' value='6'/></emitter></shape>"
                       + it("ply", CUBE % (".25", ".1,-.4,-.2"), CUBE_FILE)),
}


def xml(name, integrator="prb_projective", more="", rfilter="box"):
    """more: further parameters of the integrator."""
    depth, camera, body = SCENES[name]
    return ("<scene version='3.0.0'><default name='resolution' value='32'/><integrator type='" + integrator + "'>" + more +
            "<integer name='max_depth' value='%d'/><integer name='rr_depth' value='1000'/></integrator><sensor "
            "type='perspective'><float name='fov' value='%d'/><transform name='to_world'><lookat %s/></transform>"
            "<film type='hdrfilm'><integer name='width' value='$resolution'/><integer name='height' "
            "value='$resolution'/><string name='pixel_format' value='rgb'/><rfilter type='%s'/></film></sensor>"
            "%s</scene>") % (depth, 80 if "room" in name else 40, camera, rfilter, body)


def bumpy_ball(path, n=48):
    """A closed surface of 4 n (n - 1) triangles without normals, as a PLY file."""
    points, faces = [(0, 0, .6)], []
    for i in range(1, n):
        for k in range(2 * n):
            a, b = math.pi * i / n, math.pi * k / n
            r = .6 + .05 * math.sin(5 * a) ** 2 * math.sin(6 * b)
            points.append((r * math.sin(a) * math.cos(b), r * math.sin(a) * math.sin(b), r * math.cos(a)))
    points.append((0, 0, -.6))

    def at(i, k):
        return 1 + (i - 1) * 2 * n + k % (2 * n)
    for k in range(2 * n):
        faces += [(0, at(1, k), at(1, k + 1)), (len(points) - 1, at(n - 1, k + 1), at(n - 1, k))]
        for i in range(1, n - 1):
            faces += [(at(i, k), at(i + 1, k), at(i + 1, k + 1)), (at(i, k), at(i + 1, k + 1), at(i, k + 1))]
    write_mesh(path, points, faces)


def cube(path):
    points = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    write_mesh(path, points, [(q[0], q[k], q[k + 1]) for q in quads for k in (1, 2)])


def write_mesh(path, points, faces):
    with open(path, "w") as out:
        out.write("ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
                  "element face %d\nproperty list uchar int vertex_indices\nend_header\n" % (len(points), len(faces)))
        out.writelines("%.7g %.7g %.7g\n" % p for p in points)
        out.writelines("3 %d %d %d\n" % f for f in faces)


def main(job):
    import drjit as dr
    import mitsuba as mi
    import numpy as np
    mi.set_variant("llvm_ad_rgb")
    scene = mi.load_file(job["scene"], resolution=job["resolution"])
    params = mi.traverse(scene)
    weights = mi.TensorXf(np.load(job["weights"]).astype(np.float32))
    vertices = "it.vertex_positions" in params
    key = "it.vertex_positions" if vertices else "it.to_world"
    before = mi.Float(params[key]) if vertices else mi.Transform4f(params[key].matrix)
    found, seconds = [], []
    for seed in range(job["count"] + 1):
        start = time.process_time()
        t = [mi.Float(0), mi.Float(0), mi.Float(0)]
        dr.enable_grad(t)
        if vertices:
            p = dr.unravel(mi.Point3f, before)
            params[key] = dr.ravel(p + mi.Vector3f(*t))
        else:
            old = mi.__version__ < "3.6"
            translate = mi.Transform4f.translate if old else mi.Transform4f().translate
            params[key] = translate(mi.Point3f(*t)) @ before
        params.update()
        scene.integrator().render_backward(scene, params, weights, seed=seed, spp=job["spp"])
        print("gradient %d: %.1f s CPU" % (seed, time.process_time() - start), file=sys.stderr, flush=True)
        values = [float(dr.grad(x)[0]) for x in t]
        if seed > 0:  # the first one compiles
            found.append(values)
            seconds.append(time.process_time() - start)
    print(json.dumps({"gradients": found, "seconds": seconds}))


if __name__ == "__main__":
    main(json.load(open(sys.argv[1])))
