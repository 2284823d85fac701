# SPDX-License-Identifier: BSD-3-Clause
"""An image and its derivatives as one operation of a framework: what it needs of its job, now and in its backward
pass, when the job may have other values. backlight.torch and backlight.jax are on this."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from ._arrays import as_float32
from ._engine import Engine
from ._job import Job
from ._scene import Scene


def scene_of(job: Any) -> Scene:
    """The argument `job` of a framework's function is a Job or a Scene: the scene of either."""
    if not isinstance(job, (Job, Scene)):
        raise TypeError("job: a backlight.Job or Scene is needed, not %s" % type(job).__name__)
    return job if isinstance(job, Scene) else job.scene


def engine_of(job: Job | Scene, names: Sequence[str], device: Any) -> Engine:
    """A Job has its engine; a Scene keeps some, for names and device."""
    return job._engine_for(device, names) if isinstance(job, Scene) else job._engine


class Pass:
    """counts: `spp`, `seed` of the image, `spp_grad`, `seed_grad` of its gradient. common: the image is that of the
    very samples that are differentiated."""

    def __init__(self, engine: Engine, values: Mapping[int, np.ndarray], arrays: Sequence[Any],
                 counts: Mapping[str, int], edges: str, common: bool) -> None:
        self.engine, self.counts, self.edges, self.common = engine, counts, edges, common
        self.values = dict(values)
        for name, index, shape, array in zip(engine.names, engine.indices, engine.shapes, arrays):
            self.values[index] = as_float32(array, shape, name, spread=True).copy()

    def image(self) -> np.ndarray:
        image = np.empty(self.engine.shape, dtype=np.float32)
        with self.engine.lock:
            self.engine.hold(self.values)
            kind = "_grad" if self.common else ""
            self.engine.render(image, self.counts["spp" + kind], self.counts["seed" + kind], self.common)
        return image

    def gradient(self, **what: Any) -> tuple[list[np.ndarray], float]:
        with self.engine.lock:
            self.engine.hold(self.values)
            arrays, stats = self.engine.gradient(None, None, edges=self.edges, seed=self.counts["seed_grad"],
                                                 spp=self.counts["spp_grad"], **what)
        return [array.astype(np.float32, copy=False) for array in arrays], stats["loss"]

    def forward(self, tangents: Sequence[np.ndarray | None]) -> np.ndarray:
        image = np.empty(self.engine.shape, dtype=np.float32)
        with self.engine.lock:
            self.engine.hold(self.values)
            self.engine.forward(image, tangents, self.counts["spp_grad"], self.counts["seed_grad"], self.edges, None)
        return image
