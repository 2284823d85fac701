# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Options of jobs, sensors, other sides of images, and what the film writes."""
import numpy as np
import pytest

import backlight as bl
from conftest import CORNELL, RED, SMALL
from test_render import XML, of_arrays


def test_resize():
    """Finer texels, interpolated or new ones; the image stays like the old one, and the gradient has the new shape."""
    key = "paint.reflectance.data"
    scene = of_arrays({"data": np.full((2, 3, 3), .25, "f4")}, {"data": np.zeros((2, 2, 2))}, {"data": np.ones((4, 6))}, 5.)
    before = bl.render(scene, 4, 1)
    scene.resize(key, (4, 6, 3))
    assert bl.traverse(scene)[key].shape == (4, 6, 3) == scene.parameter(key).shape
    assert bl.traverse(scene)[key] == pytest.approx(.25) and bl.render(scene, 4, 1) == pytest.approx(before, abs=1e-5)
    assert bl.Job(scene, [key]).gradient(target=before * 0, spp=4)[key].shape == (4, 6, 3)
    scene.resize(key, (2, 2, 3), np.full((2, 2, 3), .75, "f4"))
    assert bl.traverse(scene)[key].tolist() == np.full((2, 2, 3), .75).tolist()
    with pytest.raises(ValueError):
        scene.resize(key, (2, 2, 1))
    with pytest.raises(ValueError, match=r"\(2, 2, 3\)"):
        scene.resize(key, (2, 2, 3), np.ones((2, 2, 2), "f4"))


def test_write(tmp_path):
    """Scene.write saves as the film says: here half floats."""
    scene = bl.load_string(XML.replace('<film type="hdrfilm">', '<film type="hdrfilm"><string name="component_format" value="float16"/>'))
    image = bl.render(scene, 4, 1)
    scene.write(tmp_path / "film.exr", image)
    assert bl.Bitmap(tmp_path / "film.exr").tobytes() == image.astype("f2").astype("f4").tobytes()
    with pytest.raises(ValueError, match=r"\(12, 16, 3\)"):
        scene.write(tmp_path / "film.exr", image[:2])


def test_sensors():
    """A job looks through another sensor of the scene, and through a pose of its own."""
    other = '<sensor type="perspective"><transform name="to_world"><lookat origin="3,1,6" target="0,1,0" up="0,1,0"/></transform>'
    text = XML.replace('<bsdf type="diffuse"', other + XML[XML.index('<film'):XML.index('</sensor>')] + '</sensor><bsdf type="diffuse"')
    scene = bl.load_string(text)
    second = bl.load_string(text, {"sensor": 1})
    assert scene.info["sensors"] == 2
    job = bl.Job(scene, sensor_moves=True)
    first = job.render(4, 1)
    job.set_sensor(1)
    assert job.render(4, 1).tobytes() == bl.Job(second, sensor_moves=True).render(4, 1).tobytes() != first.tobytes()
    job.set_sensor(0, bl.Transform.look_at([0, 1, 6], [0, 1, 0], [0, 1, 0]))
    assert job.render(4, 1).tobytes() == first.tobytes()
    with pytest.raises(ValueError):
        job.set_sensor(2)
    with pytest.raises(ValueError, match=r"\(4, 4\)"):
        job.set_sensor(0, np.eye(3))
    with pytest.raises(bl.Error):
        bl.Job(scene).set_sensor(1)


def test_mono(tmp_path):
    """Images have one channel, a target in colour is its luminance, and gradients go to red, green and blue."""
    scene = bl.load_file(CORNELL, {"mode": "llvm_ad_mono"}, **SMALL)
    image, weights = bl.render(scene, 4, 1), [.212671, .715160, .072169]
    assert scene.info["mode"] == "mono" and image.shape == scene.shape == (16, 16, 1)
    scene.write(tmp_path / "grey.exr", image)
    assert bl.Bitmap(tmp_path / "grey.exr").tobytes() == image.tobytes()
    colours = np.random.default_rng(1).random((16, 16, 3), "f4")
    job = bl.Job(scene, [RED])
    a, b = (job.gradient(target=t, spp=4, seed=1)[RED] for t in (colours, (colours @ np.array(weights, "f4"))[..., None]))
    assert a == pytest.approx(b, rel=1e-4) and a / a.sum() == pytest.approx(weights, rel=1e-3)
    with pytest.raises(ValueError, match=r"\(16, 16, 1\)"):
        job.gradient(target=colours[..., :2], spp=4)
    with pytest.raises(bl.Error, match='did you mean "mono"'):
        bl.load_file(CORNELL, {"mode": "mnoo"})


def test_guide(box):
    """A guide of directions gives other samples of the same picture, and the same ones again."""
    usual, guided, again = bl.Job(box), bl.Job(box, guide=16), bl.Job(box, guide=16)
    image = guided.render(64, 1)
    assert image.mean() == pytest.approx(usual.render(64, 1).mean(), rel=.05)
    assert image.tobytes() == again.render(64, 1).tobytes() != usual.render(64, 1).tobytes()
    with pytest.raises(bl.Error, match="Markov chains"):
        bl.Job(bl.load_file(CORNELL, {"integrator": "pssmlt"}, **SMALL), guide=16)


def test_double_precision(box):
    """What kernels of doubles give is handed on as it is: images and gradients of float64, of which single precision is a
    rounding, and whose differences with tiny steps are the gradient."""
    single, double = bl.Job(box, [RED], baking=False), bl.Job(box, [RED], precision="double", baking=False)
    image = double.render(4, 1)
    assert image.dtype == np.float64 and np.any(image != np.float32(image))
    assert np.float32(image) == pytest.approx(single.render(4, 1), abs=1e-4)
    weights = np.random.default_rng(1).random(image.shape, "f4")
    gradients = [job.gradient(weights, spp=4, seed=1)[RED] for job in (single, double)]
    assert [g.dtype for g in gradients] == [np.float32, np.float64]
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-4)
    assert np.any(gradients[1] != np.float32(gradients[1]))
    step, start, sums = np.float32(2**-20), double[RED], []
    for sign in (1, -1):  # exact in float32, and products of albedos along paths bend by step^2 alone
        double[RED] = start + sign * step
        sums.append(np.sum(weights * double.render(4, 1, gradient_stream=True), dtype="f8"))
    assert (sums[0] - sums[1]) / (2 * float(step)) == pytest.approx(gradients[1].sum(), rel=1e-6)
    double[RED] = start
    with pytest.raises(TypeError, match="float64"):
        double.render(4, 1, out=np.empty(image.shape, "f4"))
    assert np.array_equal(double.render(4, 1, out=np.empty(image.shape)), image)
    with pytest.raises(bl.Error, match="accumulat"):
        bl.Job(box, [RED], precision="double", accumulate="float")


@pytest.mark.parametrize("options", [{"rays": "bvh"}, {"baking": False}, {"geometry_changes": True}, {"accumulate": "float"},
                                     {"pixels": "adjoint"}, {"volume_gradient": "replay"}], ids=lambda o: next(iter(o)))
def test_job_options(box, options):
    """They change how the work is done, and what it gives at most by rounding, but for where gradient samples are."""
    usual, other = bl.Job(box, [RED]), bl.Job(box, [RED], **options)
    image = usual.render(4, 1)
    assert other.render(4, 1) == pytest.approx(image, abs=1e-3)
    target = np.full(image.shape, .1, "f4")
    a, b = (job.gradient(target=target, spp=64, seed=1)[RED] for job in (usual, other))
    assert b == pytest.approx(a, rel=.2 if "pixels" in options else 1e-3)
    assert options.get("rays", "bvh") == other.rays or other.rays == "baked"
    # that they have come to the library: by what traces rays, and where the samples of the gradient are
    assert usual.rays == "baked" and other.rays == ("bvh" if "baking" in options or "geometry_changes" in options else "baked")
    if "accumulate" not in options:  # whose sums are in no order
        assert (a.tobytes() != b.tobytes()) == (not {"pixels", "baking", "geometry_changes"}.isdisjoint(options))
