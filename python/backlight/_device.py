# SPDX-License-Identifier: BSD-3-Clause
"""Devices: what scenes are rendered on."""
from __future__ import annotations

import html
import os
import threading
from typing import Any

from . import _core
from ._library import context, shows_unmade

_lock = threading.Lock()
_default: Device | None = None


def devices() -> list[dict[str, Any]]:
    """What there is to render on, the fastest kind first.

    Each has `name`, `kind` ("discrete", "integrated", "native", "lavapipe", "swiftshader", "other"), `driver`,
    `vulkan` (version, three numbers; zeros for the native device), `ray_query`, `max_allocation` (bytes)."""
    return context().devices()


class Device:
    """An open device.

    selector: "auto" (the best Vulkan device), "native" (this processor, without Vulkan), "swiftshader",
    "lavapipe", or part of a device's name. None: BL_DEVICE where it is set, else a GPU, else the native device,
    else whatever there is. `with Device(..) as device:` closes it at the end."""

    def __init__(self, selector: str | None = None) -> None:
        if selector is not None and not isinstance(selector, str):
            raise TypeError("selector: a name is needed, not %s" % type(selector).__name__)
        self._core = _core.Device(context(), _preferred() if selector is None else selector)
        self._info = self._core.info()

    @property
    def name(self) -> str:
        return self._info["name"]

    @property
    def kind(self) -> str:
        return self._info["kind"]

    @property
    def info(self) -> dict[str, Any]:
        """As in devices()."""
        return dict(self._info)

    @property
    def stats(self) -> dict[str, Any]:
        """`bytes_allocated` and `bytes_peak` on the device, `dispatches`, `pipelines_created`,
        `compile_seconds` in the driver."""
        return self._core.stats()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def close(self) -> None:
        """Frees the device, and all jobs and fits on it. They then raise ClosedError."""
        self._core.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @shows_unmade
    def __repr__(self) -> str:
        return "<backlight.Device %s%s>" % (self.name, ", closed" if self.closed else "")

    def _repr_html_(self) -> str:
        rows = "".join("<tr><th>%s</th><td>%s</td></tr>" % (key, html.escape(str(value)))
                       for key, value in self._info.items())
        return "<table><caption>backlight.Device</caption>%s</table>" % rows


def _preferred() -> str:
    named = os.environ.get("BL_DEVICE")
    if named:
        return named
    kinds = [device["kind"] for device in devices()]
    return "native" if "native" in kinds and not {"discrete", "integrated"} & set(kinds) else "auto"


def default_device() -> Device:
    """The device that is taken where none is named: Device(), opened once."""
    global _default
    with _lock:
        if _default is None or _default.closed:
            _default = Device()
        return _default


def as_device(device: Device | None) -> Device:
    """The argument `device` of a function; None: default_device()."""
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise TypeError("device: a backlight.Device is needed, not %s" % type(device).__name__)
    return device
