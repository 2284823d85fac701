# SPDX-License-Identifier: BSD-3-Clause
"""A job of the C library together with the values that it holds now: what Job, render() and backlight.torch share."""
from __future__ import annotations

import threading
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import _core
from ._arrays import as_choice, as_count, as_options
from ._library import CHOICES

_JOB = {"accumulate": "fixed", "sensor_moves": False, "geometry_changes": False, "baking": True,
        "rays": "auto", "volume_gradient": "auto", "pixels": "uniform", "precision": "single", "guide": 0, "print_bytes": 0}


def job_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """What python/src/job.cpp reads."""
    options = as_options(given, _JOB, "Job")
    names = {key: as_choice(options[key], CHOICES[key], key) for key in ("accumulate", "rays", "volume_gradient", "pixels", "precision")}
    return {**names, "sensor_moves": bool(options["sensor_moves"]),
            "geometry_changes": bool(options["geometry_changes"]), "no_baking": not options["baking"],
            "guide": as_count(options["guide"], "guide"), "print_bytes": as_count(options["print_bytes"], "print_bytes")}


class Engine:
    """`values` everywhere: number of a parameter in the scene to an array that nobody changes any more. An array that
    is the very one of last time is not brought to the device again."""

    def __init__(self, device: _core.Device, scene: _core.Scene, indices: list[int], names: list[str],
                 shape: tuple[int, int, int], options: Mapping[str, Any]) -> None:
        known = job_options(options)
        self.core = _core.Job(device, scene, names, known)
        self.dtype = np.float64 if known["precision"] == CHOICES["precision"].index("double") else np.float32
        self.scene, self.indices, self.names, self.shape = scene, indices, names, shape
        self.shapes = [tuple(scene.parameter(index)["shape"]) for index in indices]
        self.lock = threading.RLock()  # between bringing values and using them
        self._held: dict[int, np.ndarray | None] = {}

    @property
    def closed(self) -> bool:
        return self.core.closed

    def hold(self, values: Mapping[int, np.ndarray]) -> None:
        """Brings the job's parameters to these values, and all others to the scene's file."""
        for index in [index for index, array in self._held.items() if array is not None and index not in values]:
            initial = np.empty(self.scene.parameter(index)["shape"], dtype=np.float32)
            self.scene.get(index, initial)
            self.core.set(index, initial)
            self._held[index] = None
        for index, array in values.items():
            if self._held.get(index) is not array:
                self.core.set(index, array)
                self._held[index] = array

    def render(self, image: np.ndarray, spp: int, seed: int, gradient_stream: bool,
               progress: Callable[[float], Any] | None = None, variance: np.ndarray | None = None,
               channels: np.ndarray | None = None) -> dict[str, Any]:
        """Writes into image, float32, or float64 of a job in double precision, and returns the pass's statistics."""
        doubles = image if image.dtype == np.float64 else None
        floats = image if doubles is None else np.empty(self.shape, dtype=np.float32)
        return self.core.render(spp, seed, floats, doubles, variance, channels, gradient_stream, progress)

    def gradient(self, image: np.ndarray | None, progress: Callable[[float], Any] | None, *,
                 adjoint: np.ndarray | None = None, target: np.ndarray | None = None, spp: int = 0,
                 spp_primal: int = 0, seed: int = 0, loss: str = "l2", loss_constant: float = 0.0, form: str = "auto",
                 edges: str = "auto") -> tuple[list[np.ndarray], dict[str, Any]]:
        """Gradients in the order of names, and the pass's statistics."""
        stats = self.core.gradient(adjoint, target, image, {
            "form": as_choice(form, CHOICES["form"], "form"), "loss": as_choice(loss, CHOICES["loss"], "loss"),
            "edges": as_choice(edges, CHOICES["edges"], "edges"), "loss_constant": float(loss_constant),
            "spp": spp, "spp_primal": spp_primal, "seed": seed}, progress)
        return [self._read_gradient(k, shape) for k, shape in enumerate(self.shapes)], stats

    def _read_gradient(self, k: int, shape: tuple[int, ...]) -> np.ndarray:
        if self.dtype is np.float64:
            doubles = np.empty(shape, dtype=np.float64)
            self.core.read_gradient_doubles(k, doubles)
            return doubles
        floats = np.empty(shape, dtype=np.float32)
        self.core.read_gradient(k, floats)
        return floats

    def forward(self, image: np.ndarray, tangents: Sequence[np.ndarray | None], spp: int, seed: int, edges: str,
                progress: Callable[[float], Any] | None) -> dict[str, Any]:
        return self.core.forward(list(tangents), spp, seed, as_choice(edges, CHOICES["edges"], "edges"), image, progress)
