# SPDX-License-Identifier: BSD-3-Clause
"""Fits that stay on the device: the C library's optimisers, as `backlight fit` has them."""
from __future__ import annotations

import difflib
import html
import os
import re
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core
from ._arrays import as_choice, as_count, as_float32, as_options, as_target
from ._bitmap import Bitmap
from ._device import Device, as_device
from ._errors import ArgumentError, Cancelled, Error
from ._library import CHOICES, shows_unmade
from ._progress import Bar, Progress
from ._scene import Scene, as_scene

_PARAMETER = {"rate": 0.0, "least": 0.0, "most": 0.0, "initial": None, "total_variation": 0.0, "smoothing": 0.0,
              "large_steps": 0.0, "fixed_axes": 0, "motion": "rigid", "prior": "none", "prior_weight": 0.0, "prior_centre": 0.0,
              "beta_1": 0.0, "beta_2": 0.0, "sparse": False}
_VIEW = {"target": None, "sensor": 0, "to_world": None, "held_out": False, "weights": None, "weight": 0.0}
_TERM = {"type": "l2", "constant": 0.0, "weight": 0.0, "levels": 0}
_NUMBERS = {"loss_constant": 0.0, "rate": 0.0, "beta_1": 0.0, "beta_2": 0.0, "momentum": 0.0, "alpha": 0.0, "epsilon": 0.0, "wanted_noise": 0.0}
_COUNTS = {"spp": 0, "spp_gradient": 0, "seed": 0, "first_step": 0, "batch": 0, "variance_steps": 0, "spp_least": 0,
           "average_from": 0}
_FLAGS = {"nesterov": False, "common_numbers": False, "recursive_images": False}
_NAMES = {"loss": "l2", "form": "auto", "optimizer": "adam", "rays": "auto", "volume_gradient": "auto", "pixels": "uniform"}
_AVERAGES = ("mean", "auto")


def _grouped(names: Sequence[str], groups: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What groups say of each name: field by field the last one that matches."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for pattern, settings in groups.items():
        form = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)
        matched = [name for name in names if form.fullmatch(name)]
        if not matched:
            near = difflib.get_close_matches(pattern, names, 1)
            raise ArgumentError("groups: '%s' matches none of the fit's parameters%s" % (pattern, "; did you mean '%s'?" % near[0] if near else ""))
        for name in matched:
            found[name].update(settings if isinstance(settings, Mapping) else {"rate": settings})
    return found


def _parameters(scene: Scene, given: Any, groups: Mapping[str, Any]) -> list[dict[str, Any]]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        given = {name: {} for name in given}
    found = []
    shared = _grouped(list(given), groups)
    for name, settings in given.items():
        if not isinstance(settings, Mapping):
            settings = {} if settings is None else {"rate": settings}
        p = as_options({**shared[name], **settings}, _PARAMETER, "the parameter of a fit")
        index = scene._find(name)
        start = scene._values.get(index) if p["initial"] is None else scene._convert(name, p["initial"])[1]
        numbers = {key: float(p[key]) for key in ("rate", "least", "most", "total_variation", "smoothing", "large_steps", "prior_weight",
                                                   "prior_centre", "beta_1", "beta_2")}
        found.append({"name": name, "initial": start, "motion": as_choice(p["motion"], CHOICES["motion"], "motion"),
                      "prior": as_choice(p["prior"], CHOICES["prior"], "prior"),
                      "fixed_axes": as_count(p["fixed_axes"], "fixed_axes", 7), "sparse": bool(p["sparse"]), **numbers})
    return found


def _terms(given: Any) -> list[tuple[int, float, float, int, list[float]]]:
    found = []
    if not given:
        raise ArgumentError("loss: the list of terms is empty")
    for one in given:
        t = as_options(one if isinstance(one, Mapping) else {"type": one}, _TERM, "a term of a loss")
        listed = isinstance(t["levels"], Sequence)
        found.append((as_choice(t["type"], CHOICES["loss"], "loss"), float(t["constant"]), float(t["weight"]),
                      0 if listed else as_count(t["levels"], "levels"), [float(w) for w in t["levels"]] if listed else []))
    return found


def _views(scene: Scene, target: Any, views: Any) -> list[dict[str, Any]]:
    if (target is None) == (views is None):
        raise TypeError("Fit: either target or views is needed")
    found = []
    for view in [{"target": target}] if views is None else views:
        v = as_options(view if isinstance(view, Mapping) else {"target": view}, _VIEW, "a view of a fit")
        found.append({
            "target": None if v["target"] is None else as_target(v["target"], scene.shape, "target"),
            "sensor": as_count(v["sensor"], "sensor"), "held_out": bool(v["held_out"]), "weight": float(v["weight"]),
            "weights": None if v["weights"] is None else as_float32(v["weights"], scene.shape[:2], "weights"),
            "to_world": None if v["to_world"] is None else as_float32(v["to_world"], (4, 4), "to_world")})
    return found


class Fit:
    """Changes parameters of a scene until its image is like `target`; every step stays on the device.

    parameters: a list of names, or a dict from names to learning rates or to dicts with `rate`, `least` and `most`
    (bounds; both 0: the parameter's own range), `initial` (values; else the scene's), `total_variation`,
    `smoothing`, `large_steps`, `fixed_axes`, `motion` ("rigid", "similarity", "free"), `prior` ("l2", "l1") with
    `prior_weight` and `prior_centre`, `beta_1`, `beta_2`, `sparse`. groups: a dict from patterns of names (* for any
    characters, ? for one) to such settings; later ones win, and what a parameter says itself wins over all. target:
    float32 (height, width, 3); or views: a list of targets or of dicts with `target`, `sensor`, `to_world` (4 x 4),
    `held_out`, `weights` (height, width: how much each pixel counts, 0 or above) and `weight` (of the view among the
    views).

    Options: `loss` ("l2", "l1", "relative_l2", "huber", or a weighted sum: a list of these or of dicts with `type`,
    `constant`, `weight` and `levels`, a number of levels of a pyramid or a list of their weights), `loss_constant`,
    `optimizer` ("adam", "sgd", "rmsprop"),
    `rate` (0.05), `beta_1`, `beta_2`, `momentum`, `nesterov`, `alpha`, `epsilon`, `spp` (16), `spp_gradient`,
    `seed`, `common_numbers`, `schedule` (pairs of step and factor of all rates, or with a third number that spp and
    spp_gradient are multiplied by), `batch` (pixels a step sees), `variance_steps` (noise() then
    looks at every so many steps), `wanted_noise` with `spp_least` (samples then follow from noise), `recursive_images`,
    `average_from` (settle() then makes the mean over the steps from there on the values; with `average` "auto" moves each
    value to where its gradient over these steps vanishes, as surely as that can be told), `form`, `pixels`, `rays`, `volume_gradient`, `first_step`, `baking`. bl_fit_desc in backlight.h says what they mean."""

    def __init__(self, scene: Scene, parameters: Any, target: Any = None, *, views: Sequence[Any] | None = None,
                 device: Device | None = None, schedule: Sequence[tuple[int, float] | tuple[int, float, float]] = (), baking: bool = True,
                 groups: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.scene, self.device = as_scene(scene), as_device(device)
        terms = _terms(options.pop("loss")) if isinstance(options.get("loss"), (list, tuple)) else []
        o = as_options(options, {**_NUMBERS, **_COUNTS, **_FLAGS, **_NAMES, "average": "mean"}, "Fit")
        fixed = {**{key: float(o[key]) for key in _NUMBERS}, **{key: as_count(o[key], key) for key in _COUNTS},
                 **{key: bool(o[key]) for key in _FLAGS},
                 **{key: as_choice(o[key], CHOICES[key], key) for key in _NAMES}, "no_baking": not baking,
                 "average_auto": as_choice(o["average"], _AVERAGES, "average") == _AVERAGES.index("auto")}
        listed = _parameters(scene, parameters, {} if groups is None else groups)
        self._views = _views(scene, target, views)  # with their arrays, which the fit looks at
        self.parameters: tuple[str, ...] = tuple(p["name"] for p in listed)
        self.losses: list[float] = []
        """Of every step that run() and step() have done, before the step."""
        self._warned = False
        self._core = _core.Fit(self.device._core, scene._core, listed, self._views,
                               [(as_count(step, "schedule"), float(factor), float(samples[0]) if samples else 0.)
                                for step, factor, *samples in schedule], terms, fixed)

    def step(self) -> dict[str, Any]:
        """One step. Returns the status: `step`, `loss` (before the step), `form`, `drifted`, `non_finite`, .."""
        status = self._core.step()
        self.losses.append(status["loss"])
        if (status["overflowed"] or status["skipped"]) and not self._warned:
            self._warned = True
            warnings.warn("step %d leaves out %d contributions to gradients and %d updates that are too large or not finite: "
                          "the fit may go astray" % (status["step"], status["overflowed"], status["skipped"]),
                          RuntimeWarning, stacklevel=2)
        return status

    def run(self, steps: int, *, progress: Progress = None, window: int = 0, improvement: float = 1e-3) -> Fit:
        """That many steps. Ctrl-C ends it after the step that is being done: nothing is lost, and run() goes on. window: ends
        earlier, once the mean loss of so many steps of this run is not below that of as many before by more than
        `improvement`, as a share of it, and twice its standard error (bl_loss_plateau)."""
        steps, window, first = as_count(steps, "steps"), as_count(window, "window"), len(self.losses)
        with Bar(progress, "fit") as report:
            for done in range(steps):
                self.step()
                if window and len(self.losses) >= first + 2 * window and _core.plateau(self.losses[-2 * window:], improvement):
                    break
                if report is not None and report((done + 1) / steps) is False:
                    raise Cancelled("cancelled after step %d" % self.status["step"])
        return self

    def terms(self) -> list[float]:
        """What each term of a loss that is a sum has added to the loss of the last step."""
        return self._core.terms()

    def settle(self) -> Fit:
        """Makes the values the means over all steps from `average_from` on, or what `average` says: nearer to the goal, at
        the end of a fit."""
        self._core.settle()
        return self

    def settled(self) -> dict[str, float]:
        """How far settle() has moved the values of each parameter, with `average` "auto": from 0, they are those of the last
        step, to 1, where their gradients vanish."""
        return {name: self._core.settled(k) for k, name in enumerate(self.parameters)}

    @property
    def status(self) -> dict[str, Any]:
        """What the last step returned."""
        return self._core.status()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __getitem__(self, name: str) -> np.ndarray:
        """The present values of a parameter of the fit."""
        index = self.scene._find(name)
        for k, own in enumerate(self.parameters):
            if self.scene._find(own) == index:
                values = np.empty(self.scene._parameter(index).shape, dtype=np.float32)
                self._core.get(k, values)
                return values
        raise ArgumentError("%s is not among the fit's parameters: %s" % (name, ", ".join(self.parameters)))

    def noise(self) -> dict[str, dict[str, float]]:
        """How noisy the gradient of each parameter was when it was last looked at (`variance_steps`): `step`, 0 where none
        was; `variance` of one gradient; `square` of the gradient without noise, which may be negative; means over its values."""
        return {name: self._core.noise(k) for k, name in enumerate(self.parameters)}

    def values(self) -> dict[str, np.ndarray]:
        """All parameters of the fit: traverse(scene).update(fit.values()) brings them to the scene."""
        return {name: self[name] for name in self.parameters}

    def render(self, view: int = 0, spp: int = 0, seed: int = 0, *, progress: Progress = None) -> Bitmap:
        """The image of the present values through a view, float32 (height, width, 3)."""
        image = np.empty(self.scene.shape, dtype=np.float32)
        view, spp, seed = as_count(view, "view"), as_count(spp, "spp"), as_count(seed, "seed")
        with Bar(progress, "render") as report:
            self._core.render(view, spp, seed, image, report)
        return image.view(Bitmap)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keeps all that the next steps depend on in a file; a crash at any moment leaves the old file or the new."""
        self._core.save(os.fspath(path))

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Goes on from a file of save(), in a fit of the same scene and settings: the same bytes from here on."""
        self._core.restore(os.fspath(path))

    def _state(self) -> str:
        try:
            status = self.status
        except Error as problem:  # a fit that has failed, or whose device was closed, can be shown all the same
            return str(problem)
        return "step %d, loss %.6g" % (status["step"], status["loss"])

    @shows_unmade
    def __repr__(self) -> str:
        return "<backlight.Fit of %s, %s>" % (", ".join(self.parameters), self._state())

    def _repr_html_(self) -> str:
        return "<b>backlight.Fit</b> of %s: %s" % (", ".join(self.parameters), html.escape(self._state()))
