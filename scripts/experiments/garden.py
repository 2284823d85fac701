# SPDX-License-Identifier: BSD-3-Clause
"""A normal map and a roughness texture on a ball, and a plant of triangles as a scattering volume, from three views: path
replay and biased radiative backpropagation at equal time (figure 1 of the path replay paper)."""
import json
import math
import os
import random
import tempfile

import numpy as np

import ink
import mirror_normal
import report

VIEWS = 3
TURNS = [k / VIEWS for k in range(VIEWS)] + [(k + 0.5) / VIEWS for k in range(VIEWS)]  # around the scene; the fit sees the first ones
METHODS = [("prbvolpath", "path replay"), ("rb_biased1", "biased I")]
NORMALS, ROUGHNESS, DENSITY, ALBEDO = "skin.normalmap.data", "metal.alpha.data", "plant.sigma_t.data", "plant.albedo.data"
TEXELS, VOXELS = (12, 24), 12
BELT = slice(3, 9)  # rows of texels within 45 degrees of the equator
HEAD = '''<scene version="3.0.0">
    <default name="resolution" value="40"/>
    <default name="normals" value="flat.pfm"/>
    <default name="roughness" value="even.pfm"/>
    <default name="density" value="density.vol"/>
    <default name="albedo" value="albedo.vol"/>
    <default name="eye" value="0, -5, 1.6"/>
    <integrator type="volpath"><integer name="max_depth" value="6"/><integer name="rr_depth" value="1000"/></integrator>
%s    <shape type="rectangle"><transform name="to_world"><scale value="0.7"/><rotate x="1" angle="180"/><translate x="1" y="-1" z="4"/></transform>
        <bsdf type="diffuse"><rgb name="reflectance" value="0"/></bsdf>
        <emitter type="area"><rgb name="radiance" value="4, 3.8, 3.5"/></emitter></shape>
    <shape type="rectangle"><transform name="to_world"><scale value="3"/></transform>
        <bsdf type="diffuse"><rgb name="reflectance" value="0.35, 0.32, 0.3"/></bsdf></shape>
    <bsdf type="normalmap" id="skin">
        <texture type="bitmap" name="normalmap"><string name="filename" value="$normals"/><boolean name="raw" value="true"/></texture>
        <bsdf type="roughconductor" id="metal">
            <string name="distribution" value="ggx"/><string name="attached" value="never"/>
            <texture type="bitmap" name="alpha"><string name="filename" value="$roughness"/><boolean name="raw" value="true"/></texture>
        </bsdf>
    </bsdf>
    <shape type="sphere"><float name="radius" value="0.7"/><point name="center" x="-0.8" y="0" z="0.75"/><ref id="skin"/></shape>
    <bsdf type="twosided" id="green"><bsdf type="diffuse"><rgb name="reflectance" value="0.15, 0.5, 0.12"/></bsdf></bsdf>
    <bsdf type="null" id="nothing"/>
'''
SMOKE = '''    <shape type="cube"><transform name="to_world"><scale x="0.6" y="0.6" z="0.8"/><translate x="0.8" z="0.85"/></transform>
        <ref id="nothing"/>
        <medium type="heterogeneous" name="interior" id="plant">
            <volume type="gridvolume" name="sigma_t"><string name="filename" value="$density"/></volume>
            <volume type="gridvolume" name="albedo"><string name="filename" value="$albedo"/></volume>
            <phase type="isotropic"/>
        </medium></shape>
'''
LEAF = '''    <shape type="rectangle"><transform name="to_world"><scale x="%.3f" y="%.3f"/><rotate x="1" angle="%.0f"/><rotate z="1" angle="%.0f"/>
        <translate x="%.3f" y="%.3f" z="%.3f"/></transform><ref id="green"/></shape>
'''


def leaves():
    """A stem of two crossed strips, and leaves around it."""
    at = random.Random(7)
    found = [(0.04, 0.6, 90, turn, 0.8, 0, 0.7) for turn in (0, 90)]
    for k in range(16):
        turn, out, height = 2.4 * k, 0.12 + 0.2 * at.random(), 0.4 + 0.06 * k
        found.append((0.07, 0.2, 40 + 30 * at.random(), math.degrees(turn) - 90, 0.8 + out * math.cos(turn), out * math.sin(turn), height))
    return "".join(LEAF % leaf for leaf in found)


def relief():
    """The normal map and the roughness: bumps and a pattern."""
    v, u = np.meshgrid(*((np.arange(n) + 0.5) / n for n in TEXELS), indexing="ij")
    slope = [0.45 * np.sin(6 * np.pi * u) * np.sin(2 * np.pi * v), 0.45 * np.cos(4 * np.pi * u) * np.sin(3 * np.pi * v)]
    n = np.stack([*slope, np.ones_like(u)], 2)
    rough = 0.2 + 0.1 * np.sign(np.sin(4 * np.pi * u + 1) * np.sin(2 * np.pi * v))
    return 0.5 + 0.5 * n / np.linalg.norm(n, axis=2, keepdims=True), rough[..., None]


def write(folder):
    """The scenes and what they are made of: `wanted.xml` has the plant's leaves, `start.xml` an even volume."""
    for name, plant in (("wanted", leaves()), ("start", SMOKE)):
        with open(os.path.join(folder, name + ".xml"), "w") as f:
            f.write(HEAD % report.view(33, "$eye", "0, 0, 0.6") + plant + "</scene>\n")
    normals, rough = relief()
    report.write_pfm(os.path.join(folder, "normals.pfm"), normals)
    report.write_pfm(os.path.join(folder, "roughness.pfm"), rough)
    report.write_pfm(os.path.join(folder, "flat.pfm"), np.broadcast_to([0.5, 0.5, 1], normals.shape))
    report.write_pfm(os.path.join(folder, "even.pfm"), np.full(rough.shape, 0.2))
    for name, value, channels in (("density", 1, 1), ("albedo", 0.5, 3)):
        ink.write_grid(os.path.join(folder, name + ".vol"), np.full((VOXELS, VOXELS, VOXELS, channels), value))
    return normals, rough


def eye(turn):
    a = 2 * math.pi * turn
    return [4.8 * math.sin(a), -4.8 * math.cos(a), 1.9]


class Garden:
    def __init__(self, page, folder, side, spp, many):
        self.page, self.folder, self.side, self.spp = page, folder, side, spp
        self.normals, self.rough = write(folder)
        self.many, self.targets = many, []
        views = [self.view(k) for k in range(2 * VIEWS)][:VIEWS]
        self.job = {"scene": os.path.join(folder, "start.xml"), "views": views, "loss": "l2",
                    "parameters": [{"name": NORMALS, "rate": 0.01, "bounds": [0, 1]},
                                   {"name": ROUGHNESS, "rate": 0.01, "bounds": [0.05, 0.6]},
                                   {"name": DENSITY, "rate": 0.2, "bounds": [0, 40], "total_variation": 1e-4},
                                   {"name": ALBEDO, "rate": 0.02, "bounds": [0, 1]}],
                    "optimizer": {"type": "adam", "beta_2": 0.99}, "spp": spp, "spp_grad": spp}

    def path(self, name):
        return os.path.join(self.folder, name)

    def render(self, scene, turn, spp, seed, out, *defines):
        report.backlight("render", self.path(scene), "-D", "resolution=%d" % self.side, "-D", "eye=%g, %g, %g" % tuple(eye(turn)),
                         *sum((["-D", d] for d in defines), []), "--spp", spp, "--seed", seed, "-o", self.path(out))
        return report.read_pfm(self.path(out))

    def view(self, k):
        self.targets.append(self.render("wanted.xml", TURNS[k], self.many, 4242, "target_%d.pfm" % k, "normals=normals.pfm",
                                        "roughness=roughness.pfm"))
        return {"to_world": {"origin": eye(TURNS[k]), "target": [0, 0, 0.6], "up": [0, 0, 1]}, "target": self.path("target_%d.pfm" % k)}

    def fit(self, method, steps, seed, out):
        """CPU seconds, and result.json."""
        with open(self.path("job.json"), "w") as f:
            json.dump({**self.job, "steps": steps, "seed": seed,
                       "schedule": [{"step": steps // 2 + 1, "factor": 0.3}, {"step": steps * 4 // 5 + 2, "factor": 0.1}]}, f)
        _, seconds = report.timed("fit", self.path("job.json"), "-D", "resolution=%d" % self.side, "--integrator", method, "-o", out)
        with open(os.path.join(out, "result.json")) as f:
            result = json.load(f)
        self.page.device = result["device"]
        return seconds, result

    def errors(self, images, normals, rough):
        """Rms of views seen and not seen; in the belt and elsewhere the mean angle of normals in degrees and the rms of roughness."""
        off = np.array(images) - np.array(self.targets)
        found = [float(np.sqrt(np.mean(np.square(part)))) for part in (off[:VIEWS], off[VIEWS:])]
        rows = np.arange(TEXELS[0])
        for part in (rows[BELT], np.delete(rows, BELT)):
            found += [mirror_normal.angles(normals[part], self.normals[part])[0], float(np.sqrt(np.mean((rough - self.rough)[part]**2)))]
        return found

    def before(self):
        """Images of the start, and how far they are off."""
        images = [self.render("start.xml", turn, self.many, 77, "image.pfm") for turn in TURNS]
        return images, self.errors(images, np.broadcast_to([0.5, 0.5, 1], self.normals.shape), np.full(self.rough.shape, 0.2))

    def after(self, out):
        """The same of what a fit found."""
        normals, rough, density, albedo = (np.load(os.path.join(out, n + ".npy")).astype(float)
                                           for n in (NORMALS, ROUGHNESS, DENSITY, ALBEDO))
        report.write_pfm(self.path("found_normals.pfm"), normals)
        report.write_pfm(self.path("found_roughness.pfm"), rough)
        ink.write_grid(self.path("found_density.vol"), density)
        ink.write_grid(self.path("found_albedo.vol"), albedo)
        images = [self.render("start.xml", turn, self.many, 77, "image.pfm", "normals=found_normals.pfm", "roughness=found_roughness.pfm",
                              "density=found_density.vol", "albedo=found_albedo.vol") for turn in TURNS]
        return images, self.errors(images, normals, rough)

    def race(self, method, seconds, seeds, most):
        """The steps that fit into so many CPU seconds and what one takes; of each seed the errors; images and losses of the first seed."""
        less, more = (self.fit(method, n, 1, self.path("out"))[0] for n in (2, 20))
        per_step = max(more - less, 1e-4) / 18
        steps, errors, shown = int(min(max(seconds / per_step, 3), most)), [], None
        for seed in range(seeds):
            self.fit(method, steps, 1 + seed, self.path("out"))
            images, off = self.after(self.path("out"))
            errors.append(off)
            shown = shown or (images, report.read_steps(self.path("out"))["loss"])
        return per_step, steps, np.array(errors), *shown


def curve(losses, unit):
    """Means over a twentieth of all steps, over what a step is long."""
    part = max(1, len(losses) // 20)
    return [((k + part / 2) * unit, losses[k:k + part].mean()) for k in range(0, len(losses), part)]


def run(page, tiny):
    side, spp, many, seconds, seeds, most = (8, 1, 4, 0.05, 2, 3) if tiny else (40, 16, 1024, 30, 3, 2000)
    with tempfile.TemporaryDirectory() as folder:
        garden = Garden(page, folder, side, spp, many)
        start, off = garden.before()
        rows, columns, by_time, by_step = [["start", None, None] + ["%.3g" % e for e in off]], [start], {}, {}
        seen = off[:1]
        for method, name in METHODS:
            per_step, steps, errors, images, losses = garden.race(method, seconds, seeds, most)
            spread = errors.std(0, ddof=1) / seeds**0.5
            rows.append([name, str(steps), per_step] + ["%.3g ± %.1g" % e for e in zip(errors.mean(0), spread)])
            seen.append(errors[:, 0].mean())
            columns.append(images)
            by_time[name], by_step[name] = curve(losses, per_step), curve(losses, 1)
        columns.append(garden.targets)
    shown = np.concatenate([np.concatenate([images[k] for images in columns], 1) for k in range(VIEWS + 1)], 0)
    page.picture(report.enlarged(report.screen_bytes(shown), 3))
    page.write("A normal map, roughness and a plant from three views", [
        "A ball of rough metal with a normal map and a roughness texture (%d x %d texels each), beside a plant of green leaves, under a sky in "
        "which every direction has a colour of its own. From three views of %d x %d pixels path replay and biased radiative backpropagation "
        "reconstruct both textures, and densities and albedos of %d x %d x %d voxels that stand for the plant: l2, Adam, %d samples per pixel, "
        "for %g CPU seconds each. The start is a flat map, a roughness of 0.2, and a density of 1. Paths have up to 6 segments." %
        (*TEXELS[::-1], side, side, VOXELS, VOXELS, VOXELS, spp, seconds),
        "![Start, path replay, biased I and what is wanted](garden.png)",
        "*From the left: start, path replay, biased I, wanted. Three views that fits see, and below one that they do not.*",
        "Errors are root mean squares, of images of %d samples per pixel; angles are those between found and true normals. Means of %d fits "
        "with different seeds, and their standard errors. Textures within 45 degrees of the equator, and *elsewhere*: there they see the "
        "even floor, or many texels meet at a pole. A volume that scatters evenly is no plant of leaves, so errors of images do not go to 0." %
        (many, seeds),
        "The paper (figure 1) shows path replay converge to the better solution at equal time, because Biased I has wrong gradients of normals "
        "and roughness ([texture_gradients](texture_gradients.md), [roughness_signs](roughness_signs.md)). Here path replay ends with %.2f of Biased I's error in the views seen. A step of Biased I takes "
        "%.2f times as long as one of path replay." % (seen[1] / seen[2], rows[2][2] / rows[1][2]),
    ], ["method", "steps", "seconds a step", "views seen", "other views", "normals, degrees", "roughness", "normals elsewhere", "roughness elsewhere"], rows, [
        {"title": "loss at equal time", "x": "CPU seconds", "y": "mean squared difference", "log_y": True, "curves": by_time},
        {"title": "loss by step", "x": "step", "y": "mean squared difference", "log_y": True, "curves": by_step}])
