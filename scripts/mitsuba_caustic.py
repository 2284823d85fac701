# SPDX-License-Identifier: BSD-3-Clause
"""The design of a caustic in Mitsuba 3, in the way of its tutorial `caustics_optimization`: `scripts/compare-mitsuba
caustic` compares with it.

The slab, its light and its picture are those of a job of `backlight design`. A mesh is moved by a texture of heights,
which becomes finer as time goes on; `ptracer` follows paths from the light to a camera below the slab, which sees the
picture on a white plane; Adam steps down the mean square of the difference, both pictures over their means.

    mitsuba_caustic.py JOB.json     under Mitsuba's python. A job has the lengths, the `target` (a picture), `side`, the pixels
    of picture and heights at last, `resolutions` of the heights, `spp`, `rate` in mm a step, `seconds` of CPU, and
    `heights`, the path of what is found (.npy, row by row as the picture). One line of JSON: CPU seconds, steps, the
    last loss."""
import json
import math
import sys
import tempfile
import time

import drjit as dr
import mitsuba as mi
import numpy as np

mi.set_variant("llvm_ad_rgb")
CAMERA = .95  # of the distance from picture to slab


def grid(n, size, z):
    """Vertices of n x n cells, row by row from y = -size / 2 up, and their triangles."""
    x, y = np.meshgrid(*2 * [np.linspace(-size / 2, size / 2, n + 1)])
    first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    faces = np.concatenate([first + [0, 1, n + 2], first + [0, n + 2, n + 1]])
    return np.stack([x, y, np.full_like(x, z)], -1).reshape(-1, 3).astype("f4"), faces.astype("u4")


def scene_of(job, path, side):
    """The relief's face, `path`, below the flat one; the picture in the plane z = 0."""
    t, half, top = mi.ScalarTransform4f, job["size"] / 2, job["distance"] + job["thickness"]
    glass = {"type": "dielectric", "int_ior": job["index"], "ext_ior": 1.0}
    camera = CAMERA * job["distance"]
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": "ptracer", "max_depth": 4, "hide_emitters": True},
        "beam": {"type": "rectangle",
                 "to_world": t().translate([0, 0, top + .2]) @ t().rotate([1, 0, 0], 180) @ t().scale([half, half, 1]),
                 "emitter": {"type": "directionalarea", "radiance": {"type": "spectrum", "value": 1.0}}},
        "flat": {"type": "rectangle", "to_world": t().translate([0, 0, top]) @ t().scale([half, half, 1]), "bsdf": glass},
        "relief": {"type": "ply", "filename": path, "flip_normals": True, "bsdf": glass},
        "plane": {"type": "rectangle", "to_world": t().scale([half, half, 1]),
                  "bsdf": {"type": "diffuse", "reflectance": {"type": "spectrum", "value": 1.0}}},
        "sensor": {"type": "perspective", "fov": 2 * math.degrees(math.atan(half / camera)), "near_clip": 1.0,
                   "far_clip": 1e4, "to_world": t().look_at(origin=[0, 0, camera], target=[0, 0, 0], up=[0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": side, "height": side, "pixel_format": "luminance",
                            "rfilter": {"type": "gaussian"}}}})


class Relief:
    def __init__(self, job, folder, side):
        self.job, self.side = job, side
        points, faces = grid(side, job["size"], job["distance"])
        mesh = mi.Mesh("relief", len(points), len(faces), has_vertex_normals=True)
        values = mi.traverse(mesh)
        values["vertex_positions"], values["faces"] = points.ravel(), faces.ravel()
        values.update()
        path = folder + "/relief.ply"
        mesh.write_ply(path)
        self.scene = scene_of(job, path, side)
        self.params = mi.traverse(self.scene)
        self.points = mi.Point3f(points.T)
        place = dr.arange(mi.UInt32, (side + 1) ** 2)
        self.uv = mi.Point2f(place % (side + 1), place // (side + 1)) / side

    def heights(self, values):
        """Those of the vertices; values: a tensor [row, column, 1], whose outermost are at the slab's borders."""
        n = values.shape[0]
        return mi.Texture2f(values, wrap_mode=dr.WrapMode.Clamp).eval((self.uv * (n - 1) + .5) / n)[0]

    def picture(self, heights, spp, seed):
        p = mi.Point3f(self.points.x, self.points.y, self.points.z + heights)
        self.params["relief.vertex_positions"] = dr.ravel(p)
        self.params.update()
        return mi.render(self.scene, self.params, spp=spp, seed=seed)


def target_of(path, side):
    """Linear luminance [row, column]."""
    picture = mi.Bitmap(path).convert(mi.Bitmap.PixelFormat.Y, mi.Struct.Type.Float32, False)
    values = np.array(picture).reshape(picture.height(), picture.width())
    return values.reshape(side, values.shape[0] // side, side, -1).mean((1, 3))


def finer(values, n):
    """The same heights at (n + 1) x (n + 1) places."""
    at = np.linspace(0, values.shape[0] - 1, n + 1)
    low = np.minimum(at.astype(int), values.shape[0] - 2)
    part = (at - low)[:, None]
    rows = values[low] * (1 - part) + values[low + 1] * part
    return (rows.T[low] * (1 - part) + rows.T[low + 1] * part).T


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)
    target, side, step = target_of(job["target"], job["side"]), job["side"], 0
    goal = mi.TensorXf((target / target.mean())[..., None].astype("f4"))
    with tempfile.TemporaryDirectory() as folder:
        relief, values = Relief(job, folder, side), np.zeros((2, 2))
        began = time.process_time()
        for number, n in enumerate(job["resolutions"], 1):
            values = finer(values, n)
            adam = mi.ad.Adam(lr=job["rate"], params={"heights": mi.TensorXf(values[..., None].astype("f4"))})
            while time.process_time() - began < job["seconds"] * number / len(job["resolutions"]):
                picture = relief.picture(relief.heights(adam["heights"]), job["spp"], step)
                loss = dr.mean(dr.square(picture / dr.mean(dr.detach(picture), axis=None) - goal), axis=None)
                dr.backward(loss)
                adam.step()
                dr.eval(adam)
                dr.sync_thread()
                step += 1
            values = np.array(adam["heights"])[..., 0]
        cpu = time.process_time() - began
        np.save(job["heights"], np.array(relief.heights(mi.TensorXf(values[..., None].astype("f4"))))
                .reshape(side + 1, side + 1)[::-1])
    print(json.dumps({"cpu": cpu, "steps": step, "loss": float(loss.array[0])}))


if __name__ == "__main__":
    main()
