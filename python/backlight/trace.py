# SPDX-License-Identifier: BSD-3-Clause
"""What functions that become kernels are written with: integrators, materials, textures and lights of your own.

    from backlight import trace as tr

    @bl.integrator(radius=1.0)
    def ao(t, ray):
        s = t.closest(ray)
        u = t.random(1)
        open = ~t.any(s.leave(s.to_world(tr.cosine_hemisphere(u[1], u[2])), t.radius))
        return tr.select(s.valid & open, 1.0, 0.0)

Such a function runs once, while a kernel is made of what it does; it does not run for each pixel. A Value stands for a
number that the kernel will have: a float, an unsigned integer or a truth value. Python's own `if`, `for` and numbers are
decided then; what the kernel itself is to decide are select, cond and while_loop. A Vector is a tuple of Values; colours
are vectors of three, linear RGB.

Values mean something in the function that records them, and inside a body of cond, while_loop or Function there
alone."""
from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, Callable, Iterator, Sequence, Union

from . import _core
from ._errors import ArgumentError

_OPS: dict[str, tuple[int, int]] = _core.operations()
_BOOL, _I32, _U32, _F32 = 1, 2, 3, 4  # bl_ir_type
_NAMES = {_BOOL: "a truth value", _I32: "a signed integer", _U32: "an unsigned integer", _F32: "a float"}
_active = threading.local()  # .traces: what is being recorded, from the outermost function to the innermost


def _trace() -> _core.Trace:
    traces = getattr(_active, "traces", None)
    if not traces:
        raise ArgumentError("values can only be made in a function that is being traced: an integrator, a material, a texture, a light")
    return traces[-1]


@contextmanager
def recording(trace: _core.Trace) -> Iterator[None]:
    """From here on operations are recorded in this trace (what decorators use)."""
    if not hasattr(_active, "traces"):
        _active.traces = []
    _active.traces.append(trace)
    try:
        yield
    finally:
        _active.traces.pop()


class Value:
    """A number that the kernel will have. Operators: + - * / ** % and comparisons of floats and integers, & | ^ ~ of
    truth values and integers, << >> of integers. == and != give Values; there is no truth in Python's sense."""

    __slots__ = ("id", "kind", "trace")
    __array_ufunc__ = None  # NumPy's scalars leave operators to Values

    def __init__(self, id: int, kind: int) -> None:
        self.id, self.kind, self.trace = id, kind, _trace()

    def __repr__(self) -> str:
        return "<%s of a trace>" % _NAMES[self.kind]

    def __bool__(self) -> bool:
        raise TypeError("what is in a Value is not known before the kernel runs: use select, cond or while_loop, and & | ~ in "
                        "place of and, or, not")

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Value: return _unary("neg", self)
    def __abs__(self) -> Value: return _unary("abs", self)
    def __invert__(self) -> Value: return _unary("not", self)
    def __add__(self, other: Any) -> Any: return _binary("add", self, other)
    def __radd__(self, other: Any) -> Any: return _binary("add", other, self)
    def __sub__(self, other: Any) -> Any: return _binary("sub", self, other)
    def __rsub__(self, other: Any) -> Any: return _binary("sub", other, self)
    def __mul__(self, other: Any) -> Any: return _binary("mul", self, other)
    def __rmul__(self, other: Any) -> Any: return _binary("mul", other, self)
    def __truediv__(self, other: Any) -> Any: return _binary("div", self, other)
    def __rtruediv__(self, other: Any) -> Any: return _binary("div", other, self)
    def __floordiv__(self, other: Any) -> Any: return _whole("div", self, other)
    def __mod__(self, other: Any) -> Any: return _binary("mod", self, other)
    def __pow__(self, other: Any) -> Any: return _binary("pow", self, other)
    def __rpow__(self, other: Any) -> Any: return _binary("pow", other, self)
    def __lt__(self, other: Any) -> Any: return _binary("lt", self, other)
    def __le__(self, other: Any) -> Any: return _binary("le", self, other)
    def __gt__(self, other: Any) -> Any: return _binary("lt", other, self)
    def __ge__(self, other: Any) -> Any: return _binary("le", other, self)
    def __eq__(self, other: Any) -> Any: return _binary("eq", self, other)
    def __ne__(self, other: Any) -> Any: return _binary("ne", self, other)
    def __and__(self, other: Any) -> Any: return _binary("and", self, other)
    def __rand__(self, other: Any) -> Any: return _binary("and", other, self)
    def __or__(self, other: Any) -> Any: return _binary("or", self, other)
    def __ror__(self, other: Any) -> Any: return _binary("or", other, self)
    def __xor__(self, other: Any) -> Any: return _binary("xor", self, other)
    def __lshift__(self, other: Any) -> Any: return _binary("shl", self, other)
    def __rshift__(self, other: Any) -> Any: return _binary("shr", self, other)


class Vector:
    """Some Values, with operators that work on each; a number or a Value goes with every component. .x .y .z, and
    for colours .r .g .b."""

    __slots__ = ("components",)
    __array_ufunc__ = None  # NumPy's scalars and arrays leave operators to Vectors

    def __init__(self, *components: Any) -> None:
        if len(components) == 1 and isinstance(components[0], (Vector, tuple, list)):
            components = tuple(components[0])
        self.components: tuple[Value, ...] = tuple(_value(c, _F32) for c in components)

    def __repr__(self) -> str:
        return "<vector of %d values of a trace>" % len(self)

    def __bool__(self) -> bool:
        raise TypeError("a Vector has no truth: compare its components")

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return len(self.components)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.components)

    def __getitem__(self, k: int) -> Value:
        return self.components[k]

    @property
    def x(self) -> Value: return self.components[0]
    @property
    def y(self) -> Value: return self.components[1]
    @property
    def z(self) -> Value: return self.components[2]
    r, g, b = x, y, z

    def __neg__(self) -> Vector: return Vector(*(-c for c in self))
    def __abs__(self) -> Vector: return Vector(*(abs(c) for c in self))
    def __add__(self, other: Any) -> Vector: return _each("add", self, other)
    def __radd__(self, other: Any) -> Vector: return _each("add", other, self)
    def __sub__(self, other: Any) -> Vector: return _each("sub", self, other)
    def __rsub__(self, other: Any) -> Vector: return _each("sub", other, self)
    def __mul__(self, other: Any) -> Vector: return _each("mul", self, other)
    def __rmul__(self, other: Any) -> Vector: return _each("mul", other, self)
    def __truediv__(self, other: Any) -> Vector: return _each("div", self, other)
    def __rtruediv__(self, other: Any) -> Vector: return _each("div", other, self)
    def __pow__(self, other: Any) -> Vector: return _each("pow", self, other)
    def __eq__(self, other: Any) -> Vector: return _each("eq", self, other)  # type: ignore[override]
    def __ne__(self, other: Any) -> Vector: return _each("ne", self, other)  # type: ignore[override]


Number = Union[Value, int, float, bool]

# ---- operations ----


def _value(v: Any, kind: int) -> Value:
    """v as a Value of what is being recorded; a number of Python's becomes one of this kind."""
    if isinstance(v, Value):
        if v.trace is not _trace():
            raise ArgumentError("a value of another function: values mean something in the function that has recorded them; "
                                "a Function takes them as arguments")
        return v
    if isinstance(v, bool):
        return Value(_trace().boolean(v), _BOOL)
    if isinstance(v, int) and kind == _U32:
        if not 0 <= v < 2**32:
            raise ArgumentError("%d is no unsigned integer of 32 bits" % v)
        return Value(_trace().u32(v), _U32)
    if isinstance(v, (int, float)) or hasattr(v, "__float__"):
        return Value(_trace().f32(float(v)), _F32)
    raise TypeError("%s is no value of a trace and no number" % type(v).__name__)


_TRUTHS = ("eq", "ne", "lt", "le")


def _apply(name: str, *operands: Value) -> Value:
    """operands: of what is being recorded (_value)."""
    number, count = _OPS[name]
    if len(operands) != count:
        raise TypeError("%s takes %d values" % (name, count))
    a, b, c = (*(v.id for v in operands), 0, 0)[:3]
    kind = operands[1].kind if name == "select" else operands[0].kind
    if name in _TRUTHS:
        kind = _BOOL
    elif name.startswith(("to_", "bits_to_")):
        kind = {"i32": _I32, "u32": _U32, "f32": _F32}[name.rsplit("_", 1)[1]]
    return Value(_trace().op(number, a, b, c), kind)


def _unary(name: str, v: Value) -> Value:
    return _apply(name, _value(v, v.kind))


def _binary(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _each(name, a, b)
    kind = a.kind if isinstance(a, Value) else b.kind if isinstance(b, Value) else _F32
    a, b = _value(a, kind), _value(b, kind)
    if a.kind != b.kind:
        raise TypeError("%s of %s and %s: convert one of them (f32, u32)" % (name, _NAMES[a.kind], _NAMES[b.kind]))
    return _apply(name, a, b)


def _whole(name: str, a: Any, b: Any) -> Value:
    if _value(a, _U32).kind == _F32:
        raise TypeError("// is of integers; of floats floor(a / b)")
    return _binary(name, a, b)


def _each(name: str, a: Any, b: Any) -> Vector:
    a, b = (list(v) if hasattr(v, "__len__") else v for v in (a, b))  # NumPy's arrays, too
    count = len(a) if isinstance(a, list) else len(b)
    both = [v if isinstance(v, list) else [v] * count for v in (a, b)]
    if len(both[0]) != len(both[1]):
        raise ArgumentError("vectors of %d and %d components" % (len(both[0]), len(both[1])))
    return Vector(*(_binary(name, x, y) for x, y in zip(*both)))


def _mapped(name: str) -> Callable[[Any], Any]:
    def function(v: Any) -> Any:
        return Vector(*(function(c) for c in v)) if isinstance(v, Vector) else _apply(name, _value(v, _F32))
    return function


floor, sqrt, sin, cos, exp, log, acos = (_mapped(name) for name in ("floor", "sqrt", "sin", "cos", "exp", "log", "acos"))
f32, _to_u32 = _mapped("to_f32"), _mapped("to_u32")  # conversions; truth values become 0 and 1
detach = _mapped("detach")  # a constant of every derivative


def u32(v: Any) -> Any:
    """Conversion to an unsigned integer; integers of Python's are exact."""
    return _value(v, _U32) if isinstance(v, int) and not isinstance(v, bool) else _to_u32(v)


def ids_of(what: str, v: Any, count: int) -> list[int]:
    """Ids of a vector of so many floats that a user passes."""
    if not isinstance(v, (Vector, tuple, list)) or len(v) != count:
        raise TypeError("%s: %s, not a Vector of %d" % (what, "%d components" % len(v) if isinstance(v, (Vector, tuple, list))
                                                       else type(v).__name__, count))
    return [_value(c, _F32).id for c in v]


def minimum(a: Any, b: Any) -> Any:
    return _binary("min", a, b)


def maximum(a: Any, b: Any) -> Any:
    return _binary("max", a, b)


def atan2(y: Any, x: Any) -> Any:
    return _binary("atan2", y, x)


def replace_grad(value: Any, derivative: Any) -> Any:
    """The value of the one with the derivative of the other."""
    return _binary("replace_grad", value, derivative)


def select(condition: Number, a: Any, b: Any) -> Any:
    """condition ? a : b, of Values or Vectors; both are computed."""
    condition = _value(condition, _BOOL)
    if isinstance(a, Vector) or isinstance(b, Vector):
        count = len(a) if isinstance(a, Vector) else len(b)
        a, b = (v if isinstance(v, Vector) else Vector(*[v] * count) for v in (a, b))
        return Vector(*(select(condition, x, y) for x, y in zip(a, b)))
    kind = a.kind if isinstance(a, Value) else b.kind if isinstance(b, Value) else _F32
    return _apply("select", condition, _value(a, kind), _value(b, kind))


def dot(a: Vector, b: Vector) -> Value:
    total = a[0] * b[0]
    for x, y in zip(a.components[1:], b.components[1:]):
        total = total + x * y
    return total


def cross(a: Vector, b: Vector) -> Vector:
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def length(v: Vector) -> Value:
    return sqrt(dot(v, v))


def normalize(v: Vector) -> Vector:
    return v / length(v)


def reciprocal(v: Any) -> Any:
    """1 / v where v > 0, else 0: a weight over a density."""
    if isinstance(v, Vector):
        return Vector(*(reciprocal(c) for c in v))
    v = _value(v, _F32)
    return select(v > 0, 1 / select(v > 0, v, 1.0), 0.0)


def cosine_hemisphere(u1: Number, u2: Number) -> Vector:
    """A direction about the z axis, of density cos / pi, from two uniform numbers."""
    return floats(_trace().cosine_hemisphere(_value(u1, _F32).id, _value(u2, _F32).id))


def uniform_sphere(u1: Number, u2: Number) -> Vector:
    """A direction of density 1 / (4 pi), from two uniform numbers."""
    return floats(_trace().uniform_sphere(_value(u1, _F32).id, _value(u2, _F32).id))


# ---- structures of values ----


def _flatten(tree: Any, out: list[Value]) -> None:
    if isinstance(tree, (Value, bool, int, float)):
        out.append(_value(tree, _F32))
    elif isinstance(tree, (Vector, tuple, list)):
        for part in tree:
            _flatten(part, out)
    elif isinstance(tree, dict):
        for key in sorted(tree):
            _flatten(tree[key], out)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            _flatten(getattr(tree, field.name), out)
    else:
        raise TypeError("%s: states and results are values, vectors, rays, and tuples, lists and dictionaries of these"
                        % type(tree).__name__)


def _like(tree: Any, values: Iterator[Value]) -> Any:
    """The same structure of other values."""
    if isinstance(tree, (Value, bool, int, float)):
        return next(values)
    if isinstance(tree, Vector):
        return Vector(*(next(values) for _ in tree))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):  # a named tuple
        return type(tree)(*(_like(part, values) for part in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(_like(part, values) for part in tree)
    if isinstance(tree, dict):
        return {key: _like(tree[key], values) for key in sorted(tree)}
    return replace(tree, **{field.name: _like(getattr(tree, field.name), values) for field in fields(tree)})


def _flat(tree: Any) -> list[Value]:
    out: list[Value] = []
    _flatten(tree, out)
    return out


def _alike(what: str, a: list[Value], b: list[Value]) -> None:
    if [v.kind for v in a] != [v.kind for v in b]:
        raise ArgumentError("%s: [%s], then [%s]" % (what, ", ".join(_NAMES[v.kind] for v in a), ", ".join(_NAMES[v.kind] for v in b)))


# ---- control flow ----


def while_loop(condition: Callable[[Any], Value], body: Callable[[Any], Any], state: Any) -> Any:
    """While condition(state): state = body(state). The state is any structure of values, of which body returns the
    same. Named as in JAX. Numbers of Python's are floats; write Value for others: u32(0)."""
    trace, first = _trace(), _flat(state)
    loop, ids = trace.loop([v.id for v in first])
    inside = _like(state, iter([Value(id, v.kind) for id, v in zip(ids, first)]))
    trace.loop_while(_value(condition(inside), _BOOL).id)
    after = _flat(body(inside))
    _alike("while_loop: the state changes its types", first, after)
    trace.endloop(loop, [v.id for v in after])
    return _like(state, iter([Value(id, v.kind) for id, v in zip(ids, first)]))


def cond(condition: Number, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """What then() returns where the condition holds, else what otherwise() returns: structures of values of one form.
    A kernel runs only the one that it needs, unlike with select."""
    trace = _trace()
    branch = trace.begin_if(_value(condition, _BOOL).id)
    a = then()
    flat_a = _flat(a)
    trace.begin_else()
    flat_b = _flat(otherwise())
    trace.endif()
    _alike("cond: its functions return different types", flat_a, flat_b)
    return _like(a, iter([Value(trace.phi(branch, x.id, y.id), x.kind) for x, y in zip(flat_a, flat_b)]))


class Function:
    """A function of its own in the kernel, called where it is used; floats in, floats out. vjp(*arguments, *adjoints) and
    jvp(*arguments, *tangents), if given, are what reverse and forward mode do instead of differentiating the body: a
    custom operation. vjp returns an adjoint per argument, jvp a tangent per result.

        clamp = tr.Function(lambda x: tr.minimum(x, 1.0), vjp=lambda x, a: a)      # a gradient that goes on"""

    def __init__(self, body: Callable[..., Any], vjp: Callable[..., Any] | None = None,
                 jvp: Callable[..., Any] | None = None) -> None:
        self.body, self.vjp, self.jvp = body, vjp, jvp
        self.name: str = getattr(body, "__name__", "function").strip("<>") or "function"

    def _record(self, body: Callable[..., Any], count: int) -> tuple[_core.Trace, Any, int]:
        trace, ids = _trace().function(self.name, [_F32] * count)
        with recording(trace):
            result = body(*(Value(id, _F32) for id in ids))
            flat = _flat(result)
            for v in flat:
                if v.kind != _F32:
                    raise TypeError("%s: a Function returns floats, not %s" % (self.name, _NAMES[v.kind]))
            trace.returns([v.id for v in flat])
        return trace, result, len(flat)

    def __call__(self, *arguments: Number) -> Any:
        given = [_value(a, _F32) for a in arguments]
        for v in given:
            if v.kind != _F32:
                raise TypeError("%s: a Function takes floats, not %s" % (self.name, _NAMES[v.kind]))
        target, result, count = self._record(self.body, len(given))
        others = [self._record(f, len(given) + n)[0] if f else None
                  for f, n in ((self.jvp, len(given)), (self.vjp, count))]
        if any(others):
            target.custom(*others)
        ids = _trace().call(target, [v.id for v in given], count)
        return _like(result, iter([Value(id, _F32) for id in ids]))


def backward(outputs: Any, adjoints: Any) -> None:
    """Reverse mode, here: carries the adjoints dL/d(outputs), of the same structure, back to the scene's parameters
    that the outputs depend on. Through loops that only add to their states; others are an error."""
    flat, seeds = _flat(outputs), _flat(adjoints)
    _alike("backward: outputs and adjoints differ", flat, seeds)
    _trace().backward([v.id for v in flat], [v.id for v in seeds], [])


def vector_of(what: str, result: Any) -> list[int]:
    """Ids of a colour or a vector that a user's function returns; a number is a grey."""
    if isinstance(result, (Value, int, float)):
        result = Vector(*[result] * 3)
    if isinstance(result, (tuple, list)):
        result = Vector(*result)
    if not isinstance(result, Vector) or len(result) != 3:
        found = "%d values" % len(result) if isinstance(result, Vector) else type(result).__name__
        raise TypeError("%s returns %s, not a Vector of three or a Value" % (what, found))
    return [(_value(v, _F32) if v.kind == _F32 else f32(v)).id for v in result]


def floats(ids: Sequence[int]) -> Vector:
    """A Vector of floats by their ids."""
    return Vector(*(Value(id, _F32) for id in ids))
