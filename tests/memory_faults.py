# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Memory runs out: every request of libpng, libjpeg, zlib, OpenEXR, expat and cJSON, and of the program itself, is refused
in turn, once or from then on, while the program loads scenes with files of all formats, renders to all formats, computes gradients and
fits. Of requests that come by the same stack of calls the first is refused. The program ends with 0 and whole results, or with 1 and a
message; never by a signal, and no half file is left. A short run takes another share every day, BL_LONG=1 all. Requests of the library, each
of them: tests/api/memory_faults.c. Needs BL_PROGRAM, BL_BUILD_DIR, BL_DEVICE."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from today import today

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SHIM = os.path.join(os.path.abspath(os.environ.get("BL_BUILD_DIR", "build")), "tests", "librefuse_requests.so")
ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LIBRARIES = "png,jpeg,libz.,OpenEXR,expat,cjson"
RUNS = 4  # of each command
SCENE = """<scene version="3.0.0"><sensor type="perspective"><film type="hdrfilm"><integer name="width" value="8"/><integer name="height" value="8"/></film></sensor>
%s<shape type="serialized"><string name="filename" value="two_v4.serialized"/></shape><bsdf type="diffuse" id="b"/><shape type="sphere"><ref id="b"/></shape><emitter type="constant"/></scene>"""
# Of every format but images.
FILES = """<shape type="ply"><string name="filename" value="square_big.ply"/></shape><shape type="ply"><string name="filename" value="colours_ascii.ply"/></shape>
<shape type="obj"><string name="filename" value="tri.obj"/></shape><shape type="serialized"><string name="filename" value="two_v3.serialized"/></shape>
<shape type="bsplinecurve"><string name="filename" value="two.curves"/></shape>
<shape type="ellipsoids"><string name="filename" value="three_gaussians.ply"/><bsdf type="null"/></shape>
<shape type="sphere"><bsdf type="measured"><string name="filename" value="tiny.bsdf"/></bsdf></shape>
<shape type="sphere"><bsdf type="diffuse"><spectrum name="reflectance" filename="steps.spd"/></bsdf></shape>""" + "".join(
    """<shape type="cube"><bsdf type="null"/><medium name="interior" type="heterogeneous"><volume name="sigma_t" type="gridvolume"><string
name="filename" value="%s"/></volume></medium></shape>""" % name for name in ("grid.vol", "grid.nvdb"))
IMAGES = ("palette.png", "rgb.jpg", "progressive.jpg", "half_piz.exr", "float_zip.exr", "tiled_zip_offset_rgba.exr", "rle.hdr", "rgb24.bmp")


def run(command, **variables):
    return subprocess.run([PROGRAM, *command, "--no-cache"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LD_PRELOAD": SHIM, **variables})


def keys(json_value):
    """Names of all fields, which say what a result has; numbers differ."""
    if isinstance(json_value, dict):
        return {k: keys(v) for k, v in json_value.items()}
    return [keys(v) for v in json_value] if isinstance(json_value, list) else None


def result_keys():
    if not os.path.exists("out/result.json"):
        return None
    with open("out/result.json", encoding="utf-8") as f:
        return keys(json.load(f))


def try_command(command, owner, problems):
    whole = run(command, REFUSE_STACKS="stacks", REFUSE_OF=owner)
    if "no device" in whole.stderr:
        print(whole.stderr)
        return 77
    with open("stacks", encoding="ascii") as f:
        requests = sorted(int(line) for line in f)
    if whole.returncode != 0 or not requests:
        problems.append("%s: %d %s, %d requests seen" % (command, whole.returncode, whole.stderr, len(requests)))
        return 1
    whole_keys = result_keys() if command[0] == "fit" else None
    stride = 1 if os.environ.get("BL_LONG") else max(1, len(requests) // RUNS)
    failed = 0
    for at in requests[today() % stride::stride]:
        for later in ({}, {"REFUSE_LATER": "1"}):
            done = run(command, REFUSE_AT=str(at), REFUSE_OF=owner, **later)
            what = "%s, request %d%s of %s" % (command[0], at, " and later ones" if later else "", owner)
            failed += done.returncode != 0
            if done.returncode not in (0, 1) or (done.returncode == 1 and "backlight:" not in done.stderr) or "assertion" in done.stderr:
                problems.append("%s: %d %s" % (what, done.returncode, done.stderr[-300:]))
            if done.returncode == 0 and whole_keys and result_keys() != whole_keys:
                problems.append("%s: ended with 0, but result.json lacks fields" % what)
            left = [name for name in os.listdir(".") if ".tmp-" in name]
            if left:
                problems.append("%s: left %s" % (what, left))
    print("%s: requests of %s come in %d ways, one of %d refused: %d commands failed" %
          (" ".join(command[:2]), owner, len(requests), stride, failed))
    return 0


def main():
    if "address" in os.environ.get("BL_SANITIZE", ""):
        print("sanitizers bring an allocator of their own, which is not refused")
        return 0
    if not os.path.exists(SHIM):
        print("there is no " + SHIM)
        return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    problems, device = [], os.environ.get("BL_DEVICE", "native")
    folder = tempfile.mkdtemp(prefix="memory_faults_", dir=".")
    os.chdir(folder)
    for below in ("", "images", "gltf"):
        for entry in os.scandir(os.path.join(ROOT, "tests/data", below)):
            if entry.is_file():
                shutil.copy(entry.path, ".")
    textures = "".join('<shape type="rectangle"><bsdf type="diffuse"><texture type="bitmap" name="reflectance"><string name="filename" value="%s"/>'
                       "</texture></bsdf></shape>" % name for name in IMAGES)
    with open("s.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % (textures + FILES))
    with open("plain.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % "")
    with open("job.json", "w", encoding="utf-8") as f:
        f.write('{"scene": "plain.xml", "target": {"render": true}, "parameters": [{"name": "b.reflectance.value", "initial": 0.2}], "steps": 1, "spp": 1}')
    render = ["render", "plain.xml", "--spp", "1", "--device", device, "--quiet", "-o"]
    grad = ["grad", "plain.xml", "--param", "b.reflectance.value", "--spp", "1", "--target", "o.exr", "-o", "g", "--device", device, "--quiet"]
    for command in (["params", "s.xml"], ["params", "materials.glb"], ["import", "materials.glb", "-o", "i.xml"], [*render, "o.png"], [*render, "o.exr"], grad, ["fit", "job.json", "-o", "out", "--force", "--device", device, "--quiet"]):
        for owner in (LIBRARIES, "program"):
            if try_command(command, owner, problems) == 77:
                return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    os.chdir("..")
    print("\n".join(problems + ["%d problems" % len(problems)]))
    if not problems:
        shutil.rmtree(folder)
    return 1 if problems else 0


sys.exit(main())
