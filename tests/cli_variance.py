# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""backlight grad --variance: mean and variance are those of the gradients of single seeds, which --each
writes; counts and seeds are all of theirs; what does not go together is said; and --pixels adjoint lowers the
variance where it should. Weights of pixels may be an image or an array of NumPy of the same shape."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM, SCENE = os.environ["BL_PROGRAM"], os.path.join(os.environ["BL_SOURCE_DIR"],
                                                        "assets/cornell/scene.xml")
NAMES = ["red.reflectance.value", "light.emitter.radiance.value"]
COUNT = 4


def grad(folder, *args):
    command = [PROGRAM, "grad", SCENE, "-D", "resolution=16", "--spp", "8", "--quiet", "-o", folder,
               "--param"] + NAMES
    r = subprocess.run(command + list(args), stderr=subprocess.PIPE, text=True)
    if r.returncode and "device" in r.stderr:
        sys.exit(77)
    return r


def values(folder, name):
    return np.load(os.path.join(folder, name + ".npy")).astype(float)


def summary(folder):
    with open(os.path.join(folder, "summary.json")) as f:
        return json.load(f)


def main():
    with tempfile.TemporaryDirectory() as t:
        target, single, many = t + "/target.exr", [t + "/%d" % k for k in range(COUNT)], t + "/many"
        r = subprocess.run([PROGRAM, "render", SCENE, "-D", "resolution=16", "--spp", "1", "--quiet", "-o",
                            target], stderr=subprocess.PIPE, text=True)
        if "no device" in r.stderr:
            sys.exit(77)
        for k in range(COUNT):
            r = grad(single[k], "--target", target, "--seed", str(5 + k))
            assert r.returncode == 0, r.stderr
        r = grad(many, "--target", target, "--seed", "5", "--variance", str(COUNT), "--each")
        assert r.returncode == 0, r.stderr
        s, ones = summary(many), [summary(f) for f in single]
        assert s["seeds"] == [5, 6, 7, 8] and len(s["time"]["repetitions"]) == COUNT, s
        assert s["paths"] == sum(o["paths"] for o in ones)
        assert abs(s["loss"] - np.mean([o["loss"] for o in ones])) <= 1e-6 * abs(s["loss"])
        assert "mean_variance" not in ones[0]["parameters"][0]
        for name, p in zip(NAMES, s["parameters"]):
            g = np.array([values(f, name) for f in single])
            np.testing.assert_array_equal(values(many, name + ".gradients"), g)
            mean, variance = g.mean(axis=0), g.var(axis=0, ddof=1)
            assert np.all(variance > 0), name
            np.testing.assert_allclose(values(many, name), mean, rtol=1e-5, atol=1e-5 * np.abs(g).max())
            np.testing.assert_allclose(values(many, name + ".variance"), variance, rtol=1e-4)
            np.testing.assert_allclose(p["mean_variance"], variance.mean(), rtol=1e-4)
            np.testing.assert_allclose(p["standard_error"], np.sqrt(variance.mean() / COUNT), rtol=1e-4)
        corner = t + "/corner.pfm"
        weights = np.zeros((16, 16, 3), "<f4")
        weights[2:5, 2:5] = 1
        with open(corner, "wb") as f:
            f.write(b"PF\n16 16\n-1\n" + weights.tobytes())
        array, turned = t + "/corner.npy", t + "/turned.npy"
        np.save(array, weights[::-1].astype(float)), np.save(turned, weights.transpose(2, 0, 1))
        same = [grad(t + "/" + k, "--adjoint", k_path) for k, k_path in (("a", corner), ("b", array))]
        assert all(r.returncode == 0 for r in same), same
        np.testing.assert_array_equal(values(t + "/a", NAMES[0]), values(t + "/b", NAMES[0]))
        r = grad(t + "/c", "--adjoint", turned)
        assert r.returncode == 1 and "is not a NumPy array [16, 16, 3]" in r.stderr, r
        found = {}
        for pixels in ("uniform", "adjoint"):
            folder = t + "/" + pixels
            r = grad(folder, "--adjoint", corner, "--variance", "8", "--pixels", pixels)
            assert r.returncode == 0, r.stderr
            found[pixels] = summary(folder)
            assert found[pixels]["pixels"] == pixels and found[pixels]["form"] == "separate", found
        lower = [b["mean_variance"] / a["mean_variance"]
                 for a, b in zip(found["uniform"]["parameters"], found["adjoint"]["parameters"])]
        assert max(lower) < 0.3, lower # 9 of 256 pixels: about 9 / 256
        assert not os.path.exists(os.path.join(t, "uniform", NAMES[0] + ".gradients.npy"))
        for wrong in (["--target", target, "--variance", "1"], ["--target", target, "--variance", "0"],
                      ["--target", target, "--each"]):
            assert grad(t + "/wrong", *wrong).returncode == 2, wrong
        assert not os.path.exists(t + "/wrong")


main()
