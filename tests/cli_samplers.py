# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Which sampler gradients have: `grad` takes paddedsobol where the scene says independent, keeps any other, and
--sampler chooses; a job's "sampler" says the same, and the command line wins; `render` keeps the scene's."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, SCENE = os.environ["BL_PROGRAM"], os.path.join(os.environ["BL_SOURCE_DIR"], "assets/cornell/scene.xml")
NAME = "red.reflectance.value"


def backlight(*args):
    r = subprocess.run([PROGRAM, *args, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if r.returncode and "no device" in r.stderr:
        sys.exit(77)
    return r


def run(*args):
    r = backlight(*args)
    assert r.returncode == 0, r.stderr
    return r


def main():
    with tempfile.TemporaryDirectory() as t:
        with open(SCENE) as f:
            text = f.read()
        other = os.path.join(t, "stratified.xml")
        assert 'sampler type="independent"' in text
        with open(other, "w") as f:
            f.write(text.replace('sampler type="independent"', 'sampler type="stratified"'))
        common = ["-D", "resolution=4", "-D", "spp=4"]
        target = t + "/target.pfm"

        def render(*more):
            run("render", SCENE, *common, "-o", target, *more)
            with open(target, "rb") as f:
                return f.read()

        assert render() == render("--sampler", "scene") == render("--sampler", "independent")
        assert render() != render("--sampler", "auto") == render("--sampler", "paddedsobol")
        plain = render()

        told = []

        def grad(scene, *more):
            run("grad", scene, *common, "--target", target, "-o", t + "/g", "--param", NAME, *more)
            with open(t + "/g/summary.json") as f:
                told.append(json.load(f)["sampler"])
            with open(t + "/g/%s.npy" % NAME, "rb") as f:
                return f.read()

        assert render() == plain
        assert grad(SCENE) == grad(SCENE, "--sampler", "auto") == grad(SCENE, "--sampler", "paddedsobol")
        assert grad(SCENE) != grad(SCENE, "--sampler", "scene") == grad(SCENE, "--sampler", "independent")
        assert grad(other) == grad(other, "--sampler", "scene") == grad(other, "--sampler", "stratified")
        assert grad(other) == grad(SCENE, "--sampler", "stratified") != grad(SCENE)
        assert set(told[:3]) == {"paddedsobol"} and told[-3:] == ["stratified", "stratified", "paddedsobol"], told

        def fit(sampler, *more):
            job = {"scene": SCENE, "defines": {"resolution": 4}, "target": target, "steps": 1, "spp": 4,
                   "parameters": [{"name": NAME, "initial": [.3, .3, .3]}], **sampler}
            with open(t + "/job.json", "w") as f:
                json.dump(job, f)
            run("fit", t + "/job.json", "-o", t + "/fit", "--force", *more)
            with open(t + "/fit/result.json") as f:
                found = json.load(f)
            assert found["sampling"] == "detached"
            return found["sampler"], json.dumps(found["parameters"])

        assert fit({}) == fit({"sampler": "auto"}) == fit({"sampler": "scene"}, "--sampler", "paddedsobol")
        assert fit({})[0] == "paddedsobol" and fit({"sampler": "scene"})[0] == "independent"
        assert fit({})[1] != fit({"sampler": "scene"})[1]
        recursive = {"recursive_images": True, "form": "separate"}
        assert fit(recursive)[0] == "independent"
        r = backlight("fit", t + "/job.json", "-o", t + "/fit", "--force", "--sampler", "auto")
        assert r.returncode == 1 and "two independent halves" in r.stderr, r.stderr
        r = backlight("grad", SCENE, "--sampler", "sobol", "--target", target, "-o", t + "/g", "--param", NAME)
        assert r.returncode == 2 and "paddedsobol" in r.stderr, r.stderr


main()
