# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Images as operations of PyTorch: gradients are those of a job, in any graph; gradcheck passes; second derivatives
are refused. Runs where PyTorch is (scripts/setup --frameworks)."""
import numpy as np
import pytest
import torch

import backlight as bl
import backlight.torch
from conftest import CORNELL, GREEN, LIGHT, RED, run_page


def tensor(values, **more):
    return torch.tensor(values, requires_grad=True, **more)


def test_image_and_gradient_are_a_jobs(box):
    red, light = tensor([.3, .4, .5]), tensor([9., 8, 7])
    weights = torch.rand(16, 16, 3, generator=torch.Generator().manual_seed(1))
    image = backlight.torch.render(box, {RED: red, LIGHT: light}, spp=4, seed=3, seed_grad=5)
    (image * weights).sum().backward()
    job = bl.Job(box, [RED, LIGHT])
    job[RED], job[LIGHT] = [.3, .4, .5], [9, 8, 7]
    assert image.detach().numpy().tobytes() == job.render(4, 3).tobytes()
    expected = job.gradient(weights, spp=4, seed=5)
    assert red.grad.numpy().tobytes() == expected[RED].tobytes() and red.grad.abs().max() > 0
    assert light.grad.numpy().tobytes() == expected[LIGHT].tobytes()


def test_several_images_in_one_graph(box):
    """The same job twice with other values, and another job: each backward pass has its own values again."""
    job, other = bl.Job(box, [RED]), bl.Job(box, [GREEN])

    def loss(red, green):
        a = backlight.torch.render(job, [red], spp=4, seed=1)
        b = backlight.torch.render(job, {RED: red * .5}, spp=4, seed=2)
        c = backlight.torch.render(other, [green], spp=4, seed=3)
        return a.square().sum() + 3 * b.square().sum() + (a * c).sum()

    red, green = tensor([.6, .4, .2]), tensor([.2, .4, .6])
    loss(red, green).backward()
    own = bl.Job(box, [RED, GREEN])

    def part(values, seed):
        own[RED] = values
        return own.render(4, seed)

    a, b = part([.6, .4, .2], 1), part([.3, .2, .1], 2)
    third = bl.Job(box, [GREEN])
    third[GREEN] = [.2, .4, .6]
    c = third.render(4, 3)
    one = bl.Job(box, [RED])
    one[RED] = [.6, .4, .2]
    first = one.gradient(2 * a + c, spp=4, seed=1)[RED]
    one[RED] = [.3, .2, .1]
    second = one.gradient(6 * b, spp=4, seed=2)[RED]
    assert red.grad.numpy() == pytest.approx(first + .5 * second, rel=1e-4)
    assert green.grad.numpy() == pytest.approx(third.gradient(a, spp=4, seed=3)[GREEN], rel=1e-4)


def test_gradcheck(box):
    """Of the very samples: the image is a polynomial of the colours along paths that stay."""
    def image(red, light):
        return backlight.torch.render(box, {RED: red, LIGHT: light}, spp=2, seed=7, common_numbers=True)

    red, light = tensor([.6, .4, .2], dtype=torch.float64), tensor([9., 8, 7], dtype=torch.float64)
    assert torch.autograd.gradcheck(image, (red, light), eps=2e-2, atol=2e-3, rtol=2e-2, nondet_tol=0.0, fast_mode=True)
    rows = torch.autograd.functional.jacobian(lambda r: image(r, light).mean(), red)
    step = torch.tensor([0, .02, 0], dtype=torch.float64)
    slope = (image(red + step, light).mean() - image(red - step, light).mean()) / .04
    assert float(rows[1]) == pytest.approx(float(slope), rel=1e-2) and abs(float(slope)) > 1e-4


def test_forward_mode(box):
    import torch.autograd.forward_ad as forward
    red, tangent = torch.tensor([.6, .4, .2]), torch.tensor([1., 0, -1])
    with forward.dual_level():
        image = backlight.torch.render(box, {RED: forward.make_dual(red, tangent)}, spp=4, seed=3)
        derivative = forward.unpack_dual(image).tangent
    job = bl.Job(box, [RED])
    job[RED] = [.6, .4, .2]
    assert derivative.numpy().tobytes() == job.forward({RED: [1, 0, -1]}, spp=4, seed=3).tobytes()


def test_second_order_is_refused(box):
    red = tensor([.3, .4, .5])
    loss = backlight.torch.render(box, {RED: red}, spp=4).square().sum()
    first, = torch.autograd.grad(loss, red, create_graph=True)
    with pytest.raises(NotImplementedError, match="gradients of gradients"):
        first.sum().backward()


def test_mse_is_the_gradient_of_grad_target(box):
    target = bl.render(box, 64, 100)
    red = tensor([.3, .4, .5])
    loss = backlight.torch.mse(box, {RED: red}, target, spp=4, seed=3)
    (2 * loss).backward()
    job = bl.Job(box, [RED])
    job[RED] = [.3, .4, .5]
    expected = job.gradient(target=target, spp=4, seed=3)
    assert expected.stats["form"] == "two-walk" and float(loss) == pytest.approx(expected.loss)
    assert red.grad.numpy() == pytest.approx(2 * expected[RED], rel=1e-6)


def fit_seed(seed, step):
    """Of the step that comes after `step` steps of a fit (src/api/fit_views.c, view_seed)."""
    return ((seed * 0x9E3779B1 + step) * 0x85EBCA77 + 0x27D4EB2F) % 2**32


def test_adam_of_torch_ends_where_fit_does():
    """The same seeds as bl.Fit, the same optimiser: the same colours of both walls to rounding."""
    scene = bl.load_file(CORNELL, resolution=32, max_depth=5)
    target = bl.render(scene, 256, 1000)
    fit = bl.Fit(scene, {name: {"initial": [.5, .5, .5]} for name in (RED, GREEN)}, target, spp=8, rate=.02, seed=9).run(50)
    walls = {name: tensor([.5, .5, .5]) for name in (RED, GREEN)}
    adam = torch.optim.Adam(walls.values(), lr=.02)
    losses = []
    for step in range(50):
        adam.zero_grad()
        loss = backlight.torch.mse(scene, walls, target, spp=8, seed=fit_seed(9, step))
        loss.backward()
        adam.step()
        with torch.no_grad():
            for wall in walls.values():
                wall.clamp_(0, 1)
        losses.append(float(loss))
    assert losses == pytest.approx(fit.losses, rel=1e-3, abs=1e-5)
    for name in (RED, GREEN):
        assert walls[name].detach().numpy() == pytest.approx(fit[name], abs=1e-4)
        assert np.abs(fit[name] - .5).max() > .2


def test_numbers_shapes_and_types(box):
    one = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    image = backlight.torch.render(box, {LIGHT: one}, spp=4)
    image.sum().backward()
    assert image.dtype == torch.float64 and one.grad.shape == () and float(one.grad) > 0
    job = bl.Job(box, [RED, GREEN])
    only = backlight.torch.render(job, {GREEN: tensor([.1, .2, .3])}, spp=4)  # the other keeps the job's value
    assert only.shape == (16, 16, 3)
    with pytest.raises(ValueError, match="1 tensors for the 2"):
        backlight.torch.render(job, [one])
    with pytest.raises(ValueError, match="not among the job's parameters"):
        backlight.torch.render(job, {LIGHT: one})
    with pytest.raises(TypeError, match="a tensor is needed"):
        backlight.torch.render(job, {RED: [1, 2, 3]})
    with pytest.raises(ValueError, match=r"\(3\), not \(2\)"):
        backlight.torch.render(job, [tensor([1., 2]), tensor([1., 2, 3])])
    with pytest.raises(KeyError, match="nearest"):
        backlight.torch.render(box, {"red": one})
    with pytest.raises(TypeError, match="Job or Scene"):
        backlight.torch.render(None, {RED: one})


def test_networks(box):
    """A network that makes the colour learns through the image."""
    torch.manual_seed(1)
    target = torch.from_numpy(np.array(bl.render(box, 64, 100)))
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3), torch.nn.Sigmoid())
    adam = torch.optim.Adam(network.parameters(), lr=.05)
    for step in range(30):
        adam.zero_grad()
        red = network(torch.ones(2))
        image = backlight.torch.render(box, {RED: red}, spp=8, seed=2 * step, seed_grad=2 * step + 1)
        (image - target).square().mean().backward()
        adam.step()
    assert network(torch.ones(2)).detach().numpy() == pytest.approx([.61, .06, .07], abs=.1)


def test_manual(monkeypatch, tmp_path):
    colour = run_page("docs/python.md", monkeypatch, tmp_path, "torch")["colour"]
    assert colour.detach().numpy() == pytest.approx([.61, .06, .07], abs=.1)
