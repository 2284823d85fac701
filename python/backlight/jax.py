# SPDX-License-Identifier: BSD-3-Clause
"""Images as functions of JAX, with gradients (custom_vjp); inside jit they are calls back to the host.

    def loss(colour, step):
        image = backlight.jax.render(scene, {"red.reflectance.value": colour}, spp=16, seed=step)
        return jnp.mean((image - target)**2)
    jax.jit(jax.value_and_grad(loss))(colour, 0)

mse() is that loss with its gradient in one pass."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from ._arrays import as_count, shape_text
from ._device import Device
from ._errors import ArgumentError
from ._job import Job
from ._pass import Pass, engine_of, scene_of
from ._scene import Scene


@dataclass(frozen=True)
class _Work:
    """What does not change between calls, so that JAX traces it once: equal where the job and settings are."""

    job: Any
    names: tuple[str, ...]
    spp: int
    spp_grad: int
    edges: str
    common: bool
    device: Device | None

    def begin(self, seeds: Any, arrays: Any) -> Pass:
        job = self.job
        engine = engine_of(job, self.names, self.device)
        seeds = np.asarray(seeds)
        counts = {"spp": self.spp, "spp_grad": self.spp_grad, "seed": int(seeds[0]), "seed_grad": int(seeds[1])}
        return Pass(engine, job._values, [np.asarray(a) for a in arrays], counts, self.edges, self.common)

    def image(self, seeds: Any, *arrays: Any) -> np.ndarray:
        return self.begin(seeds, arrays).image()

    def gradient(self, seeds: Any, weights: Any, *arrays: Any) -> tuple[np.ndarray, ...]:
        return tuple(self.begin(seeds, arrays).gradient(adjoint=np.ascontiguousarray(weights, np.float32))[0])

    def mse(self, seeds: Any, target: Any, *arrays: Any) -> tuple[np.ndarray, ...]:
        target = np.ascontiguousarray(target, np.float32)
        gradients, loss = self.begin(seeds, arrays).gradient(target=target, spp_primal=self.spp)
        return (np.asarray(loss, np.float32), *gradients)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _render(work: _Work, seeds: Any, arrays: Any) -> Any:
    return jax.pure_callback(work.image, jax.ShapeDtypeStruct(scene_of(work.job).shape, jnp.float32), seeds, *arrays,
                             vmap_method="sequential")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradient(work: _Work, seeds: Any, weights: Any, arrays: Any) -> Any:
    shapes = tuple(jax.ShapeDtypeStruct(array.shape, jnp.float32) for array in arrays)
    return jax.pure_callback(work.gradient, shapes, seeds, weights, *arrays, vmap_method="sequential")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _mse_and_gradient(work: _Work, seeds: Any, target: Any, arrays: Any) -> Any:
    shapes = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((), *(array.shape for array in arrays)))
    return jax.pure_callback(work.mse, shapes, seeds, target, *arrays, vmap_method="sequential")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _mse(work: _Work, seeds: Any, target: Any, arrays: Any) -> Any:
    return _mse_and_gradient(work, seeds, target, arrays)[0]


def _mse_forward(work: _Work, seeds: Any, target: Any, arrays: Any) -> Any:
    loss, *gradients = _mse_and_gradient(work, seeds, target, arrays)
    return loss, tuple(gradients)


def _no_second_order(work: _Work, *_: Any) -> Any:
    raise NotImplementedError("backlight.jax: gradients of gradients are not implemented")


_gradient.defvjp(_no_second_order, _no_second_order)
_mse_and_gradient.defvjp(_no_second_order, _no_second_order)
_render.defvjp(lambda work, seeds, arrays: (_render(work, seeds, arrays), (seeds, arrays)),
               lambda work, kept, weights: (None, _gradient(work, kept[0], weights, kept[1])))
_mse.defvjp(_mse_forward, lambda work, gradients, weight: (None, None, tuple(weight * g for g in gradients)))


def _prepare(job: Job | Scene, params: Mapping[str, Any], device: Device | None, spp: int, seed: Any, spp_grad: int | None,
             seed_grad: Any, edges: str, common: bool) -> tuple[_Work, Any, tuple[Any, ...]]:
    scene = scene_of(job)
    if not isinstance(params, Mapping):
        raise TypeError("params: a mapping from names to arrays is needed, not %s" % type(params).__name__)
    names = tuple(params) if isinstance(job, Scene) else job.parameters
    by_index = {scene._find(name): jnp.asarray(array, jnp.float32) for name, array in params.items()}
    for name in names:
        if scene._find(name) not in by_index:
            raise ArgumentError("params: %s of the job is missing" % name)
    if len(by_index) != len(names):
        raise ArgumentError("params: a name is not among the job's parameters, which are %s" % ", ".join(names))
    arrays = tuple(by_index[scene._find(name)] for name in names)
    for name, array in zip(names, arrays):
        shape = scene.parameter(name).shape
        if array.shape != shape:
            raise ArgumentError("%s: the shape must be %s, not %s" % (name, shape_text(shape), shape_text(array.shape)))
    spp = as_count(spp, "spp")
    work = _Work(job, names, spp, spp if spp_grad is None else as_count(spp_grad, "spp_grad"), edges,
                 bool(common), device)
    seeds = jnp.stack([jnp.asarray(seed, jnp.uint32), jnp.asarray(seed if seed_grad is None else seed_grad, jnp.uint32)])
    return work, seeds, arrays


def render(job: Job | Scene, params: Mapping[str, Any], *, spp: int = 0, seed: Any = 0, spp_grad: int | None = None,
           seed_grad: Any = None, edges: str = "auto", common_numbers: bool = False, device: Device | None = None) -> Any:
    """An image, float32 (height, width, 3), linear RGB, that JAX differentiates by `params` (in reverse mode).

    job: a Job, whose parameters are all in params, or a Scene, for which jobs are kept. params: names to arrays of
    the parameters' shapes. seed and seed_grad (of the gradient; None: the same) may be traced. The rest is as in
    backlight.torch.render. Gradients of gradients are refused."""
    return _render(*_prepare(job, params, device, spp, seed, spp_grad, seed_grad, edges, common_numbers))


def mse(job: Job | Scene, params: Mapping[str, Any], target: Any, *, spp: int = 0, seed: Any = 0,
        spp_grad: int | None = None, edges: str = "auto", device: Device | None = None) -> Any:
    """The mean squared error of the image against target, (height, width, 3), with its gradient by `params` in one
    pass: in two walks a sample instead of three where spp is even and equal to spp_grad. The loss is then an unbiased
    estimate, which may be negative. target is a constant: nothing is differentiated by it. The rest is as in render."""
    work, seeds, arrays = _prepare(job, params, device, spp, seed, spp_grad, None, edges, False)
    target, shape = jnp.asarray(target, jnp.float32), scene_of(job).shape
    if target.shape != shape:
        raise ArgumentError("target: the shape must be %s, not %s" % (shape_text(shape), shape_text(target.shape)))
    return _mse(work, seeds, jax.lax.stop_gradient(target), arrays)
