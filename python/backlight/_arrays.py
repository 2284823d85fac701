# SPDX-License-Identifier: BSD-3-Clause
"""From what users bring to what the library takes: arrays that it reads and writes in place (float32, row-major, in
the host's memory), numbers, names, options."""
from __future__ import annotations

import operator
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from ._errors import ArgumentError

_HOST = (1, 3, 11)  # DLPack's device types of memory that the host can read: CPU, pinned by CUDA, by ROCm


def as_array(value: Any, what: str) -> np.ndarray:
    """The array without a copy where there is one: NumPy's own, the buffer protocol, DLPack."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] not in _HOST:
            raise TypeError("%s: the array is on another device; bring it to the host first (.cpu())" % what)
        if hasattr(value, "detach"):  # PyTorch hands out no array that is part of a graph
            value = value.detach()
    try:
        return np.asarray(value)
    except Exception as problem:
        raise TypeError("%s: %s is no array (%s)" % (what, type(value).__name__, problem)) from None


def shape_text(shape: Iterable[int]) -> str:
    return "(" + ", ".join(str(side) for side in shape) + ")"


def as_float32(value: Any, shape: Sequence[int], what: str, spread: bool = False) -> np.ndarray:
    """value as float32 of this shape; itself where it is such an array.

    Floating-point and integer numbers are converted; complex numbers, booleans and text are a TypeError, another
    shape is an ArgumentError (a ValueError). spread: one number stands for all entries, and a flat array of the
    right length is taken in row-major order."""
    array = as_array(value, what)
    if array.dtype.kind not in "fiu":
        raise TypeError("%s: numbers are needed, not dtype %s" % (what, array.dtype))
    shape = tuple(shape)
    if spread and array.ndim == 0:
        array = np.full(shape, array, dtype=np.float32)
    elif spread and array.ndim == 1 and array.size == int(np.prod(shape)):
        array = array.reshape(shape)
    if array.shape != shape:
        raise ArgumentError("%s: the shape must be %s, not %s" % (what, shape_text(shape), shape_text(array.shape)))
    return np.ascontiguousarray(array, dtype=np.float32)


def as_image(value: Any, shape: Sequence[int] | None, what: str) -> np.ndarray:
    """The same for an image of linear values, where whole numbers are a mistake more often than not. shape: None is
    the image's own."""
    array = as_array(value, what)
    if array.dtype.kind in "iu" and array.size:
        raise TypeError("%s: linear values of float32 are needed, not %s (Bitmap reads and converts files)"
                        % (what, array.dtype))
    return as_float32(array, array.shape if shape is None else shape, what)


def as_target(value: Any, shape: Sequence[int], what: str) -> np.ndarray:
    """The same for a target, in colour also where the scene's mode is mono: then its luminance. A grey stays exactly
    that grey."""
    array = as_array(value, what)
    if shape[2] != 1 or array.ndim != 3 or array.shape[2] != 3:
        return as_image(array, shape, what)
    rgb = as_image(array, (*shape[:2], 3), what)
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    luminance = green + (np.float32(0.212671) * (red - green) + np.float32(0.072169) * (blue - green))
    return np.ascontiguousarray(luminance[..., None])


def as_output(value: Any, shape: Sequence[int], what: str, dtype: type = np.float32) -> np.ndarray:
    """An array that the library is to write into: of this dtype, C-contiguous and writable, or an error that says what
    it is not. None: a new one."""
    shape = tuple(shape)
    if value is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(value, np.ndarray):
        try:
            array = np.from_dlpack(value)
        except Exception as problem:
            raise TypeError("%s: %s cannot be written to (%s)" % (what, type(value).__name__, problem)) from None
    else:
        array = value
    if array.dtype != dtype:
        raise TypeError("%s: the dtype must be %s, not %s" % (what, np.dtype(dtype), array.dtype))
    if array.shape != shape:
        raise ArgumentError("%s: the shape must be %s, not %s" % (what, shape_text(shape), shape_text(array.shape)))
    if not array.flags.c_contiguous:
        raise ArgumentError("%s: the array must be C-contiguous; its strides are %s" % (what, array.strides))
    if not array.flags.writeable:
        raise ArgumentError("%s: the array is read-only" % what)
    return array


def as_count(value: Any, what: str, most: int = 2**32 - 1) -> int:
    """A whole number in [0, most]."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError("%s: a whole number is needed, not %s" % (what, type(value).__name__)) from None
    if not 0 <= number <= most:
        raise ArgumentError("%s: %d is not in [0, %d]" % (what, number, most))
    return number


def as_choice(value: Any, names: Sequence[str], what: str) -> int:
    """The number of a name that the library knows."""
    if isinstance(value, str) and value in names:
        return names.index(value)
    if isinstance(value, str) and value.replace("_", "-") in names:
        return names.index(value.replace("_", "-"))
    if not isinstance(value, str):
        raise TypeError("%s: a name is needed (%s), not %s" % (what, ", ".join(names), type(value).__name__))
    raise ArgumentError("%s: '%s' is not one of %s" % (what, value, ", ".join(names)))


def as_options(given: Mapping[str, Any], known: Mapping[str, Any], what: str) -> dict[str, Any]:
    """What is given, and the values of known for the rest."""
    for key in given:
        if key not in known:
            raise TypeError("%s has no option '%s'; it has %s" % (what, key, ", ".join(known)))
    return {**known, **given}
