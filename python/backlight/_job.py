# SPDX-License-Identifier: BSD-3-Clause
"""Jobs: images, gradients, derivatives of images, rays; and render(), which has jobs of its own."""
from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import warnings
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from ._arrays import as_count, as_float32, as_image, as_output, as_target
from ._bitmap import Bitmap
from ._device import Device, as_device
from ._engine import Engine
from ._errors import ArgumentError
from ._library import shows_unmade
from ._progress import Bar, Progress
from ._scene import Scene, SceneParameters, as_scene

HIT = np.dtype([("t", "f4"), ("u", "f4"), ("v", "f4"), ("shape", "u4"), ("primitive", "u4"), ("instance", "u4")])


class Print(NamedTuple):
    """A message from a kernel, with the pixel and the sample that it comes from."""

    x: int
    y: int
    sample: int
    text: str


class Gradients(dict):
    """Name of a parameter to its gradient, an array of the parameter's shape. `loss`: against the target, or
    sum(W * I) with an adjoint W. `image`: of the pass, where it was asked for. `stats`: what the pass counted."""

    loss: float
    image: Bitmap | None
    stats: dict[str, Any]


def _render(engine: Engine, values: Mapping[int, np.ndarray], spp: Any, seed: Any, out: Any, progress: Progress,
            gradient_stream: bool = False, variance: np.ndarray | None = None, channels: np.ndarray | None = None
            ) -> tuple[np.ndarray, dict[str, Any]]:
    spp, seed = as_count(spp, "spp"), as_count(seed, "seed")
    image = as_output(out, engine.shape, "out", engine.dtype)
    with Bar(progress, "render") as report, engine.lock:
        engine.hold(values)
        stats = engine.render(image, spp, seed, bool(gradient_stream), report, variance, channels)
    return image, stats


class Job:
    """A scene on a device: kernels and buffers for images and for the gradients of `parameters`.

    parameters: names of traverse(scene). device: None is default_device(). Options: `rays` ("auto", "bvh",
    "query"), `pixels` ("uniform", "adjoint": gradient samples where |dL/dI| is large), `volume_gradient` ("auto",
    "replay", "drt"), `accumulate` ("fixed": the same bytes on every run; "float"), `guide` (samples per pixel from which
    it learns where light comes from, 0: none), `precision` ("single"; "double": images and gradients are float64, for
    references, on devices that have doubles), `sensor_moves`, `geometry_changes` (vertices that are not among the
    parameters will be set), `baking`, `print_bytes` (room for what an integrator of yours prints, see `prints`).

    A job starts with the scene's present values; job[name] reads and sets its own."""

    def __init__(self, scene: Scene, parameters: Sequence[str] = (), *, device: Device | None = None,
                 **options: Any) -> None:
        self.scene, self.device = as_scene(scene), as_device(device)
        if isinstance(parameters, str):
            parameters = [parameters]
        indices = [scene._find(name) for name in parameters]
        self._engine = Engine(self.device._core, scene._core, indices, list(parameters), scene.shape, options)
        self._values = dict(scene._values)
        self._stats: dict[str, Any] = {}

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that it has gradients of."""
        return tuple(self._engine.names)

    @property
    def rays(self) -> str:
        """How rays find what they hit: "baked", "bvh", "query"."""
        return self._engine.core.rays()

    @property
    def stats(self) -> dict[str, Any]:
        """Of the last pass: `seconds`, `device_seconds`, `paths`, `device_bytes`; of gradients also `drifted`,
        `non_finite`, `form`, `loss` (bl_stats in backlight.h)."""
        return dict(self._stats)

    @property
    def closed(self) -> bool:
        return self._engine.closed

    def prints(self) -> list[Print]:
        """What t.print of an integrator of yours has left in the last pass, sorted by row, column and sample. Needs the
        option print_bytes, 64 to 16777216. Warns if there were more messages than that can hold."""
        messages, more = self._engine.core.prints()
        if more:
            warnings.warn("there was no room for all messages: print_bytes is too small, or `when` too often true",
                          stacklevel=2)
        return [Print(*message) for message in messages]

    def __getitem__(self, name: str) -> np.ndarray:
        index = self.scene._find(name)
        return (self._values[index] if index in self._values else self.scene._value(index)).copy()

    def __setitem__(self, name: str, value: Any) -> None:
        index, values = self.scene._convert(name, value)
        self._values[index] = values.copy()

    def set_sensor(self, sensor: int = 0, to_world: Any = None) -> None:
        """Looks through sensor number `sensor` of the scene from now on, posed by to_world (4 x 4, camera to
        world) where it is given. Needs the option sensor_moves."""
        matrix = None if to_world is None else as_float32(to_world, (4, 4), "to_world")
        self._engine.core.set_sensor(as_count(sensor, "sensor"), matrix)

    def render(self, spp: int = 0, seed: int = 0, *, out: Any = None, gradient_stream: bool = False,
               progress: Progress = None) -> Bitmap:
        """An image, float32 (height, width, 3), linear RGB; float64 in double precision. The same seed gives the same bytes.

        spp: samples per pixel; 0: the scene's. out: an array that the library writes into instead of a new one.
        gradient_stream: with the random numbers of a gradient with this seed, not of an image."""
        image, self._stats = _render(self._engine, self._values, spp, seed, out, progress, gradient_stream)
        return image.view(Bitmap)

    def variance(self, spp: int = 0, seed: int = 0, *, progress: Progress = None) -> tuple[Bitmap, np.ndarray]:
        """The image, and the variance of one sample per pixel and channel; both (height, width, 3)."""
        variance = np.empty(self.scene.shape, dtype=np.float32)
        image, self._stats = _render(self._engine, self._values, spp, seed, None, progress, variance=variance)
        return image.view(Bitmap), variance

    def channels(self, spp: int = 0, seed: int = 0, *, progress: Progress = None) -> dict[str, Bitmap]:
        """What the image has besides RGB: Scene.channels, each (height, width). "RGB" is the image."""
        names = self.scene.channels
        more = np.empty((self.scene.height, self.scene.width, len(names)), dtype=np.float32)
        image, self._stats = _render(self._engine, self._values, spp, seed, None, progress,
                                     channels=more if names else None)
        return {"RGB": image.view(Bitmap), **{name: more[:, :, k].view(Bitmap) for k, name in enumerate(names)}}

    def denoised(self, spp: int = 0, seed: int = 0, *, progress: Progress = None) -> Bitmap:
        """An image without its noise, by Open Image Denoise 2: of the folder that BL_OIDN names, of the package pyoidn where
        that is installed, or the system's. It is biased: for looking at, not for losses. It keeps more of what there is
        to see where the scene was loaded with the option `guides`."""
        package = importlib.util.find_spec("pyoidn")
        if package and package.origin and "BL_OIDN" not in os.environ:
            with contextlib.suppress(OSError):  # then the library says what is missing
                # Once it is open, the library finds it by its name.
                ctypes.CDLL(os.path.join(os.path.dirname(package.origin), "oidn", "lib", "libOpenImageDenoise.so.2"))
        names = self.scene.channels
        more = np.empty((self.scene.height, self.scene.width, len(names)), dtype=np.float32) if names else None
        image, self._stats = _render(self._engine, self._values, spp, seed, None, progress, channels=more)
        image = image.astype(np.float32, copy=False)
        self.scene._core.denoise(image, more)
        return image.view(Bitmap)

    def gradient(self, adjoint: Any = None, target: Any = None, *, spp: int = 0, spp_primal: int = 0, seed: int = 0,
                 loss: str = "l2", loss_constant: float = 0.0, form: str = "auto", edges: str = "auto",
                 image: bool = False, progress: Progress = None) -> Gradients:
        """The gradient of sum(adjoint * image), or of a loss of the image against target; both float32
        (height, width, 3). Gradients are float32, float64 in double precision. These are the bytes of `backlight grad` with the same samples and seed.

        spp: samples per pixel of the gradient, 0: the scene's. spp_primal: of an image that is rendered first,
        where there is one; 0: spp. loss: "l2" (mean square), "l1", "relative_l2", "huber"; loss_constant: its
        epsilon or delta, 0: its default. form: "auto", "fused", "separate", "two-walk", "one-image"
        (bl_gradient_desc in backlight.h). edges: "none" leaves out edges that move. image: True returns the
        image, too."""
        if (adjoint is None) == (target is None):
            raise TypeError("gradient: either adjoint or target is needed")
        shape = self.scene.shape
        adjoint = None if adjoint is None else as_image(adjoint, shape, "adjoint")
        target = None if target is None else as_target(target, shape, "target")
        picture = np.empty(shape, dtype=np.float32) if image else None
        counts = {"spp": as_count(spp, "spp"), "spp_primal": as_count(spp_primal, "spp_primal"),
                  "seed": as_count(seed, "seed")}
        with Bar(progress, "gradient") as report, self._engine.lock:
            self._engine.hold(self._values)
            arrays, self._stats = self._engine.gradient(picture, report, adjoint=adjoint, target=target, loss=loss,
                                                        loss_constant=loss_constant, form=form, edges=edges, **counts)
        result = Gradients(zip(self._engine.names, arrays))
        result.loss, result.stats = self._stats["loss"], dict(self._stats)
        result.image = None if picture is None else picture.view(Bitmap)
        return result

    def forward(self, tangents: Mapping[str, Any] | None = None, *, spp: int = 0, seed: int = 0, edges: str = "auto",
                out: Any = None, progress: Progress = None) -> Bitmap:
        """Forward mode: the derivative of the image, (height, width, 3), along a direction of the job's
        parameters. tangents: name to values of the parameter's shape; those left out are zeros; None: ones for
        all."""
        listed: list[np.ndarray | None] = []
        if tangents is not None:
            listed = [None] * len(self._engine.names)
            for name, value in tangents.items():
                index, values = self.scene._convert(name, value)
                if index not in self._engine.indices:
                    raise ArgumentError("tangents: %s is not among the job's parameters" % name)
                listed[self._engine.indices.index(index)] = values
        spp, seed = as_count(spp, "spp"), as_count(seed, "seed")
        image = as_output(out, self.scene.shape, "out")
        with Bar(progress, "forward") as report, self._engine.lock:
            self._engine.hold(self._values)
            self._stats = self._engine.forward(image, listed, spp, seed, edges, report)
        return image.view(Bitmap)

    # ---- rays ----

    def _rays(self, rays: Any) -> np.ndarray:
        array = np.asarray(rays)
        return as_float32(array, (array.shape[0] if array.ndim else 0, 8), "rays")

    def closest_hits(self, rays: Any) -> np.ndarray:
        """The first surface that each ray meets. rays: (n, 8), origin, tmin, direction (of unit length), tmax.

        Returns n records: `t` (inf: nothing is met), `u`, `v`, `shape` (number in Scene.shapes), `primitive` (a
        mesh's face), `instance` (number in Scene.instances); numbers are 2^32 - 1 where there is none."""
        array = self._rays(rays)
        hits = np.empty(array.shape[0], dtype=HIT)
        with self._engine.lock:
            self._engine.hold(self._values)
            self._engine.core.closest_hits(array, hits.view(np.uint8))
        return hits

    def any_hits(self, rays: Any) -> np.ndarray:
        """Whether each ray, (n, 8) as in closest_hits, meets any surface: n booleans."""
        array = self._rays(rays)
        hits = np.empty(array.shape[0], dtype=bool)
        with self._engine.lock:
            self._engine.hold(self._values)
            self._engine.core.any_hits(array, hits)
        return hits

    def camera_rays(self, spp: int = 0, seed: int = 0, sample: int = 0) -> np.ndarray:
        """The camera's rays of sample number `sample` of spp of each pixel, (height * width, 8)."""
        rays = np.empty((self.scene.height * self.scene.width, 8), dtype=np.float32)
        with self._engine.lock:
            self._engine.hold(self._values)
            self._engine.core.camera_rays(as_count(spp, "spp"), as_count(seed, "seed"), as_count(sample, "sample"), rays)
        return rays

    @shows_unmade
    def __repr__(self) -> str:
        return "<backlight.Job of %r on %s, gradients of %s>" % (self.scene, self.device.name,
                                                                 ", ".join(self.parameters) or "nothing")


def render(scene: Scene, spp: int = 0, seed: int = 0, params: Mapping[str, Any] | None = None, *,
           device: Device | None = None, out: Any = None, progress: Progress = None) -> Bitmap:
    """An image of a scene with its present values: float32 (height, width, 3), linear RGB, row 0 at the top.

    spp: samples per pixel; 0: the scene's. The same seed gives the same bytes. params: what traverse(scene)
    returned, whose changes are brought to the scene first; or a dict of values that hold for this image alone.
    out: a float32 array of that shape, C-contiguous, that the library writes into instead of a new one."""
    values = as_scene(scene)._values
    if isinstance(params, SceneParameters):
        if params._scene is not scene:
            raise ArgumentError("params: these are parameters of another scene")
        params.update()
    elif params is not None:
        values = {**values, **{index: array.copy() for index, array in
                               (scene._convert(name, value) for name, value in dict(params).items())}}
    changed = [scene._parameter(index) for index in sorted(values)]
    moving = [info for info in changed if info.geometry or info.only_listed]  # no constants of the kernels
    names = [info.name for info in moving if info.differentiable]
    engine = scene._engine_for(device, names, **({"geometry_changes": True} if len(names) < len(moving) else {}))
    image, _ = _render(engine, values, spp, seed, out, progress)
    return image.view(Bitmap)
