# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures for screens: exposure doubles light, each curve of --tonemap gives what its formula gives, a JPEG holds what the
PNG does; derivatives and the bars of check have a legend; -o - writes the same PNG to standard output; files that keep light
refuse both options."""
import math
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from display import encoded, first_pixel, rows

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
DEVICE = os.environ.get("BL_DEVICE", "native")
LIGHT = (1.5, 0.4, 0.05)
SCENE = """<scene version="3.0.0"><integrator type="path"/><sensor type="perspective"><film type="hdrfilm"><integer name="width" value="8"/>
<integer name="height" value="8"/><rfilter type="box"/></film></sensor><emitter type="constant"><rgb name="radiance" value="%g,%g,%g"/>
</emitter></scene>""" % LIGHT
# The sky is the picture.
SKY = SCENE[:SCENE.index("<emitter")] + ('<emitter type="envmap"><string name="filename" value="%s"/></emitter></scene>')
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def render(scene, *options):
    return subprocess.run([PROGRAM, "render", scene, "--spp", "1", "--device", DEVICE, "--quiet", *options], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def hable(x):
    return (x * (.15 * x + .05) + .004) / (x * (.15 * x + .5) + .06) - .02 / .3


CURVES = {"clip": lambda x: x, "filmic": lambda x: hable(2 * x) / hable(11.2),
          "aces": lambda x: .6 * x * (2.51 * .6 * x + .03) / (.6 * x * (2.43 * .6 * x + .59) + .14)}


def picture(*options):
    done = render("scene.xml", "-o", "a.png", *options)
    check(done.returncode == 0, "%s: %s" % (options, done.stderr))
    with open("a.png", "rb") as f:
        return first_pixel(f.read())


def curves():
    for name, curve in CURVES.items():
        for stops in (0, 1, -2):
            got = picture("--tonemap", name, "--exposure", str(stops))
            wanted = [encoded(curve(2 ** stops * v)) for v in LIGHT]
            check(all(abs(g - w) <= 0.51 for g, w in zip(got, wanted)), "%s at %d stops: %s, not %s" % (name, stops, got, wanted))
    check(picture() == picture("--tonemap", "clip"), "clip is not the default")
    # AgX: middle grey stays near its place, light rises, and what is far too bright becomes white, not a colour
    greys = [picture("--tonemap", "agx", "--exposure", str(s)) for s in (-4, 0, 3, 12)]
    check(all(sum(a) < sum(b) for a, b in zip(greys, greys[1:])), "agx does not rise: %s" % (greys,))
    check(max(greys[3]) - min(greys[3]) < 12 and min(greys[3]) > 240, "agx does not end in white: %s" % (greys[3],))
    check(picture("--exposure", "1") == tuple(round(encoded(2 * v)) for v in LIGHT), "--exposure alone")


def files():
    done = render("scene.xml", "-o", "-", "--tonemap", "aces")
    picture("--tonemap", "aces")
    with open("a.png", "rb") as f:
        check(done.stdout == f.read(), "-o - is not the same PNG")
    check(render("scene.xml", "-o", "-", "--json").returncode == 2, "-o - with --json")
    for name in ("a.exr", "a.pfm", "a.hdr"):
        done = render("scene.xml", "-o", name, "--exposure", "1")
        check(done.returncode == 2 and b"for screens" in done.stderr, "%s takes an exposure: %s" % (name, done.stderr))
    check(render("scene.xml", "-o", "a.jpg").returncode == 0, "no JPEG")
    with open("sky.xml", "w", encoding="utf-8") as f:
        f.write(SKY % "a.jpg")
    done = render("sky.xml", "-o", "b.png")
    check(done.returncode == 0, "the JPEG is no sky: %s" % done.stderr)
    with open("b.png", "rb") as f:
        again = first_pixel(f.read())
    check(all(abs(a - b) <= 2 for a, b in zip(again, picture())), "the JPEG has %s, the PNG %s" % (again, picture()))


def legend():
    """grad --forward shows small pictures large, over a bar from blue by white to red with its numbers. Here every pixel
    grows as the sky does, by 1."""
    done = subprocess.run([PROGRAM, "grad", "scene.xml", "--forward", "emitter.radiance.value", "-o", "out", "--spp", "1",
                           "--device", DEVICE, "--quiet"], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, "grad --forward: %s" % done.stderr)
    with open("out/emitter.radiance.value.png", "rb") as f:
        image = rows(f.read())
    check(len(image) == 320 + 64 and len(image[0]) == 320, "%d x %d pixels" % (len(image[0]), len(image)))
    bar = image[320 + 30]
    for what, got, want in (("the picture", image[160][160], (191, 20, 38)), ("full red", bar[307], (191, 20, 38)),
                            ("0", bar[159], (255, 255, 255)), ("full blue", bar[12], (33, 77, 191))):
        check(all(abs(a - b) <= 6 for a, b in zip(got, want)), "%s is %s, not %s" % (what, got, want))
    dark = [sum(image[y][x] < (99, 99, 99) for y in range(366, 378)) for x in range(320)]
    check(any(dark[10:40]) and any(dark[280:310]) and not any(dark[60:150]), "no numbers below the ends of the bar")


def bars():
    """check draws a group of bars, its verdict at the right of its name, and below all groups three lines on what the bars are."""
    done = subprocess.run([PROGRAM, "check", "scene.xml", "--param", "emitter.radiance.value", "-o", "check.png", "--spp", "1",
                           "--device", DEVICE, "--quiet"], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, "check: %s" % done.stderr)
    with open("check.png", "rb") as f:
        image = rows(f.read())

    def dark(x0, x1, y0, y1):
        return any(max(image[y][x]) < 99 for y in range(y0, y1) for x in range(x0, x1))
    check(len(image) == 150 + 4 * 18 and len(image[0]) == 640, "%d x %d pixels" % (len(image[0]), len(image)))
    check(dark(570, 630, 12, 22) and not dark(420, 570, 12, 22), "no verdict at the right")
    check(all(dark(10, 300, y, y + 10) for y in (150, 168, 186)) and not dark(0, 640, 196, 222), "no three lines of legend")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("scene.xml", "w", encoding="utf-8") as f:
            f.write(SCENE)
        curves()
        files()
        legend()
        bars()
        os.chdir("/")
    assert math.isclose(hable(0), 0, abs_tol=1e-3)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
