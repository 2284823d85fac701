# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Fits: they find colours, go on from a file with the same bytes, and survive an interruption."""
import os
import signal
import threading

import numpy as np
import pytest

import backlight as bl
from conftest import GREEN, RED

GREY = [.5, .5, .5]


@pytest.fixture
def target(box):
    return bl.render(box, 256, 1000)


def make(box, target, **more):
    return bl.Fit(box, {RED: {"initial": GREY, "rate": .05}, GREEN: {"initial": GREY}}, target, spp=8, rate=.02, **more)


def test_colours_are_found(box, target):
    fit = make(box, target, form="fused").run(60, progress=False)
    truth = bl.traverse(box)
    assert np.abs(fit[RED] - truth[RED]).max() < .08 and fit.status["step"] == 60 and len(fit.losses) == 60
    assert bl.compare(fit.render(0, 256), target)["psnr"] > bl.compare(make(box, target).render(0, 256), target)["psnr"] + 3
    assert RED in repr(fit) and "step 60" in fit._repr_html_()
    assert fit.render(0, 4).shape == (16, 16, 3)
    bl.traverse(box).update(fit.values())
    assert bl.traverse(box)[RED].tobytes() == fit[RED].tobytes()


def test_restore_gives_the_same_bytes(box, target, tmp_path):
    fit = make(box, target).run(4)
    fit.save(tmp_path / "fit.state")
    fit.run(3)
    again = make(box, target)
    again.restore(tmp_path / "fit.state")
    assert again.run(3)[RED].tobytes() == fit[RED].tobytes()
    with pytest.raises(bl.Error):
        bl.Fit(box, [RED], target, spp=8).restore(tmp_path / "fit.state")


def test_schedule(box, target):
    """A factor of 0 from step 2 on: nothing moves any more."""
    fit = make(box, target, schedule=[(2, 1.), (3, 0.)])
    fit.run(4)
    kept = fit[RED].copy()
    assert (kept != .5).any() and fit.run(2)[RED].tobytes() == kept.tobytes()
    with pytest.raises(ValueError):
        make(box, target, schedule=[(3, 1.), (2, 1.)])
    more = make(box, target, schedule=[(2, 1., 2.)])
    assert [more.step()["spp"] for _ in range(3)] == [8, 16, 16]


def test_batch(box, target):
    """Steps see some of the pixels, and find the colour nevertheless."""
    fit = make(box, target, batch=64).run(60)
    assert np.abs(fit[RED] - bl.traverse(box)[RED]).max() < .15 and fit[RED].tobytes() != make(box, target).run(60)[RED].tobytes()


def tile(noise=0.):
    texels = np.full((8, 8, 3), .5, "f4") + noise * np.random.default_rng(3).standard_normal((8, 8, 3)).astype("f4")
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "path", "max_depth": 2},
        "sensor": {"type": "perspective", "fov": 40, "to_world": bl.Transform.look_at([0, 0, 3], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 16}},
        "sky": {"type": "constant"},
        "tile": {"type": "rectangle", "bsdf": {"type": "diffuse", "id": "paint", "reflectance": {"type": "bitmap", "data": texels}}}})


def test_total_variation():
    """The penalty makes texels alike."""
    key, scene = "paint.reflectance.data", tile(.1)
    image = bl.render(scene, 64)
    plain, even = (bl.Fit(scene, {key: {"total_variation": weight}}, image, spp=4, rate=.01).run(20)[key] for weight in (0., 1.))
    assert even.std() < .6 * plain.std()


def solid(mesh=False):
    """An icosahedron or a cube in front of a dark sky."""
    t = (1 + 5**.5) / 2
    corners = np.float32([(-1, t, 0), (1, t, 0), (-1, -t, 0), (1, -t, 0), (0, -1, t), (0, 1, t), (0, -1, -t), (0, 1, -t),
                          (t, 0, -1), (t, 0, 1), (-t, 0, -1), (-t, 0, 1)]) / np.sqrt(1 + t * t)
    faces = np.uint32([(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
                       (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10),
                       (8, 6, 7), (9, 8, 1)])
    shape = {"type": "mesh", "positions": corners, "faces": faces} if mesh else {"type": "cube", "to_world": bl.Transform.scale(.6)}
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "path", "max_depth": 2},
        "sensor": {"type": "perspective", "fov": 40, "to_world": bl.Transform.look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 16}},
        "sky": {"type": "constant", "radiance": .1}, "lamp": {"type": "point", "position": [2, 4, 4], "intensity": 40.},
        "thing": {**shape, "bsdf": {"type": "diffuse"}}})


@pytest.mark.parametrize("motion, kept", [("rigid", True), ("similarity", False)])
def test_motion(motion, kept):
    """The target is larger and elsewhere: a rigid motion keeps the size, a similarity finds it."""
    scene, key = solid(), "thing.to_world"
    matrix = bl.Transform.translate([.3, 0, 0]).scale(.8)
    image = bl.render(scene, 64, params={key: np.array(matrix)})
    found = bl.Fit(scene, {key: {"motion": motion, "rate": .03}}, image, spp=4).run(30)[key]
    size = abs(np.linalg.det(found[:3, :3]))**(1 / 3)
    assert (abs(size - .6) < 1e-3) == kept and (kept or abs(size - .8) < .1) and abs(found[0, 3] - .3) < .15


def test_large_steps():
    """One noisy step moves neighbours together; without large steps each vertex goes its own way, at the end as well."""
    scene, key = solid(True), "thing.vertex_positions"
    image = bl.render(scene, 64, params={key: bl.traverse(scene)[key] * np.float32(.9)})
    def roughness(large):
        fit = bl.Fit(scene, {key: {"large_steps": large, "rate": .02}}, image, spp=4).run(5)
        moved = fit[key] - bl.traverse(scene)[key]
        return np.linalg.norm(moved - moved.mean(axis=0)) / np.linalg.norm(moved)
    try:
        smooth = roughness(12.)
    except bl.UnsupportedError as problem:  # CHOLMOD is opened when it is needed
        pytest.skip(str(problem))
    assert smooth < .8 * roughness(0.)
    for large in (12., 0.):
        fit = bl.Fit(scene, {key: {"large_steps": large, "rate": .1}}, image, spp=4, average_from=16, average="auto").run(30)
        last = fit[key].tobytes()
        assert (fit.settle()[key].tobytes() == last) == (large > 0)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_interrupted_fit_goes_on(box, target):
    whole = make(box, target).run(40)
    fit = make(box, target)
    fit.step()
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(.05)
        fit.run(10**6)
    done = fit.status["step"]
    assert done >= 1 and len(fit.losses) in (done, done - 1)
    if done < 40:
        assert fit.run(40 - done)[RED].tobytes() == whole[RED].tobytes()


def test_interrupted_render(box):
    job = bl.Job(box)
    expected = job.render(4, 1)
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(.3)
        job.render(2**22, 1)
    assert job.render(4, 1).tobytes() == expected.tobytes()


def test_views(box, target):
    fit = bl.Fit(box, [RED], views=[target, {"target": target, "held_out": True}], spp=4)
    assert fit.run(2).status["step"] == 2 and fit.render(1, 4).shape == (16, 16, 3)


@pytest.mark.parametrize("prior, slope", [("l2", lambda off: 2 * off), ("l1", np.sign)])
def test_prior(box, target, prior, slope):
    """A step of gradient descent moves by the prior's slope besides, the mean over the three values of a colour."""
    start, more = np.array([.5, .2, .3], np.float32), {"prior": prior, "prior_weight": 2, "prior_centre": .3}
    plain, drawn = (bl.Fit(box, {RED: {"initial": start, **p}}, target, spp=8, optimizer="sgd", rate=.05).run(1)[RED]
                    for p in ({}, more))
    assert np.abs(plain - drawn - .05 * 2 * slope(start - np.float32(.3)) / 3).max() < 1e-6
    with pytest.raises(bl.ArgumentError, match="weight above 0"):
        bl.Fit(box, {RED: {"prior": prior}}, target)


def test_weights(box, target):
    half = np.zeros((16, 16))
    half[:, :8] = 1
    spoiled = target.copy()
    spoiled[:, 8:] = 1e6
    clean, other = (make(box, None, views=[{"target": t, "weights": half}]) for t in (target, spoiled))
    assert clean.run(3)[RED].tobytes() == other.run(3)[RED].tobytes() and clean.losses == other.losses
    assert make(box, None, views=[{"target": target, "weight": 3}]).run(3).losses != clean.losses
    for weights, named in ((-half, "pixel 0|weights must"), (0 * half, "all of its pixels")):
        with pytest.raises(bl.ArgumentError, match=named):
            make(box, None, views=[{"target": target, "weights": weights}])


def test_groups(box, target):
    """Settings by a pattern are those of each parameter; later groups win, parameters over all."""
    groups = {"*.reflectance.*": {"rate": .1, "beta_1": .5}, GREEN[:3] + "*": .01}
    found = bl.Fit(box, {RED: {"initial": GREY}, GREEN: {"initial": GREY, "beta_1": .8}}, target, spp=8, groups=groups).run(3)
    same = bl.Fit(box, {RED: {"initial": GREY, "rate": .1, "beta_1": .5}, GREEN: {"initial": GREY, "rate": .01, "beta_1": .8}}, target, spp=8).run(3)
    assert found.losses == same.losses and all(found[n].tobytes() == same[n].tobytes() for n in (RED, GREEN))
    with pytest.raises(bl.ArgumentError, match="did you mean '%s'" % RED):
        bl.Fit(box, [RED], target, groups={RED[1:]: .1})


def test_window(box, target):
    """A run ends at the first step at which the loss has stopped falling, and not while it falls."""
    whole, early = make(box, target, form="fused").run(60).losses, make(box, target, form="fused").run(60, window=8).losses

    def reached(part):
        before, after, noise = np.mean(part[:8]), np.mean(part[8:]), np.mean(np.diff(part)**2) / 2
        return before - after <= 1e-3 * abs(before) + 2 * np.sqrt(2 * noise / 8)
    assert len(early) == next(n for n in range(16, 61) if reached(whole[n - 16:n])) < 60 and early == whole[:len(early)]


def test_sparse(box, target):
    """Where all values have gradients nothing changes; of a texture, texels that a step does not see stay as they are."""
    dense, sparse = (bl.Fit(box, {RED: {"initial": GREY, "sparse": s}}, target, spp=8).run(3) for s in (False, True))
    assert dense[RED].tobytes() == sparse[RED].tobytes()
    scene = bl.load_dict({"type": "scene", "integrator": {"type": "direct"}, "sky": {"type": "constant"},
                          "camera": {"type": "orthographic", "to_world": bl.Transform().look_at([0, 0, 3], [0, 0, 0], [0, 1, 0]),
                                     "film": {"type": "hdrfilm", "width": 16, "height": 16, "filter": {"type": "box"}}},
                          "wall": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {
                              "type": "bitmap", "raw": True, "filter_type": "nearest", "bitmap": np.full((64, 64, 3), .5, np.float32)}}}})
    name = next(n for n in bl.traverse(scene) if n.endswith("reflectance.data"))
    fits = [bl.Fit(scene, {name: {"sparse": s}}, np.ones((16, 16, 3), np.float32), spp=2, batch=8, rate=.02) for s in (False, True)]
    moved = []
    for step in range(4):
        before = fits[1][name].copy()
        for fit in fits:
            fit.step()
        moved.append((fits[1][name] != before).any(axis=2))
        assert 0 < moved[-1].sum() <= 16
    assert not (moved[0] & moved[1]).any() and (fits[0][name] != .5).any(axis=2).sum() >= sum(moved).astype(bool).sum()
    assert not np.array_equal(fits[0][name], fits[1][name])  # Adam's own steps go on by their moments
    with pytest.raises(bl.ArgumentError, match="sparse steps are adam's"):
        bl.Fit(scene, {name: {"sparse": True, "total_variation": 1}}, np.ones((16, 16, 3), np.float32))


def test_terms(box, target):
    """A sum of losses has what its terms have; one term alone is the loss itself."""
    plain, one = make(box, target).run(3), make(box, target, loss=["l2"]).run(3)
    assert plain[RED].tobytes() == one[RED].tobytes() and plain.losses == one.losses and plain.terms() == []
    both = make(box, target, loss=[{"type": "l2", "weight": .5}, {"type": "relative_l2", "levels": [1, 0, .5]}]).run(1)
    assert len(both.terms()) == 2 and both.losses[0] == pytest.approx(sum(both.terms()), rel=1e-6)
    assert both.terms()[0] == pytest.approx(plain.losses[0] / 2, rel=1e-6) and both.status["form"] == "two-walk"
    for loss, error in (([], bl.ArgumentError), (["l3"], bl.ArgumentError), ([{"type": "l1", "levels": 9}], bl.ArgumentError),
                        ([{"typ": "l1"}], TypeError)):
        with pytest.raises(error):
            make(box, target, loss=loss)


def test_progress(box, target, capsys):
    seen = []
    bl.render(box, 512, progress=seen.append)
    assert seen and seen[-1] == 1 and seen == sorted(seen)
    with pytest.raises(bl.Cancelled):
        bl.render(box, 2**22, progress=lambda done: False)
    with pytest.raises(ZeroDivisionError):
        bl.render(box, 2**22, progress=lambda done: 1 / 0)
    fit = make(box, target)
    with pytest.raises(bl.Cancelled, match="after step 2"):
        fit.run(4, progress=lambda done: done < .5)
    fit.run(2)
    assert fit.status["step"] == 4
    assert capsys.readouterr().err == ""  # scripts have no bar
    bl.Job(box).render(2**16, progress=True)
    assert "render" in capsys.readouterr().err


def test_settle(box, target):
    """With "auto" values go where gradients of the last steps vanish, by shares that are told; the mean is the mean."""
    fit = make(box, target, average_from=31, average="auto").run(60)
    last = fit[RED].copy()
    assert fit.settled() == {RED: 0, GREEN: 0} and 0 < fit.settle().settled()[RED] <= 1 and (fit[RED] != last).any()
    mean, values = make(box, target, average_from=31), []
    for step in range(60):
        mean.step()
        values.append(mean[RED])
    assert values[-1].tobytes() == last.tobytes() and np.allclose(mean.settle()[RED], np.mean(values[30:], 0), atol=1e-6)
    assert (mean[RED] != fit[RED]).any() and mean.settled()[RED] == 0
    with pytest.raises(bl.ArgumentError, match="average"):
        make(box, target, average="median")
