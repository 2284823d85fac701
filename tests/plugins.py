# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""What the plugins' tables say: docs/plugins.md is what `backlight plugins --markdown` writes (--update
rewrites it); every plugin and parameter has a line of help; what Mitsuba accepts everywhere is accepted; and
a misspelled plugin or parameter of every kind is an error that names file, line, plugin and the nearest known
name. What the table of abilities says of integrators, materials, lights and sensors is what the program does
with them in a small scene."""
import difflib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
DOCUMENT = os.path.join(ROOT, "docs", "plugins.md")
# where objects of a category may stand; {} is the object, on line 2
AROUND = {
    "film": '<sensor type="perspective">{}</sensor>',
    "sampler": '<sensor type="perspective">{}</sensor>',
    "rfilter": '<sensor type="perspective"><film type="hdrfilm">{}</film></sensor>',
    "phase": '<medium type="homogeneous">{}</medium>',
    "volume": '<medium type="heterogeneous">{}</medium>',
    "medium": '<shape type="sphere">{}</shape>',
}
TAGS = {"float": "float", "integer": "integer", "boolean": "boolean", "string": "string",
        "file name": "string", "float or a name": "float",
        "transform": "transform", "colour": "rgb", "colour or texture": "rgb", "colour or volume": "rgb",
        "point or vector": "point"}
# what Mitsuba accepts in all plugins of a category, and in the scene itself
COMMON = {"shape": ["silhouette_sampling_weight"], "sensor": ["shutter_open", "shutter_close"],
          "emitter": ["sampling_weight"],
          "integrator": ["hide_emitters", "timeout"], "sampler": ["sample_count", "seed"],
          "medium": ["sample_emitters"]}
SCENE_WIDE = ["allow_thread_reordering", "compact_acceleration_structures", "embree_use_robust_intersections"]
failures = 0


def complain(message):
    global failures
    failures += 1
    print("FAILED: " + message)


def error_of(folder, body):
    path = os.path.join(folder, "scene.xml")
    with open(path, "w", encoding="utf-8") as f:
        f.write('<scene version="3.0.0">\n%s\n</scene>\n' % body)
    r = subprocess.run([PROGRAM, "params", path], capture_output=True, text=True)
    if r.returncode != 1 or "Sanitizer" in r.stderr:
        complain("%s: exit status %d, %s" % (body, r.returncode, r.stderr))
    return r.stderr


def expect(folder, body, *parts):
    text = error_of(folder, body)
    for part in ("scene.xml:2: ",) + parts:
        if part not in text:
            complain("%s: no '%s' in: %s" % (body, part, text.strip()))


def misspelled(name):
    return name[0] + "q" + name[1:] if len(name) > 2 else None


def check_errors(plugins):
    by_category = {}
    for p in plugins:
        by_category.setdefault(p["category"], []).append(p)
    with tempfile.TemporaryDirectory() as folder:
        for category, all_of_it in by_category.items():
            available = [p for p in all_of_it if p["available"]]
            around = AROUND.get(category, "{}") if available else "{}"
            for p in all_of_it[:3] + all_of_it[-1:]:
                wrong = misspelled(p["name"])
                if p["available"] and wrong:
                    expect(folder, around.format('<%s type="%s"/>' % (category, wrong)), category, wrong,
                           'did you mean "%s"' % p["name"])
                elif not p["available"]:
                    expect(folder, around.format('<%s type="%s"/>' % (category, p["name"])), category,
                           '"%s"' % p["name"], p["help"])
            for p in available:
                for a in p["parameters"][:1] + p["parameters"][-1:]:
                    wrong = misspelled(a["name"])
                    if not wrong:
                        continue
                    value = '' if a["type"] == "transform" else ' value="1"'
                    body = '<%s type="%s"><%s name="%s"%s/></%s>' % (
                        category, p["name"], TAGS[a["type"]], wrong, value, category)
                    expect(folder, around.format(body), '"%s"' % wrong, category, '"%s"' % p["name"],
                           'did you mean "')


def check_common(plugins):
    for p in plugins:
        missing = set(COMMON.get(p["category"], [])) - {a["name"] for a in p["parameters"]}
        if p["available"] and missing:
            complain("%s %s does not take %s" % (p["category"], p["name"], ", ".join(sorted(missing))))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scene.xml")
        with open(path, "w", encoding="utf-8") as f:
            f.write('<scene version="3.0.0"><sensor type="perspective"/>%s</scene>\n' %
                    "".join('<boolean name="%s" value="true"/>' % name for name in SCENE_WIDE))
        r = subprocess.run([PROGRAM, "params", path], capture_output=True, text=True)
        if r.returncode:
            complain("properties of the scene: " + r.stderr.strip())


SCENE = '<scene version="3.0.0">%s<shape type="rectangle" id="square">%s</shape>%s%s</scene>'
INTEGRATOR, MATERIAL = '<integrator type="path"/>', '<bsdf type="diffuse" id="red"/>'
FIELD = '<field type="sh_field"><float name="density" value="1"/><rgb name="sh_coeffs" value=".5"/></field>'
LIGHT, CAMERA = '<emitter type="point" id="lamp"/>', '<sensor type="perspective" id="eye"/>'


def parameters_of(path):
    """Names of the scene's parameters and why they lack a gradient; None where the scene is no scene as it
    stands."""
    r = subprocess.run([PROGRAM, "params", path, "--json"], capture_output=True, text=True)
    return {p["name"]: p.get("reason", "")
            for p in json.loads(r.stdout)["parameters"]} if r.returncode == 0 else None


def add_ellipsoid(folder):
    """A shape whose parameters are all that volprim_rf_basic has gradients by."""
    columns = "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3".split()
    with open(os.path.join(folder, "one.ply"), "w", encoding="utf-8") as f:
        f.write("ply\nformat ascii 1.0\nelement vertex 1\n%send_header\n%s\n" %
                ("".join("property float %s\n" % c for c in columns), " ".join("1" for c in columns)))
    return '<shape type="ellipsoids"><string name="filename" value="one.ply"/></shape>'


def check_integrator(path, p, can):
    """What the table says of an integrator against what the program does with it in a small scene."""
    more = add_ellipsoid(os.path.dirname(path)) if p["name"] == "volprim_rf_basic" else ""
    with open(path, "w", encoding="utf-8") as f:
        integrator = '<integrator type="%s"/>' % p["name"] + FIELD * (p["name"] == "radiance_field")
        f.write(SCENE % (integrator, MATERIAL, LIGHT + more, CAMERA))
    for name, of_pass in (("reverse", "gradient"), ("forward", "forward")):
        r = subprocess.run([PROGRAM, "ir", path, "--pass", of_pass], capture_output=True, text=True)
        if (r.returncode == 0) != (name in can):
            complain("integrator %s: %s is %s in the table; %s" %
                     (p["name"], name, name in can, r.stderr.strip()))
    known = parameters_of(path) or {}
    moves = all("not implemented" not in known.get(name, "not implemented")
                for name in ("eye.to_world", "square.to_world"))
    if moves != ("moving" in can):
        complain("integrator %s: moving is %s in the table: %s" % (p["name"], "moving" in can, known))


def check_abilities(plugins):
    """Integrators as above; of plugins that stand in a scene without more being said, whether they have
    parameters of their own."""
    seen = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scene.xml")
        for p in plugins:
            can = p.get("abilities", [])
            if (not p["available"] or "image" not in can
                    or p["holds"] and p["category"] in ("integrator", "bsdf")):
                continue
            if p["category"] == "integrator":
                check_integrator(path, p, can)
                seen += 1
            if p["category"] not in ("bsdf", "emitter", "sensor"):
                continue
            it = '<%s type="%s" id="it"/>' % (p["category"], p["name"])
            parts = {"bsdf": (INTEGRATOR, it, LIGHT, CAMERA), "emitter": (INTEGRATOR, MATERIAL, it, CAMERA),
                     "sensor": (INTEGRATOR, MATERIAL, LIGHT, it)}
            with open(path, "w", encoding="utf-8") as f:
                f.write(SCENE % parts[p["category"]])
            known = parameters_of(path)
            if known is None:
                continue
            seen += 1
            own = [name for name in known if name.startswith("it.")]
            if bool(own) != ("reverse" in can):
                complain("%s %s: reverse is %s in the table, its parameters are %s" %
                         (p["category"], p["name"], "reverse" in can, own))
    if seen < 38:
        complain("the abilities of only %d plugins were looked at" % seen)


def main():
    if sys.argv[1:] == ["--update"]:
        return subprocess.run([PROGRAM, "plugins", "--markdown", "-o", DOCUMENT]).returncode
    wanted = subprocess.run([PROGRAM, "plugins", "--markdown"], capture_output=True, text=True,
                            check=True).stdout
    with open(DOCUMENT, encoding="utf-8") as f:
        found = f.read()
    if found != wanted:
        sys.stdout.writelines(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True),
                                                   "docs/plugins.md", "plugins --markdown"))
        complain("docs/plugins.md differs: backlight plugins --markdown -o docs/plugins.md")
    plugins = json.loads(subprocess.run([PROGRAM, "plugins", "--json"], capture_output=True, text=True,
                                        check=True).stdout)["plugins"]
    for p in plugins:
        if not p["help"] or not all(a["help"] and a["type"] in TAGS for a in p["parameters"]):
            complain("%s %s: a help or a type is missing" % (p["category"], p["name"]))
    check_common(plugins)
    check_errors(plugins)
    check_abilities(plugins)
    print("%d plugins, %d failures" % (len(plugins), failures))
    return 1 if failures or len(plugins) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
