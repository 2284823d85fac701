# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""750 shapes with 24 materials of 5 kinds: kernels hold 5 bodies of each function of materials, not 24, and
`bench --ablation` shows what each optimisation of the compiler does to them, on fewer shapes: the naive form
has functions for each. `dispatch.py SCENE.xml` writes the scene, for measuring."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("BL_PROGRAM", "build/backlight")
SHAPES, FEW_SHAPES, MATERIALS = 750, 30, 24
OPTIMISATIONS = ["dead", "call_results", "call_arguments", "call_unused", "merge", "inline_single",
                 "loop_states", "loads", "call_common",
                 "loop_invariants", "call_accums", "vector_loads", "folding", "numbering", "cells",
                 "residual", "sharing", "shape_sharing"]


def rgb(name, r):
    return '<rgb name="%s" value="%.3f, %.3f, %.3f"/>' % (name, r.uniform(0.2, 0.9), r.uniform(0.2, 0.9),
                                                          r.uniform(0.2, 0.9))


def material(k, r):
    bodies = [
        '<bsdf type="twosided" id="m%d"><bsdf type="diffuse">%s</bsdf></bsdf>' % (k, rgb("reflectance", r)),
        '<bsdf type="conductor" id="m%d">%s</bsdf>' % (k, rgb("specular_reflectance", r)),
        '<bsdf type="roughconductor" id="m%d"><float name="alpha" value="%.3f"/>%s</bsdf>' %
        (k, r.uniform(0.1, 0.4), rgb("specular_reflectance", r)),
        '<bsdf type="dielectric" id="m%d"><float name="int_ior" value="%.3f"/></bsdf>' %
        (k, r.uniform(1.3, 1.7)),
        '<bsdf type="diffuse" id="m%d">%s</bsdf>' % (k, rgb("reflectance", r)),
    ]
    return bodies[k % len(bodies)]


def scene(path, size, shapes):
    r = random.Random(1)
    spheres = "\n".join('<shape type="sphere"><point name="center" x="%.3f" y="%.3f" z="%.3f"/><float '
                        'name="radius" value="0.12"/><ref id="m%d"/></shape>'
                       % (r.uniform(-2, 2), r.uniform(-2, 2), r.uniform(-2, 2), k % MATERIALS)
                       for k in range(shapes))
    with open(path, "w", encoding="utf-8") as f:
        f.write("""<scene version="3.0.0">
<integrator type="path"><integer name="max_depth" value="5"/></integrator>
<sensor type="perspective"><float name="fov" value="45"/>
<transform name="to_world"><lookat origin="0, 0, 7" target="0, 0, 0" up="0, 1, 0"/></transform>
<film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/><rfilter type="box"/></film></sensor>
<emitter type="constant"/>
%s
%s
</scene>
""" % (size, size, "\n".join(material(k, r) for k in range(MATERIALS)), spheres))


def run(*arguments):
    result = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode and "no device" in result.stderr:
        sys.exit(77)
    if result.returncode:
        sys.exit("%s: %s" % (" ".join(arguments), result.stderr))
    return result.stdout


def check_bodies(path):
    names = re.findall(r'^func \$\d+ "([^"]*)"', run("ir", path, "--pass", "primal", "--optimised"), re.M)
    for function in ("bsdf_value", "bsdf_sample"):
        count = sum(name.startswith(function) for name in names)
        assert count == 5, "%d bodies of %s among %s" % (count, function, names)


def check_ablation(path):
    rows = {v["variant"]: v
            for v in json.loads(run("bench", path, "--ablation", "--json", "--rounds", "1", "--spp",
                                    "1"))["variants"]}
    assert list(rows) == (["all"] + ["without " + name for name in OPTIMISATIONS] +
                          ["none but sharing, shape_sharing", "none but shape_sharing", "none"]), list(rows)
    best, none = rows["all"], rows["none"]
    for key in ("ops", "call_bytes", "spirv_words"):
        assert best[key] < none[key], (key, best[key], none[key])
    assert all(v["run_seconds"] > 0 and v["own_seconds"] > 0 and v["calls"] >= best["calls"]
               for v in rows.values()), rows
    assert all(v["same_image"] for v in rows.values()), rows
    assert rows["without call_unused"]["call_bytes"] > best["call_bytes"], rows
    shared = rows["none but sharing, shape_sharing"]["functions"]
    shapes = rows["none but shape_sharing"]["functions"]
    assert shapes - shared == 2 * (MATERIALS - 5), (shared, shapes)
    assert none["functions"] - shapes == FEW_SHAPES - 1, (shapes, none["functions"])


if len(sys.argv) > 1:
    scene(sys.argv[1], 128, SHAPES)
else:
    with tempfile.TemporaryDirectory() as folder:
        scene(os.path.join(folder, "scene.xml"), 16, SHAPES)
        check_bodies(os.path.join(folder, "scene.xml"))
        scene(os.path.join(folder, "few.xml"), 16, FEW_SHAPES)
        check_ablation(os.path.join(folder, "few.xml"))
