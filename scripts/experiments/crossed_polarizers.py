# SPDX-License-Identifier: BSD-3-Clause
"""Glass between crossed polarisers: what comes through against the closed form."""
import os
import tempfile

import numpy as np

import report

SCENE = os.path.join(report.ASSETS, "crossed_polarizers.xml")
ETA = 1.5


def image(folder, *defines, spp, picture=None):
    """Its values, and what the program said; picture: where to write a PNG, too."""
    out = os.path.join(folder, "image.pfm")
    args = [a for d in defines for a in ("-D", d)]
    said = report.backlight("render", SCENE, "--mode", "mono_polarized", "--spp", spp, "-o", out, *args)
    if picture:
        report.backlight("render", SCENE, "--mode", "mono_polarized", "--spp", spp, "-o", picture, *args)
    return report.read_pfm(out)[..., 0], said


def amplitudes(tilt):
    """Fresnel's reflectances and transmittances of power of one face, across and in the plane of incidence."""
    i = np.radians(tilt)
    t = np.arcsin(np.sin(i) / ETA)
    rs = (np.cos(i) - ETA * np.cos(t)) / (np.cos(i) + ETA * np.cos(t))
    rp = (ETA * np.cos(i) - np.cos(t)) / (ETA * np.cos(i) + np.cos(t))
    return rs**2, rp**2


def closed_form(tilt, crossed):
    """Between polarisers at 45 degrees to the plane: light that has gone to and fro k times has the amplitudes
    T R^k across and in the plane, which interfere at the second polariser; different k do not (no phase of the
    way is kept)."""
    rs, rp = amplitudes(tilt)
    k = np.arange(200)
    across, inside = (1 - rs) * rs**k, (1 - rp) * rp**k
    return float(np.sum((across - inside if crossed else across + inside)**2) / 8)


def run(page, tiny):
    tilts = [0, 60] if tiny else [0, 15, 30, 45, 56.31, 65, 75]
    spp = 4 if tiny else 1024
    rows, found, expected = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        dark, said = image(folder, "between=nothing", spp=16)
        page.device = said["device"]
        for tilt in tilts:
            row = [tilt]
            for second in (135, 45):
                values, _ = image(folder, "tilt=%g" % tilt, "second=%g" % second, spp=spp)
                closed = closed_form(tilt, second == 135)
                error = values.std() / np.sqrt(values.size)
                z = (values.mean() - closed) / error if error > 1e-7 else 0.0
                row += [float(values.mean()), closed, float(z)]
                if second == 135:
                    found.append((tilt, values.mean(), error))
            rows.append(row)
        fine = np.linspace(0, 80, 81)
        expected = [(t, closed_form(t, True)) for t in fine]
        image(folder, "between=ball", "lamp=60", "resolution=%d" % (16 if tiny else 128), "depth=12", spp=spp,
              picture=os.path.join(page.folder, "crossed_polarizers.png"))
    page.write("Glass between crossed polarisers", [
        "After figure 4 of Nimier-David, Vicini, Zeltner and Jakob (2019): a dielectric between two linear "
        "polarisers that are crossed (`assets/papers/crossed_polarizers.xml`, mode `mono_polarized`, %d samples per "
        "pixel). Without it the largest pixel is %.1g of the lamp. A slab of glass (index %g) is turned about the "
        "vertical, at 45 degrees to both axes. It lets pass more of the light in the plane of incidence than across "
        "it, so it turns the polarisation, and some light comes through." % (spp, dark.max(), ETA),
        "The closed form: light that has gone to and fro k times in the slab has the amplitudes T R^k, with Fresnel's "
        "R and T = 1 - R of one face, across and in the plane. Half of the lamp passes the first polariser, and the "
        "squared difference of the amplitudes over 4 the second one; their sum, where both are parallel. z is the "
        "difference over the standard error of the image's mean.",
        "![A ball of glass between crossed polarisers](crossed_polarizers.png)",
        "A ball of glass: dark along the axes of the polarisers, where the plane of incidence holds one of them, and "
        "bright between, most so where light meets it at a large angle.",
    ], ["tilt, degrees", "crossed", "closed form", "z", "parallel", "closed form", "z"], rows, [
        {"title": "crossed polarisers", "x": "tilt of the slab, degrees", "y": "share of the lamp",
         "curves": {"rendered": found, "closed form": expected}}])
