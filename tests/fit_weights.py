# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Masks, weights of views, priors and encodings of targets in fit jobs: what a mask leaves out changes neither the fit
nor its error, its numbers are weights, priors draw to their centre, and a PNG may hold linear values. A mask's alpha
is dropped, also where targets are composed over a background."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SIDE = 16
RED = "wall.reflectance.value"
# Under a constant sky a plate is as bright as its reflectance.
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="orthographic"><transform name="to_world"><scale x=".5" y=".5"/>
<lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/>
<rfilter type="box"/></film><sampler type="independent"><integer name="sample_count" value="1024"/></sampler></sensor><bsdf type="diffuse" id="wall"><rgb name="reflectance" value=".6,.3,.1"/></bsdf>
<shape type="rectangle"><ref id="wall"/></shape><emitter type="constant"/></scene>""" % (SIDE, SIDE)
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def pfm(path, pixel):
    """pixel: of column and row from the top, three numbers."""
    rows = [pixel(x, y) for y in reversed(range(SIDE)) for x in range(SIDE)]
    with open(path, "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (SIDE, SIDE) + struct.pack("<%df" % (3 * SIDE * SIDE), *[v for r in rows for v in r]))


def png(path, grey, alpha=None):
    """grey, and alpha if there is one: of the column, a byte."""
    rows = (b"\0" + bytes(v(x) for x in range(SIDE) for v in (grey, alpha) if v)) * SIDE
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        for name, data in ((b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 4 if alpha else 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)),
                           (b"IEND", b"")):
            f.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def fit(**job):
    """Status, messages, result.json and the fitted colour."""
    job = {"scene": "scene.xml", "parameters": [{"name": RED, "initial": 0.45}], "steps": 60, "spp": 16,
           "schedule": [{"step": 40, "factor": 0.1}], **job}
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--force", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode, done.stderr, {}, None
    with open("out/result.json", encoding="utf-8") as f:
        result = json.load(f)
    return 0, done.stderr, result, result["parameters"][0]["final"]


def near(found, expected, slack, what):
    check(found is not None and all(abs(a - b) <= slack for a, b in zip(found, expected)),
          "%s: %s instead of %s" % (what, found, expected))


def masks():
    pfm("half.pfm", lambda x, y: (0.6, 0.3, 0.1) if x < SIDE // 2 else (5, 7, 1e6))
    png("mask.png", lambda x: 255 if x < SIDE // 2 else 0)
    status, said, result, colour = fit(target="half.pfm", mask="mask.png")
    near(colour, (0.6, 0.3, 0.1), 0.01, "behind a mask" + said)
    if result:
        found = result["evaluation"]
        check(found["after"]["rmse"] < 0.01 and found["after"]["psnr"] > 40, "errors of a masked fit: %s" % found)
        before = math.sqrt(sum((0.45 - v)**2 for v in (0.6, 0.3, 0.1)) / 3)
        check(abs(found["before"]["rmse"] / before - 1) < 0.02, "RMSE before: %s, expected %s" % (found, before))
    # With half the weight on one part, the mean lies at two thirds of the way.
    pfm("two.pfm", lambda x, y: (0.6, 0.6, 0.6) if x < SIDE // 2 else (0.3, 0.3, 0.3))
    png("grey.png", lambda x: 255 if x < SIDE // 2 else 128)
    expected = (0.6 + 0.3 * 128 / 255) / (1 + 128 / 255)
    near(fit(target="two.pfm", mask="grey.png")[3], (expected,) * 3, 0.004, "a grey mask")
    png("clear.png", lambda x: 255, lambda x: 255 if x < SIDE // 2 else 0)
    near(fit(target="two.pfm", mask="clear.png", background=[0, 0, 0])[3], (0.45,) * 3, 0.004, "a mask with alpha")
    pfm("bright.pfm", lambda x, y: (0.6, 0.6, 0.6))
    pfm("dark.pfm", lambda x, y: (0.3, 0.3, 0.3))
    near(fit(views=[{"target": "bright.pfm", "weight": 2}, {"target": "dark.pfm"}])[3], (0.5,) * 3, 0.004, "weights of views")
    near(fit(views=[{"target": "bright.pfm", "weight": 2}, {"target": "dark.pfm", "mask": "mask.png"}], batch=256)[3],
         (0.54,) * 3, 0.01, "weights of views with batches")


def priors():
    """Halfway between image and centre where both weigh alike; with l1, at the centre if the image asks for less."""
    for kind, centre, expected in (("l2", 0.5, 0.4), ("l1", 0.4, 0.4), ("l1", 1, 0.8)):
        near(fit(target="dark.pfm", parameters=[{"name": RED, "initial": 0.45, "prior": {"type": kind, "weight": 1, "centre": centre}}])[3],
             (expected,) * 3, 0.01, "prior %s toward %g" % (kind, centre))


def encodings():
    png("half.png", lambda x: 128)
    near(fit(target={"image": "half.png", "encoding": "linear"})[3], (128 / 255,) * 3, 0.004, "linear values")
    near(fit(target={"image": "half.png"})[3], (0.2159,) * 3, 0.004, "displayed values")


def errors():
    png("black.png", lambda x: 0)
    pfm("below.pfm", lambda x, y: (1, 1, -1))
    for mask, named in (("black.png", "black.png is black"), ("below.pfm", "below 0"), ("none.png", "none.png")):
        status, said, _, _ = fit(target="bright.pfm", mask=mask)
        check(status == 1 and "job.json: mask: " in said and named in said, "mask %s: %d %s" % (mask, status, said))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("scene.xml", "w", encoding="utf-8") as f:
            f.write(SCENE)
        masks()
        priors()
        encodings()
        errors()
        os.chdir("/")
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
