# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Memory runs out inside libraries: every request of libpng, libjpeg, zlib, OpenEXR, expat and cJSON is refused in turn,
once or from then on, while the program loads scenes with files of all formats, renders to all formats, and reads jobs.
It ends with 0, or with 1 and a message; never by a signal, and no half file is left. A short run takes another share every
day, BL_LONG=1 all. Requests of our own: tests/api/memory_faults.c. Needs BL_PROGRAM, BL_BUILD_DIR, BL_DEVICE."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SHIM = os.path.join(os.path.abspath(os.environ.get("BL_BUILD_DIR", "build")), "tests", "librefuse_requests.so")
ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LIBRARIES = "png,jpeg,libz.,OpenEXR,expat,cjson"
RUNS = 8  # of each command
SCENE = """<scene version="3.0.0"><sensor type="perspective"><film type="hdrfilm"><integer name="width" value="8"/><integer name="height" value="8"/></film></sensor>
%s<shape type="serialized"><string name="filename" value="two_v4.serialized"/></shape><bsdf type="diffuse" id="b"/><shape type="sphere"><ref id="b"/></shape><emitter type="constant"/></scene>"""
IMAGES = ("palette.png", "rgb.jpg", "progressive.jpg", "half_piz.exr", "float_zip.exr", "tiled_zip_offset_rgba.exr", "rle.hdr", "rgb24.bmp")


def run(command, **variables):
    return subprocess.run([PROGRAM, *command, "--no-cache"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LD_PRELOAD": SHIM, "REFUSE_OF": LIBRARIES, **variables})


def main():
    if not os.path.exists(SHIM) or "Sanitizer" in os.environ.get("BL_SANITIZE", ""):
        print("there is no " + SHIM)
        return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    problems, device = [], os.environ.get("BL_DEVICE", "native")
    folder = tempfile.mkdtemp(prefix="memory_faults_", dir=".")
    os.chdir(folder)
    for name in os.listdir(os.path.join(ROOT, "tests/data/images")):
        shutil.copy(os.path.join(ROOT, "tests/data/images", name), ".")
    shutil.copy(os.path.join(ROOT, "tests/data/two_v4.serialized"), ".")
    textures = "".join('<shape type="rectangle"><bsdf type="diffuse"><texture type="bitmap" name="reflectance"><string name="filename" value="%s"/>'
                       "</texture></bsdf></shape>" % name for name in IMAGES)
    with open("s.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % textures)
    with open("plain.xml", "w", encoding="utf-8") as f:
        f.write(SCENE % "")
    with open("job.json", "w", encoding="utf-8") as f:
        f.write('{"scene": "plain.xml", "target": {"render": true}, "parameters": [{"name": "b.reflectance.value", "initial": 0.2}], "steps": 1, "spp": 1}')
    render = ["render", "plain.xml", "--spp", "1", "--device", device, "--quiet", "-o"]
    for command in (["params", "s.xml"], [*render, "o.png"], [*render, "o.exr"], ["fit", "job.json", "-o", "out", "--force", "--device", device, "--quiet"]):
        whole = run(command, REFUSE_COUNT="count")
        if "no device" in whole.stderr:
            print(whole.stderr)
            return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
        if whole.returncode != 0:
            problems.append("%s: %d %s" % (command, whole.returncode, whole.stderr))
            continue
        with open("count", encoding="ascii") as f:
            count = int(f.read())
        stride = 1 if os.environ.get("BL_LONG") else max(1, count // RUNS)
        first = 1 + int(time.time() / 86400) % stride
        failed = 0
        for at in range(first, count + 1, stride):
            for later in ({}, {"REFUSE_LATER": "1"}):
                done = run(command, REFUSE_AT=str(at), **later)
                failed += done.returncode != 0
                if done.returncode not in (0, 1) or (done.returncode == 1 and "backlight:" not in done.stderr) or "assertion" in done.stderr:
                    problems.append("%s, request %d%s: %d %s" % (command[0], at, " and later ones" if later else "", done.returncode, done.stderr[-300:]))
                left = [name for name in os.listdir(".") if ".tmp-" in name]
                if left:
                    problems.append("%s, request %d: left %s" % (command[0], at, left))
        print("%s: %d requests, %d calls failed" % (" ".join(command[:2]), count, failed))
    os.chdir("..")
    print("\n".join(problems + ["%d problems" % len(problems)]))
    if not problems:
        shutil.rmtree(folder)
    return 1 if problems else 0


sys.exit(main())
