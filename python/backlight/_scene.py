# SPDX-License-Identifier: BSD-3-Clause
"""Scenes, and the values of their parameters."""
from __future__ import annotations

import html
import os
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _core
from ._arrays import as_choice, as_count, as_float32, as_image
from ._device import Device, as_device
from ._engine import Engine
from ._errors import ArgumentError, ParameterError
from ._library import CHOICES, context, shows_unmade

_OPTIONS = ("mode", "integrator", "sampler", "max_depth", "sensor", "lights", "edges", "silhouette", "untrusted", "guides",
            "roots", "limits")
_ENGINES = 4  # kernels and buffers that a scene keeps for render() and backlight.torch


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter of a scene."""

    name: str  # "red.reflectance.value": by the nearest id
    path: str  # the same as in Mitsuba's traverse: "box.bsdf.reflectance.value"
    shape: tuple[int, ...]  # a number (1,), a colour (3,), a bitmap (height, width, channels)
    least: float  # meaningful range, -inf and inf where there is none
    most: float
    differentiable: bool
    reason: str | None  # why not, or what its gradient lacks; None: nothing
    resizable: bool  # an image or grid
    geometry: bool  # of the camera, or positions, normals, texture coordinates of a mesh
    only_listed: bool  # poses, ellipsoids: a Job takes other values only if it is among its parameters


def scene_options(given: Mapping[str, Any] | None, defines: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What python/src/scene.cpp reads, out of what a user gives."""
    given = dict(given or {})
    unknown = [key for key in given if key not in _OPTIONS]
    if unknown:
        raise ArgumentError("options: '%s' is not one of %s" % (unknown[0], ", ".join(_OPTIONS)))
    limits = dict(given.get("limits") or {})
    for name in limits:
        as_choice(name, CHOICES["limits"], "limits")
    depth = given.get("max_depth", 0)
    texts = {key: ("true" if value else "false") if isinstance(value, bool) else str(value)
             for key, value in (defines or {}).items()}
    return {
        "defines": list(texts.items()),
        "roots": [os.fspath(root) for root in given.get("roots") or ()],
        "mode": given.get("mode"), "integrator": given.get("integrator"), "silhouette": given.get("silhouette"),
        "sampler": given.get("sampler"),
        "untrusted": bool(given.get("untrusted", False)), "guides": bool(given.get("guides", False)),
        "max_depth": -1 if depth == -1 else as_count(depth, "max_depth", 2**31 - 1),
        "sensor": as_count(given.get("sensor", 0), "sensor"),
        "lights": as_choice(given.get("lights", "auto"), CHOICES["lights"], "lights"),
        "edges": as_choice(given.get("edges", "auto"), CHOICES["edges"], "edges"),
        "limits": [as_count(limits.get(name, 0), name, 2**64 - 1) for name in CHOICES["limits"]],
    }


class Scene:
    """A scene: made by load_file, load_string or load_dict. Its parameters are changed by traverse(scene)."""

    def __init__(self, core: _core.Scene) -> None:
        self._core = core
        self._info: dict[str, Any] = core.info()
        self._values: dict[int, np.ndarray] = {}  # what differs from the file; arrays that are never written again
        self._infos: dict[int, ParameterInfo] = {}
        self._names: dict[str, int] = {}
        self._engines: OrderedDict[Any, Engine] = OrderedDict()

    @property
    def width(self) -> int:
        """Of the film, in pixels."""
        return self._info["width"]

    @property
    def height(self) -> int:
        """Of the film, in pixels."""
        return self._info["height"]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of its images: (height, width, 3), or (height, width, 1) in modes mono and mono_polarized, or as many as the
        film has bands or entries of Stokes vectors."""
        return self.height, self.width, self._info["channels"]

    @property
    def info(self) -> dict[str, Any]:
        """width, height, spp of film and sampler; integrator, max_depth, rr_depth; numbers of shapes,
        primitives, emitters, sensors, parameters."""
        return {key: value for key, value in self._info.items() if key != "warnings"}

    @property
    def warnings(self) -> list[str]:
        """What loading had to say, a line each."""
        return self._info["warnings"].splitlines()

    @property
    def channels(self) -> list[str]:
        """Names of what the image has besides RGB: "A", and those of an aov integrator ("nn.X")."""
        return self._core.channel_names()

    @property
    def bands(self) -> list[str]:
        """What the channels of its images are called where the film has bands (specfilm) or Stokes vectors (stokesfilm); none: they
        are colours."""
        return self._core.band_names()

    @property
    def shapes(self) -> list[str]:
        """Names of its shapes, by the numbers that Job.closest_hits returns."""
        return self._core.shape_names()

    @property
    def instances(self) -> list[str]:
        """Names of its instances, by the numbers that Job.closest_hits returns ("": the scene's own shapes); none
        in a scene without instances."""
        return self._core.instance_names()

    @property
    def parameters(self) -> list[ParameterInfo]:
        """All parameters, in the scene's order."""
        return [self._parameter(index) for index in range(self._info["parameters"])]

    def parameter(self, name: str) -> ParameterInfo:
        """The parameter of this name or path; ParameterError (a KeyError) names the nearest one."""
        return self._parameter(self._find(name))

    def resize(self, name: str, shape: Sequence[int], values: Any = None) -> None:
        """Gives an image or grid other sides; its number of channels stays. values: of the new shape; None:
        the present ones, interpolated. Jobs and fits of the scene must be gone."""
        index = self._find(name)
        sides = [as_count(side, "shape", 2**31 - 1) for side in shape]
        old = self._value(index)
        self._engines.clear()
        if values is None:
            new = np.empty(sides, dtype=np.float32)
            _core.resample(list(old.shape), old, sides, new)
        else:
            new = as_float32(values, sides, name)
        self._core.resize(index, sides, new)
        self._infos.pop(index, None)
        self._values.pop(index, None)

    def write(self, path: str | os.PathLike[str], image: Any) -> None:
        """Saves an image of the film, shape (height, width, 3), in the film's pixel and component format."""
        self._core.write_image(os.fspath(path), as_image(image, self.shape, "image"))

    # ---- for the other modules ----

    def _parameter(self, index: int) -> ParameterInfo:
        if index not in self._infos:
            self._infos[index] = ParameterInfo(**self._core.parameter(index))
        return self._infos[index]

    def _find(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError("the name of a parameter is needed, not %s" % type(name).__name__)
        if name not in self._names:
            try:
                self._names[name] = self._core.find(name)
            except ArgumentError as problem:
                raise ParameterError(str(problem)) from None
        return self._names[name]

    def _value(self, index: int) -> np.ndarray:
        """The present value; not to be written to."""
        if index in self._values:
            return self._values[index]
        values = np.empty(self._parameter(index).shape, dtype=np.float32)
        self._core.get(index, values)
        return values

    def _convert(self, name: str, value: Any) -> tuple[int, np.ndarray]:
        """Number and values of a parameter, checked; the values may be the user's own array."""
        index = self._find(name)
        return index, as_float32(value, self._parameter(index).shape, name, spread=True)

    def _set(self, index: int, values: np.ndarray) -> None:
        self._values[index] = values.copy()

    def _engine_for(self, device: Device | None, names: Sequence[str], **options: Any) -> Engine:
        """Kernels and buffers for these gradients; those used last are kept."""
        device = as_device(device)
        key = (device, tuple(names), tuple(sorted(options.items())))
        engine = self._engines.pop(key, None)
        if engine is None or engine.closed:
            engine = Engine(device._core, self._core, [self._find(name) for name in names], list(names), self.shape,
                            options)
        self._engines[key] = engine
        while len(self._engines) > _ENGINES:
            self._engines.popitem(last=False)
        return engine

    @shows_unmade
    def __repr__(self) -> str:
        return "<backlight.Scene %d x %d, %s, %d shapes, %d parameters>" % (
            self.width, self.height, self._info["integrator"], self._info["shapes"], self._info["parameters"])

    def _repr_html_(self) -> str:
        rows = "".join("<tr><th>%s</th><td>%s</td></tr>" % (key, html.escape(str(value)))
                       for key, value in self.info.items())
        return "<table><caption>backlight.Scene</caption>%s</table>" % rows


def load_file(path: str | os.PathLike[str], options: Mapping[str, Any] | None = None, /, **defines: Any) -> Scene:
    """Loads a scene of Mitsuba 3 (XML) or in glTF 2.0. defines: values for $key in the file (resolution=64, spp=16).

    options: `mode` ("rgb"; "mono", luminance alone; "spectral", wavelengths; "rgb_polarized"; "mono_polarized";
    "spectral_polarized"; or a variant of Mitsuba, "llvm_ad_mono"), `integrator` (a name instead of the scene's),
    `max_depth`, `sampler` ("auto": paddedsobol where the scene says independent or nothing; or a
    sampler's name), `sensor` (its number), `lights` ("auto": "tree" from ten lights on, else "weight"; "uniform",
    "power"), `edges` ("auto", "none", "projective"), `silhouette` (ids of shapes: an image of what they cover), `guides` (True: also the channels that
    guide Job.denoised), `untrusted` and `roots` (folders that may be read), `limits` (a dict)."""
    return Scene(_core.Scene(context(), os.fspath(path), "", True, scene_options(options, defines)))


def load_string(text: str, options: Mapping[str, Any] | None = None, /, *, folder: str = ".", **defines: Any) -> Scene:
    """The same for a scene's XML. folder: where the files that it names are looked for."""
    return Scene(_core.Scene(context(), text, os.fspath(folder), False, scene_options(options, defines)))


def as_scene(scene: Any) -> Scene:
    """The argument `scene` of a function."""
    if not isinstance(scene, Scene):
        raise TypeError("scene: a backlight.Scene is needed, not %s" % type(scene).__name__)
    return scene


class SceneParameters(Mapping[str, np.ndarray]):
    """The parameters of a scene by name: what traverse() returns.

    params[name] is a float32 array that may be changed in place or replaced; update() then brings what has changed
    to the scene. A number stands for all entries, and a flat array is taken in row-major order, as Mitsuba's are."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._keys = [info.name for info in scene.parameters]
        self._arrays: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        index = self._scene._find(name)
        name = self._scene._parameter(index).name
        if name not in self._arrays:
            self._arrays[name] = self._scene._value(index).copy()
        return self._arrays[name]

    def __setitem__(self, name: str, value: Any) -> None:
        index, values = self._scene._convert(name, value)
        self._arrays[self._scene._parameter(index).name] = values.copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def info(self, name: str) -> ParameterInfo:
        """Shape, range, differentiability of a parameter."""
        return self._scene.parameter(name)

    def keep(self, names: Sequence[str]) -> None:
        """Forgets all other names."""
        kept = {self._scene.parameter(name).name for name in ([names] if isinstance(names, str) else names)}
        self._keys = [name for name in self._keys if name in kept]

    def update(self, values: Mapping[str, Any] | None = None) -> list[str]:
        """Takes `values`, then brings what has changed to the scene. Returns the names that have."""
        for name, value in dict(values or {}).items():
            self[name] = value
        changed = []
        for name, array in self._arrays.items():
            index, array = self._scene._convert(name, array)
            if not np.array_equal(array, self._scene._value(index), equal_nan=True):
                self._scene._set(index, array)
                changed.append(name)
        return changed

    def __repr__(self) -> str:
        lines = ["SceneParameters["]
        for name in self._keys:
            info = self._scene.parameter(name)
            lines.append("  %s %s%s" % (name, info.shape, ", differentiable" if info.differentiable else ""))
        return "\n".join(lines + ["]"])

    def _repr_html_(self) -> str:
        head = "<tr><th>name</th><th>shape</th><th>differentiable</th><th>range</th></tr>"
        rows = ""
        for name in self._keys:
            i = self._scene.parameter(name)
            rows += "<tr><td>%s</td><td>%s</td><td title='%s'>%s</td><td>[%g, %g]</td></tr>" % (
                html.escape(name), i.shape, html.escape(i.reason or "", quote=True),
                "yes" if i.differentiable else "no", i.least, i.most)
        return "<table>%s%s</table>" % (head, rows)


def traverse(scene: Scene) -> SceneParameters:
    """The parameters of a scene: a mapping from names to arrays. See SceneParameters."""
    return SceneParameters(as_scene(scene))
