# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""backlight in mode spectral, as a program: a white scene under white light stays white (a furnace); an image that
shines is sampled by its table and lights as much as lamps of its colours; gradients by a colour and by the samples of a
spectrum agree with differences; every replay is exact; glass bends each wavelength by its own index; grids of colours and
colours of vertices are what the same colours are; a measurement whose spectra are flat is grey; colours that are no spectra yet are an error with a line."""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "support"), os.path.join(HERE, "..", "assets", "measured")]
import make
from conformance import PROGRAM, read_pfm

SENSOR = """<sensor type="perspective"><float name="fov" value="30"/><transform name="to_world">
<lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="16"/>
<integer name="height" value="16"/><rfilter type="box"/></film></sensor>
<integrator type="path"><integer name="max_depth" value="-1"/></integrator>"""
FURNACE = """<emitter type="constant"><float name="radiance" value="1"/></emitter>
<shape type="sphere"><bsdf type="diffuse"><float name="reflectance" value="1"/></bsdf></shape>"""
LIT = """<emitter type="constant"><spectrum type="blackbody" name="radiance"><float name="temperature" value="5000"/>
</spectrum></emitter><shape type="sphere"><bsdf type="diffuse" id="ball">%s</bsdf></shape>
<shape type="rectangle"><transform name="to_world"><rotate x="1" angle="-90"/><scale value="4"/><translate y="-1"/>
</transform><bsdf type="diffuse"><rgb name="reflectance" value=".2,.6,.9"/></bsdf></shape>"""
COLOUR = LIT % '<rgb name="reflectance" value=".7,.2,.1"/>'
CURVE = LIT % '<spectrum name="reflectance" value="400:.1, 550:.6, 700:.3"/>'
LAMP = """<shape type="rectangle"><transform name="to_world"><scale x="%s"/><rotate x="1" angle="90"/>
<translate x="%s" y="3"/></transform><bsdf type="diffuse"/><emitter type="area">%s</emitter></shape>"""
BALL = """<shape type="sphere"><bsdf type="diffuse"><float name="reflectance" value=".5"/></bsdf></shape>"""
SHINING = BALL + LAMP % (1, 0, '<texture type="bitmap" name="radiance"><string name="filename" value="two.pfm"/>'
                                '<string name="filter_type" value="nearest"/><boolean name="raw" value="true"/></texture>')
LAMPS = BALL + "".join(LAMP % (.5, x, '<spectrum name="radiance" value="%s"/>' % power)
                        for x, power in ((-.5, 2), (.5, 6)))

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


def scene(name, body):
    path = name + ".xml"
    with open(path, "w") as f:
        f.write('<scene version="3.0.0">' + SENSOR + body + "</scene>")
    return path


def image(path, spp):
    r = run("render", path, "--mode", "spectral", "--spp", str(spp), "-o", "image.pfm", "--quiet")
    if r.returncode:
        complain("%s: %s" % (path, r.stderr))
        return np.zeros((16, 16, 3))
    return read_pfm("image.pfm")


def check_furnace():
    values = image(scene("furnace", FURNACE), 256)
    pixels = values.shape[0] * values.shape[1]
    mean, error = values.mean((0, 1)), values.std((0, 1)) / pixels**.5
    for c in range(3):
        if not abs(mean[c] - 1) <= 4 * error[c] + 2e-4:
            complain("furnace, channel %d: %.5f, expected 1 within %.5f" % (c, mean[c], error[c]))


def check_shining():
    """Two texels, equal in all channels, so their spectra are flat."""
    with open("two.pfm", "wb") as f:
        f.write(b"PF\n2 1\n-1\n" + np.array([[2] * 3, [6] * 3], "<f4").tobytes())
    shining, lamps = (image(scene(name, body), 256).mean((0, 1)) for name, body in (("shining", SHINING), ("lamps", LAMPS)))
    if not (np.abs(shining - lamps) <= .02 * lamps).all() or not lamps.min() > .01:
        complain("an image that shines: %s, lamps: %s" % (shining, lamps))


def check_gradient(name, body, param, mode="spectral", more=()):
    r = run("check", scene(name, body), "--mode", mode, "--param", param, "--spp", "32", "--seeds", "4",
            "--quiet", *more)
    if r.returncode or not re.search("agrees", r.stdout):
        complain("check %s of %s: %s%s" % (param, name, r.stdout, r.stderr))
    for form in ("fused", "separate", "two-walk"):
        g = run("grad", name + ".xml", "--mode", mode, "--param", param, "--spp", "8", "--form", form,
                "--target", "image.pfm", "-o", "out", "--quiet", *more)
        if g.returncode:
            complain("grad --form %s of %s: %s" % (form, name, g.stderr))
            continue
        with open("out/summary.json") as f:
            drifted = json.load(f)["drifted_samples"]
        if drifted:
            complain("%s, form %s: %d samples did not replay" % (name, form, drifted))


def glass(kind, index):
    rough = '<float name="alpha" value=".3"/>' if kind == "roughdielectric" else ""
    return """<shape type="rectangle"><transform name="to_world"><scale value="2"/><translate z="-2"/><rotate y="1"
angle="20"/></transform><emitter type="area" id="lamp"><spectrum name="radiance" value="%%s"/></emitter></shape>
<shape type="sphere"><bsdf type="%s">%s%s</bsdf></shape>""" % (kind, index, rough)


PARTS_SPP = 1024


def parts(path, mode="spectral"):
    """Means of regions, and their squared errors, by the variance of one sample."""
    r = run("render", path, "--mode", mode, "--spp", str(PARTS_SPP), "-o", "image.pfm", "--variance", "variance.pfm", "--quiet")
    if r.returncode:
        complain("%s: %s" % (path, r.stderr))
        return np.zeros(9), np.ones(9)
    v, of_sample = read_pfm("image.pfm"), read_pfm("variance.pfm")
    regions = [np.s_[:, :], np.s_[4:12, 4:12], np.s_[4:12, :5]]
    means = np.concatenate([v[at].mean((0, 1)) for at in regions])
    errors = [of_sample[at].mean((0, 1)) / (v[at].shape[0] * v[at].shape[1] * PARTS_SPP) for at in regions]
    return means, np.concatenate(errors)


def check_dispersion():
    """Light of two bands through glass that has an index for each: the sum of two images, of one band and index each."""
    low, high = "440:0, 450:1, 570:1, 580:0", "600:0, 610:1, 690:1, 700:0"
    curve = '<spectrum name="int_ior" value="300:1.3, 585:1.3, 595:1.8, 900:1.8"/>'
    number = '<float name="int_ior" value="%g"/>'
    for kind, mode in (("dielectric", "spectral"), ("roughdielectric", "spectral"), ("dielectric", "spectral_polarized")):
        both, error = parts(scene("both", glass(kind, curve) % (low + ", " + high)), mode)
        one, error_one = parts(scene("one", glass(kind, number % 1.3) % low), mode)
        other, error_other = parts(scene("other", glass(kind, number % 1.8) % high), mode)
        z = (both - one - other) / np.sqrt(error + error_one + error_other + 1e-20)
        if not np.abs(z).max() < 5.5:
            complain("%s, %s: light of two bands, z %s" % (kind, mode, np.round(z, 1)))
        g = run("grad", "both.xml", "--mode", mode, "--param", "lamp.radiance.values", "--spp", "8", "--target",
                "image.pfm", "-o", "out", "--quiet")
        if g.returncode:
            return complain("grad of %s that disperses: %s" % (kind, g.stderr))
        with open("out/summary.json") as f:
            drifted = json.load(f)["drifted_samples"]
        if drifted:
            complain("%s that disperses: %d samples did not replay" % (kind, drifted))


FOG = """<emitter type="constant"/><medium type="heterogeneous" id="fog"><float name="sigma_t" value="2"/>%s</medium>
<shape type="sphere"><bsdf type="null"/><ref name="interior" id="fog"/></shape>"""
SHEET = """<emitter type="constant"/><shape type="rectangle"><bsdf type="diffuse">%s</bsdf></shape>"""
GRID = """<volume type="gridvolume" name="%s"><string name="filename" value="grid.vol"/><string name="filter_type" value="%s"/>
<transform name="to_world"><translate x="-.5" y="-.5" z="-.5"/><scale value="4"/></transform></volume>"""


def write_grid(colours):
    """Along x."""
    with open("grid.vol", "wb") as f:
        f.write(b"VOL\3" + np.array([1, len(colours), 1, 1, 3], "<i4").tobytes() + np.array([0, 0, 0, 1, 1, 1], "<f4").tobytes() +
                np.array(colours, "<f4").tobytes())


def gradient_of(path, param):
    with open("black.pfm", "wb") as f:
        f.write(b"PF\n16 16\n-1\n" + bytes(16 * 16 * 12))
    r = run("grad", path, "--mode", "spectral", "--integrator", "volpath", "--param", param, "--spp", "8", "--target",
            "black.pfm", "--form", "fused", "-o", "out", "--quiet")
    if r.returncode:
        complain("gradient of %s: %s" % (param, r.stderr))
        return np.zeros(3)
    with open("out/summary.json") as f:
        if json.load(f)["drifted_samples"]:
            complain("%s: samples did not replay" % param)
    return np.load("out/%s.npy" % param).reshape(-1, 3)


def check_grids():
    """A grid whose voxels have one colour is that colour, in a medium and on a surface: the same images and gradients. With
    a largest channel of .5 both have the same spectrum (plan_spectral.c). What is interpolated is light: half way between
    two voxels there is the mean of their images."""
    colour, grey = [.5, .2, .1], [.6] * 3
    volume = '<texture type="volume" name="reflectance">%s</texture>'
    for name, body, plain, value in (
            ("fog", FOG % (GRID % ("albedo", "%s")), FOG % '<float name="albedo" value=".6"/>', grey),
            ("sheet", SHEET % (volume % (GRID % ("volume", "%s"))),
             SHEET % (volume % '<rgb name="volume" value=".5,.2,.1"/>'), colour)):
        expected = image(scene("plain", plain), 16)
        for kind in ("nearest", "trilinear", "cubic"):
            write_grid([value, value])
            found = image(scene(name, body % kind), 16)
            if not np.abs(found - expected).max() <= 1e-4 * expected.max() or not expected.max() > .1:
                complain("%s, %s: %g off" % (name, kind, np.abs(found - expected).max()))
    write_grid([grey])
    scene("fog", FOG % (GRID % ("albedo", "trilinear")))
    scene("plain", FOG % '<rgb name="albedo" value=".6,.6,.6"/>')
    grid, rgb = gradient_of("fog.xml", "fog.albedo.data").sum(), gradient_of("plain.xml", "fog.albedo.value.value").sum()
    if not abs(grid - rgb) <= 1e-3 * abs(rgb) or not abs(rgb) > 0:
        complain("gradients of a grid: %g, of a colour %g" % (grid, rgb))
    write_grid([colour, [.1, .5, .6]])
    check_gradient("fog", FOG % (GRID % ("albedo", "trilinear")), "fog.albedo.data")
    sheet = SHEET % ('<texture type="volume" name="reflectance">%s</texture>' % (GRID % ("volume", "trilinear")))
    middle = []
    for ends in ([[.7, .2, .1], [.1, .5, .6]], [[.7, .2, .1]] * 2, [[.1, .5, .6]] * 2):
        write_grid(ends)
        middle.append(image(scene("sheet", sheet.replace('<translate x="-.5"', '<translate x="-.5001"')), 64)[:, 7:9].mean((0, 1)))
    if not np.abs(middle[0] - (middle[1] + middle[2]) / 2).max() <= .02 * middle[0].max():
        complain("half way between two voxels: %s of %s and %s" % tuple(middle))


def write_patch(name, x, colour):
    """A square of two triangles, whose vertices have one colour."""
    with open(name, "w") as f:
        f.write("ply\nformat ascii 1.0\nelement vertex 4\n" +
                "".join("property float %s\n" % p for p in ("x", "y", "z", "color_0", "color_1", "color_2")) +
                "element face 2\nproperty list uchar int vertex_indices\nend_header\n" +
                "".join("%g %g 0 %g %g %g\n" % (x + i, j, *colour) for j in (-.5, .5) for i in (0, 1)) + "3 0 1 3\n3 0 3 2\n")


def check_attributes():
    """Meshes of one material whose vertices have one colour each are what materials of these colours are: the same images,
    and gradients that sum to theirs."""
    colours = ((-1, (.7, .2, .1)), (0, (.1, .5, .6)))
    patch = '<shape type="ply" id="patch%d"><string name="filename" value="patch%d.ply"/>%s</shape>'
    paint = """<bsdf type="diffuse" id="paint"><texture type="mesh_attribute" name="reflectance"><string name="name"
value="vertex_color"/></texture></bsdf>"""
    plain = '<bsdf type="diffuse" id="flat%d"><rgb name="reflectance" value="%g,%g,%g"/></bsdf>'
    sky = '<emitter type="constant"/>'
    for k, (x, colour) in enumerate(colours):
        write_patch("patch%d.ply" % k, x, colour)
    scene("painted", sky + paint + "".join(patch % (k, k, '<ref id="paint"/>') for k in range(2)))
    scene("flat", sky + "".join(patch % (k, k, plain % (k, *c)) for k, (_, c) in enumerate(colours)))
    found, expected = image("painted.xml", 16), image("flat.xml", 16)
    if not np.abs(found - expected).max() <= 1e-4 * expected.max() or not expected.max() > .1:
        complain("attributes: %g off" % np.abs(found - expected).max())
    for k in range(2):
        own = gradient_of("painted.xml", "patch%d.vertex_color" % k).sum(0)
        flat = gradient_of("flat.xml", "flat%d.reflectance.value" % k).sum(0)
        if not np.abs(own - flat).max() <= 1e-3 * np.abs(flat).max() or not np.abs(flat).max() > 0:
            complain("gradients of an attribute: %s, of a colour %s" % (own, flat))


def check_extinctions():
    """An extinction that differs by wavelength: a grid of one colour, with and without cells, and that colour in a box are
    what the homogeneous medium is. With a largest channel of .5 all of them have the same spectrum."""
    colour = '<rgb name="sigma_t" value=".5,.2,.05"/>'
    black = '<float name="scale" value="5"/><float name="albedo" value=".3"/>'

    def fog(kind, extinction):
        return FOG.replace("heterogeneous", kind).replace('<float name="sigma_t" value="2"/>', extinction) % black

    write_grid([[.5, .2, .05]] * 2)
    grid = GRID % ("sigma_t", "trilinear")
    box = """<volume type="constvolume" name="sigma_t"><rgb name="value" value=".5,.2,.05"/><transform name="to_world">
<translate x="-.5" y="-.5" z="-.5"/><scale value="4"/></transform></volume>"""
    expected, error = parts(scene("plain", fog("homogeneous", colour)))
    for name, extinction in (("grid", grid), ("box", box),
                             ("cells", grid.replace("</volume>", '<integer name="majorant_cells" value="3"/></volume>'))):
        found, own = parts(scene(name, fog("heterogeneous", extinction)))
        z = (found - expected) / np.sqrt(error + own + 1e-20)
        if not np.abs(z).max() < 5.5 or not (np.sqrt(own) < .02 * found).all():
            complain("%s of an extinction, z %s" % (name, np.round(z, 1)))
    write_grid([[.5, .2, .05], [.1, .6, .9]])
    check_gradient("fog", fog("heterogeneous", grid), "fog.sigma_t.data")
    path = scene("fog", fog("heterogeneous", """<volume type="constvolume" name="sigma_t"><spectrum name="value"
value="400:1, 700:2"/></volume>"""))
    r = run("render", path, "--mode", "spectral", "--spp", "1", "-o", "image.pfm")
    if not r.returncode or not re.search(r"fog\.xml:\d+: mode spectral: the extinction", r.stderr):
        complain("extinction by samples: status %d, %s" % (r.returncode, r.stderr))


def gradients(path, param, seed):
    """Of the mean square of the image."""
    with open("black.pfm", "wb") as f:
        f.write(b"PF\n16 16\n-1\n" + bytes(16 * 16 * 12))
    r = run("grad", path, "--mode", "spectral", "--param", param, "--spp", "128", "--seed", str(seed), "--target", "black.pfm",
            "-o", "out", "--quiet")
    if r.returncode:
        complain("gradient of %s: %s" % (param, r.stderr))
        return np.zeros(4)
    return np.load("out/%s.npy" % param)


def check_index():
    """Gradients by the samples of an index, of a pane that bends each wavelength otherwise, and of one that does not bend
    light. What is behind it is smooth, and the pane has no edges."""
    y, x = np.meshgrid(np.linspace(0, np.pi, 64), np.linspace(0, 2 * np.pi, 128), indexing="ij")
    sky = np.stack([np.sin(y) * (1.2 + np.sin(2 * x + k * y)) for k in range(3)], -1) + .3
    with open("sky.pfm", "wb") as f:
        f.write(b"PF\n128 64\n-1\n" + sky.astype("<f4").tobytes())
    pane = """<emitter type="envmap"><string name="filename" value="sky.pfm"/></emitter><shape type="rectangle">
<transform name="to_world"><scale value="9"/><rotate y="1" x=".3" angle="50"/></transform><bsdf type="%s" id="glass">%s</bsdf></shape>"""
    curve = '<spectrum name="int_ior" value="%s"/>'
    for kind in ("dielectric", "thindielectric"):
        check_gradient(kind, pane % (kind, curve % "300:1.7, 500:1.5, 560:1.45, 900:1.3"), "glass.eta")
    rough = pane % ("roughdielectric", curve % "300:1.7, 500:1.5, 560:1.45, 900:1.3" + '<float name="alpha" value=".3"/>')
    ball = '<shape type="sphere"><bsdf type="null"/><medium type="homogeneous" name="interior"/></shape>'
    for name, more, mode, way in (("detached", "", "spectral", ("--integrator", "prb_detached")),
                                  ("fog", ball, "spectral", ("--integrator", "volpath", "--max-depth", "5")),
                                  ("polarized", "", "spectral_polarized", ())):
        check_gradient("rough_" + name, rough + more, "glass.eta", mode, way)
    # Only wavelengths pass at which the index is 1.8: gradients by samples there are those by an index of one number.
    red = "".join('<spectrum name="specular_%s" value="600:0, 610:1, 690:1, 700:0"/>' % of for of in ("reflectance", "transmittance"))
    found, expected = (
        [gradients(scene("pane", pane % ("dielectric", index + red)), "glass.eta", seed) for seed in range(4)]
        for index in (curve % "300:1.3, 585:1.3, 595:1.8, 900:1.8", '<float name="int_ior" value="1.8"/>'))
    found = np.array(found)
    if np.abs(found[:, :2]).max() > 0:
        complain("light has gradients by an index at other wavelengths: %s" % found)
    means = [np.mean(v) for v in (found.sum(1), expected)]
    error = np.sqrt((np.var(found.sum(1), ddof=1) + np.var(expected, ddof=1)) / 4)
    if not abs(means[0] - means[1]) <= 4 * error or not error < .05 * abs(means[1]):
        complain("gradients by samples of an index %g, by one index %g, error %g" % (*means, error))


def check_measured():
    """A measurement whose spectra are flat is what one is in colours whose red, green and blue are equal."""
    of = make.MATERIALS["satin"]
    fields = make.material(of["alpha"], of["phi"], of["theta"], of["side"], of["colours"])
    grey = fields.pop("rgb")[:, :, 1:2]
    nm = np.array([380, 500, 520, 800], np.float32)
    make.write("colours.bsdf", dict(fields, rgb=grey.repeat(3, 2)))
    make.write("spectra.bsdf", dict(fields, spectra=grey.repeat(len(nm), 2), wavelengths=nm))
    body = '<emitter type="constant"/><shape type="sphere"><bsdf type="measured"><string name="filename" value="%s"/></bsdf></shape>'
    expected, error = parts(scene("colours", body % "colours.bsdf"), "rgb")
    found, own = parts(scene("spectra", body % "spectra.bsdf"))
    z = (found - expected) / np.sqrt(error + own + 1e-20)
    if not np.abs(z).max() < 5.5 or not (np.sqrt(own) < .02 * found).all() or not expected.min() > .1:
        complain("flat spectra of a measurement, z %s" % np.round(z, 1))
    r = run("render", scene("spectra", body % "colours.bsdf"), "--mode", "spectral", "--spp", "1", "-o", "image.pfm")
    if not r.returncode or not re.search(r"spectra\.xml:\d+: measured: .*_spec\.bsdf", r.stderr):
        complain("a measurement for colours: status %d, %s" % (r.returncode, r.stderr))


def check_errors():
    for index, reason in (('<spectrum name="int_ior" value="400:1.5, 700:1.4"/>', "has samples from 400 to 700 nm"),
                          ('<spectrum name="int_ior" value="300:1.5, 900:-1"/>', "is negative"),
                          ('<string name="int_ior" value="N-BK8"/>', "or of those with a curve: N-BK7")):
        r = run("render", scene("glass", glass("dielectric", index) % "400:1,700:1"), "--mode", "spectral", "--spp", "1",
                "-o", "image.pfm")
        if not r.returncode or reason not in r.stderr or "glass.xml:" not in r.stderr:
            complain("%s: status %d, %s" % (index, r.returncode, r.stderr))
    curve = '<string name="int_ior" value="N-BK7"/>'
    for kind, param, reason in (("roughdielectric", "glass.eta", "the index of a rough material is a curve"),
                                ("roughdielectric", "ball.translation", "the index of a rough material is a curve")):
        body = glass(kind, curve) % "400:1,700:1"
        path = scene("glass", body.replace('type="sphere"', 'type="sphere" id="ball"').replace('<bsdf type="%s"' % kind,
                                                                                               '<bsdf type="%s" id="glass"' % kind))
        r = run("grad", path, "--mode", "spectral", "--param", param, "--spp", "1", "--target", "image.pfm", "-o", "out")
        if not r.returncode or reason not in r.stderr:
            complain("%s of %s: status %d, %s" % (param, kind, r.returncode, r.stderr))
    bulb = '<emitter type="point"/><shape type="sphere" id="ball"><bsdf type="dielectric">%s</bsdf></shape>'
    for index, lacks in ((curve, True), ('<float name="int_ior" value="1.5"/>', False)):
        r = run("params", scene("bulb", bulb % index), "--mode", "spectral", "--json")
        if r.returncode or ("borders of shadows from lights without extent are left out" in r.stdout) != lacks:
            complain("params of glass under a bulb: status %d, %s%s" % (r.returncode, r.stdout, r.stderr))
    r = run("render", scene("field", '<field type="sh_field"/>'), "--mode", "spectral", "--integrator", "radiance_field",
            "--spp", "1", "-o", "image.pfm")
    if not r.returncode or not re.search(r"field\.xml:\d+: mode spectral: .*not spectra", r.stderr):
        complain("a radiance field: status %d, %s" % (r.returncode, r.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_furnace()
        check_shining()
        check_extinctions()
        check_attributes()
        check_gradient("colour", COLOUR, "ball.reflectance.value")
        check_gradient("curve", CURVE, "ball.reflectance.values")
        check_dispersion()
        check_grids()
        check_measured()
        check_index()
        check_errors()
        os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
