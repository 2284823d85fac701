# SPDX-License-Identifier: BSD-3-Clause
"""The one context of a process: drivers, the cache of kernels, the lock that calls of several threads wait for."""
from __future__ import annotations

import functools
import os
import threading
from pathlib import Path
from typing import Any, Callable

from . import _core

_lock = threading.Lock()
_context: _core.Context | None = None
_plugins: list[dict[str, Any]] | None = None

CHOICES: dict[str, tuple[str, ...]] = _core.choices()


def shows_unmade(text: Callable[[Any], str]) -> Callable[[Any], str]:
    """For __repr__: debuggers and tracebacks show also objects whose __init__ has failed, which lack what it would have set."""
    @functools.wraps(text)
    def shown(self: Any) -> str:
        try:
            return text(self)
        except AttributeError:
            return "<backlight.%s that could not be made>" % type(self).__name__
    return shown


def _swiftshader() -> str | None:
    """The driver in the wheel, unless the user names another one; None: the library looks for itself."""
    own = Path(__file__).parent / "swiftshader" / "libvk_swiftshader.so"
    return str(own) if not os.environ.get("BL_SWIFTSHADER") and own.is_file() else None


def context() -> _core.Context:
    global _context
    with _lock:
        if _context is None:
            _context = _core.Context(_swiftshader(), _core.kernel_cache(), os.environ.get("BL_VALIDATION", "0") not in ("", "0"))
        return _context


def plugins() -> list[dict[str, Any]]:
    """What scenes are made of: category, name, help, parameters and slots of every plugin."""
    global _plugins
    if _plugins is None:
        _plugins = _core.plugins(context())
    return _plugins


def forget_plugins() -> None:
    """A plugin has been added."""
    global _plugins
    _plugins = None
