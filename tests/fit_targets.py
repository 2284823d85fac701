# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""Targets of a fit: images with alpha are composed over the job's background, and alpha is dropped without
one; a target that is missing, of another size, no image or with a NaN is one message with the job, the view
and the file, also of a view that is held out."""
import csv
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from display import encoded, first_pixel

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SIDE = 12
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective"><transform name="to_world"><lookat origin="0,0,3" target="0,0,0"
up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/><rfilter type="box"/></film>
<sampler type="independent"><integer name="sample_count" value="1"/></sampler></sensor>
<bsdf type="diffuse" id="wall"><rgb name="reflectance" value=".6,.3,.1"/></bsdf><shape type="rectangle"><ref id="wall"/></shape>
<emitter type="constant"><rgb name="radiance" value="1"/></emitter></scene>""" % (SIDE, SIDE)
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def png(path, width, height, pixel):
    rows = b"".join(b"\0" + bytes(pixel) * width for _ in range(height))
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n")
        for name, data in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[len(pixel)], 0, 0,
                                                 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
            out.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def corner(path):
    with open(path, "rb") as file:
        return first_pixel(file.read())


def decoded(byte):
    v = byte / 255
    return v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4


def fit(job, *options):
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump({"scene": "scene.xml", "parameters": [{"name": "wall.reflectance.value"}], "steps": 1,
                   "spp": 1, **job}, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", *options], capture_output=True, text=True)
    return done.returncode, done.stderr


def log_of(job, *options):
    status, err = fit({"target": {"render": True}, "steps": 2,
                       "parameters": [{"name": "wall.reflectance.value", "initial": 0.2}], **job}, *options)
    check(status == 0, "a fit with a seed: " + err)
    with open("out/fit.csv", encoding="utf-8") as log:
        return log.read()


def seeds():
    """The command line wins over the job, also with a 0."""
    zero, five = log_of({"seed": 0}), log_of({"seed": 5})
    check(zero != five, "the seed changes nothing")
    check(log_of({"seed": 5}, "--seed", "0") == zero, "--seed 0 loses to the job's seed")
    check(log_of({}, "--seed", "5") == five, "--seed 5 does nothing")


def initial_values():
    for value, bounds, good in ((1.5, None, False), (-0.5, None, False), ([0.1, 0.2, 7], None, False),
                                (1, None, True), (1.5, [0, 2], True), (1.5, [0, 1], False)):
        parameter = {"name": "wall.reflectance.value", "initial": value}
        if bounds:
            parameter["bounds"] = bounds
        status, err = fit({"target": {"render": True}, "parameters": [parameter]})
        check((status == 0) == good, "initial %s with bounds %s: %s" % (value, bounds, err))
        check(good or "parameters[0].initial" in err, "the message names no place: " + err)


def names_with_commas():
    with open("scene.xml", encoding="utf-8") as f:
        plain = f.read()
    with open("commas.xml", "w", encoding="utf-8") as f:
        f.write(plain.replace('id="wall"', 'id="a,&quot;b&quot;"'))
    status, err = fit({"scene": "commas.xml", "target": {"render": True}, "steps": 2,
                       "parameters": [{"name": 'a,"b".reflectance.value', "initial": 0.2}]})
    check(status == 0, "a fit of a name with a comma: " + err)
    with open("out/fit.csv", encoding="utf-8", newline="") as log:
        rows = list(csv.reader(log))
    check([len(row) for row in rows] == [5, 5, 5], "fit.csv has rows of other lengths: %s" % rows)
    check(rows[0][2:] == ['a,"b".reflectance.value[%d]' % k for k in range(3)], "names: %s" % rows[0])


def alpha():
    png("clear.png", SIDE, SIDE, [200, 100, 50, 64])
    a, background = 64 / 255, [0.5, 0.25, 1]
    status, err = fit({"target": "clear.png", "background": background, "form": "one-image"})
    if "no device" in err or "no Vulkan" in err:
        print(err)
        sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)
    check(status == 0, "a fit to an image with alpha: " + err)
    expected = tuple(round(encoded(a * decoded(c) + (1 - a) * b)) for c, b in zip([200, 100, 50], background))
    check(corner("out/target.png") == expected, "over a background: %s instead of %s" %
          (corner("out/target.png"), expected))
    check(fit({"target": "clear.png"})[0] == 0 and corner("out/target.png") == (200, 100, 50),
          "without a background: %s" % (corner("out/target.png"),))


def bad_targets():
    png("good.png", SIDE, SIDE, [1, 2, 3])
    png("wide.png", SIDE + 1, SIDE, [1, 2, 3])
    with open("nan.pfm", "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (SIDE, SIDE) + struct.pack("<f", float("nan")) * (3 * SIDE * SIDE))
    with open("text.png", "w", encoding="utf-8") as f:
        f.write("text")
    for name, why in (("wide.png", "13 x 12 pixels.*the scene's film has 12 x 12"),
                      ("nan.pfm", r"pixel \(0, 0\) is not a finite number"), ("text.png", "neither an EXR"),
                      ("nowhere.png", "nowhere.png")):
        for job, place in (({"target": name}, "target"),
                           ({"views": [{"target": "good.png"}, {"target": name}]}, r"views\[1\]\.target"),
                           ({"views": [{"target": "good.png"}, {"target": name}], "held_out": [1],
                             "batch": 5}, r"views\[1\]\.target")):
            status, err = fit(job)
            check(status == 1 and re.search(r"job.json: %s: .*%s" % (place, why), err) and name in err,
                  "%s: %d %s" % (name, status, err))
            check(err.count("backlight:") == 1, "%s: more than one message: %s" % (name, err))


os.chdir(tempfile.mkdtemp(prefix="fit_targets_", dir="."))
with open("scene.xml", "w", encoding="utf-8") as scene:
    scene.write(SCENE)
alpha()
bad_targets()
seeds()
initial_values()
names_with_commas()
for problem in problems:
    print(problem)
print("%d problems" % len(problems))
if not problems:
    shutil.rmtree(os.getcwd())
sys.exit(1 if problems else 0)
