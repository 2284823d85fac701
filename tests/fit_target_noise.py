# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The warning of targets whose noise has more to say in a step than the picture: it comes where texels are fitted to a
noisy target, at the beginning or at the end, with the noise that the target was given; and not where the target is
clean, sharp or finely patterned, where few numbers are fitted, or where texels have a total variation."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SIDE = 48
TEXELS, COLOUR = "wall.reflectance.data", "wall.reflectance.value"
# Under a constant sky a plate is as bright as its reflectance; it fills half of the picture.
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="orthographic"><transform name="to_world"><scale x="2" y="1"/>
<lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/>
<rfilter type="box"/></film><sampler type="independent"><integer name="sample_count" value="64"/></sampler></sensor><bsdf type="diffuse" id="wall">%s</bsdf>
<shape type="rectangle"><ref id="wall"/></shape><emitter type="constant"/></scene>"""
TEXTURE = """<texture type="bitmap" name="reflectance"><string name="filename" value="start.pfm"/><boolean name="raw" value="true"/>
<string name="filter_type" value="nearest"/></texture>"""
problems = []
random.seed(5)


def check(good, text):
    if not good:
        problems.append(text)


def pfm(path, width, pixel):
    with open(path, "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (width, SIDE))
        f.write(struct.pack("<%df" % (3 * width * SIDE), *[v for y in reversed(range(SIDE)) for x in range(width) for v in pixel(x, y)]))


def target(amplitude, noise, pattern):
    """The plate is in the middle; beside it the sky, whose noise is no matter of the fit."""
    def pixel(x, y):
        if not SIDE // 4 <= x < 3 * SIDE // 4:
            return [1 + random.gauss(0, 3)] * 3
        return [0.5 + amplitude * pattern(x, y) + random.gauss(0, noise) for _ in range(3)]
    pfm("target.pfm", SIDE, pixel)


def fit(name, **job):
    """Whether there was a warning at the beginning, and at the end; result.json."""
    parameter = {"name": name, "initial": 0.5, **job.pop("parameter", {})}
    job = {"scene": ("texels" if name == TEXELS else "colour") + ".xml", "target": "target.pfm", "parameters": [parameter], "steps": 60,
           "spp": 16, "optimizer": {"type": "adam", "rate": 0.02}, "schedule": [{"step": 40, "factor": 0.1}], **job}
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--force"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, "the fit failed: %s" % done.stderr)
    with open("out/result.json", encoding="utf-8") as f, open("out/report.html", encoding="utf-8") as g:
        result, page = json.load(f), g.read()
    said = "warning: The last steps followed the noise" in done.stdout
    check(said == ("The last steps followed the noise" in page), "the terminal and the report do not say the same")
    return "the target's noise" in done.stderr, said, result["target_noise"]


def smooth(x, y):
    return math.sin(x / 5) * math.cos(y / 7) * 2


def sharp(x, y):
    return 1.4 if (x // 6 + y // 9) % 2 else -1.4


def ragged(x, y):
    """A disc, stripes of two pixels and single lines."""
    return 1.4 if (x - 24)**2 + (y - 20)**2 < 70 or y > 36 and x // 2 % 2 or x == y else -1.4


def main():
    os.chdir(tempfile.mkdtemp(prefix="fit_target_noise_", dir="."))
    pfm("start.pfm", SIDE // 2, lambda x, y: (0.5, 0.5, 0.5))
    for name, body in (("texels", TEXTURE), ("colour", '<rgb name="reflectance" value=".5"/>')):
        with open(name + ".xml", "w", encoding="utf-8") as f:
            f.write(SCENE % (SIDE, SIDE, body))
    for what, pattern, amplitude, noise, name, more, begins, ends in (
            ("a clean picture", smooth, 0.1, 0, TEXELS, {}, False, False),
            ("sharp edges", sharp, 0.1, 0, TEXELS, {}, False, False),
            ("fine detail", ragged, 0.1, 0, TEXELS, {}, False, False),
            ("little noise", sharp, 0.1, 0.003, TEXELS, {"steps": 8}, False, False),
            ("as much noise as difference, and more", smooth, 0.03, 0.1, TEXELS, {}, True, True),
            ("noise, and steps enough to follow it", smooth, 0.1, 0.05, TEXELS, {}, False, True),
            ("one colour averages the noise out", lambda x, y: 1, 0.1, 0.1, COLOUR, {}, False, False),
            ("total variation", smooth, 0.03, 0.1, TEXELS, {"parameter": {"total_variation": 0.01}}, False, False)):
        target(amplitude, noise, pattern)
        found = fit(name, **more)
        check(found[:2] == (begins, ends), "%s: warnings %s, expected %s: %s" % (what, found[:2], (begins, ends), found[2]))
        check(abs(found[2]["noise"] - noise) < 0.15 * noise + 0.006, "%s: noise %s instead of %g" % (what, found[2], noise))
    for spp, initial, expected in ((4, 0.5, True), (1024, 0.4, False)):
        begins, ends, found = fit(TEXELS, target={"render": True, "spp": spp}, parameter={"initial": initial})
        check((begins or ends) == expected and (found["noise"] > 0.02) == expected,
              "rendered with %d samples: %s %s, noise %s" % (spp, begins, ends, found))
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
