# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of one scene from many seeds by Mitsuba 3, for scripts/compare-variance.

    mitsuba_variance.py JOB.json    under a python that has the package. A job has the scene, its variables, the file
    of dL/dI, samples, the number of gradients, and groups of parameters. Of the first group all gradients are written to
    OUT.npz, NAME: count x entries; of each group the user CPU seconds of single gradients are printed, as JSON: of the
    first all, of others `timed`, of one whose parameters Mitsuba lacks none.

A gradient is `prb`'s backward pass, or `prbvolpath`'s where the scene's integrator is volumetric: no image before it,
as with `backlight grad --adjoint`. What the first two gradients of a group compile does not count."""
import json
import resource
import sys

import numpy as np


def integrator_of(mi, scene_integrator):
    """The differentiable one of the same depths."""
    text = str(scene_integrator)
    depths = {name: int(text.split(name + " = ")[1].split(",")[0].split("\n")[0]) for name in ("max_depth", "rr_depth")}
    return mi.load_dict(dict(depths, type="prbvolpath" if "olumetric" in text else "prb"))


def entries(values, wanted):
    """Flat. An environment map has a column more at each side, which repeats the one across: theirs are added."""
    a = np.array(values)
    if a.size != wanted:
        a = a[..., :3].copy()
        a[:, 1] += a[:, -1]
        a[:, -2] += a[:, 0]
        a = a[:, 1:-1]
    return a.ravel()


def known(params, name):
    """Mitsuba's name of a parameter: the same, or, of what has no name of its own there, the only one with this end."""
    ends = [key for key in params.keys() if key.endswith("." + name.split(".", 1)[-1])]
    return name if name in params or len(ends) != 1 else ends[0]


class Scene:
    """With weights, and an integrator that goes backwards."""

    def __init__(self, mi, dr, job):
        self.mi, self.dr, self.job = mi, dr, job
        self.scene = mi.load_file(job["scene"], **job["defines"])
        self.integrator, self.params = integrator_of(mi, self.scene.integrator()), mi.traverse(self.scene)
        bitmap = mi.Bitmap(job["adjoint"])
        self.weights = mi.TensorXf(bitmap.convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.Float32, srgb_gamma=False))

    def start(self, names):
        """key -> what to differentiate by, which the scene takes as a new value, as some plugins make other values of
        theirs. Of meshes it is the scene's own value: with new vertices they would find new normals."""
        values = {}
        for key in names:
            own = "vertex_" in key
            value = self.params[key] if own else type(self.params[key])(self.dr.detach(self.params[key]))
            self.dr.enable_grad(value)
            if not own:
                self.params[key] = value
            values[key] = value
        self.params.update()
        self.dr.eval(values)
        self.dr.sync_thread()
        return values

    def gradient(self, values, seed):
        """In the order of `values`."""
        self.integrator.render_backward(self.scene, self.params, self.weights, sensor=0, seed=seed, spp=self.job["spp"])
        grads = [self.dr.grad(value) for value in values.values()]
        self.dr.eval(grads)
        self.dr.sync_thread()
        return grads

    def gradients(self, group, count):
        """name -> entries of each, and the user CPU seconds of each"""
        keys = {known(self.params, name): name for name in group}
        names = {key: name for key, name in keys.items() if key in self.params}
        found, seconds = {name: [] for name in names.values()}, []
        for seed in range(-2, count) if names else ():
            values = self.start(names)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            grads = self.gradient(values, seed % 1000000)
            if seed >= 0:  # the first two compile
                seconds.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
                for name, g in zip(names.values(), grads):
                    found[name].append(entries(g, self.job["sizes"][name]))
            for value in values.values():
                self.dr.disable_grad(value)
        return found, seconds


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)
    import drjit as dr
    import mitsuba as mi
    mi.set_variant("llvm_ad_rgb")
    scene = Scene(mi, dr, job)
    found, together = scene.gradients(job["groups"][0], job["count"])
    np.savez(job["out"], **{name: np.array(g) for name, g in found.items()})
    print(json.dumps([together] + [scene.gradients(group, job["timed"])[1] for group in job["groups"][1:]]))


if __name__ == "__main__":
    main()
