# SPDX-License-Identifier: BSD-3-Clause
"""Images as operations of PyTorch: what is before them (networks, textures) and behind them (losses) is PyTorch's.

    colour = torch.tensor([.5, .5, .5], requires_grad=True)
    image = backlight.torch.render(job, {"red.reflectance.value": colour}, spp=16, seed=step)
    loss(image).backward()

Values go to the library where they are, if they are float32 on the host; tensors on a GPU are brought there and
back. An image is drawn again for its gradient, from random numbers of its own, so dL/dI has no bias from noise that
image and gradient share; common_numbers=True gives both the same."""
from __future__ import annotations

from typing import Any, Mapping, Sequence, Union

import numpy as np
import torch
from torch.autograd import Function

from ._arrays import as_count, as_float32, as_target
from ._device import Device
from ._errors import ArgumentError, ClosedError
from ._job import Job
from ._pass import Pass, engine_of, scene_of
from ._scene import Scene

Parameters = Union[Mapping[str, torch.Tensor], Sequence[torch.Tensor]]


def _like(array: np.ndarray, tensor: torch.Tensor) -> torch.Tensor:
    """The array as a tensor of the shape, dtype and device of another one."""
    if tensor.shape != array.shape and tensor.numel() == 1:  # one number stood for all entries
        array = array.sum(dtype=np.float64, keepdims=True).astype(np.float32)
    return torch.from_numpy(array.reshape(tuple(tensor.shape))).to(dtype=tensor.dtype, device=tensor.device)


class _Gradient(Function):
    """The gradient as an operation of its own, so that one of second order ends in an error that says why."""

    @staticmethod
    def forward(ctx: Any, work: Pass, weights: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        adjoint = as_float32(weights, work.engine.shape, "dL/dI")
        arrays, _ = work.gradient(adjoint=adjoint)
        return tuple(_like(array, tensor) for array, tensor in zip(arrays, tensors))

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> Any:
        raise NotImplementedError("backlight.torch: gradients of gradients are not implemented; "
                                  "call backward() without create_graph")


class _Render(Function):
    @staticmethod
    def forward(ctx: Any, work: Pass, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.work = work
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        image = torch.from_numpy(work.image())
        return image.to(dtype=tensors[0].dtype, device=tensors[0].device) if tensors else image

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Any:
        return (None, *_Gradient.apply(ctx.work, weights, *ctx.saved_tensors))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
        work, tensors = ctx.work, ctx.saved_tensors
        listed = [None if t is None else as_float32(t, shape, "a tangent", spread=True)
                  for t, shape in zip(tangents, work.engine.shapes)]
        return torch.from_numpy(work.forward(listed)).to(dtype=tensors[0].dtype, device=tensors[0].device)


class _Mse(Function):
    @staticmethod
    def forward(ctx: Any, work: Pass, target: np.ndarray, *tensors: torch.Tensor) -> torch.Tensor:
        arrays, loss = work.gradient(target=target, spp_primal=work.counts["spp"])
        ctx.gradients = [_like(array, tensor) for array, tensor in zip(arrays, tensors)]
        like = tensors[0]
        return torch.tensor(loss, dtype=like.dtype, device=like.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, weight: torch.Tensor) -> Any:
        return (None, None, *(weight * gradient for gradient in ctx.gradients))


def _prepare(job: Job | Scene, params: Parameters, device: Device | None, spp: int, seed: int, spp_grad: int | None,
             seed_grad: int | None, edges: str, common: bool) -> tuple[Pass, list[torch.Tensor]]:
    scene = scene_of(job)
    if isinstance(params, Mapping):
        names, tensors = list(params), list(params.values())
    elif isinstance(job, Job):
        names, tensors = list(job.parameters), list(params)
        if len(names) != len(tensors):
            raise ArgumentError("params: %d tensors for the %d parameters of the job" % (len(tensors), len(names)))
    else:
        raise TypeError("params: a mapping from names to tensors is needed with a Scene")
    for name, tensor in zip(names, tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError("%s: a tensor is needed, not %s" % (name, type(tensor).__name__))
    engine = engine_of(job, names, device)
    if isinstance(job, Job):
        listed = dict(zip((scene._find(name) for name in names), tensors))
        missing = [i for i in listed if i not in engine.indices]
        if missing:
            raise ArgumentError("params: %s is not among the job's parameters" % scene._parameter(missing[0]).name)
        tensors = [listed[i] if i in listed else torch.from_numpy(job[name])
                   for i, name in zip(engine.indices, engine.names)]
    if engine.closed:
        raise ClosedError("the device of this job was closed")
    counts = {"spp": as_count(spp, "spp"), "seed": as_count(seed, "seed")}
    counts["spp_grad"] = counts["spp"] if spp_grad is None else as_count(spp_grad, "spp_grad")
    counts["seed_grad"] = counts["seed"] if seed_grad is None else as_count(seed_grad, "seed_grad")
    return Pass(engine, job._values, tensors, counts, edges, common), tensors


def render(job: Job | Scene, params: Parameters, *, spp: int = 0, seed: int = 0, spp_grad: int | None = None,
           seed_grad: int | None = None, edges: str = "auto", common_numbers: bool = False,
           device: Device | None = None) -> torch.Tensor:
    """An image, (height, width, 3), linear RGB, that PyTorch differentiates by `params`, backward and forward.

    job: a Job, or a Scene, for which jobs are kept. params: names to tensors, or the tensors in the order of
    job.parameters; each has the parameter's shape (one number stands for all entries). The image has dtype and
    device of the first. spp, seed: of the image; spp_grad, seed_grad: of its gradient, None: the same.
    common_numbers: the image is that of the very samples that are differentiated. edges: "none" leaves out edges
    that move. device: for a Scene; a Job has its own. Gradients of gradients are refused."""
    work, tensors = _prepare(job, params, device, spp, seed, spp_grad, seed_grad, edges, common_numbers)
    return _Render.apply(work, *tensors)


def mse(job: Job | Scene, params: Parameters, target: Any, *, spp: int = 0, seed: int = 0, spp_grad: int | None = None,
        edges: str = "auto", device: Device | None = None) -> torch.Tensor:
    """The mean squared error of the image against target, (height, width, 3), with its gradient in one pass: in two
    walks a sample instead of three where spp is even and equal to spp_grad. The loss is then an unbiased estimate,
    which may be negative. The same as `backlight grad --target`."""
    work, tensors = _prepare(job, params, device, spp, seed, spp_grad, None, edges, False)
    if not tensors:
        raise ArgumentError("params: at least one tensor is needed")
    return _Mse.apply(work, as_target(target, work.engine.shape, "target"), *tensors)
