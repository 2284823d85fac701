# SPDX-License-Identifier: BSD-3-Clause
"""4 x 4 matrices for to_world, made and combined as Mitsuba's ScalarTransform4f."""
from __future__ import annotations

import math
from typing import Any, Sequence, Union

import numpy as np

Numbers = Union[float, Sequence[float], np.ndarray]


class _Maker:
    """Transform.translate(..) begins with the identity, t.translate(..) with t."""

    def __get__(self, instance: Any, owner: type) -> Any:
        start = instance if instance is not None else owner()
        return lambda *args, **named: start @ Transform(self.make(*args, **named))

    def __init__(self, make: Any) -> None:
        self.make = make
        self.__doc__ = make.__doc__


def _vector(value: Numbers, what: str) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(3, array)
    if array.shape != (3,):
        raise ValueError("%s: three numbers are needed, not %s" % (what, array.shape))
    return array


def _unit(value: Numbers, what: str) -> np.ndarray:
    array = _vector(value, what)
    length = float(np.linalg.norm(array))
    if not length > 0 or not math.isfinite(length):
        raise ValueError("%s: a direction is needed, not %s" % (what, array.tolist()))
    return array / length


def _translate(v: Numbers) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = _vector(v, "translate")
    return matrix


def _scale(v: Numbers) -> np.ndarray:
    return np.diag([*_vector(v, "scale"), 1.0])


def _rotate(axis: Numbers, angle: float) -> np.ndarray:
    x, y, z = _unit(axis, "rotate")
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    matrix, a = np.eye(4), np.array([x, y, z])
    matrix[:3, :3] = c * np.eye(3) + s * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) + (1 - c) * np.outer(a, a)
    return matrix


def _look_at(origin: Numbers, target: Numbers, up: Numbers) -> np.ndarray:
    matrix = np.eye(4)
    forward = _unit(_vector(target, "target") - _vector(origin, "origin"), "look_at")
    left = _unit(np.cross(_vector(up, "up"), forward), "look_at")
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2] = left, np.cross(forward, left), forward
    matrix[:3, 3] = _vector(origin, "origin")
    return matrix


class Transform:
    """A 4 x 4 matrix, row-major, that acts on columns. `a @ b` is b first, then a; so t.translate(v) translates
    before what t does, as in Mitsuba 3.

    Transform(matrix), Transform.translate(v), .scale(v), .rotate(axis, angle in degrees),
    .look_at(origin, target, up); each also on an instance."""

    translate, scale, rotate, look_at = _Maker(_translate), _Maker(_scale), _Maker(_rotate), _Maker(_look_at)

    def __init__(self, matrix: Any = None) -> None:
        self.matrix = np.eye(4) if matrix is None else np.array(getattr(matrix, "matrix", matrix), dtype=np.float64)
        if self.matrix.shape != (4, 4):
            raise ValueError("a 4 x 4 matrix is needed, not %s" % (self.matrix.shape,))

    def __matmul__(self, other: Any) -> Transform:
        return Transform(self.matrix @ Transform(other).matrix)

    def inverse(self) -> Transform:
        return Transform(np.linalg.inv(self.matrix))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.matrix, dtype=dtype)

    def __repr__(self) -> str:
        return "Transform(%s)" % np.array2string(self.matrix, separator=", ", prefix="Transform(")
