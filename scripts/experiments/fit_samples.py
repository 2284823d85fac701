# SPDX-License-Identifier: BSD-3-Clause
"""Samples and time of a fit to the same error, with what makes its noise smaller or cheaper."""
import json
import os
import resource
import sys
import tempfile

import numpy as np

import report

PLANE = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="3"/></integrator>
<sensor type="perspective"><float name="fov" value="45"/><transform name="to_world"><lookat origin="0,1.6,3.2" target="0,.2,0"
up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="20"/><integer name="height" value="20"/><rfilter type="box"/></film>
</sensor>
<shape type="rectangle"><transform name="to_world"><scale value="1.5"/><rotate x="1" angle="-90"/></transform>
<bsdf type="diffuse" id="floor"><texture type="bitmap" name="reflectance"><string name="filename" value="floor.pfm"/><boolean name="raw"
value="true"/></texture></bsdf></shape>
<shape type="cube" id="box"><transform name="to_world"><scale value=".35"/><rotate y="1" angle="30"/><translate x=".1" y=".36"/></transform>
<bsdf type="diffuse"><rgb name="reflectance" value=".6,.3,.2"/></bsdf></shape>
<shape type="rectangle"><transform name="to_world"><scale value=".6"/><rotate x="1" angle="90"/><translate x="-.8" y="2.5"/></transform>
<emitter type="area"><rgb name="radiance" value="8"/></emitter></shape></scene>"""
SIDE = 8  # of the floor's texture
ADAM = {"type": "adam", "beta_2": 0.99}
GRID = {"smoke.sigma_t.data": [8, 8, 8]}
# name: scene, parameters, optimizer's rate, steps, samples of the plain job, rest of the job
ASSETS = {
    "colours": ("cornell/scene.xml", [{"name": "red.reflectance.value", "initial": 0.5},
                                      {"name": "green.reflectance.value", "initial": 0.5}], 0.02, 100, 16,
                {"defines": {"resolution": 20, "max_depth": 4}}),
    "texture": ("plane.xml", [{"name": "floor.reflectance.data", "initial": 0.5, "bounds": [0, 1]}], 0.02, 100, 16, {}),
    "smoke": ("smoke/scene.xml", [{"name": "smoke.sigma_t.data", "initial": 1, "bounds": [0, 50], "total_variation": 0.003,
                                   "smoothing": 0.1}], 0.1, 60, 8,
              {"defines": {"resolution": 16}, "steps": None, "stages": [{"steps": 60, "resolution": GRID}], "views": 3}),
    "glass index": ("papers/glass.xml", [{"name": "glass.eta", "initial": 1.35, "bounds": [1.05, 2.5]}], 0.01, 80, 8, {"defines": {"resolution": 16}}),
    "pose": ("plane.xml", [{"name": "box.to_world", "initial": [0.247, 0, 0.247, 0.3, 0, 0.35, 0, 0.5, -0.247, 0, 0.247, -0.15,
                                                                0, 0, 0, 1]}], 0.01, 100, 16, {}),
}
ADAPTIVE, AVERAGE, AUTO = {"adaptive_samples": {"noise": 1}}, {"average": 40}, {"average": "auto"}
DEFAULT, ADJOINT = {"sampler": "auto", "volume_gradient": "auto"}, {"form": "separate", "pixels": "adjoint"}
WAYS = [("plain", {}), ("adaptive samples", ADAPTIVE), ("recursive images", {"recursive_images": True}),
        ("adjoint pixels", ADJOINT), ("averaged", AVERAGE), ("averaged, adaptive", {**ADAPTIVE, **AVERAGE}),
        ("default", DEFAULT), ("default, averaged", {**DEFAULT, **AVERAGE}), ("default, adjoint pixels", {**DEFAULT, **ADJOINT}),
        ("default, averaged, adjoint pixels", {**DEFAULT, **AVERAGE, **ADJOINT}), ("default, automatic", {**DEFAULT, **AUTO}),
        ("default, automatic, adjoint pixels", {**DEFAULT, **AUTO, **ADJOINT})]
SHARES = [0.125, 0.5, 1]  # of the plain job's samples a step
TIMED = 2  # seeds whose CPU time is taken
FEW = 6  # seeds; more of what is compared closely, where errors differ much or the target is near
MANY = {"smoke": 60, "glass index": 24, "pose": 24}
CLOSELY = ["plain", "default", "default, averaged", "default, automatic"]


def seeds_of(asset, name):
    return MANY.get(asset, FEW) if name in CLOSELY else FEW


def write_scenes(folder):
    random = np.random.default_rng(1)
    with open(os.path.join(folder, "plane.xml"), "w", encoding="utf-8") as f:
        f.write(PLANE)
    report.write_pfm(os.path.join(folder, "floor.pfm"), random.uniform(0.1, 0.9, (SIDE, SIDE, 3))[::-1])


def views_of(scene):
    """Those of the asset's own fit."""
    with open(os.path.join(report.ROOT, "assets", os.path.dirname(scene), "fit.json"), encoding="utf-8") as f:
        return json.load(f)["views"]


def fit(asset, way, share, seed, folder, page, tiny, one_step=False):
    """Relative error of the result, samples of a pixel in all, user CPU seconds of the process."""
    source, parameters, rate, steps, spp, rest = ASSETS[asset]
    spp = max(1, int(spp * share)) if way.get("form") == "separate" else max(2, int(spp * share) // 2 * 2)
    scene = os.path.join(folder if source == "plane.xml" else os.path.join(report.ROOT, "assets"), source)
    target = {"render": True, "spp": 16 if tiny else 1024, "seed": 4242}
    job = {"scene": scene, "sampler": "independent", "volume_gradient": "replay", "target": target, "parameters": parameters,
           "optimizer": {**ADAM, "rate": rate}, "steps": steps, "spp": spp, "seed": seed, "checkpoint_steps": 100000}
    job.update(rest, **way)
    if "views" in job:
        job.update(target=None, views=[{"target": target, "to_world": v["to_world"]} for v in views_of(source)])
    job = {k: v for k, v in job.items() if v is not None}
    if tiny or one_step:
        job["steps"] = 1 if one_step else 3
        if "stages" in job:
            job["stages"] = [{"steps": job.pop("steps"), "resolution": GRID}]
    path = os.path.join(folder, "job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = report.backlight("fit", path, "-o", os.path.join(folder, "out"), "--force")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    page.device = r["device"]
    errors = [p["rms_error"] / p["first_rms_error"] for p in r["parameters"]]
    return float(np.sqrt(np.mean(np.square(errors)))), r["samples"], seconds


def step_seconds(asset, way, share, folder, page):
    """CPU seconds of a fit's steps, without those of target, kernels and pictures: the process's less that of a fit of one step."""
    least = [min(fit(asset, way, share, seed, folder, page, False, one)[2] for seed in range(1, 1 + TIMED)) for one in (False, True)]
    return max(least[0] - least[1], 1e-3)


def crossing(points, error):
    """Where the first of points (x, error), by ascending x, comes down to the error, between neighbours in
    logarithms; None: none does. Below the first point it is the first one, so this is at most what is needed."""
    for k, (x, e) in enumerate(points):
        if e <= error:
            if k == 0:
                return x
            (a, f), (b, g) = points[k - 1], (x, e)
            t = np.log(f / error) / np.log(f / g)
            return float(np.exp(np.log(a) + t * np.log(b / a)))
    return None


def measure(asset, folder, page, tiny):
    """way -> of each share of samples [(error, samples, seconds)], by seed. The seconds are those of TIMED seeds."""
    found = {}
    for name, way in WAYS:
        found[name] = []
        for share in SHARES[-2:] if tiny else SHARES:
            seconds = 1.0 if tiny else step_seconds(asset, way, share, folder, page)
            seeds = 1 if tiny else seeds_of(asset, name)
            found[name].append(np.array([fit(asset, way, share, seed, folder, page, tiny)[:2] + (seconds,) for seed in range(1, 1 + seeds)]))
            print(asset, name, share, found[name][-1].mean(0), file=sys.stderr)
    return found


def points(shares, kept):
    """[(samples, error, seconds)] by ascending samples: means and, of errors, roots of mean squares over the kept seeds."""
    return sorted((r[kept, 1].mean(), float(np.sqrt((r[kept, 0]**2).mean())), r[kept, 2].mean()) for r in shares)


def cells(plain, way):
    """Samples and seconds to the plain job's error, error at the most samples, these samples; over the plain job's."""
    all_samples, goal, seconds = plain[-1]
    samples = crossing([(s, e) for s, e, _ in way], goal)
    time = crossing(sorted((t, e) for _, e, t in way), goal)
    return [samples and samples / all_samples, time and time / seconds, way[-1][1] / goal, way[-1][0] / all_samples]


def with_errors(plain, way, seeds):
    """The cells with standard errors by the jackknife: each seed left out once, of both jobs. None where some seeds alone do not
    reach the error."""
    every = np.arange(seeds)
    all_of = cells(points(plain, every), points(way, every))
    if seeds == 1:
        return all_of
    left_out = [cells(points(plain, every[every != k]), points(way, every[every != k])) for k in range(seeds)]

    def measured(value, others):
        if value is None or None in others or np.ptp(others) == 0:
            return value
        return report.Measured(value, ((seeds - 1) * np.var(others))**0.5)
    return [measured(*pair) for pair in zip(all_of, zip(*left_out))]


def run(page, tiny):
    rows, panels, good, reached = [], [], {name: 0 for name, _ in WAYS}, set()
    with tempfile.TemporaryDirectory() as folder:
        write_scenes(folder)
        for asset in ASSETS:
            found = measure(asset, folder, page, tiny)
            for name, _ in WAYS:
                seeds = len(found[name][0])
                row = with_errors([r[:seeds] for r in found["plain"]], found[name], seeds) if name != "plain" else [1.0] * 4
                if row[0] is not None and row[0] <= 0.5:
                    good[name] += 1
                    reached.add(asset)
                rows.append([asset, name, seeds] + row)
            means = {n: points(found[n], np.arange(len(found[n][0]))) for n, _ in WAYS}
            for x, label in ((0, "samples"), (2, "seconds of steps")):
                panels.append({"title": asset, "x": label, "y": "error / first error", "log_x": True, "log_y": True,
                               "curves": {n: [(p[x], p[1]) for p in means[n]] for n, _ in WAYS}})
    page.write("Samples of a fit to the same error", [
        "Five fits to a rendered target, with an eighth to all of the plain job's samples a step (16 or 8). Error: rms of "
        "the parameters' values from the truth over that at the start, root of the mean square over parameters and seeds. "
        "Samples are those of all steps, of images and gradients; seconds are user CPU seconds of all steps, with other work on the "
        "machine: those of the process less those of a fit of one step, each the least of %d seeds." % TIMED,
        "The table has the samples and seconds that a way needs to the final error of the plain job (two walks, the sampler "
        "`independent`, replay in media, a fixed number of samples), over the plain job's with the same seeds: between measured points in logarithms; where "
        "the fewest samples are already enough, what these cost. No number: its most samples are not enough. The last two columns are "
        "of the most samples: error and samples over the plain job's. `default` is what jobs do by themselves: samples that are spread "
        "(`paddedsobol`), and detours for the smoke (`volume_gradient`). `averaged` is the mean over the last 40 steps, `automatic` is `average` `auto`. "
        "`adjoint pixels` are separate kernels, whose image and gradient "
        "each have the samples of a step. The smoke is seen from the three sides of its asset's own fit, with that fit's total "
        "variation. Standard errors are those of the jackknife: each seed left out once. A number without one is not reached without "
        "one of the seeds, or is the same with all.",
        "The target is at most half of the plain job's samples. Of five fits reach it: %s; by one way or another %d." %
        (", ".join("%s %d" % (n, good[n]) for n, _ in WAYS), len(reached)),
    ], ["fit", "way", "seeds", "samples to the plain error", "seconds to it", "error at the most samples", "these samples"], rows, panels)
