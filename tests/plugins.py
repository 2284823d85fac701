# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""What the plugins' tables say: docs/plugins.md is what `backlight plugins --markdown` writes (--update rewrites it); every plugin and parameter has
a line of help; what Mitsuba accepts everywhere is accepted; and a misspelled plugin or parameter of every kind is an error that names file, line,
plugin and the nearest known name."""
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
TAGS = {"float": "float", "integer": "integer", "boolean": "boolean", "string": "string", "file name": "string", "float or a name": "float",
        "transform": "transform", "colour": "rgb", "colour or texture": "rgb", "colour or volume": "rgb", "point or vector": "point"}
# what Mitsuba accepts in all plugins of a category, and in the scene itself
COMMON = {"shape": ["silhouette_sampling_weight"], "sensor": ["shutter_open", "shutter_close"], "emitter": ["sampling_weight"],
          "integrator": ["hide_emitters", "timeout"], "sampler": ["sample_count", "seed"], "medium": ["sample_emitters"]}
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
                    expect(folder, around.format('<%s type="%s"/>' % (category, wrong)), category, wrong, 'did you mean "%s"' % p["name"])
                elif not p["available"]:
                    expect(folder, around.format('<%s type="%s"/>' % (category, p["name"])), category, '"%s"' % p["name"], p["help"])
            for p in available:
                for a in p["parameters"][:1] + p["parameters"][-1:]:
                    wrong = misspelled(a["name"])
                    if not wrong:
                        continue
                    value = '' if a["type"] == "transform" else ' value="1"'
                    body = '<%s type="%s"><%s name="%s"%s/></%s>' % (category, p["name"], TAGS[a["type"]], wrong, value, category)
                    expect(folder, around.format(body), '"%s"' % wrong, category, '"%s"' % p["name"], 'did you mean "')


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


def main():
    if sys.argv[1:] == ["--update"]:
        return subprocess.run([PROGRAM, "plugins", "--markdown", "-o", DOCUMENT]).returncode
    wanted = subprocess.run([PROGRAM, "plugins", "--markdown"], capture_output=True, text=True, check=True).stdout
    with open(DOCUMENT, encoding="utf-8") as f:
        found = f.read()
    if found != wanted:
        sys.stdout.writelines(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), "docs/plugins.md", "plugins --markdown"))
        complain("docs/plugins.md differs: backlight plugins --markdown -o docs/plugins.md")
    plugins = json.loads(subprocess.run([PROGRAM, "plugins", "--json"], capture_output=True, text=True, check=True).stdout)["plugins"]
    for p in plugins:
        if not p["help"] or not all(a["help"] and a["type"] in TAGS for a in p["parameters"]):
            complain("%s %s: a help or a type is missing" % (p["category"], p["name"]))
    check_common(plugins)
    check_errors(plugins)
    print("%d plugins, %d failures" % (len(plugins), failures))
    return 1 if failures or len(plugins) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
