# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/compare-variance: its intervals hold the truth as often as they say, of variances, ratios, and geometric
means; pairs cancel what they share; its figures are those of gradients taken by hand; and forms, pixels and the page
say what must be."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT, PROGRAM = os.environ["BL_SOURCE_DIR"], os.environ["BL_PROGRAM"]
SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
import variance_statistics as statistics  # noqa: E402

CASE = "texture"
NAMES = ["floor_bsdf.reflectance.data", "block_bsdf.reflectance.value"]
SPP, SEEDS = 1, 8


def share_within(trials, of):
    """How often the interval of `of(trial)`, a Figure and the truth, holds the truth."""
    inside = 0
    for k in range(trials):
        figure, truth = of(k)
        inside += figure.interval[0] < truth < figure.interval[1]
    return inside / trials


def check_intervals():
    rng = np.random.default_rng(5)

    def gaussians(scale, key):
        return statistics.variance(scale * rng.normal(size=(64, 3)), key)

    # 100 trials: a share of 0.95 has a standard error of 0.02; bootstrap of 64 gaussians has 0.93
    for of in (lambda k: (gaussians(1, "a%d" % k), 3),
               lambda k: (gaussians(2, "a%d" % k) / gaussians(1, "b%d" % k), 4),
               lambda k: (statistics.geometric_mean([gaussians(2, "a%d" % k), gaussians(3, "b%d" % k)]), 18),
               lambda k: (statistics.mean_of_rounds(5 + rng.normal(size=3), "t%d" % k), 5)):
        share = share_within(100, of)
        assert 0.85 < share < 0.995, share
    noise = rng.normal(size=(64, 3))
    a, b = statistics.variance(noise, "same"), statistics.variance(3 * noise + 7, "same")
    assert abs((b / a).value - 9) < 1e-9 and (b / a).deviation < 1e-9
    assert (b / statistics.variance(noise, "other")).deviation > 0.05
    np.testing.assert_allclose(a.value, noise.var(axis=0, ddof=1).sum())
    np.testing.assert_allclose((a * b).value, a.value * b.value)
    assert statistics.variance(np.ones((8, 2)), "constant") is None


def by_hand(folder, names):
    """name -> variances of one gradient, over all entries, of single runs"""
    case, found = os.path.join(ROOT, "tests", "reference", CASE), {n: [] for n in names}
    for seed in range(SEEDS):
        subprocess.run([PROGRAM, "grad", case + "/scene.xml", "--adjoint", case + "/adjoint.exr", "--spp", str(SPP),
                        "--seed", str(seed), "--sampler", "scene", "--quiet", "-o", folder, "--param"] + names, check=True)
        for n in names:
            found[n].append(np.load(os.path.join(folder, n + ".npy")).astype(float).ravel())
    return {n: np.var(g, axis=0, ddof=1).sum() for n, g in found.items()}


def check_figures():
    with tempfile.TemporaryDirectory() as t:
        out = t + "/out.json"
        command = [sys.executable, SCRIPTS + "/compare-variance", "--pairs", "--spp", str(SPP),
                   "--seeds", str(SEEDS), "--device", os.environ["BL_DEVICE"], "--json", out, CASE]
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 0, r.stderr
        with open(out) as f:
            rows = json.load(f)["cases"][CASE]["parameters"]
        assert sorted(rows) == sorted(NAMES) and "### " + CASE in r.stdout, r.stdout
        alone = {n: by_hand(t + "/one", [n])[n] for n in NAMES}
        pair = by_hand(t + "/pair", NAMES)
        for n, other in zip(NAMES, reversed(NAMES)):
            np.testing.assert_allclose(rows[n]["alone"]["value"], alone[n], rtol=1e-5)
            np.testing.assert_allclose(rows[n]["pairs"][other]["value"], pair[n] / alone[n], rtol=1e-5)
            low, high = rows[n]["alone"]["interval"]
            assert low < rows[n]["alone"]["value"] < high
        again = subprocess.run(command + ["--param", "block", "--before", out], stdout=subprocess.PIPE, text=True).stdout
        assert "together over before" in again and "| 1 (" in again.splitlines()[5], again
        check_ways(t)
        wrong = subprocess.run(command + ["nonsense"], stderr=subprocess.PIPE, text=True)
        assert wrong.returncode and "there are: blend_mask" in wrong.stderr, wrong.stderr
        rounded = subprocess.run([sys.executable, SCRIPTS + "/compare-variance", "--mitsuba", "--mitsuba-sampler", "ldsampler",
                                  "--spp", "128"], stderr=subprocess.PIPE, text=True)
        assert rounded.returncode and "powers of 4" in rounded.stderr, rounded.stderr


def check_ways(folder):
    """A fused gradient is the separate one, sample by sample; dL/dI of an image has noise of its own; samples go where
    dL/dI is not 0. The page has all of it."""
    out = folder + "/ways.json"
    subprocess.run([sys.executable, SCRIPTS + "/compare-variance", "cornell_patch", "--together", "--vary", "form", "pixels",
                    "--spp", "4", "--seeds", "16", "--rounds", "2", "--device", os.environ["BL_DEVICE"], "--json", out],
                   check=True, stdout=subprocess.DEVNULL)
    with open(out) as f:
        ways = json.load(f)["summary"]["ways"]
    value = {way: f["variance"]["value"] for way, f in ways.items()}
    assert abs(value["fused, independent"] - 1) < 1e-3, value
    assert value["separate, independent, adjoint pixels"] < 0.2, value  # 1 / 32 of the pixels
    assert 0.2 < value["separate, independent, adjoint pixels, dL/dI of an image"] < 0.95, value
    assert all(f["cost"]["value"] > 0 for f in ways.values()), ways
    subprocess.run([sys.executable, SCRIPTS + "/variance_page.py", folder + "/out.json", out, "-o", folder], check=True)
    with open(folder + "/variance.md") as page, open(folder + "/variance.csv") as table:
        assert "| fused, independent | 1 (1 .. 1) |" in page.read() and len(table.readlines()) == 5


check_intervals()
check_figures()
