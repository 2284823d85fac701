# SPDX-License-Identifier: BSD-3-Clause
"""Bars for long work: shown in notebooks and at the prompt, never in scripts unless they ask."""
from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Callable, Union

Progress = Union[None, bool, Callable[[float], Any]]

_WIDTH = 24
_PATIENCE = 0.5  # seconds before a bar appears


def _interactive() -> bool:
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


class Bar:
    """`with Bar(progress, "render") as report:` report is None, or takes the share that is done, in [0, 1].

    progress: None shows a bar in interactive sessions, True always, False never; a function is called instead,
    about ten times a second, and cancels the work where it returns False."""

    def __init__(self, progress: Progress, label: str) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError("progress: True, False, None or a function is needed, not %s" % type(progress).__name__)
        self._function = progress if callable(progress) else None
        self._shown = progress if isinstance(progress, bool) else _interactive()
        self._label, self._began, self._drawn = label, 0.0, 0

    def __enter__(self) -> Callable[[float], Any] | None:
        self._began = time.monotonic()
        if self._function:
            return self._function
        return self._draw if self._shown else None

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()

    def _draw(self, done: float) -> None:
        seconds = time.monotonic() - self._began
        if seconds < _PATIENCE and not self._drawn:
            return
        full = int(_WIDTH * min(max(done, 0.0), 1.0))
        left = ", %.0f s left" % (seconds * (1 - done) / done) if 0 < done < 1 else ""
        line = "%s %3.0f%% |%s%s| %.1f s%s" % (self._label, 100 * done, "#" * full, " " * (_WIDTH - full), seconds, left)
        sys.stderr.write("\r" + line.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = max(self._drawn, len(line))
