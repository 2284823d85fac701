# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The program in mode mono: images have one channel, all forms of a gradient and a job find the same and replay without
drift, targets in colour become their luminance, and a name that is no mode is an error with the nearest one. A scene may
name its mode: option and job win over it, the program says which is in use, and what is said wrongly is an error."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from conformance import PROGRAM, SOURCE, read_pfm

SCENE = os.path.join(SOURCE, "assets", "cornell", "scene.xml")
WALL = "white.reflectance.value"
WEIGHTS = np.array([0.212671, 0.715160, 0.072169])


def run(*args, status=0):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    assert done.returncode == status, "%s: %s" % (" ".join(args), done.stderr)
    return done.stderr


def gradient(folder, name, *args):
    out = os.path.join(folder, name)
    run("grad", SCENE, "--param", WALL, "-o", out, "--spp", "16", *args)
    with open(os.path.join(out, "summary.json")) as f:
        summary = json.load(f)
    assert summary["drift"] == 0 and summary["drifted_samples"] == 0
    return np.load(os.path.join(out, WALL + ".npy")), summary["loss"]


def light_mode(path, out, *args):
    done = subprocess.run([PROGRAM, "render", path, "--spp", "1", "-o", out, "--json", *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["light_mode"], done.stderr


def check_scenes_of_a_mode(folder, mono, out):
    """A scene that names its mode: an image of it, and who wins: option, job, scene."""
    with open(SCENE) as f:
        text = f.read()
    path = os.path.join(folder, "scene.xml")
    with open(path, "w") as f:
        f.write('<?backlight mode="mono"?>' + text)
    assert "mode mono, as the scene says" in run("render", path, "--spp", "4", "-o", out)
    assert np.array_equal(read_pfm(mono), read_pfm(out))
    assert "mode spectral, as asked for; the scene says mono" in run("render", path, "--mode", "spectral", "--spp", "1", "-o",
                                                                     out)
    assert light_mode(path, out)[0] == "mono" and light_mode(path, out, "--mode", "rgb")[0] == "rgb"
    plain = light_mode(SCENE, out)
    assert plain[0] == "rgb" and "mode" not in plain[1], plain
    name = os.path.join(folder, "job_of_scene.json")
    for own, mode in ((None, "mono"), ("rgb", "rgb")):
        job = {"scene": path, "target": {"render": True, "spp": 2}, "steps": 1, "spp": 2,
               "parameters": [{"name": WALL, "initial": [.3, .3, .3]}], "optimizer": {"type": "adam", "rate": .02}}
        with open(name, "w") as f:
            json.dump(dict(job, mode=own) if own else job, f)
        fit = os.path.join(folder, "fit_of_" + mode)
        run("fit", name, "-o", fit)
        with open(os.path.join(fit, "result.json")) as f:
            assert json.load(f)["light_mode"] == mode
    for said, reason in (('<?backlight mode="mnoo"?>', 'scene.xml:1: there is no mode "mnoo"'),
                         ('<?backlight mode=mono?>', 'should be <?backlight mode="NAME"?>'),
                         ('<?backlight light="mono"?>', 'should be <?backlight mode="NAME"?>'),
                         ('<?backlight mode="mono"?>\n<?backlight mode="rgb"?>', "scene.xml:2: <?backlight mode=..?> is given twice")):
        with open(path, "w") as f:
            f.write(said + text)
        assert reason in run("render", path, "--spp", "1", "-o", out, status=1), said
    with open(os.path.join(folder, "part.xml"), "w") as f:
        f.write('<?backlight mode="mono"?><scene version="3.0.0"/>')
    with open(path, "w") as f:
        f.write(text.replace("</scene>", '<include filename="part.xml"/></scene>'))
    assert "part.xml:1: <?backlight mode=..?> belongs into" in run("render", path, "--spp", "1", "-o", out, status=1)
    with open(path, "w") as f:
        f.write("<?other mode='x'?>" + text)
    run("render", path, "--spp", "1", "-o", out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        mono, rgb, grey = (os.path.join(folder, name) for name in ("mono.pfm", "rgb.pfm", "grey.pfm"))
        run("render", SCENE, "--mode", "mono", "--spp", "4", "-o", mono)
        run("render", SCENE, "--mode", "llvm_ad_mono", "--spp", "4", "-o", grey)
        run("render", SCENE, "--spp", "4", "-o", rgb)
        assert read_pfm(mono).shape[2] == 1 and read_pfm(rgb).shape[2] == 3
        assert np.array_equal(read_pfm(mono), read_pfm(grey))

        luminance = os.path.join(folder, "luminance.pfm")
        colours = read_pfm(rgb)
        with open(luminance, "wb") as f:
            f.write(b"Pf\n%d %d\n-1\n" % colours.shape[1::-1] + (colours @ WEIGHTS)[::-1].astype("<f4").tobytes())
        found = {form: gradient(folder, form, "--mode", "mono", "--target", rgb, "--form", form)
                 for form in ("fused", "separate", "two-walk", "one-image")}
        assert np.allclose(found["fused"][0], found["separate"][0], rtol=1e-4)
        for g, _ in found.values():
            assert np.allclose(g / g.sum(), WEIGHTS, rtol=1e-3), g
        g, loss = gradient(folder, "grey", "--mode", "mono", "--target", luminance, "--form", "fused")
        assert np.allclose(g, found["fused"][0], rtol=1e-3) and abs(loss / found["fused"][1] - 1) < 1e-4

        job = {"scene": SCENE, "mode": "mono", "target": rgb, "parameters": [{"name": WALL, "initial": [.3, .3, .3]}],
               "optimizer": {"type": "adam", "rate": .02}, "steps": 3, "spp": 2}
        name = os.path.join(folder, "job.json")
        for mode, status in (("mono", 0), ("mnoo", 1)):
            with open(name, "w") as f:
                json.dump(dict(job, mode=mode), f)
            said = run("fit", name, "-o", os.path.join(folder, "fit_" + mode), status=status)
        assert 'did you mean "mono"' in said
        assert 'did you mean "mono"' in run("render", SCENE, "--mode", "mno", "-o", mono, status=1)
        check_scenes_of_a_mode(folder, mono, grey)
    print("mode mono: images, gradients and a fit")


if __name__ == "__main__":
    sys.exit(main())
