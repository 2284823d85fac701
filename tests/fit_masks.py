# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Fits to masks: where a ball is, and how large, from pictures of 0 and 1 in which a plate hides a part of it; what
such a job may not ask for is one message."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SIDE = 24
SCENE = """<scene version="3.0.0"><integrator type="path"/><sensor type="perspective" id="eye"><float name="fov" value="40"/>
<film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/><rfilter type="box"/></film></sensor>
<shape type="sphere" id="ball"><float name="radius" value=".5"/><bsdf type="conductor"/></shape>
<shape type="rectangle" id="plate"><transform name="to_world"><scale value=".3"/><translate value=".3,-.2,1"/></transform></shape>
<emitter type="point"><point name="position" value="1,2,3"/></emitter></scene>""" % (SIDE, SIDE)
VIEWS = [{"origin": [0, 0, 4], "target": [0, 0, 0], "up": [0, 1, 0]}, {"origin": [4, 0, 0], "target": [0, 0, 0], "up": [0, 1, 0]}]
TRUTH, RADIUS = [0.15, -0.1, 0.2], 0.6
problems = []


def mask(view):
    """The mask of the true ball as a drawing program would leave it, by rays from the eye: 0 or 1, of 4 x 4 places a pixel."""
    eye, target = view["origin"], view["target"]
    forward = [(t - e) / 4 for t, e in zip(target, eye)]
    left = [forward[2], 0, -forward[0]]
    half, rows = math.tan(math.radians(20)), []
    for y in range(SIDE):
        row = []
        for x in range(SIDE):
            inside = 0
            for k in range(16):
                u, v = 1 - 2 * (x + (k % 4 + .5) / 4) / SIDE, 1 - 2 * (y + (k // 4 + .5) / 4) / SIDE
                d = [f + half * (u * s + v * t) for f, s, t in zip(forward, left, [0, 1, 0])]
                size = math.sqrt(sum(c * c for c in d))
                d = [c / size for c in d]
                to = [c - e for c, e in zip(TRUTH, eye)]
                along = sum(a * b for a, b in zip(to, d))
                near = sum(a * a for a in to) - along * along < RADIUS * RADIUS
                t = (1 - eye[2]) / d[2] if d[2] else -1
                at = [e + t * c for e, c in zip(eye, d)]
                hidden = 0 < t < along and abs(at[0] - .3) <= .3 and abs(at[1] + .2) <= .3
                inside += near and not hidden
            row.append(inside / 16)
        rows.append(row)
    return rows


def write_pfm(path, rows):
    with open(path, "wb") as f:
        f.write(b"Pf\n%d %d\n-1.0\n" % (SIDE, SIDE))
        for row in reversed(rows):
            f.write(struct.pack("<%df" % SIDE, *row))


def fit(*options, **keys):
    job = {"scene": "scene.xml", "silhouette": ["ball"], "spp": 8, "steps": 60, "seed": 1,
           "views": [{"to_world": v, "target": "mask_%d.pfm" % k} for k, v in enumerate(VIEWS)],
           "parameters": [{"name": "ball.translation", "rate": 0.02}, {"name": "ball.scale", "rate": 0.02}],
           "optimizer": {"type": "adam", "beta_2": 0.99},
           "schedule": [{"step": 25, "factor": 0.3}, {"step": 45, "factor": 0.1}]}
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump({**job, **keys}, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--force", *options], capture_output=True, text=True)
    return done.returncode, done.stderr


def expect(good, text):
    if not good:
        problems.append(text)


def main():
    for k, view in enumerate(VIEWS):
        write_pfm("mask_%d.pfm" % k, mask(view))
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    status, err = fit()
    expect(status == 0 and "incomplete" not in err, "a fit to masks: status %d, %s" % (status, err))
    with open("out/result.json", encoding="utf-8") as f:
        place, scale = [p["final"] for p in json.load(f)["parameters"]]
    print("ball at", place, "of radius", .5 * scale[0])
    off = math.dist(place, TRUTH)
    expect(off < 0.01, "the ball is off by %.4f: %s" % (off, place))
    expect(abs(.5 * scale[0] - RADIUS) < 0.005, "its radius is %.4f" % (.5 * scale[0]))
    status, err = fit("--edges", "none", steps=2, schedule=[])
    with open("out/result.json", encoding="utf-8") as f:
        place = json.load(f)["parameters"][0]["final"]
    expect(status == 0 and math.dist(place, [0, 0, 0]) < 1e-6, "without edges the ball moves to %s" % place)
    status, err = fit(silhouette=["balls"])
    expect(status == 1 and 'no shape of the scene has the id "balls"' in err, "an id that is not there: %s" % err)
    status, err = fit(batch=16)
    expect(status == 1 and "job.json: batch" in err, "a batch: %s" % err)
    for text in problems:
        print("FAILED: " + text)
    return 1 if problems else 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    sys.exit(main())
