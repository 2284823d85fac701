# SPDX-License-Identifier: BSD-3-Clause
"""What coherent groups of paths do to caches and branches, by the spread of a group (figures 5 and 7 left of the Mitsuba 2 paper)."""
import os
import re
import shutil
import subprocess
import tempfile

import numpy as np

import metropolis_scenes
import report

SPREADS = [1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.5]
ALONE = "independent paths"  # chains all of whose steps are large ones
CACHE = 2**20  # bytes of the last level of the simulated processor
KINDS = ["instructions", "first-level misses", "last-level misses", "mispredicted branches"]


def write(path, integrator, parameters, texels):
    """The room with a door ajar, whose walls all have a texture larger than the last cache."""
    metropolis_scenes.write(path, "door")
    texture = ('<texture type="bitmap" name="reflectance"><string name="filename" value="walls.pfm"/><boolean name="raw" value="true"/></texture>')
    with open(path) as f:
        scene = f.read()
    scene = re.sub(r'<rgb name="reflectance" value="[^"]*"/>', texture, scene)
    scene = scene.replace('<integrator type="$integrator">', '<integrator type="%s">%s' % (integrator, "".join(
        '<float name="%s" value="%g"/>' % p for p in parameters.items())))
    with open(path, "w") as f:
        f.write(scene)
    noise = np.random.default_rng(1).uniform(0.5, 0.9, (texels, texels, 3))
    report.write_pfm(os.path.join(os.path.dirname(path), "walls.pfm"), noise)


def arguments(scene, spp, out):
    return ["render", scene, "-D", "width=64", "-D", "height=48", "--spp", spp, "--seed", 1, "-o", out]


def rays_a_second(page, scene, out, few, many):
    """Millions of vertices in a second of CPU time, by what many samples take longer than few."""
    (less, a), (more, b) = (report.timed(*arguments(scene, n, out)) for n in (few, many))
    page.device = less["device"]
    return (more["chains"]["vertices"] - less["chains"]["vertices"]) / max(b - a, 1e-4) / 1e6


def counted(scene, out, spp):
    """Vertices, and what cachegrind counts, in KINDS' order: native kernels with AVX2, which it knows."""
    words = ["valgrind", "--tool=cachegrind", "--branch-sim=yes", "--cache-sim=yes", "--LL=%d,16,64" % CACHE,
             "--cachegrind-out-file=/dev/null", report.PROGRAM] + [str(a) for a in arguments(scene, spp, out)]
    r = subprocess.run(words + ["--device", "native", "--quiet", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       env=dict(os.environ, BL_NATIVE="avx2"), check=True)
    vertices = int(re.search(r'"vertices":\s*(\d+)', r.stdout).group(1))
    return np.array([vertices] + [int(re.search(name + r":\s*([\d,]+)", r.stderr).group(1).replace(",", ""))
                                  for name in ("I\\s+refs", "D1\\s+misses", "LLd misses", "Mispredicts")], float)


def each_ray(scene, out, few, many):
    """KINDS for one vertex; the first run leaves its kernels in the cache."""
    _, less, more = (counted(scene, out, n) for n in (1, few, many))
    return list((more[1:] - less[1:]) / (more[0] - less[0]))


def run(page, tiny):
    few, many, rounds, texels, simulated = (10, 30, 2, 8, None) if tiny else (100, 1100, 6, 1024, (20, 120))
    forms = [(ALONE, "pssmlt", {"large_step": 1}), ("pssmlt", "pssmlt", {})]
    forms += [("cpmmlt, %g" % s, "cpmmlt", {"spread": s}) for s in (SPREADS[:3] if tiny else SPREADS)]
    with tempfile.TemporaryDirectory() as folder:
        out, scenes = os.path.join(folder, "image.pfm"), {}
        for k, (name, integrator, parameters) in enumerate(forms):
            scenes[name] = os.path.join(folder, "door_%d.xml" % k)
            write(scenes[name], integrator, parameters, texels)
        rays = {name: [] for name in scenes}
        for _ in range(rounds):
            for name, scene in scenes.items():
                rays[name].append(rays_a_second(page, scene, out, few, many))
        counts = {name: each_ray(scene, out, *simulated) if simulated and shutil.which("valgrind") else [None] * len(KINDS)
                  for name, scene in scenes.items()}
    ratios = {name: np.array(r) / np.array(rays["pssmlt"]) for name, r in rays.items()}
    error = {name: float(r.std(ddof=1) / rounds**0.5) for name, r in ratios.items()}
    rows = [[name, float(np.mean(rays[name])), "%.3f ± %.3f" % (ratios[name].mean(), error[name])] + counts[name] for name in scenes]
    panels = [{"title": "rays over those of pssmlt", "x": "spread of a group", "y": "ratio", "log_x": True,
               "curves": {"cpmmlt": [(p["spread"], float(ratios[n].mean()), error[n]) for n, i, p in forms if i == "cpmmlt"],
                          "pssmlt": [(s, 1) for s in (SPREADS[0], SPREADS[-1])],
                          ALONE: [(s, float(ratios[ALONE].mean())) for s in (SPREADS[0], SPREADS[-1])]}}]
    if simulated and None not in counts["pssmlt"]:
        panels.append({"title": "of a ray, over pssmlt's", "x": "spread of a group", "y": "ratio", "log_x": True,
                       "curves": {kind: [(p["spread"], counts[n][k] / counts["pssmlt"][k]) for n, i, p in forms if i == "cpmmlt"]
                                  for k, kind in enumerate(KINDS)}})
    page.write("Caches and branches of coherent paths", text(ratios, counts, rounds, texels), ["paths", "Mrays/s", "over pssmlt's"] +
               ["%s a ray" % k for k in KINDS], rows, panels)


def text(ratios, counts, rounds, texels):
    near, far = "cpmmlt, %g" % SPREADS[0], "cpmmlt, %g" % SPREADS[-1]
    words = [
        "A room that is lit through a door ajar ([metropolis](metropolis.md)), whose walls have a texture of %d x %d texels of noise, 64 x 48 pixels. `pssmlt` "
        "steps one path a chain, many chains at once; `cpmmlt` steps groups of 16 paths, with a spread (standard deviation of each random number) that grows from row to "
        "row; *%s* are chains whose steps are all large. Rays are vertices of paths, per second of CPU time, by what 1100 samples a pixel take longer than 100; "
        "ratios are those of one round, means of %d and their standard errors." % (texels, texels, ALONE, rounds)]
    if far in ratios and None not in counts[near]:
        words += [
            "The other columns are counted by `valgrind --tool=cachegrind`, which simulates a processor with a last cache of %d KiB, and runs the native kernels with AVX2: this machine "
            "lets nobody read its counters. They do not vary with other work on the machine." % (CACHE >> 10),
            "The paper (figure 7, left) finds fewer cache misses and mispredicted branches the smaller the spread is. Here, from a spread of %g to one of %g: %s. So what "
            "coherence alone gives is the ratio of both rows' rays: groups that hardly spread trace %.2f times as many rays in a second as groups that spread over everything, with "
            "the same kernels. `pssmlt` has as full vectors as they have, of other chains." %
            (SPREADS[0], SPREADS[-1], ", ".join("%s %.3g and %.3g" % (k, a, b) for k, a, b in zip(KINDS, counts[near], counts[far])),
             ratios[near].mean() / ratios[far].mean())]
    return words
