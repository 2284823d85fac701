# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""backlight design: a tiny job makes a slab whose caustic is like its target, by light tracing and by path tracing of
the solid. Loss falls and correlation rises. OBJ and STL are closed, their normals point outward, and their size is
that of the job in millimetres. The same seed gives the same heights. Jobs that the schema refuses the program refuses,
naming file and key."""
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
JOB = {"target": "target.pfm", "slab": {"size": 40, "thickness": 3}, "distance": 90, "resolutions": [8, 16],
       "steps": [40, 40], "verify": {"spp": 4000}}
BAD = [
    ({"target": None}, "target: missing key"),
    ({"slab": {"index": .9}}, "slab.index: must be above 1"),
    ({"slab": {"weight": 1}}, "slab.weight: unknown key"),
    ({"slab": {"abbe": 3}}, "slab.abbe: must be from 15 to 1000"),
    ({"light": {"type": "laser"}}, "light.type"),
    ({"light": {"type": "point"}}, "light.distance: missing key"),
    ({"light": {"type": "sun", "angle": 30}}, "light.angle: must be at most 20"),
    ({"resolutions": []}, "resolutions: must be a list"),
    ({"resolutions": [2]}, "resolutions: must be whole numbers"),
    ({"steps": -1}, "steps: must be above 0"),
    ({"verify": {}}, "verify.spp: missing key"),
]
BAD_BEYOND_SCHEMA = [
    ({"resolutions": [16, 8]}, "resolutions: must be whole numbers"),
    ({"steps": [1, 2, 3]}, "steps: must be a number, or a list of 2"),
]


def schema_test():
    """The validator of tests/fit_schema.py."""
    spec = importlib.util.spec_from_file_location("fit_schema", os.path.join(ROOT, "tests/fit_schema.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_target(folder):
    """24 x 16: a bright disk left of the middle."""
    rows = [[1.0 if (x - 9)**2 + (y - 7)**2 < 20 else .2 for x in range(24)] for y in range(16)]
    with open(os.path.join(folder, "target.pfm"), "wb") as f:
        f.write(b"Pf\n24 16\n-1\n" + b"".join(struct.pack("<24f", *row) for row in reversed(rows)))


def run(folder, job, out="out"):
    with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as f:
        json.dump(job, f)
    r = subprocess.run([PROGRAM, "design", "job.json", "-o", out, "--json"], cwd=folder, capture_output=True, text=True,
                       timeout=120)
    if r.returncode and ("no device" in r.stderr or "not found" in r.stderr):
        sys.exit(77)
    return r


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def check_solid(name, vertices, faces, normals):
    """faces: three vertex numbers; normals: one a face."""
    edges = {}
    volume = 0
    for face, normal in zip(faces, normals):
        a, b, c = (vertices[i] for i in face)
        n = cross([q - p for p, q in zip(a, b)], [q - p for p, q in zip(a, c)])
        assert sum(x * y for x, y in zip(n, normal)) > 0, "%s: a normal against its face" % name
        volume += sum(x * y for x, y in zip(a, n)) / 6
        for k in range(3):
            edge = face[k], face[(k + 1) % 3]
            assert edge not in edges, "%s: an edge twice in one direction" % name
            edges[edge] = True
    assert all((b, a) in edges for a, b in edges), "%s is open" % name
    sizes = [max(v[k] for v in vertices) - min(v[k] for v in vertices) for k in range(3)]
    assert abs(sizes[0] - 40) < 1e-3 and abs(sizes[1] - 27.5) < 1e-3 and sizes[2] > 3, sizes
    assert 3 * sizes[0] * sizes[1] < volume < sizes[2] * sizes[0] * sizes[1], "%s: its volume is %g" % (name, volume)


def check_obj(path):
    vertices, normals, faces, of_faces = [], [], [], []
    with open(path, encoding="ascii") as f:
        for line in f:
            word, *rest = line.split()
            if word in ("v", "vn"):
                (vertices if word == "v" else normals).append([float(x) for x in rest])
            elif word == "f":
                pairs = [part.split("//") for part in rest]
                faces.append([int(p[0]) - 1 for p in pairs])
                of_faces.append(normals[int(pairs[0][1]) - 1])
    check_solid("slab.obj", vertices, faces, of_faces)
    return len(faces)


def check_stl(path):
    with open(path, "rb") as f:
        data = f.read()
    count = struct.unpack_from("<I", data, 80)[0]
    assert len(data) == 84 + 50 * count
    vertices, numbers, faces, normals = [], {}, [], []
    for k in range(count):
        values = struct.unpack_from("<12f", data, 84 + 50 * k)
        normals.append(values[:3])
        face = []
        for corner in (values[3:6], values[6:9], values[9:12]):
            if corner not in numbers:
                numbers[corner] = len(vertices)
                vertices.append(corner)
            face.append(numbers[corner])
        faces.append(face)
    check_solid("slab.stl", vertices, faces, normals)
    return count


def check_design(folder):
    r = run(folder, JOB)
    assert r.returncode == 0, r.stderr
    found = json.loads(r.stdout)
    out = os.path.join(folder, "out")
    with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
        assert json.load(f) == found
    with open(os.path.join(out, "design.csv"), encoding="utf-8") as f:
        losses = [float(line.split(",")[2]) for line in f.readlines()[1:]]
    assert len(losses) == 80 and losses[39] < .5 * losses[0], losses
    coarse, fine = (level["correlation"] for level in found["levels"])
    print("correlation %.3f, %.3f; verified %.3f" % (coarse, fine, found["verified_correlation"]))
    assert min(coarse, fine, found["light_traced_correlation"]) > .9 and found["verified_correlation"] > .85
    assert 0 < found["height_range_mm"] < 5 and 0 < found["steepest_slope"] < 1
    assert check_obj(os.path.join(out, "slab.obj")) == check_stl(os.path.join(out, "slab.stl"))
    for name in ("start.png", "target.png", "level_8.png", "light_traced.exr", "verified.exr", "heights.png"):
        assert os.path.getsize(os.path.join(out, name)) > 0, name
    assert run(folder, JOB, "again").returncode == 0
    with open(os.path.join(out, "heights.npy"), "rb") as f, open(os.path.join(folder, "again/heights.npy"), "rb") as g:
        assert f.read() == g.read(), "the same seed gives other heights"


def write_colours(folder, name, left, right, ground):
    """24 x 16: colours left and right, in disks on a ground or, without one, on either half."""
    def at(x, y):
        if ground is None:
            return left if x < 12 else right
        return left if (x - 7)**2 + (y - 8)**2 < 16 else right if (x - 16)**2 + (y - 8)**2 < 16 else ground
    rows = [[v for x in range(24) for v in at(x, y)] for y in range(16)]
    with open(os.path.join(folder, name), "wb") as f:
        f.write(b"PF\n24 16\n-1\n" + b"".join(struct.pack("<72f", *row) for row in reversed(rows)))


def check_colours(folder):
    """A slide that is red on the left and blue on the right lights a red and a blue disk. Glass that disperses has
    its colours in the design and in the check."""
    write_colours(folder, "slide.pfm", (1, .1, .1), (.1, .1, 1), None)
    write_colours(folder, "disks.pfm", (1, .1, .1), (.1, .1, 1), (.1, .1, .1))
    jobs = {"slide": dict(JOB, target="disks.pfm", slide="slide.pfm", verify={"spp": 8000}),
            "disperses": dict(JOB, slab=dict(JOB["slab"], index=1.6, abbe=20), resolutions=[8], steps=40, verify={"spp": 16000})}
    for name, job in jobs.items():
        r = run(folder, job, name)
        assert r.returncode == 0, r.stderr
        found = json.loads(r.stdout)
        print("%s: %.3f, verified %.3f" % (name, found["light_traced_correlation"], found["verified_correlation"]))
        assert found["light_traced_correlation"] > .85 and found["verified_correlation"] > .8


def check_lights(folder):
    """Other lights: a few steps bring the caustic nearer to the picture than the flat slab's even light."""
    for light in ({"type": "sun", "angle": 1}, {"type": "point", "distance": 200, "size": 8},
                  {"type": "area", "distance": 100, "size": 5}):
        r = run(folder, dict(JOB, light=light, resolutions=[8], steps=40, verify={"spp": 100000}), light["type"])
        assert r.returncode == 0, r.stderr
        found = json.loads(r.stdout)
        print("%s: %.3f, verified %.3f" % (light["type"], found["light_traced_correlation"],
                                           found["verified_correlation"]))
        assert found["light_traced_correlation"] > .8 and found["verified_correlation"] > .6


def check_refusals(folder):
    valid = schema_test().valid
    with open(os.path.join(ROOT, "docs/design-job.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    with open(os.path.join(ROOT, "assets/leaf/design.json"), encoding="utf-8") as f:
        assert valid(json.load(f), schema, schema), "assets/leaf/design.json does not follow the schema"
    assert valid(JOB, schema, schema)
    for by_schema, cases in ((True, BAD), (False, BAD_BEYOND_SCHEMA)):
        for change, says in cases:
            job = {k: v for k, v in dict(JOB, **change).items() if v is not None}
            assert valid(job, schema, schema) != by_schema, job
            r = run(folder, job, "bad")
            assert r.returncode == 1 and re.search("job.json: " + re.escape(says), r.stderr), (job, r.stderr)
    r = run(folder, dict(JOB, target="none.png"), "bad")
    assert r.returncode == 1 and "none.png" in r.stderr and not os.path.exists(os.path.join(folder, "bad")), r.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_target(folder)
        check_design(folder)
        check_lights(folder)
        check_colours(folder)
        check_refusals(folder)


main()
