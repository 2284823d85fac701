# SPDX-License-Identifier: BSD-3-Clause
"""What the library's result codes are in Python.

Every exception is an `Error`, and also the built-in one that fits, so that `except ValueError` works as well
as `except backlight.Error`. `result` is the name of the C library's code ("ERROR_SCENE"), the text is its
own."""
from . import _core


class Error(Exception):
    """Anything that the library refuses. `result`: the name of its code in backlight/result.h."""

    result: str = ""


class ArgumentError(Error, ValueError):
    """An argument is wrong: a shape, a size, a name, a combination of options."""


class ParameterError(ArgumentError, KeyError):
    """There is no such parameter; the text has the nearest name."""

    def __str__(self) -> str:  # KeyError would show the text in quotes
        return Exception.__str__(self)


class ClosedError(Error, ValueError):
    """The device was closed, and with it this job or fit."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class FormatError(Error, ValueError):
    """The content of a file is malformed."""


class SceneError(Error, ValueError):
    """The scene is invalid."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not implemented."""


class OutOfMemory(Error, MemoryError):
    """Out of memory, of the host or of the device."""


class DeviceError(Error, RuntimeError):
    """A driver failed, was lost, or there is none."""


class Cancelled(Error, RuntimeError):
    """A progress function has returned False."""


class LimitError(Error, ValueError):
    """More than a limit allows (option `limits` of load_file)."""


_CLASSES = {
    "ERROR_ARGUMENT": ArgumentError, "ERROR_MEMORY": OutOfMemory, "ERROR_IO": FileError,
    "ERROR_FORMAT": FormatError, "ERROR_SCENE": SceneError, "ERROR_UNSUPPORTED": UnsupportedError,
    "ERROR_NO_DEVICE": DeviceError, "ERROR_DEVICE": DeviceError, "ERROR_DEVICE_MEMORY": OutOfMemory,
    "ERROR_DEVICE_LOST": DeviceError, "ERROR_COMPILE": DeviceError, "ERROR_CANCELLED": Cancelled,
    "ERROR_BOUNDS": DeviceError, "ERROR_LIMIT": LimitError,
}


def make(code: int, text: str) -> Error:
    """The exception for a failure; code: a bl_result, or -1 where something was closed (python/src/library.h)."""
    name = "CLOSED" if code == -1 else _core.result_names().get(code, "ERROR_ARGUMENT")
    error = ClosedError(text) if code == -1 else _CLASSES.get(name, Error)(text)
    error.result = name
    return error
