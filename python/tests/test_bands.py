# LABELS: native swiftshader
# SPDX-License-Identifier: BSD-3-Clause
"""A film with bands (specfilm): each channel is the integral of its response times the light, in the order of the file;
a gradient by such an image."""
import numpy as np
import pytest

import backlight as bl

INTEGRALS = {"zz": 100, "aa": 62.5 + 300, "far": 40}


def sky(**more):
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "path"},
        "sensor": {"type": "perspective", "film": {
            "type": "specfilm", "width": 16, "height": 16, "rfilter": {"type": "box"},
            "zz": {"type": "spectrum", "value": [(400, 0), (500, 1), (600, 0)]},
            "aa": {"type": "spectrum", "value": [(650, .5), (700, 2), (900, 1)]},
            "far": {"type": "regular", "values": "0, .4, 0", "wavelength_min": 1000, "wavelength_max": 1200}}},
        "sky": {"type": "constant", "id": "sky", "radiance": {"type": "uniform", "value": 2.0}}, **more}, options={"mode": "spectral"})


def test_bands_are_integrals():
    scene = sky()
    assert scene.bands == list(INTEGRALS) and scene.shape == (16, 16, 3)
    image, variance = bl.Job(scene).variance(256, 3)
    for k, integral in enumerate(INTEGRALS.values()):
        error = (variance[..., k].mean() / (256 * 256)) ** .5
        assert abs(image[..., k].mean() - 2 * integral) < 4 * error + 1e-4 * integral
    assert image.sum(2) == pytest.approx(2 * sum(INTEGRALS.values()), rel=1e-4)  # in every sample


def test_gradient_of_bands():
    """The image is proportional to the sky's radiance."""
    scene = sky()
    key = next(p.name for p in scene.parameters if p.name.startswith("sky.radiance"))
    job = bl.Job(scene, [key])
    weights = np.zeros(scene.shape, np.float32)
    weights[..., 2] = 1 / 256
    gradient = job.gradient(weights, spp=256)[key]
    assert float(gradient.sum()) == pytest.approx(INTEGRALS["far"], rel=.1)
    assert bl.load_dict({"type": "scene", "sensor": {"type": "perspective"}}).bands == []
