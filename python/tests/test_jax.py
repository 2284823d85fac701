# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Images as functions of JAX: gradients are those of a job, with and without jit; second derivatives are refused.
Runs where JAX is (scripts/setup --frameworks)."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import backlight as bl
import backlight.jax
from conftest import GREEN, RED

COLOUR = [.3, .4, .5]


def weights():
    return np.random.default_rng(1).uniform(-1, 1, (16, 16, 3)).astype(np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_image_and_gradient_are_a_jobs(box, wrap):
    w = weights()

    def loss(colour, seed):
        image = backlight.jax.render(box, {RED: colour}, spp=4, seed=seed, seed_grad=seed + 2)
        return jnp.sum(image * w), image

    (_, image), gradient = wrap(jax.value_and_grad(loss, has_aux=True))(jnp.array(COLOUR), 3)
    job = bl.Job(box, [RED])
    job[RED] = COLOUR
    assert np.asarray(image).tobytes() == job.render(4, 3).tobytes()
    assert np.asarray(gradient).tobytes() == job.gradient(w, spp=4, seed=5)[RED].tobytes()
    assert np.abs(gradient).max() > 0


def test_two_images_in_one_graph(box):
    job, w = bl.Job(box, [RED]), weights()

    def loss(colour):
        first = backlight.jax.render(job, {RED: colour}, spp=4, seed=1)
        return jnp.sum(w * backlight.jax.render(job, {RED: colour * .5}, spp=4, seed=2)) + jnp.sum(first)

    found = jax.grad(loss)(jnp.array(COLOUR))
    own = bl.Job(box, [RED])
    own[RED] = COLOUR
    expected = own.gradient(np.ones((16, 16, 3), np.float32), spp=4, seed=1)[RED]
    own[RED] = np.float32(COLOUR) * np.float32(.5)
    assert np.asarray(found) == pytest.approx(expected + .5 * own.gradient(w, spp=4, seed=2)[RED], rel=1e-4)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_mse_is_the_gradient_of_grad_target(box, wrap):
    target = bl.render(box, 64, 100)
    loss, gradient = wrap(jax.value_and_grad(lambda colour, seed: 2 * backlight.jax.mse(box, {RED: colour}, target, spp=4, seed=seed)))(
        jnp.array(COLOUR), 3)
    job = bl.Job(box, [RED])
    job[RED] = COLOUR
    expected = job.gradient(target=target, spp=4, seed=3)
    assert expected.stats["form"] == "two-walk" and float(loss) == pytest.approx(2 * expected.loss)
    assert np.asarray(gradient) == pytest.approx(2 * expected[RED], rel=1e-6)
    with pytest.raises(ValueError, match=r"\(16, 16, 3\), not \(16, 16\)"):
        backlight.jax.mse(box, {RED: COLOUR}, target[..., 0])
    with pytest.raises(NotImplementedError, match="gradients of gradients"):
        jax.grad(lambda c: jnp.sum(jax.grad(lambda k: backlight.jax.mse(box, {RED: k}, target, spp=4))(c)))(jnp.array(COLOUR))


def test_mistakes(box):
    job = bl.Job(box, [RED])

    def loss(colour):
        return jnp.sum(backlight.jax.render(box, {RED: colour}, spp=1) ** 2)

    with pytest.raises(NotImplementedError, match="gradients of gradients"):
        jax.grad(lambda c: jnp.sum(jax.grad(loss)(c)))(jnp.array(COLOUR))
    with pytest.raises(ValueError, match=r"\(3\), not \(2\)"):
        backlight.jax.render(box, {RED: [1, 2]})
    with pytest.raises(ValueError, match="missing"):
        backlight.jax.render(job, {GREEN: COLOUR})
    with pytest.raises(ValueError, match="not among"):
        backlight.jax.render(job, {RED: COLOUR, GREEN: COLOUR})
    with pytest.raises(KeyError, match="nearest"):
        backlight.jax.render(box, {"red": COLOUR})
    with pytest.raises(TypeError, match="Job or Scene"):
        backlight.jax.render(None, {RED: COLOUR})
