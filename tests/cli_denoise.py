# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""render --denoise, by the Open Image Denoise that scripts/setup has fetched (BL_OIDN) or the system has: the picture of few
samples comes nearer to a converged one than it was, the guides are in the EXR file, and the same command gives the same
bytes, in passes, too. Channels of the scene keep their names. In a mode of wavelengths, which has no guides, it works; bands and a missing library are errors before
anything is rendered. Needs BL_PROGRAM, BL_DEVICE."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.conformance import read_pfm, skip  # noqa: E402

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
CORNELL = os.path.join(os.path.abspath(ROOT), "assets", "cornell", "scene.xml")
# What noise hides and albedo knows: stripes of a texture, in the light of a small lamp that paths find by chance.
STRIPES = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="4"/></integrator>
<sensor type="perspective"><transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform>
<film type="%s"><integer name="width" value="96"/><integer name="height" value="96"/>%s</film></sensor>
<shape type="rectangle"><transform name="to_world"><scale value="2"/></transform><bsdf type="diffuse">
<texture type="checkerboard" name="reflectance"><rgb name="color0" value="0.3"/><rgb name="color1" value="0.5"/>
<transform name="to_uv"><scale value="24"/></transform></texture></bsdf></shape>
<shape type="rectangle"><transform name="to_world"><scale value="0.8"/><rotate y="1" angle="180"/><translate z="4"/></transform>
<emitter type="area"><rgb name="radiance" value="8"/></emitter></shape>
<shape type="sphere"><float name="radius" value="0.5"/><point name="center" x="0.3" y="0.2" z="1.5"/></shape></scene>"""
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def render(scene, output, *options, status=0, environment=None):
    done = subprocess.run([PROGRAM, "render", scene, "-o", output, *options], text=True, capture_output=True,
                          env=dict(os.environ, **(environment or {})), check=False)
    check(done.returncode == status, "%s: status %d, %s" % (options, done.returncode, done.stderr))
    return done


def error(image, truth):
    """Of what a screen shows: half a pixel of the lamp would outweigh all the rest."""
    return float(np.sqrt(np.mean((np.clip(image, 0, 1) - np.clip(truth, 0, 1)) ** 2)))


def nearer():
    """Measured: 2.2 times for the box, whose edges are most of what is left, and 5.3 for the stripes."""
    with open("stripes.xml", "w", encoding="utf-8") as f:
        f.write(STRIPES % ("hdrfilm", ""))
    for scene, options, least in ((CORNELL, ("-D", "resolution=96"), 1.8), ("stripes.xml", (), 3)):
        images = {}
        for name, more in (("truth", ("--spp", "1024", "--seed", "1")), ("noisy", ("--spp", "4")),
                           ("clean", ("--spp", "4", "--denoise"))):
            render(scene, name + ".pfm", *options, *more, "--quiet")
            images[name] = read_pfm(name + ".pfm")
        noisy, clean = (error(images[k], images["truth"]) for k in ("noisy", "clean"))
        print("%s: RMSE %.4f, denoised %.4f" % (os.path.basename(scene), noisy, clean))
        check(clean * least < noisy, "%s: RMSE %.4f, denoised %.4f" % (scene, noisy, clean))
        bias = abs(images["clean"].mean() / images["noisy"].mean() - 1)
        check(bias < 0.03, "%s: the mean changes by %.1f %%" % (scene, 100 * bias))


def files():
    for name, more in (("a.exr", ()), ("b.exr", ()), ("c.exr", ("--checkpoint", "c.ckpt", "--pass", "2"))):
        done = render("stripes.xml", name, "--spp", "4", "--denoise", "--json", *more)
        check(json.loads(done.stdout)["denoised"] is True, "--json does not tell")
    with open("a.exr", "rb") as a, open("b.exr", "rb") as b:
        first = a.read()
        check(first == b.read(), "the same command gives other bytes")
    for channel in (b"albedo.R", b"normal.X"):
        check(channel in first, "no channel %s" % channel)
    with open("taken.xml", "w", encoding="utf-8") as f:
        f.write((STRIPES % ("hdrfilm", "")).replace('<integrator type="path">', '<integrator type="aov"><string name="aovs" '
                'value="albedo:depth,normal:uv"/><integrator type="path">').replace("</integrator>", "</integrator></integrator>", 1))
    render("taken.xml", "taken.exr", "--spp", "1", "--denoise")
    with open("taken.exr", "rb") as f:
        names = f.read()
    for channel in (b"albedo.T", b"normal.U", b"guide_albedo.R", b"guide_normal.X"):
        check(channel in names, "beside channels that are called as guides are, no %s" % channel)
    done = render("stripes.xml", "d.png", "--spp", "4", "--denoise", "--verbose", "--mode", "spectral", "--tonemap", "aces")
    check("denoised in" in done.stderr, "--verbose: %s" % done.stderr)
    render("stripes.xml", "e.pfm", "--spp", "4", "--denoise", "--mode", "mono", "--quiet")


def mistakes():
    done = render("stripes.xml", "f.png", "--denoise", "--spp", "1000000", status=1, environment={"BL_OIDN": "/nowhere"})
    for part in ("Open Image Denoise 2", "BL_OIDN", "pyoidn", "/nowhere/libOpenImageDenoise.so.2"):
        check(part in done.stderr, "the error does not say %s: %s" % (part, done.stderr))
    with open("bands.xml", "w", encoding="utf-8") as f:
        f.write(STRIPES % ("specfilm", '<spectrum name="band" value="400:1, 700:1"/>'))
    done = render("bands.xml", "f.exr", "--denoise", "--mode", "spectral", status=1)
    check("knows colours alone" in done.stderr, "bands: %s" % done.stderr)
    check(not os.path.exists("f.png") and not os.path.exists("f.exr"), "a picture in spite of an error")
    done = subprocess.run([PROGRAM, "grad", CORNELL, "--param", "red.reflectance.value", "--target", "truth.pfm", "-o", "g",
                           "--denoise"], text=True, capture_output=True, check=False)
    check(done.returncode == 2 and "--denoise" in done.stderr, "grad takes --denoise: %s" % done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done = subprocess.run([PROGRAM, "render", CORNELL, "-o", "t.pfm", "--spp", "1", "-D", "resolution=8", "--denoise"],
                              text=True, capture_output=True, check=False)
        if "no device" in done.stderr or "needs the library" in done.stderr:
            skip(done.stderr)
        nearer()
        files()
        mistakes()
        os.chdir("/")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
