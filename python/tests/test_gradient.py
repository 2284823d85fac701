# LABELS: native swiftshader
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients through Python are the bytes of `backlight grad`; forward mode agrees with them."""
import numpy as np
import pytest

import backlight as bl
from conftest import CORNELL, GREEN, LIGHT, RED, SMALL, program

NAMES = [RED, LIGHT]


def grad(tmp_path, *arguments):
    words = [word for name in NAMES for word in ("--param", name)]
    program("grad", CORNELL, *words, "--seed", "5", "-o", str(tmp_path / "out"), *arguments)
    return {name: np.load(tmp_path / "out" / (name + ".npy")) for name in NAMES}


def weights():
    return np.random.default_rng(1).uniform(-1, 1, (16, 16, 3)).astype(np.float32)


def same(found, expected):
    assert list(found) == NAMES
    for name in NAMES:
        assert np.abs(expected[name]).max() > 1e-4, "nothing to compare"
        assert found[name].tobytes() == expected[name].tobytes(), name


def test_adjoint(box, tmp_path):
    w = weights()
    bl.write_bitmap(tmp_path / "w.pfm", w)
    found = bl.Job(box, NAMES).gradient(w, seed=5)
    same(found, grad(tmp_path, "--sampler", "scene", "--adjoint", str(tmp_path / "w.pfm")))
    assert found.stats["drifted"] == 0 and np.isfinite(found.loss)


@pytest.mark.parametrize("loss", ["l2", "huber"])
def test_target(box, tmp_path, loss):
    target = abs(weights())
    bl.write_bitmap(tmp_path / "t.pfm", target)
    found = bl.Job(box, NAMES).gradient(target=target, loss=loss, seed=5, image=True)
    same(found, grad(tmp_path, "--sampler", "scene", "--target", str(tmp_path / "t.pfm"), "--loss", loss))
    assert found.image.shape == (16, 16, 3) and found.loss > 0


def test_sampler(tmp_path):
    """Python keeps the scene's sampler unless it is told otherwise; the program takes `auto`."""
    scene = bl.load_file(CORNELL, {"sampler": "auto"}, **SMALL)
    w = weights()
    bl.write_bitmap(tmp_path / "w.pfm", w)
    same(bl.Job(scene, NAMES).gradient(w, seed=5), grad(tmp_path, "--adjoint", str(tmp_path / "w.pfm")))
    with pytest.raises(bl.ArgumentError, match="paddedsobol"):
        bl.load_file(CORNELL, {"sampler": "sobol"}, **SMALL)


def test_other_arrays_give_the_same(box):
    """Strided, of float64, of the buffer protocol, by DLPack: converted where they must be."""
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __array__(self, *_, **__):
            return self.array

    w = weights()
    wide = np.zeros((16, 32, 3), np.float32)
    wide[:, ::2] = w
    job = bl.Job(box, NAMES)
    expected = job.gradient(w, seed=5)
    for other in (w.astype(np.float64), wide[:, ::2], memoryview(w), Foreign(w), w.view(bl.Bitmap)):
        same(job.gradient(other, seed=5), expected)


def test_forward_is_the_transpose(box):
    w = weights()
    job = bl.Job(box, [RED, GREEN])
    tangents = {RED: [.3, -1, .5], GREEN: [1, 2, 3]}
    derivative = job.forward(tangents, seed=5)
    gradient = job.gradient(w, seed=5)
    along = sum(float(np.dot(gradient[name], tangents[name])) for name in tangents)
    assert float((derivative.astype(float) * w).sum()) == pytest.approx(along, rel=1e-3) and abs(along) > 1e-3
    assert job.forward({RED: 1}, seed=5).tobytes() == job.forward({RED: [1, 1, 1]}, seed=5).tobytes()
    assert np.abs(job.forward(seed=5)).max() > 0


def test_gradient_follows_values(box):
    w, job = weights(), bl.Job(box, [RED])
    first = job.gradient(w, seed=5)[RED]
    for colour in ([.9, .9, .9], [.2, .3, .4]):
        job[RED] = colour
        second = job.gradient(w, seed=5)[RED]
    bl.traverse(box).update({RED: [.2, .3, .4]})
    assert bl.Job(box, [RED]).gradient(w, seed=5)[RED].tobytes() == second.tobytes() != first.tobytes()
