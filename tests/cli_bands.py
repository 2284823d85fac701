# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A film with bands (specfilm), as a program: an EXR file has the channels by name, and is read back as a target, with
exact replays in all forms; gradients agree with differences; a fit to bands finds a spectrum, beyond what the eye sees,
too; what bands cannot do is an error. What the numbers are: tests/gradient/bands.c, python/tests/test_bands.py."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from conformance import PROGRAM

FILM = """<sensor type="perspective"><float name="fov" value="30"/><transform name="to_world">
<lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform><film type="%s"><integer name="width" value="16"/>
<integer name="height" value="16"/><rfilter type="box"/>%s</film></sensor><integrator type="path"/>"""
BANDS = """<spectrum name="ir" value="700:0, 720:1, 900:1"/><spectrum name="green" value="500:0, 550:1, 600:0"/>
<spectrum name="blue" value="400:0, 450:2, 500:.3"/><spectrum name="uv" filename="uv.spd"/>"""
SKY = '<emitter type="constant"><spectrum name="radiance" value="3"/></emitter>'
BALL = SKY + """<shape type="sphere"><bsdf type="diffuse" id="ball"><spectrum name="reflectance"
value="380:.3, 480:.7, 580:.2, 850:.6"/></bsdf></shape>"""

bad = 0


def complain(text):
    global bad
    bad += 1
    print("FAILED: " + text)


def run(*arguments):
    r = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if re.search("no device|not found", r.stderr) and r.returncode:
        sys.exit(77)
    return r


def scene(name, body, film="specfilm", bands=BANDS):
    with open(name, "w") as f:
        f.write('<scene version="3.0.0">' + FILM % (film, bands) + body + "</scene>")
    return name


def channel_names(path):
    """Of an EXR file, in its order: the attribute `channels` of the header."""
    with open(path, "rb") as f:
        data = f.read(1 << 16)
    at = data.index(b"channels\0chlist\0") + 16
    size = struct.unpack_from("<i", data, at)[0]
    rest, names = data[at + 4:at + 4 + size], []
    while rest[0]:
        end = rest.index(0)
        names.append(rest[:end].decode())
        rest = rest[end + 1 + 16:]
    return names


def check_file():
    """Bands and the further channels of the scene, by name."""
    aov = SKY.replace("<emitter", '<integrator type="aov"><string name="aovs" value="d:depth"/><integrator type="path"/>'
                      "</integrator><emitter", 1)
    with open("aov.xml", "w") as f:
        f.write('<scene version="3.0.0">' + (FILM % ("specfilm", BANDS)).replace('<integrator type="path"/>', "") + aov +
                "</scene>")
    r = run("render", "aov.xml", "--mode", "spectral", "--spp", "4", "-o", "aov.exr", "--quiet")
    if r.returncode or channel_names("aov.exr") != ["blue", "d.T", "green", "ir", "uv"]:
        complain("channels of a file: %s%s" % (r.stderr, os.path.exists("aov.exr") and channel_names("aov.exr")))


def check_gradient():
    r = run("check", scene("ball.xml", BALL), "--mode", "spectral", "--param", "ball.reflectance.values", "--spp", "32",
            "--seeds", "4", "--quiet")
    if r.returncode or not re.search("agrees", r.stdout):
        complain("check: %s%s" % (r.stdout, r.stderr))
    r = run("render", "ball.xml", "--mode", "spectral", "--spp", "64", "-o", "ball.exr", "--quiet")
    if r.returncode:
        return complain("target: %s" % r.stderr)
    for form in ("fused", "separate", "two-walk"):
        g = run("grad", "ball.xml", "--mode", "spectral", "--param", "ball.reflectance.values", "--spp", "8", "--form",
                form, "--target", "ball.exr", "-o", "out", "--quiet")
        if g.returncode:
            complain("grad --form %s: %s" % (form, g.stderr))
            continue
        with open("out/summary.json") as f:
            drifted = json.load(f)["drifted_samples"]
        if drifted:
            complain("form %s: %d samples did not replay" % (form, drifted))


def check_fit():
    """Four bands find four samples, of which the eye sees two."""
    job = {"scene": "ball.xml", "mode": "spectral", "target": "ball.exr", "loss": "relative_l2", "steps": 200, "spp": 16,
           "parameters": [{"name": "ball.reflectance.values", "initial": [.5] * 4}],
           "optimizer": {"type": "adam", "rate": .02}, "schedule": [{"step": 120, "factor": .3}]}
    with open("job.json", "w") as f:
        json.dump(job, f)
    r = run("fit", "job.json", "-o", "fit", "--quiet")
    if r.returncode:
        return complain("fit: %s" % r.stderr)
    with open("fit/result.json") as f:
        result = json.load(f)
    found = next(p for p in result["parameters"] if p["name"] == "ball.reflectance.values")["final"]
    for value, expected in zip(found, (.3, .7, .2, .6)):
        if not abs(value - expected) < .05:
            complain("fit: found %s" % found)
            break
    if not os.path.exists("fit/after.png") or channel_names("fit/after.exr") != ["blue", "green", "ir", "uv"]:
        complain("pictures of the fit")


def check_errors():
    scene("colours.xml", SKY, "hdrfilm", "")
    run("render", "colours.xml", "--spp", "1", "-o", "colours.exr", "--quiet")
    two = scene("two.xml", SKY, bands='<spectrum name="ir" value="700:0, 720:1, 900:1"/>')
    for arguments, reason in (
            (("render", two, "-o", "a.exr"), "two.xml:2: specfilm: light has no wavelengths in mode rgb"),
            (("render", two, "--mode", "spectral", "-o", "a.pfm"), "EXR files keep the channels"),
            (("render", two, "--mode", "spectral", "-o", "a.png", "--exposure", "1"), "are for colours"),
            (("render", two, "--mode", "spectral", "-o", "a.exr", "--variance", "v.png"), "into an EXR file"),
            (("grad", "ball.xml", "--mode", "spectral", "--param", "ball.reflectance.values", "--target", "colours.exr", "-o",
              "out"), 'has no channel "ir"'),
            (("grad", "ball.xml", "--mode", "spectral", "--param", "ball.reflectance.values", "--target", "uv.spd", "-o",
              "out"), "only EXR images")):
        r = run(*arguments, "--spp", "1")
        if not r.returncode or reason not in r.stderr:
            complain("%s: status %d, %s" % (" ".join(arguments), r.returncode, r.stderr))
    r = run("render", two, "--mode", "spectral", "--spp", "1", "-o", "a.png", "--quiet")
    if r.returncode or not os.path.getsize("a.png"):
        complain("a picture of bands: %s" % r.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("uv.spd", "w") as f:
            f.write("380 4\n420 0\n")
        check_file()
        check_gradient()
        check_fit()
        check_errors()
        os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
