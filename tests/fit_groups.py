# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Groups of a fit job: settings by a pattern of names are the same bytes as the same settings of each parameter; a
later group wins over an earlier one, a parameter over both; rates are told; a pattern that matches nothing is an error
that says which name is near."""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
NAMES = ["wall.reflectance.value", "floor.reflectance.value", "lamp.intensity.value"]
SCENE = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="3"/></integrator><sensor type="perspective"><float name="fov" value="40"/>
<transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="12"/>
<integer name="height" value="12"/><rfilter type="box"/></film></sensor><bsdf type="diffuse" id="wall"><rgb name="reflectance" value=".6,.3,.1"/></bsdf>
<bsdf type="diffuse" id="floor"><rgb name="reflectance" value=".2,.5,.7"/></bsdf><shape type="rectangle"><ref id="wall"/></shape><shape type="rectangle"><ref id="floor"/>
<transform name="to_world"><rotate x="1" angle="-90"/><translate y="-.9"/></transform></shape><emitter type="point" id="lamp"><point name="position" x="0" y="0" z="2"/>
<rgb name="intensity" value="6"/></emitter></scene>"""
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def fit(settings, groups=None, **more):
    """Status, messages, standard output, result.json, and the log of all values. settings: of the three parameters."""
    job = {"scene": "scene.xml", "target": {"render": True, "spp": 64}, "steps": 8, "spp": 4,
           "parameters": [dict({"name": n, "initial": 0.5}, **s) for n, s in zip(NAMES, settings)], **more}
    if groups is not None:
        job["groups"] = groups
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--force"], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode, done.stderr, done.stdout, {}, ""
    with open("out/result.json", encoding="utf-8") as f, open("out/fit.csv", encoding="utf-8") as g:
        return 0, done.stderr, done.stdout, json.load(f), g.read()


PRIOR = {"type": "l2", "weight": 0.1, "centre": 0.4}
# groups, what the parameters say themselves, what both come to
CASES = [
    ([{"parameters": "*.reflectance.*", "rate": 0.1}], [{}, {}, {}], [{"rate": 0.1}, {"rate": 0.1}, {}]),
    ([{"parameters": "*", "rate": 0.1, "prior": PRIOR}, {"parameters": "f*", "rate": 0.01, "beta_2": 0.9}], [{}, {}, {}],
     [{"rate": 0.1, "prior": PRIOR}, {"rate": 0.01, "beta_2": 0.9, "prior": PRIOR}, {"rate": 0.1, "prior": PRIOR}]),
    ([{"parameters": "?a*.value", "rate": 0.1, "beta_1": 0.5, "bounds": [0.4, 0.55]}],
     [{"rate": 0.02}, {"rate": 0.03}, {"bounds": [0, 3]}],
     [{"rate": 0.02, "beta_1": 0.5, "bounds": [0.4, 0.55]}, {"rate": 0.03}, {"rate": 0.1, "beta_1": 0.5, "bounds": [0, 3]}]),
]


def winning():
    seen = set()
    for groups, own, both in CASES:
        status, said, out, result, log = fit(own, groups)
        check(status == 0, "groups %s: %s" % (groups, said))
        other = fit(both)
        check(log and log == other[4], "groups %s are not the settings %s:\n%s\n%s" % (groups, both, log, other[4]))
        rates = [p.get("rate", 0.05) for p in both]
        check([p["rate"] for p in result.get("parameters", [])] == rates, "rates of result.json: %s" % result.get("parameters"))
        with open("out/report.html", encoding="utf-8") as f:
            page = f.read()
        for name, rate in zip(NAMES, rates):
            told = re.compile(r"%g(?: \(betas [^)]*\))?: [^;\n]*%s" % (rate, re.escape(name)))
            check(told.search(out), "the terminal does not tell the rate of %s: %s" % (name, out))
            check(told.search(page), "the report does not tell the rate of %s" % name)
        seen.add(log)
    check(len(seen) == len(CASES), "settings do not matter")
    check("rates" not in fit([{}, {}, {}])[2], "rates are told where all are the optimizer's")


def mistakes():
    for groups, named in (([{"parameters": "wall.reflectence.value", "rate": 1}], 'did you mean "wall.reflectance.value"?'),
                          ([{"parameters": "lamp.*"}, {"parameters": "*.radiance.*", "rate": 1}], "groups[1].parameters: \"*.radiance.*\" matches none"),
                          ([{"parameters": "lamp"}], "matches none")):
        status, said, *_ = fit([{}, {}, {}], groups)
        check(status == 1 and named in said, "expected '%s', got %d: %s" % (named, status, said))
    status, said, *_ = fit([{}, {}, {}], [{"parameters": "wall*", "beta_1": 0.5}], optimizer={"type": "sgd"})
    check(status == 1 and "wall.reflectance.value: beta_1 and beta_2 are adam's" in said, "betas of sgd: %s" % said)


def main():
    os.chdir(tempfile.mkdtemp(prefix="fit_groups_", dir="."))
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    winning()
    mistakes()
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
