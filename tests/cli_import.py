# LABELS: nodevice swiftshader lavapipe native
# SPDX-License-Identifier: BSD-3-Clause
"""backlight import: cameras of NeRF's synthetic scenes and of Instant-NGP come out where OpenGL's formula
says, bounds and held-out frames are those that the documentation promises, paths are relative; each kind of
bad input is one message with file, frame and field, and no mutation of a good file crashes. Where cameras are
is looked at by rendering, with a device; all else needs none."""
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def png(path, pixels):
    """pixels: uint8 [y, x, 3 or 4]"""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)),
              (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n")
        for name, data in chunks:
            out.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def opengl_pose(eye, target, up=(0, 0, 1)):
    back = np.array(eye, float) - np.array(target, float)
    back /= np.linalg.norm(back)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    m = np.eye(4)
    m[:3, 0], m[:3, 1], m[:3, 2], m[:3, 3] = right, np.cross(back, right), back, eye
    return m


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if "no device" in done.stderr:
        sys.exit(77)
    check("Sanitizer" not in done.stderr and "runtime error" not in done.stderr
          and "ssertion" not in done.stderr, "crashed: " + done.stderr)
    check(done.returncode == status, "%s ended with %d: %s" %
          (" ".join(arguments), done.returncode, done.stderr))
    return done.stderr


def circle(count, radius=4.0, centre=(0.3, -0.2, 0.5)):
    poses = []
    for k in range(count):
        a = 2 * math.pi * k / count
        eye = np.array(centre) + radius * np.array([math.cos(a) * 0.8, math.sin(a) * 0.8, 0.6])
        poses.append(opengl_pose(eye, centre))
    return poses


def frames(poses, names):
    return [{"file_path": n, "rotation": 0.1, "transform_matrix": p.tolist()} for p, n in zip(poses, names)]


def make_nerf(folder, train=6, test=3, width=24, height=16, angle=0.7):
    poses = circle(train + test)
    for part, which in (("train", poses[:train]), ("test", poses[train:])):
        os.makedirs(os.path.join(folder, part))
        names = ["./%s/r_%d" % (part, k) for k in range(len(which))]
        for n in names:
            png(os.path.join(folder, n + ".png"), np.full((height, width, 4), 128, np.uint8))
        json.dump({"camera_angle_x": angle, "frames": frames(which, names)},
                  open(os.path.join(folder, "transforms_%s.json" % part), "w"))
    return poses


def make_ngp(folder, count=17, **more):
    os.makedirs(os.path.join(folder, "images"))
    poses = circle(count)
    names = ["images/%03d.png" % k for k in range(count)]
    for n in names:
        png(os.path.join(folder, n), np.full((20, 30, 3), 90, np.uint8))
    what = {"fl_x": 40.0, "fl_y": 40.0, "cx": 18.0, "cy": 8.0, "w": 30, "h": 20, "k1": 0, "p2": 0.0,
            "aabb_scale": 16, "camera_model": "OPENCV",
            "frames": frames(poses, names)}
    what.update(more)
    json.dump(what, open(os.path.join(folder, "transforms.json"), "w"))
    return what, poses


# ---- what comes out ----

SPOT = """<scene version="3.0.0"><integrator type="direct"/>%s
<shape type="sphere"><point name="center" x="%g" y="%g" z="%g"/><float name="radius" value="0.03"/>
<emitter type="area"><rgb name="radiance" value="1,1,1"/></emitter></shape></scene>"""


def read_pfm(path):
    with open(path, "rb") as file:
        kind, size, scale = file.readline(), file.readline(), float(file.readline())
        width, height = map(int, size.split())
        values = np.frombuffer(file.read(), "<f4" if scale < 0 else ">f4")
        values = values.reshape(height, width, 3 if kind.strip() == b"PF" else 1)
    return values[::-1]


def spot_at(folder, scene_xml, to_world, point):
    """Where the point is on the image that the imported sensor sees, in pixels, x right and y down. The image
    is rendered 10 times as large."""
    sensor = re.search(r"<sensor.*?</sensor>", scene_xml, re.S).group(0)
    sensor = re.sub(r'(name="(?:width|height)" value=")(\d+)', r"\g<1>\g<2>0", sensor)
    matrix = " ".join("%.9g" % v for v in to_world)
    pose = "<transform name=\"to_world\"><matrix value=\"%s\"/></transform>" % matrix
    path = os.path.join(folder, "spot.xml")
    with open(path, "w") as file:
        file.write(SPOT % ((sensor.replace("<film", pose + "<film", 1),) + tuple(point)))
    run("render", path, "-o", os.path.join(folder, "spot.pfm"), "--spp", "256", "--quiet")
    image = read_pfm(os.path.join(folder, "spot.pfm"))[:, :, 0].astype(float)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5
    return (image * x).sum() / image.sum() / 10, (image * y).sum() / image.sum() / 10


def projected(pose, point, focal, cx, cy):
    local = np.linalg.inv(pose) @ np.array([*point, 1.0])
    return cx + focal * local[0] / -local[2], cy - focal * local[1] / -local[2]


def check_cameras(folder, job, poses, focal, cx, cy):
    scene = open(os.path.join(folder, "field.xml")).read()
    if "BL_DEVICE" not in os.environ:
        return
    for k in (0, 2):
        point = np.array([0.3, -0.2, 0.5]) + [0.15, -0.2, 0.25]
        expected = projected(poses[k], point, focal, cx, cy)
        found = spot_at(folder, scene, job["views"][k]["to_world"], point)
        check(math.dist(found, expected) < 0.03, "view %d: the spot is at %s, not at %s" %
              (k, found, expected))


def nerf_synthetic():
    with tempfile.TemporaryDirectory() as folder:
        poses = make_nerf(folder)
        run("import", folder, "-o", os.path.join(folder, "field.json"), "--steps", "100", "--batch", "77",
            "--resolution", "32", "--sh-degree", "2")
        job = json.load(open(os.path.join(folder, "field.json")))
        check([v["target"] for v in job["views"]] == ["train/r_%d.png" % k for k in range(6)]
              + ["test/r_%d.png" % k for k in range(3)], "paths of views")
        check(job["held_out"] == [6, 7, 8] and job["batch"] == 77 and job["spp"] == 1, "held out, batch")
        check([s["steps"] for s in job["stages"]] == [20, 20, 60], "steps of stages")
        check([s["resolution"]["field.density.data"] for s in job["stages"]]
              == [[n] * 3 for n in (8, 16, 32)], "resolutions")
        check_cameras(folder, job, poses, 12 / math.tan(0.35), 12, 8)
        scene = open(os.path.join(folder, "field.xml")).read()
        move = [float(v) for v in re.search(r'<translate x="(.*?)" y="(.*?)" z="(.*?)"', scene).groups()]
        size = [float(v) for v in re.search(r'<scale x="(.*?)" y="(.*?)" z="(.*?)"', scene).groups()]
        half = 4 * math.tan(0.35)  # around the point that all axes meet in
        check(np.allclose(size, 2 * half, atol=1e-4)
              and np.allclose(move, np.array([0.3, -0.2, 0.5]) - half, atol=1e-4), "bounds %s %s" %
              (move, size))
        check('name="channels" value="27"' in scene, "27 channels of degree 2")


def instant_ngp():
    with tempfile.TemporaryDirectory() as folder:
        _, poses = make_ngp(folder)
        out = os.path.join(folder, "elsewhere")
        os.makedirs(out)
        run("import", folder, "-o", os.path.join(out, "field.json"), "--bounds", "-1", "-1.5", "-2", "1",
            "1.5", "2", "--background", "0", "0.5", "1")
        job = json.load(open(os.path.join(out, "field.json")))
        check(job["views"][3]["target"] == "../images/003.png", "a path from another folder: "
              + job["views"][3]["target"])
        check(job["held_out"] == [0, 8, 16] and job["background"] == [0, 0.5, 1], "every 8th is held out")
        check_cameras(out, job, poses, 40, 18, 8)
        scene = open(os.path.join(out, "field.xml")).read()
        check('<translate x="-1" y="-1.5" z="-2"/>' in scene and '<scale x="2" y="3" z="4"/>' in scene,
              "--bounds")
        run("import", folder, "-o", os.path.join(out, "few.json"), "--held-out", "2")
        few = json.load(open(os.path.join(out, "few.json")))
        check(len(few["held_out"]) == 2 and len(few["views"]) == 16, "--held-out 2")


# ---- what is refused ----

def refused(what, pattern, change, options=()):
    with tempfile.TemporaryDirectory() as folder:
        content, _ = make_ngp(folder)
        path = os.path.join(folder, "transforms.json")
        made = change(content, folder)
        with open(path, "w") as file:
            file.write(made if isinstance(made, str) else json.dumps(content))
        message = run("import", folder, "-o", os.path.join(folder, "field.json"), *options, status=1)
        check(re.search(pattern, message) is not None, "%s: %r lacks %r" % (what, message, pattern))
        check(message.count("\n") == 1, "%s: more than one line: %r" % (what, message))
        check(not os.path.exists(os.path.join(folder, "field.json"))
              and not os.path.exists(os.path.join(folder, "field.xml")), what + " left files")


def put(*path):
    *keys, last, value = path

    def change(content, folder):
        del folder
        for k in keys:
            content = content[k]
        content[last] = value

    return change


def drop(*path):
    *keys, last = path

    def change(content, folder):
        del folder
        for k in keys:
            content = content[k]
        del content[last]

    return change


def singular(content, folder):
    del folder
    content["frames"][4]["transform_matrix"] = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def mirrored(content, folder):
    del folder
    for row in content["frames"][4]["transform_matrix"]:
        row[0] = -row[0]


def missing(content, folder):
    del content
    os.remove(os.path.join(folder, "images/005.png"))


def other_size(content, folder):
    del content
    png(os.path.join(folder, "images/006.png"), np.zeros((20, 31, 3), np.uint8))


def nan_pixel(content, folder):
    with open(os.path.join(folder, "images/007.pfm"), "wb") as file:
        file.write(b"PF\n30 20\n-1.0\n" + np.full((20, 30, 3), np.nan, "<f4").tobytes())
    content["frames"][7]["file_path"] = "images/007.pfm"


def no_image(content, folder):
    del content
    with open(os.path.join(folder, "images/001.png"), "wb") as file:
        file.write(b"nothing")


def same_way(content, folder):
    del folder
    for k, f in enumerate(content["frames"]):
        f["transform_matrix"] = [[1, 0, 0, k], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def bad_input():
    refused("distortion", r"transforms.json: k1: lens distortion .* undistort", put("k1", 0.01))
    refused("distortion of a frame", r"frames\[2\]\.p1: lens distortion", put("frames", 2, "p1", -0.01))
    refused("rolling shutter", r"rolling_shutter", put("rolling_shutter", [0, 0, 0.01, 0]))
    refused("fisheye", r"camera_model: fisheye", put("camera_model", "OPENCV_FISHEYE"))
    refused("pixels that are not square", r"fl_y: its pixels are not square.*scale", put("fl_y", 42.0))
    refused("another camera in a frame", r"frames\[3\]\.fl_x: its camera is not that of the first", lambda c,
            f: c["frames"][3].update(fl_x=50.0, fl_y=50.0))
    refused("no focal length", r"camera_angle_x: missing key \(or fl_x\)", lambda c,
            f: (c.pop("fl_x"), c.pop("fl_y")))
    refused("a size that is not the image's", r"w: .*has 30 x 20 pixels, not 31 x 20", put("w", 31))
    refused("a frame without matrix", r"frames\[1\]\.transform_matrix: missing key",
            drop("frames", 1, "transform_matrix"))
    refused("a matrix of 3 numbers", r"frames\[1\]\.transform_matrix: must be 4 rows",
            put("frames", 1, "transform_matrix", [1, 2, 3]))
    refused("an infinite matrix", r"frames\[1\]\.transform_matrix: must be 4 rows", lambda c,
            f: c["frames"][1]["transform_matrix"][0].__setitem__(0, 1e300))
    refused("a singular pose", r"frames\[4\]\.transform_matrix: is not a rotation", singular)
    refused("a mirrored pose", r"frames\[4\]\.transform_matrix: is not a rotation", mirrored)
    refused("a missing image", r"frames\[5\]\.file_path: there is no image .*005", missing)
    refused("an image of another size", r"frames\[6\]\.file_path: .* has 31 x 20 pixels; the first image has "
                                        r"30 x 20", other_size)
    refused("a NaN", r"frames\[7\]\.file_path: .*pixel \(0, 0\) is not a finite number", nan_pixel)
    refused("not an image", r"frames\[1\]\.file_path: .*001.png: neither an EXR", no_image)
    refused("no frames", r"frames: must be a list of at least one frame", put("frames", []))
    refused("frames missing", r"frames: missing key", drop("frames"))
    refused("no JSON", r"transforms.json:1:1: not valid JSON", lambda c, f: "nothing")
    refused("no object", r"are a JSON object", lambda c, f: "[1]")
    refused("cameras side by side", r"look the same way.*--bounds", same_way)
    refused("bounds that nobody sees", r"no camera sees anything of the bounds", lambda c, f: None,
            ("--bounds", "50", "50", "90", "51", "51", "91"))
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "a.json")
        check("neither transforms_train.json nor transforms.json"
              in run("import", folder, "-o", job, status=1), "an empty folder")
        check("6 numbers, not 2" in run("import", folder, "-o", job, "--bounds", "1", "2", status=2),
              "two bounds")
        check("ends in .json" in run("import", folder, "-o", os.path.join(folder, "a.xml"), status=2),
              "a job that is not .json")


def opens_no_driver():
    """Where no driver can be opened, a job is written without a word about drivers."""
    bare = {name: value for name, value in os.environ.items() if name != "BL_SWIFTSHADER"}
    bare.update(VK_DRIVER_FILES="none", VK_ICD_FILENAMES="none")
    with tempfile.TemporaryDirectory() as folder:
        make_nerf(folder)
        done = subprocess.run([PROGRAM, "import", folder, "-o", os.path.join(folder, "field.json")],
                              capture_output=True, text=True, env=bare)
        check(done.returncode == 0 and done.stderr.count("\n") == 1, "without drivers: %d: %s" %
              (done.returncode, done.stderr))


def mutations(count):
    """A good file with pieces cut, doubled, or replaced by what JSON allows in other places: a job or one
    message."""
    numbers = random.Random(5)
    pieces = ["1e308", "-1e308", "0", "null", "true", "[]", "{}", '""', '"../images/000.png"', "1e-320",
              "4294967296", "[[[[1]]]]", '"\\u0000"', "-0.5"]
    with tempfile.TemporaryDirectory() as folder:
        make_ngp(folder, 3)
        path = os.path.join(folder, "transforms.json")
        good = open(path).read()
        values = [m.span() for m in re.finditer(r'-?\d+(\.\d+)?(e-?\d+)?|"[^"]*"(?!:)|\[[^\[\]]*\]', good)]
        for _ in range(count):
            text = good
            for _ in range(numbers.choice((1, 1, 1, 2, 5))):
                kind = numbers.randrange(5)
                first, last = numbers.choice(values) if kind < 4 else sorted(
                    (numbers.randrange(len(good)), numbers.randrange(len(good))))
                first, last = min(first, len(text)), min(last, len(text))
                text = text[:first] + (numbers.choice(pieces) if kind < 4 else text[first:last]
                                       * numbers.choice((0, 2))) + text[last:]
            with open(path, "w") as file:
                file.write(text)
            done = subprocess.run([PROGRAM, "import", folder, "-o", os.path.join(folder, "field.json")],
                                  capture_output=True, text=True)
            one = (done.returncode == 1 and done.stderr.startswith("backlight: ")
                   and done.stderr.count("\n") == 1)
            check(one or done.returncode == 0,
                  "a mutation ended with %d: %s: %s" % (done.returncode, done.stderr, text))


nerf_synthetic()
instant_ngp()
if "BL_DEVICE" not in os.environ:
    bad_input()
    opens_no_driver()
    mutations(2000 if os.environ.get("BL_LONG") == "1" else 200)
print("%d failures" % len(failures))
sys.exit(1 if failures else 0)
