# LABELS: native swiftshader=long
# SPDX-License-Identifier: BSD-3-Clause
"""Integrators, materials, textures and lights that are written in Python: they make the images and gradients of the library's own,
control flow and custom operations do what they say, and mistakes are Python exceptions."""
import gc
from collections import namedtuple
from functools import partial

import numpy as np
import pytest

import backlight as bl
from backlight import trace as tr
from conftest import CORNELL, LIGHT, RED, SMALL

ONES = np.ones((16, 16, 3), np.float32)


def load(integrator, **options):
    return bl.load_file(CORNELL, {"integrator": integrator, **options}, resolution=16, spp=4)


def shown(name, **more):
    """The image of an integrator in the box."""
    return np.asarray(bl.render(load(name), spp=4, seed=2, **more))


# ---- integrators ----


@bl.integrator(max_depth=6)
class replayed:
    """Paths by the material's samples, by path replay."""

    def radiance(t, ray):
        return walk(t, ray, tr.Vector(0, 0, 0))

    def adjoint(t, ray, dL):
        radiance = walk(t, ray, tr.Vector(0, 0, 0))
        walk(t, ray, radiance, dL)
        return radiance


def walk(t, ray, radiance, dL=None):
    def vertex(state):
        s = t.closest(state["ray"])
        beta, depth = state["beta"], state["depth"]
        emission = s.emission()
        left = state["radiance"] + (1 if dL is None else -1) * beta * emission
        draw = s.sample_bsdf(t.random(2 * depth + 2))
        value = draw.value()
        if dL is not None:
            tr.backward(emission, beta * dL)
            tr.backward(value, left * dL * tr.reciprocal(tr.detach(value)))
        beta = beta * value * tr.reciprocal(draw.pdf)
        return {"ray": s.leave(draw.d), "beta": beta, "radiance": left, "depth": depth + 1,
                "active": s.valid & (tr.maximum(beta.r, tr.maximum(beta.g, beta.b)) > 0) & (tr.f32(depth) + 1 < t.max_depth)}

    first = {"ray": ray, "beta": tr.Vector(1, 1, 1), "radiance": radiance, "depth": tr.u32(0), "active": True}
    return tr.while_loop(lambda state: state["active"], vertex, first)["radiance"]


@bl.integrator(samples=2)
def lit(t, ray):
    """Light sampling at the first hit, a loop that adds; the library differentiates it."""
    s = t.closest(ray)

    def sample(state):
        number, total = state
        light = s.sample_light(t.random(number + 1))
        seen = light.seen(s.valid & (light.pdf > 0))
        added = tr.select(seen, s.bsdf(light.d) * light.radiance() * tr.reciprocal(light.pdf), 0.0)
        return number + 1, total + added / t.samples
    return tr.while_loop(lambda state: tr.f32(state[0]) < t.samples, sample, (tr.u32(0), tr.Vector(0, 0, 0)))[1] + s.emission()


def test_path_replay_in_python_is_the_librarys():
    gradients = []
    for name in ("replayed", "prb_basic"):
        scene = load(name, max_depth=5)
        found = bl.Job(scene, [RED, LIGHT]).gradient(ONES, spp=8, seed=1)
        gradients.append([found[RED], found[LIGHT], np.asarray(bl.render(scene, spp=8))])
    for mine, theirs in zip(*gradients):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)
    assert np.abs(gradients[0][0]).min() > 0


def test_reverse_mode_of_a_radiance():
    job = bl.Job(load("lit"), [RED, LIGHT])
    image = np.asarray(job.render(8, 1, gradient_stream=True))
    found = job.gradient(ONES, spp=8, seed=1)
    forward = job.forward({LIGHT: [1, 1, 1]}, spp=8, seed=1)
    assert np.isclose(np.asarray(forward).sum(), found[LIGHT].sum(), rtol=1e-4)
    np.testing.assert_allclose((found[LIGHT] * job[LIGHT]).sum(), image.sum(), rtol=1e-4)  # linear in the only light


def test_settings_come_from_the_scene():
    one = bl.load_string(open(CORNELL, encoding="utf-8").read().replace(
        '<integrator type="path">', '<integrator type="replayed"><!-- ').replace(
        "</integrator>", '--><float name="max_depth" value="1"/></integrator>'), resolution=16)
    np.testing.assert_array_equal(np.asarray(bl.render(one, spp=4)), np.asarray(bl.render(load("prb_basic", max_depth=1), spp=4)))


def test_prints():
    """Messages of the last pass, in order, where `when`; jobs without print_bytes have none, and too many are told."""
    @bl.integrator(level=0.25)
    def talks(t, ray):
        s, u = t.closest(ray), t.random(1)
        t.print("{} at {}: {}", 7, s.distance, u[0] < t.level, when=u[0] < 0.5)
        return u[0]

    job = bl.Job(load("talks"), print_bytes=1 << 16)
    image = np.asarray(job.render(spp=1, seed=2))[..., 0]
    dark = [(y, x) for y, x in np.ndindex(16, 16) if image[y, x] < 0.5]
    assert [(p.y, p.x, p.sample) for p in job.prints()] == [(y, x, 0) for y, x in dark] and 64 < len(dark) < 192
    for p, at in zip(job.prints(), dark):
        assert p.text.startswith("7 at ") and p.text.endswith("true" if image[at] < 0.25 else "false")
    plain = bl.Job(load("talks"))
    assert np.array_equal(np.asarray(plain.render(spp=1, seed=2))[..., 0], image)
    with pytest.raises(bl.ArgumentError, match="print_bytes"):
        plain.prints()
    small = bl.Job(load("talks"), print_bytes=64)
    small.render(spp=1)
    with pytest.warns(UserWarning, match="no room"):
        assert 1 <= len(small.prints()) <= 2


def test_suspended_values_have_no_derivatives():
    @bl.integrator()
    def half_suspended(t, ray):
        s = t.closest(ray)
        t.suspend()
        emission = s.emission()
        t.suspend(False)
        return emission + s.bsdf(s.ns)
    found = bl.Job(load("half_suspended"), [RED, LIGHT]).gradient(ONES, spp=2)
    assert not found[LIGHT].any() and found[RED].all()


# ---- control flow, functions ----


def test_control_flow():
    @bl.integrator()
    def flow(t, ray):
        x = ray.d.x
        chosen = tr.cond(x < 0, lambda: (x * 2, tr.u32(1)), lambda: (x * 3, tr.u32(2)))
        power = tr.while_loop(lambda s: s[0] < 5, lambda s: [s[0] + 1, s[1] * 2.0], [tr.u32(0), tr.detach(x) * 0 + 1])[1]
        return tr.Vector(tr.select(x < 0, chosen[0] / x, chosen[0] / x - 1), tr.f32(chosen[1] * 0 + 7), power)
    np.testing.assert_allclose(shown("flow"), np.broadcast_to([2, 7, 32], (16, 16, 3)), rtol=1e-5)


def test_custom_operation():
    square = tr.Function(lambda x: x * x)
    straight = tr.Function(lambda x: tr.minimum(x, 0.25), vjp=lambda x, a: 10 * a)

    @bl.integrator()
    def clamped(t, ray):
        e = t.closest(ray).emission()
        return tr.Vector(straight(e.r), square(e.g), e.b)
    job = bl.Job(load("clamped"), [LIGHT])
    image, found = np.asarray(job.render(4, 1, gradient_stream=True)), job.gradient(ONES, spp=4, seed=1)[LIGHT]
    share = image[..., 2].sum() / job[LIGHT][2]  # pixels that see the light
    np.testing.assert_allclose(found, [10 * share, 2 * share * job[LIGHT][1], share], rtol=1e-4)
    assert image[..., 0].max() <= 0.25


# ---- materials, textures ----


@bl.bsdf(reflectance=bl.Textured(0.5))
def my_diffuse(m, wi, wo):
    return m.reflectance * wo.z / np.pi


@bl.texture(low=bl.Textured(0.2), high=bl.Textured(0.8), count=4)
def stripes(m, uv):
    crest = tr.sin(uv.x * m.count * np.pi)
    return m.low + (m.high - m.low) * crest * crest


def ball(bsdf):
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "prb", "max_depth": 3},
        "sensor": {"type": "perspective", "fov": 40, "to_world": bl.Transform.look_at([0, -4, 1], [0, 0, 0], [0, 0, 1]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 16}},
        "sky": {"type": "constant", "radiance": 1.0}, "paint": bsdf,
        "ball": {"type": "sphere", "material": {"type": "ref", "id": "paint"}}})


def test_a_material_is_the_librarys():
    results = []
    for kind in ("my_diffuse", "diffuse"):
        scene = ball({"type": kind, "reflectance": {"type": "rgb", "value": [.2, .5, .7]}})
        results.append((np.asarray(bl.render(scene, spp=16)), bl.Job(scene, ["paint.reflectance.value"]).gradient(ONES, spp=16)["paint.reflectance.value"]))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5)


def test_a_power_below_the_surface_spoils_no_gradient():
    @bl.bsdf(darkness=bl.Ranged(1.5, 0.5, 3))
    def dusty(m, wi, wo):
        return (wi.z * wo.z) ** (m.darkness - 1) * wo.z / np.pi
    job = bl.Job(ball({"type": "dusty"}), ["paint.darkness"])
    assert np.isfinite(job.gradient(ONES, spp=16)["paint.darkness"]).all()


def test_a_fit_says_that_contributions_are_missing():
    @bl.bsdf(depth=bl.Ranged(0, 0, 1))
    def spoilt(m, wi, wo):
        return (0.5 + 1e-26 / (m.depth + 1e-25)) * wo.z / np.pi  # its derivative at 0 is beyond all numbers
    scene = ball({"type": "spoilt"})
    fit = bl.Fit(scene, {"paint.depth": {"initial": [0]}}, ONES, spp=16)
    with pytest.warns(RuntimeWarning, match="1 updates that are too large or not finite"):
        fit.step()
    fit.step()  # once is enough
    with pytest.raises(bl.Error, match="not finite"):
        bl.Job(scene, ["paint.depth"]).gradient(ONES, spp=16)


def test_a_texture_and_its_gradient():
    scene = ball({"type": "diffuse", "reflectance": {"type": "stripes", "count": 6}})
    name = "paint.reflectance.count"
    job, h = bl.Job(scene, [name]), 1e-2
    found = job.gradient(ONES, spp=16, seed=1)[name][0]
    sums = []
    for moved in (6 + h, 6 - h):
        job[name] = [moved]
        sums.append(np.asarray(job.render(16, 1, gradient_stream=True), dtype=float).sum())
    assert abs((sums[0] - sums[1]) / (2 * h) - found) < 0.01 * abs(found)


def test_a_material_prints():
    @bl.texture(level=0.5)
    def told(m, uv):
        m.print("at {}", uv.x, when=uv.x < 0.75)
        return m.level

    @bl.bsdf(reflectance=bl.Textured(0.5))
    def telling(m, wi, wo):
        m.print("cosine {}", wo.z)
        return m.reflectance * wo.z / np.pi
    job = bl.Job(ball({"type": "telling", "reflectance": {"type": "told"}}), print_bytes=1 << 20)
    image = np.asarray(job.render(2, 1))
    texts = [p.text.split() for p in job.prints()]
    seen = {(p.x, p.y) for p in job.prints()}
    assert {kind for kind, _ in texts} == {"at", "cosine"} and image[0, 0].min() == 1 and (0, 0) not in seen and (8, 8) in seen
    assert all(0 <= float(number) < (0.75 if kind == "at" else 1.0001) for kind, number in texts)


def test_a_material_of_several_functions():
    @bl.bsdf(transmits=True, tint=bl.Textured(1.0))
    class veil:
        """Scatters to both sides alike."""

        def value(m, wi, wo):
            return m.tint * abs(wo.z) / (2 * np.pi)

        def sample(m, wi, u):
            d = tr.cosine_hemisphere(u[1], u[2])
            return tr.Vector(d.x, d.y, tr.select(u[0] < 0.5, d.z, -d.z))

        def pdf(m, wi, wo):
            return abs(wo.z) / (2 * np.pi)
    # under a sky of 1, a ball that passes on all light is as bright as the sky, wherever its light leaves it
    scene = bl.load_dict({**{"type": "scene", "integrator": {"type": "path", "max_depth": 200},
                             "sensor": {"type": "perspective", "fov": 20, "to_world": bl.Transform.look_at([0, -4, 0], [0, 0, 0], [0, 0, 1]),
                                        "film": {"type": "hdrfilm", "width": 8, "height": 8}},
                             "sky": {"type": "constant", "radiance": 1.0},
                             "ball": {"type": "sphere", "material": {"type": "veil"}}}})
    image = np.asarray(bl.render(scene, spp=256))
    assert abs(image.mean() - 1) < 0.03


@bl.bsdf(albedo=bl.Textured(0.5), gloss=bl.Ranged(0.3, 0, 1))
class icy:
    """A diffuse surface below a mirror, which has a share of the light."""

    def value(m, wi, wo):
        return tr.select((wi.z > 0) & (wo.z > 0), m.albedo * (1 - m.gloss) * wo.z / np.pi, 0.0)

    def pdf(m, wi, wo):
        return tr.select((wi.z > 0) & (wo.z > 0), 0.5 * wo.z / np.pi, 0.0)

    def choose(m, wi, u):
        mirrors, base = u[0] < 0.5, tr.cosine_hemisphere(u[1], u[2])
        wo = tr.select(mirrors, icy.leads(m, wi, 0), base)
        return bl.BsdfChoice(wo, tr.select(mirrors, tr.select(wi.z > 0, 0.5, 0.0), icy.pdf(m, wi, wo)), mirrors)

    def coefficient(m, wi, lobe):
        return m.gloss

    def leads(m, wi, lobe):
        return tr.Vector(-wi.x, -wi.y, wi.z)


@bl.bsdf(transmits=True, through=True, opacity=bl.Textured(0.5))
class holed:
    """A veil with holes, as the library's mask around a black surface."""

    def value(m, wi, wo):
        return 0.0

    def pdf(m, wi, wo):
        return 0.0

    def choose(m, wi, u):
        return bl.BsdfChoice(-wi, 1.0, lobe=bl.THROUGH)

    def coefficient(m, wi, lobe):
        return 1 - m.opacity


def test_a_discrete_lobe_and_its_gradient():
    """Radiance is linear in gloss, and the mirror shows a sky of 1: with an albedo of 1 any gloss is as bright."""
    means = [np.asarray(bl.render(ball({"type": "icy", "albedo": 1.0, "gloss": gloss}), spp=256))[7:9, 7:9].mean()
             for gloss in (0.0, 0.3, 1.0)]
    np.testing.assert_allclose(means, 1, atol=0.03)
    scene = ball({"type": "icy", "albedo": {"type": "rgb", "value": [.2, .4, .6]}})
    job, h = bl.Job(scene, ["paint.gloss"]), 0.05
    found = job.gradient(ONES, spp=64, seed=1)["paint.gloss"][0]
    sums = []
    for moved in (0.3 + h, 0.3 - h):
        job["paint.gloss"] = [moved]
        sums.append(np.asarray(job.render(64, 1, gradient_stream=True), dtype=float).sum())
    assert found > 1 and abs((sums[0] - sums[1]) / (2 * h) - found) < 1e-3 * found


def test_holes_are_the_librarys_mask():
    black = {"type": "diffuse", "reflectance": 0.0}
    own, mask = ({**kind, "opacity": {"type": "rgb", "value": [.3, .3, .3]} if own else 0.3}
                 for kind, own in (({"type": "holed"}, True), ({"type": "mask", "under": black}, False)))
    images = [np.asarray(bl.render(ball(kind), spp=1024)) for kind in (own, mask)]
    np.testing.assert_allclose(images[0][8, 8], 0.49, atol=1e-4)  # through both sides, each sample the same
    assert abs(images[0].mean() - images[1].mean()) < 0.01


# ---- lights ----


@bl.emitter(glow=bl.Textured(1.0), falloff=bl.Ranged(0, 0, 10))
def fading(m, uv):
    return m.glow * tr.exp(-m.falloff * uv.x)


@bl.emitter(intensity=bl.Textured(1.0), height=1.5)
class my_point:
    """Over the origin."""

    def sample(m, p, u):
        to = tr.Vector(0, 0, m.height) - p
        return tr.normalize(to), tr.length(to)

    def radiance(m, distance):
        return m.intensity / (distance * distance)


@bl.emitter(irradiance=bl.Textured(1.0))
class my_sun:
    def sample(m, p, u):
        return tr.Vector(0, 0, 1)

    def radiance(m, distance):
        return m.irradiance


@bl.emitter(side=bl.Textured(1.0), above=bl.Textured(1.0))
class two_tone:
    """A sky of two colours, which fade into each other with height."""

    def sample(m, p, u):
        return tr.uniform_sphere(u[0], u[1])

    def pdf(m, d):
        return 1 / (4 * np.pi)

    def locate(m, d):
        return d.z, 0.0

    def radiance(m, uv):
        return m.side + (m.above - m.side) * (uv.x * uv.x)


def lit(light, on_shape=False):
    scene = {"type": "scene", "integrator": {"type": "prb", "max_depth": 3},
             "sensor": {"type": "perspective", "fov": 40, "to_world": bl.Transform.look_at([0, -4, 2], [0, 0, 0], [0, 0, 1]),
                        "film": {"type": "hdrfilm", "width": 16, "height": 16}},
             "ball": {"type": "sphere", "radius": .5},
             "floor": {"type": "rectangle", "to_world": bl.Transform.scale(2).translate([0, 0, -.25])}}
    if on_shape:
        turned = bl.Transform.translate([0, 0, 1.5]).rotate([1, 0, 0], 180)
        return bl.load_dict({**scene, "lamp": {"type": "rectangle", "to_world": turned, "light": light}})
    return bl.load_dict({**scene, "light": light})


def image_and_gradient(scene, name):
    job = bl.Job(scene, [name])
    return np.asarray(job.render(64, 1)), job.gradient(ONES, spp=64, seed=1)[name]


@pytest.mark.parametrize("own, parameter, library, theirs, on_shape", [
    ({"type": "fading"}, "glow", {"type": "area"}, "radiance", True),
    ({"type": "my_point"}, "intensity", {"type": "point", "position": [0, 0, 1.5]}, "intensity", False),
    ({"type": "my_sun"}, "irradiance", {"type": "directional", "direction": [0, 0, -1]}, "irradiance", False),
], ids=["shape", "point", "afar"])
def test_a_light_is_the_librarys(own, parameter, library, theirs, on_shape):
    results = []
    for light, name in ((own, parameter), (library, theirs)):
        scene = lit({**light, name: {"type": "rgb", "value": [3, 2, 1]}}, on_shape)
        found = next(p for p in bl.traverse(scene).keys() if p.endswith(name + ".value"))
        results.append(image_and_gradient(scene, found))
    assert results[0][0].mean() > 0.01
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-4)


def test_a_sky_of_ones_own():
    images = [np.asarray(bl.render(lit(light), spp=256)) for light in ({"type": "two_tone"}, {"type": "constant"})]
    assert abs(images[0].mean() / images[1].mean() - 1) < 0.01
    scene = lit({"type": "two_tone", "side": {"type": "rgb", "value": [.9, .6, .3]},
                 "above": {"type": "rgb", "value": [.1, .3, .8]}})
    names = ["light.side.value", "light.above.value"]
    job, gradient = bl.Job(scene, names), bl.Job(scene, names).gradient(ONES, spp=64, seed=1)
    image = np.asarray(job.render(64, 1, gradient_stream=True), dtype=float).sum(axis=(0, 1))
    # radiance is linear in both, so the image is what its derivatives say
    np.testing.assert_allclose(sum(gradient[n] * job[n] for n in names), image, rtol=1e-4)


def test_a_number_of_a_light_and_its_derivative():
    scene, h = lit({"type": "fading", "glow": 2.0, "falloff": 1.5}, on_shape=True), 1e-2
    job = bl.Job(scene, ["lamp.emitter.falloff"])
    found = job.gradient(ONES, spp=64, seed=1)["lamp.emitter.falloff"][0]
    sums = []
    for moved in (1.5 + h, 1.5 - h):
        job["lamp.emitter.falloff"] = [moved]
        sums.append(np.asarray(job.render(64, 1, gradient_stream=True), dtype=float).sum())
    assert found < 0 and abs((sums[0] - sums[1]) / (2 * h) - found) < 0.01 * abs(found)


def test_mistakes_in_lights():
    with pytest.raises(bl.ArgumentError, match="sample, pdf and locate"):
        @bl.emitter()
        class half_a_sky:
            def sample(m, p, u):
                return tr.uniform_sphere(u[0], u[1])

            def pdf(m, d):
                return 1.0

            def radiance(m, uv):
                return 1.0
    with pytest.raises(bl.ArgumentError, match="sampling_weight"):
        @bl.emitter(sampling_weight=1)
        def weighted(m, uv):
            return 1.0

    @bl.emitter(colour=bl.Textured(1.0))
    class misplaced:
        def sample(m, p, u):
            return m.colour

        def radiance(m, distance):
            return 1.0
    with pytest.raises(bl.ArgumentError, match="'colour' has a value in `radiance` alone"):
        bl.render(lit({"type": "misplaced"}), spp=1)
    with pytest.raises(bl.ArgumentError, match="other parameters or functions"):  # a light on a shape now
        @bl.emitter(colour=bl.Textured(1.0))
        def misplaced(m, uv):
            return 1.0


# ---- mistakes ----


def raises(kind, text, function, **parameters):
    bl.integrator(**parameters)(function)
    with pytest.raises(kind, match=text):
        shown(function.__name__)


def test_what_a_function_raises_is_raised():
    def fails(t, ray):
        raise LookupError("nothing of the kind")
    raises(LookupError, "nothing of the kind", fails)
    assert shown("replayed").any()  # all goes on


def test_mistakes():
    def truth(t, ray):
        return 1 if ray.d.x > 0 else 0
    raises(TypeError, "select, cond or while_loop", truth)

    def nothing(t, ray):
        pass
    raises(TypeError, "returns NoneType", nothing)

    def mixed(t, ray):
        return ray.d.x + tr.u32(1)
    raises(TypeError, "a float and an unsigned integer", mixed)

    def unknown(t, ray):
        return t.radius
    raises(AttributeError, "no parameter 'radius': depth", unknown, depth=1)

    def changes(t, ray):
        return tr.while_loop(lambda s: s < 1, lambda s: tr.u32(1), ray.d.x)
    raises(bl.ArgumentError, "changes its types", changes)

    def out_of_block(t, ray):
        inner = []
        tr.cond(ray.d.x < 0, lambda: inner.append(ray.d.x * 2) or 1.0, lambda: 2.0)
        return inner[0]
    raises(bl.Error, "has ended", out_of_block)

    def whole(t, ray):
        return ray.d.x // 2
    raises(TypeError, "of integers", whole)

    def vectors(t, ray):
        return ray.d + tr.Vector(1, 2)
    raises(bl.ArgumentError, "3 and 2 components", vectors)

    def surface_as_state(t, ray):
        return tr.while_loop(lambda s: s.valid, lambda s: t.closest(ray), t.closest(ray)).p
    raises(TypeError, "states and results are", surface_as_state)


def test_more_mistakes():
    def closure(t, ray):
        x = ray.d.x
        return tr.Function(lambda y: x * y)(ray.d.y)
    raises(bl.ArgumentError, "as arguments", closure)

    def asks_in_a_function(t, ray):
        return tr.Function(lambda y: y * t.scale)(ray.d.y)
    raises(bl.ArgumentError, "own function alone", asks_in_a_function, scale=2)

    def truth_of_a_vector(t, ray):
        return 1 if ray.d else 0
    raises(TypeError, "no truth", truth_of_a_vector)

    def setting(t, ray):
        return t.setting("deep")
    raises(AttributeError, "no parameter 'deep': depth", setting, depth=1)

    def place(t, ray):
        return t.random(ray.d.x)[0]
    raises(TypeError, "an unsigned integer", place)

    def pair(t, ray):
        return t.closest(ray).to_world((0, 1))
    raises(TypeError, "not a Vector of 3", pair)

    def no_text(t, ray):
        raise LookupError("\ud800")  # no UTF-8
    raises(LookupError, None, no_text)


def test_the_first_exception_is_raised():
    raised = []

    def fail(error):
        raised.append(error)
        raise error

    @bl.bsdf()
    class failing:
        def value(m, wi, wo):
            fail(ValueError("value"))

        def sample(m, wi, u):
            fail(LookupError("sample"))

        def pdf(m, wi, wo):
            fail(ArithmeticError("pdf"))
    with pytest.raises(Exception) as one:
        bl.render(ball({"type": "failing"}), spp=1)
    assert one.value is raised[0]
    with pytest.raises(type(one.value)):
        bl.render(ball({"type": "failing"}), spp=1)


def test_numbers_of_numpy_and_exact_integers():
    @bl.integrator()
    def numbers(t, ray):
        pair = np.float64(2) * ray.d - np.array([1.0, 1.0, 1.0]) * ray.d - ray.d
        return tr.Vector(pair.x, tr.f32(tr.u32(16777217) - 16777216), tr.select((ray.d == ray.d).y, 3.0, 0.0))
    np.testing.assert_allclose(shown("numbers"), np.broadcast_to([0, 1, 3], (16, 16, 3)), atol=1e-6)


def test_a_named_tuple_is_a_state():
    State = namedtuple("State", "number total")

    @bl.integrator()
    def named(t, ray):
        return tr.while_loop(lambda s: s.number < 3, lambda s: State(s.number + 1, s.total + 2), State(tr.u32(0), 0.0)).total
    assert (shown("named") == 6).all()


def test_values_end_with_their_function():
    kept = []

    @bl.integrator()
    def keeps(t, ray):
        kept.append((t, ray))
        return ray.d.x
    shown("keeps")
    t, ray = kept[0]
    for use in (lambda: ray.d.x + 1, lambda: t.closest(ray)):
        with pytest.raises(bl.ArgumentError, match="being traced"):
            use()
    with pytest.raises(bl.ClosedError, match="only in the function"):
        t._core.f32(1.0)


def test_a_function_cannot_render():
    def renders(t, ray):
        bl.render(load("path"), spp=1)
        return 0.0
    raises(bl.ArgumentError, "cannot use", renders)


def test_definitions():
    with pytest.raises(bl.ArgumentError, match="already"):
        @bl.integrator()
        def path(t, ray):
            return 0.0
    with pytest.raises(bl.ArgumentError, match="are numbers"):
        @bl.integrator(colour=bl.Textured(1))
        def coloured(t, ray):
            return 0.0
    with pytest.raises(bl.ArgumentError, match="sample and pdf belong together"):
        @bl.bsdf()
        class half:
            def value(m, wi, wo):
                return 0.0

            def pdf(m, wi, wo):
                return 0.0
    with pytest.raises(bl.ArgumentError, match="choose and coefficient"):
        @bl.bsdf()
        class no_coefficient:
            value = pdf = choose = my_diffuse
    for decorator in (bl.integrator, bl.bsdf, bl.texture, bl.emitter):
        with pytest.raises(bl.ArgumentError, match="with parentheses"):
            @decorator
            def no_parentheses(t, ray):
                return 0.0
    for unnamed in (lambda t, ray: 0.0, partial(shown, "x"), "x"):
        with pytest.raises(bl.ArgumentError, match="a name|a function or a class"):
            bl.integrator()(unnamed)
    for name in ("random", "_hidden"):
        with pytest.raises(bl.ArgumentError, match="take another name"):
            bl.integrator(**{name: 1})(shown)
    with pytest.raises(bl.ArgumentError, match="a default is a number"):
        bl.texture(name="red")(shown)


def test_a_cell_that_runs_again_replaces_its_functions():
    for grey in (0.25, 0.5):
        @bl.integrator(scale=1)
        def again(t, ray):
            return grey * t.scale
        assert np.allclose(shown("again"), grey)
    with pytest.raises(bl.ArgumentError, match="other parameters"):
        bl.integrator(scale=2)(again)


def test_nothing_is_kept_of_a_trace():
    gc.collect()
    before = len([o for o in gc.get_objects() if isinstance(o, tr.Value)])
    for _ in range(3):
        shown("replayed")
    gc.collect()
    assert len([o for o in gc.get_objects() if isinstance(o, tr.Value)]) <= before
