# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by normal maps of smooth metal and glass as images: a magnifying pane, a torus seen in a mirror, two cups; attached,
detached and radiative, and attached against differences (figure 7 of the path replay paper)."""
import os
import tempfile

import numpy as np

import report
import texture_gradients

NAME, DEPTH, TEXELS = "bent.normalmap.data", 12, (16, 16)
FROZEN, PLAIN = 0.001, 0.02  # steps of differences along the same paths, and of whole images
AGREE = {"magnifier": 12, "torus": 3, "cups": 5}  # depth of paths that are compared with differences
METHODS = [("prb_attached", "attached"), ("prb_detached", "detached"), ("rb", "radiative")]
HEAD = '''<scene version="3.0.0">
    <default name="resolution" value="48"/>
    <integrator type="prb_attached"><integer name="max_depth" value="%d"/><integer name="rr_depth" value="1000"/></integrator>
%s    <bsdf type="normalmap" id="bent">
        <texture type="bitmap" name="normalmap"><string name="filename" value="normals.pfm"/><boolean name="raw" value="true"/>
            <string name="wrap_mode" value="%s"/></texture>
        %s
    </bsdf>
'''
# A picture that glows, to be looked at through glass: paths end on it, so what noise there is comes from glass.
PICTURE = '''    <shape type="rectangle"><transform name="to_world"><scale value="6"/></transform>
        <bsdf type="diffuse"><rgb name="reflectance" value="0"/></bsdf>
        <emitter type="area"><texture type="bitmap" name="radiance"><string name="filename" value="%s"/><boolean name="raw" value="true"/>
            </texture></emitter></shape>
''' % os.path.join(report.ASSETS, "screen.pfm")
GLASS = '<bsdf type="dielectric"><float name="int_ior" value="1.5"/><float name="ext_ior" value="1"/></bsdf>'
METAL = '<bsdf type="conductor"><string name="material" value="none"/></bsdf>'
MESH = '''    <shape type="obj"><string name="filename" value="%s.obj"/><transform name="to_world">%s</transform><ref id="bent"/></shape>
'''
PANE = '''    <shape type="rectangle"><transform name="to_world"><scale value="1"/><rotate x="1" angle="25"/><translate z="1.2"/></transform>
        <ref id="bent"/></shape>
'''
MIRROR = '''    <shape type="rectangle"><transform name="to_world"><scale value="1.6"/><rotate x="1" angle="90"/><translate y="1.6" z="1.6"/></transform>
        <bsdf type="twosided"><bsdf type="conductor"><string name="material" value="none"/></bsdf></bsdf></shape>
'''
# name: field of view, eye, what it looks at, borders of the map, material, shapes
SCENES = {
    "magnifier": (34, "0, -2.2, 4", "0, 0, 1.2", "clamp", GLASS, PANE + PICTURE),
    "torus": (26, "0, -4.5, 2.6", "0, 1.6, 0.7", "repeat", METAL,
              MIRROR + MESH % ("torus", '<rotate x="1" angle="65"/><translate y="0.1" z="0.9"/>')),
    "cups": (30, "0, -4.4, 2.6", "0, 0, 0.5", "repeat", GLASS,
             PICTURE + MESH % ("cup", '<translate x="-0.65" z="0.02"/>') + MESH % ("cup", '<scale value="0.8"/><translate x="0.7" y="-0.2" z="0.02"/>')),
}


def torus(u, v):
    """Points for angles as parts of a turn: around the axis, and around the tube."""
    a, b = 2 * np.pi * u, 2 * np.pi * v
    return np.stack([(0.6 + 0.25 * np.cos(b)) * np.cos(a), (0.6 + 0.25 * np.cos(b)) * np.sin(a), 0.25 * np.sin(b)], -1)


def cup(u, v):
    """A profile that turns about the z axis: from below at the axis up the outer wall, over the rim and down inside."""
    around = np.array([(0, 0), (0.2, 0), (0.36, 0.02), (0.42, 0.12), (0.5, 0.55), (0.56, 1), (0.54, 1.03), (0.51, 1), (0.45, 0.56), (0.36, 0.16),
                       (0.2, 0.1), (0, 0.1)])
    at, a = v * (len(around) - 1), 2 * np.pi * u
    radius, z = (np.interp(at, np.arange(len(around)), around[:, k]) for k in (0, 1))
    return np.stack([radius * np.cos(a), radius * np.sin(a), z], -1)


def write_mesh(path, surface, across, along):
    """An OBJ of triangles with smooth normals, of a surface over [0, 1]^2 whose left and right borders meet."""
    v, u = np.meshgrid(np.linspace(0, 1, along + 1), np.linspace(0, 1, across + 1), indexing="ij")
    p, h = surface(u, v), 1e-4
    by_u, by_v = (surface(u + h * k, np.clip(v + h * (1 - k), 0, 1)) - surface(u - h * k, np.clip(v - h * (1 - k), 0, 1)) for k in (1, 0))
    n = np.cross(by_u, by_v)
    length = np.linalg.norm(n, axis=-1, keepdims=True)
    n = np.where(length > 1e-12, n / np.maximum(length, 1e-12), [0, 0, -1] * np.ones_like(n) * np.where(v < 0.5, 1, -1)[..., None])
    lines = ["v %.6f %.6f %.6f" % tuple(q) for q in p.reshape(-1, 3)]
    lines += ["vt %.6f %.6f" % q for q in zip(u.ravel(), v.ravel())]
    lines += ["vn %.6f %.6f %.6f" % tuple(q) for q in n.reshape(-1, 3)]
    for j in range(along):
        for i in range(across):
            a = j * (across + 1) + i + 1
            b, c, d = a + 1, a + across + 2, a + across + 1
            lines += ["f " + " ".join("%d/%d/%d" % (k, k, k) for k in t) for t in ((a, b, c), (a, c, d))]
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def normal_map(name):
    """A lens that bulges for the pane, else waves."""
    v, u = np.meshgrid(*((np.arange(n) + 0.5) / n for n in TEXELS), indexing="ij")
    if name == "magnifier":
        slope = [0.35 * (2 * u - 1), 0.35 * (2 * v - 1)]
    else:
        slope = [0.12 * np.sin(4 * np.pi * u) * np.sin(2 * np.pi * v), 0.12 * np.cos(4 * np.pi * u) * np.sin(2 * np.pi * v)]
    n = np.stack([*slope, np.ones_like(u)], 2)
    return 0.5 + 0.5 * n / np.linalg.norm(n, axis=2, keepdims=True)


def write(folder, name):
    fov, eye, target, wrap, material, shapes = SCENES[name]
    path = os.path.join(folder, name + ".xml")
    with open(path, "w") as f:
        f.write(HEAD % (DEPTH, report.view(fov, eye, target), wrap, material) + shapes + "</scene>\n")
    write_mesh(os.path.join(folder, "torus.obj"), torus, 48, 24)
    write_mesh(os.path.join(folder, "cup.obj"), cup, 32, 33)
    report.write_pfm(os.path.join(folder, "normals.pfm"), normal_map(name))
    return path


def weights(path, side):
    """Writes what to propagate back: waves, others in each channel."""
    u, v = np.meshgrid(*((np.arange(side) + 0.5) / side,) * 2)
    report.write_pfm(path, np.stack([np.sin(2 * np.pi * (u + k / 3)) * np.cos(np.pi * (v - k / 3)) for k in range(3)], 2) / side**2)


def gradient(page, scene, method, depth, adjoint, side, spp, repetitions, folder):
    """Mean of so many gradients, and the standard deviation of one."""
    out = os.path.join(folder, "out")
    page.device = report.backlight("grad", scene, "-D", "resolution=%d" % side, "--integrator", method, "--max-depth", depth, "--edges", "none",
                                   "--adjoint", adjoint, "--spp", spp, "--variance", repetitions, "-o", out, "--param", NAME)["device"]
    return (np.load(os.path.join(out, NAME + end)).astype(float)**power for end, power in ((".npy", 1), (".variance.npy", 0.5)))


def agreement(scene, depth, adjoint, direction, side, spp, seeds, folder):
    """The gradient along a direction, the difference along the same paths and its mean distance, and that of images; with errors."""
    towards = os.path.join(folder, "direction.npy")
    np.save(towards, direction.astype(np.float32))
    near, far = (report.backlight("check", scene, "-D", "resolution=%d" % side, "--max-depth", depth, "--param", NAME, "--adjoint", adjoint,
                                  "--direction", towards, "--epsilon", step, "--spp", spp, "--seeds", seeds, "--edges", "none",
                                  "-o", os.path.join(folder, "check.png"), statuses=(0, 1))["parameters"][0] for step in (FROZEN, PLAIN))
    off = np.array(near["gradient"]["per_seed"]) - np.array(near["frozen"]["per_seed"])
    return [(near["gradient"]["value"], near["gradient"]["std_err"]), (off.mean(), off.std(ddof=1) / seeds**0.5),
            (far["plain"]["value"], far["plain"]["std_err"])]


def run(page, tiny):
    side, spp, repetitions, seeds, depths = (12, 2, 2, 2, (2, 3)) if tiny else (48, 16, 24, 12, (2, 3, 4, 5, 6, 8, 10, 12))
    rows, tiles, curves = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        adjoint, image = os.path.join(folder, "weights.pfm"), os.path.join(folder, "image.pfm")
        weights(adjoint, side)
        for name in SCENES:
            scene = write(folder, name)
            report.backlight("render", scene, "-D", "resolution=96", "--integrator", "path", "--spp", 4 * spp, "-o", image)
            found = [next(gradient(page, scene, m, DEPTH, adjoint, side, spp, repetitions, folder)) for m, _ in METHODS]
            scale = np.quantile(np.abs(found[0][..., 0]), 0.9)
            tiles.append([report.screen_bytes(report.read_pfm(image))] +
                         [texture_gradients.panel(f[..., 0], scale, 96) for f in found])
            for what, direction in list(texture_gradients.directions(TEXELS + (3,)))[0:4:3]:
                (value, error), off, (slope, other) = agreement(scene, AGREE[name], adjoint, direction, side, spp, seeds, folder)
                rows.append([name, what, str(AGREE[name]), "%.3g ± %.1g" % (value, error), "%.2g ± %.1g" % off, "%.3g ± %.1g" % (slope, other),
                             (value - slope) / (error**2 + other**2)**0.5])
            curves[name] = []
            for depth in depths:
                mean, deviation = gradient(page, scene, "prb_attached", depth, adjoint, side, spp, repetitions, folder)
                curves[name].append((depth, float(np.sqrt((deviation**2).mean()) / max(np.sqrt(np.median(mean**2)), 1e-9))))
    page.picture(np.concatenate([np.concatenate([np.pad(t, ((2, 2), (2, 2), (0, 0)), constant_values=128) for t in row], 1) for row in tiles], 0))
    zs = [r[-1] for r in rows]
    page.write("Gradients by normal maps of metal and glass", [
        "Normal maps of %d x %d texels: of a pane of glass, whose map makes it a magnifier above a picture that glows; of a torus of metal before a mirror, in which it is seen "
        "again; and of two cups of glass on that picture. Meshes and scenes are written by the script. Each gradient is that of a weighted sum of %d x %d pixels, weights being waves "
        "across the image; means of %d gradients of %d samples per pixel, paths of up to %d segments, as in the paper." % (TEXELS[1], TEXELS[0], side, side, repetitions, spp, DEPTH),
        "![Images and gradients](specular_gradients.png)",
        "*From the left: the image, and the gradient by the normals' x: attached, detached, radiative. From above: magnifier, torus, cups. Red is positive, blue negative, a row has one scale.*",
        "The paper (figure 7) shows attached gradients like those of automatic differentiation, notes their variance, and gives 0 for radiative backpropagation, which does not turn directions; what it "
        "has at glass here is Fresnel's coefficients. In the table, along bumps of the map: the attached gradient; what it is more than the difference along the same paths (step %g), of each "
        "seed; and the difference of images with the same random numbers (step %g); standard errors over %d seeds. The rms of z is %.2f, and the largest %.1f, at the %s: what edges behind glass "
        "and in mirrors move is in differences of images alone (`--edges none`), and gradients have long tails; which of both it is, this does not tell." %
        (FROZEN, PLAIN, seeds, np.sqrt(np.mean(np.square(zs))), max(zs, key=abs), max(rows, key=lambda r: abs(r[-1]))[0]),
        "Every further bounce off curved glass or metal magnifies how far a ray moves, so the gradient of a long path is large and of either sign. The plot has the standard deviation of "
        "one gradient over the median size of its texels: what one more segment costs. So paths in the table are only as long as it says, and the torus and the cups are noisy in the picture.",
    ], ["scene", "bump", "segments", "attached", "less the difference along its paths", "difference of images", "z"], rows, [
        {"title": "noise of a gradient", "x": "segments", "y": "deviation over median", "log_y": True, "curves": curves}])
