# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Fits of where a shape is, by the program: to_world moves as a whole unless the job says otherwise, over stages
and interruptions too; a fit by incomplete gradients says so first, in one line, and at the top of its report;
a job that asks for what cannot be is one message."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective" id="eye"><transform name="to_world"><lookat origin="0,0,4" target="0,0,0"
up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="12"/><integer name="height" value="12"/><rfilter type="box"/></film></sensor>
<shape type="cube" id="box"><transform name="to_world"><scale value=".5,.4,.3"/><rotate y="1" angle="30"/></transform>
<bsdf type="diffuse" id="paint"><rgb name="reflectance" value=".6,.3,.1"/></bsdf></shape>
<shape type="sphere" id="ball"><point name="center" value="-1,.5,0"/><float name="radius" value=".3"/><ref id="paint"/></shape>
<shape type="sphere" id="globe"><point name="center" value="-1,-.5,0"/><float name="radius" value=".3"/><bsdf type="diffuse"><texture
type="bitmap" name="reflectance"><string name="filename" value="map.pfm"/></texture></bsdf></shape>
<emitter type="point"><point name="position" value="1,2,3"/></emitter></scene>"""
STEPS = 6
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def fit(parameters, *options, **job):
    steps = {} if "stages" in job else {"steps": STEPS}
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump({"scene": "scene.xml", "target": {"render": True, "spp": 4}, "spp": 4, "checkpoint_steps": 2,
                   "parameters": parameters, **steps, **job}, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--edges", "none", *options], capture_output=True, text=True)
    return done.returncode, done.stderr


def final():
    with open("out/result.json", encoding="utf-8") as f:
        return json.load(f)["parameters"][0]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def stretch(parameter):
    """Largest difference of the squares of the matrix's lengths and angles at the end and at the start."""
    squares = []
    for which in ("initial", "final"):
        m = parameter[which]
        linear = [[m[4 * i + j] for j in range(3)] for i in range(3)]
        squares.append(product([list(column) for column in zip(*linear)], linear))
    return max(abs(squares[0][i][j] - squares[1][i][j]) for i in range(3) for j in range(3))


def moved(parameter):
    return max(abs(a - b) for a, b in zip(parameter["initial"], parameter["final"]))


def says_first():
    status, err = fit([{"name": "box.to_world"}, {"name": "box.scale"}, {"name": "paint.reflectance.value", "initial": 0.5}])
    lines = err.splitlines()
    check(status == 0, "a fit of to_world: " + err)
    check(lines and lines[0].startswith("warning: this fit goes by incomplete gradients and may go astray: box.to_world, "
                                        "box.scale: edges and shadows"), "it does not say first: " + err)
    check(sum("incomplete" in line for line in lines) == 1, "not in one line: " + err)
    with open("out/report.html", encoding="utf-8") as f:
        report = f.read()
    warning, cards = report.find("<p class=\"warning\">"), report.find("<div class=\"cards\">")
    check(0 < warning < cards and "box.scale" in report[warning:cards], "the report does not begin with it")
    status, err = fit([{"name": "paint.reflectance.value", "initial": 0.5}])
    check(status == 0 and "incomplete" not in err, "a fit of colours: " + err)
    with open("out/report.html", encoding="utf-8") as f:
        check("<p class=\"warning\">" not in f.read(), "the report of colours has a warning")
    status, err = fit([{"name": "box.to_world"}], "--strict")
    check(status != 0 and "--strict" in err, "--strict: " + err)


def keeps_its_form():
    for job in ({}, {"stages": [{"steps": 3}, {"steps": 3}]}):
        status, err = fit([{"name": "box.to_world", "rate": 0.03}], **job)
        check(status == 0 and stretch(final()) < 1e-5, "rigid: stretched by %g %s" % (stretch(final()), err))
        check(moved(final()) > 0.01, "rigid: it has not moved")
    status, err = fit([{"name": "box.to_world", "rate": 0.03, "motion": "free"}])
    check(status == 0 and stretch(final()) > 1e-3, "free: stretched by %g %s" % (stretch(final()), err))


def moves_the_camera():
    status, err = fit([{"name": "eye.to_world", "rate": 0.02}])
    check(status == 0 and stretch(final()) < 1e-5 and moved(final()) > 0.001,
          "a camera: stretched by %g, moved by %g: %s" % (stretch(final()), moved(final()), err))
    status, err = fit([{"name": "eye.to_world", "motion": "similarity"}])
    check(status != 0 and "eye.to_world: a camera is not scaled" in err, "a camera that is scaled: " + err)
    status, err = fit([{"name": "eye.to_world", "motion": "free", "rate": 0.02}])
    check(status == 0 and stretch(final()) > 1e-3, "a camera, free: stretched by %g %s" % (stretch(final()), err))


def turns_no_plain_ball():
    status, err = fit([{"name": "ball.to_world", "rate": 0.03}])
    m = final()
    turned = max(abs(m["initial"][4 * i + j] - m["final"][4 * i + j]) for i in range(3) for j in range(3))
    check(status == 0 and turned == 0 and moved(m) > 0.01, "a ball: turned by %g, moved by %g: %s" % (turned, moved(m), err))
    status, err = fit([{"name": "globe.to_world", "rate": 0.03}])
    m = final()
    turned = max(abs(m["initial"][4 * i + j] - m["final"][4 * i + j]) for i in range(3) for j in range(3))
    check(status == 0 and turned > 0.01, "a globe: turned by %g: %s" % (turned, err))


def goes_on():
    parameters = [{"name": "box.to_world", "rate": 0.03}]
    fit(parameters)
    whole = final()["final"]
    with open("out/checkpoint", "rb") as f:
        last = f.read()
    fit(parameters, steps=STEPS - 2)
    status, err = fit(parameters, "--resume")
    check(status == 0 and final()["final"] == whole, "resumed: %s, not %s: %s" % (final()["final"], whole, err))
    with open("out/checkpoint", "rb") as f:
        check(len(f.read()) == len(last), "the checkpoints differ in size")


def refuses():
    for parameters, text in (
            ([{"name": "box.to_world", "bounds": [-1, 1]}], "box.to_world moves as a whole, so its numbers have no bounds"),
            ([{"name": "box.scale", "motion": "free"}], "box.scale: free motion is for the to_world of a shape"),
            ([{"name": "box.to_world", "motion": "free"}, {"name": "box.rotation"}],
             "box.to_world and the translation, rotation or scale besides it say the same")):
        status, err = fit(parameters)
        check(status != 0 and text in err, "%s: %s" % (parameters, err))


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    with open("map.pfm", "wb") as f:
        f.write(b"Pf\n4 2\n-1.0\n" + struct.pack("<8f", *(0.1, 0.9, 0.4, 0.6, 0.8, 0.2, 0.7, 0.3)))
    for part in (says_first, keeps_its_form, moves_the_camera, turns_no_plain_ball, goes_on, refuses):
        part()
    shutil.rmtree(folder)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
