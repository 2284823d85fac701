# SPDX-License-Identifier: BSD-3-Clause
"""Integrators, materials, textures and lights that are written in Python (backlight.trace), as plugins of scenes."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from . import _core
from . import _library as library
from . import trace as tr
from ._errors import ArgumentError
from .trace import Value, Vector, floats, recording, vector_of


class Textured:
    """The default of a parameter that scenes may give as a number, a colour or a texture: in [0, 1], of a light from 0 on."""

    def __init__(self, default: Any = 0.5, help: str = "") -> None:
        self.default, self.help = default, help


class Ranged:
    """The default of a number with its least and greatest value."""

    def __init__(self, default: float, least: float, most: float, help: str = "") -> None:
        self.default, self.least, self.most, self.help = default, least, most, help


def _preset(value: Any) -> str:
    numbers = value if isinstance(value, (tuple, list)) else (value,)
    return ", ".join(repr(float(number)) for number in numbers)


def _parameter(name: str, default: Any) -> tuple[str, bool, str, float, float, str]:
    if isinstance(default, Textured):
        return name, True, _preset(default.default), 0.0, 1.0, default.help
    if isinstance(default, Ranged):
        return name, False, _preset(default.default), float(default.least), float(default.most), default.help
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        raise ArgumentError("parameter '%s': a default is a number, Ranged or Textured, not %s" % (name, type(default).__name__))
    return name, False, _preset(default), 0.0, 0.0, ""


# ---- what a user's function is given ----


def _asked(core: _core.Trace) -> _core.Trace:
    """The scene and the parameters are asked in the plugin's own function."""
    if tr._trace() is not core:
        raise ArgumentError("the scene and the parameters are asked in the plugin's own function alone, by what this call "
                            "of it is given: pass a Function what it needs as arguments")
    return core


class _Parameters:
    """A user's function sees the plugin's parameters as attributes: t.radius."""

    def __init__(self, core: _core.Trace, names: tuple[str, ...], textured: tuple[bool, ...], uv: Vector | None) -> None:
        self._core, self._names, self._textured, self._uv = core, names, textured, uv

    def _index(self, name: str) -> int:
        if name.startswith("_") or name not in self._names:
            raise AttributeError("there is no parameter '%s': %s" % (name, ", ".join(self._names) or "there is none"))
        return self._names.index(name)

    def __getattr__(self, name: str) -> Any:
        k = self._index(name)
        if not self._textured[k]:
            return Value(_asked(self._core).number(k), tr._F32)
        if self._uv is None:
            raise ArgumentError("the texture '%s' has a value in `radiance` alone, which knows the place" % name)
        return floats(_asked(self._core).texture(k, self._uv.x.id, self._uv.y.id))


class _Printing(_Parameters):
    """Of what may leave messages: integrators, and materials and textures in images."""

    def print(self, format: str, *values: tr.Number, when: tr.Number = True) -> None:
        """Where `when`, leaves a message for Job.prints(), with the pixel and the sample. format has a {} for each value,
        numbers and booleans, 16 at most. Jobs without the option print_bytes record nothing of it."""
        ids = [tr._value(v, tr._U32 if isinstance(v, int) and v >= 0 else tr._F32).id for v in values]
        _asked(self._core).print(tr._value(when, tr._BOOL).id, format, ids)


@dataclass
class Ray:
    """Where it begins, its direction (a unit vector of the world), and how far it goes."""

    o: Vector
    d: Vector
    tmax: Value


def _ray(ray: Ray) -> tuple[list[int], list[int], int]:
    if not isinstance(ray, Ray):
        raise TypeError("a ray is needed, as s.leave gives it, not %s" % type(ray).__name__)
    return tr.ids_of("a ray's origin", ray.o, 3), tr.ids_of("a ray's direction", ray.d, 3), tr._value(ray.tmax, tr._F32).id


@dataclass
class Surface:
    """What a ray has met. Where `valid` is false the other values may be anything. It can be the state of no loop; its
    numbers can."""

    valid: Value
    distance: Value  # along the ray
    p: Vector  # in the world
    ng: Vector  # geometric normal
    ns: Vector  # shading normal
    uv: Vector
    _core: Any = field(repr=False)
    _id: int = field(repr=False)

    def leave(self, d: Vector, tmax: tr.Number = 1e30) -> Ray:
        """The ray from here in direction d that does not meet the surface at once."""
        o, d_ids, _ = _asked(self._core).leave(self._id, tr.ids_of("leave", d, 3))
        return Ray(floats(o), floats(d_ids), tr._value(tmax, tr._F32))

    def to_local(self, v: Vector) -> Vector:
        """A vector of the world in the frame of the shading normal, its z axis."""
        return floats(_asked(self._core).to_local(self._id, tr.ids_of("to_local", v, 3)))

    def to_world(self, v: Vector) -> Vector:
        return floats(_asked(self._core).to_world(self._id, tr.ids_of("to_world", v, 3)))

    def emission(self) -> Vector:
        """What the surface sends back along the ray; where the ray has met nothing, what the sky sends."""
        return floats(_asked(self._core).emission(self._id))

    def emission_pdf(self) -> Value:
        """The density with which sample_light, where the ray began, finds that light; 0 where there is none."""
        return Value(_asked(self._core).emission_pdf(self._id), tr._F32)

    def sample_bsdf(self, u: Vector) -> BsdfDraw:
        """Samples the material, from u[0], u[1], u[2] of t.random."""
        id, d, pdf, delta, eta = _asked(self._core).bsdf_sample(self._id, tr.ids_of("sample_bsdf", list(u)[:3], 3))
        return BsdfDraw(floats(d), Value(pdf, tr._F32), Value(delta, tr._BOOL), Value(eta, tr._F32), self._core, id)

    def bsdf(self, d: Vector) -> Vector:
        """The material's value times |cos| for light from direction d, discrete lobes left out."""
        return floats(_asked(self._core).bsdf_value(self._id, tr.ids_of("bsdf", d, 3)))

    def bsdf_pdf(self, d: Vector) -> Value:
        """The density with which sample_bsdf finds d."""
        return Value(_asked(self._core).bsdf_pdf(self._id, tr.ids_of("bsdf_pdf", d, 3)), tr._F32)

    def sample_light(self, u: Vector) -> LightDraw:
        """Chooses a light and a point on it, from u[0], u[1], u[2] of t.random."""
        id, d, distance, pdf, delta = _asked(self._core).light_sample(self._id, tr.ids_of("sample_light", list(u)[:3], 3))
        return LightDraw(floats(d), Value(distance, tr._F32), Value(pdf, tr._F32), Value(delta, tr._BOOL), self._core, id)


@dataclass
class BsdfDraw:
    """A direction that a material has sampled."""

    d: Vector  # leads away from the surface
    pdf: Value  # per solid angle; of a discrete lobe its probability; 0: there is no sample
    delta: Value  # of a discrete lobe, which nothing else finds
    eta: Value  # index of refraction on the side of d over that of the other side; 1: reflection
    _core: Any = field(repr=False)
    _id: int = field(repr=False)

    def value(self) -> Vector:
        """The material's value times |cos|: of a discrete lobe its coefficient, else the sum of the others."""
        return floats(_asked(self._core).bsdf_drawn(self._id))


@dataclass
class LightDraw:
    """A point on a light, or a direction to a light that is far away."""

    d: Vector  # from the surface
    distance: Value
    pdf: Value  # per solid angle, times the probability of the light's choice; 0: there is no light
    delta: Value  # no ray meets the light
    _core: Any = field(repr=False)
    _id: int = field(repr=False)

    def seen(self, wanted: tr.Number = True) -> Value:
        """Whether nothing is in between; where not `wanted` no ray is traced, and the answer is false."""
        return Value(_asked(self._core).light_seen(self._id, tr._value(wanted, tr._BOOL).id), tr._BOOL)

    def radiance(self) -> Vector:
        """What it sends toward the surface, whether it is seen or not."""
        return floats(_asked(self._core).light_radiance(self._id))


class Tracer(_Printing):
    """What an integrator's function is given: the scene to ask, and the integrator's numbers as attributes."""

    def setting(self, name: str) -> float:
        """A number of the integrator as a Python float: for a loop that is unrolled."""
        return _asked(self._core).setting(self._index(name))

    def random(self, place: tr.Number) -> Vector:
        """Four uniform numbers in [0, 1): [0] alone, [1] and [2] a pair, [3] alone. place: 1, 2, 3, .. The same place
        gives the same numbers each time; path replay rests on that."""
        where = tr._value(place, tr._U32)
        if where.kind != tr._U32:
            raise TypeError("random: a place is an unsigned integer (u32), not %s" % tr._NAMES[where.kind])
        return floats(_asked(self._core).random(where.id))

    def closest(self, ray: Ray) -> Surface:
        """The first surface that the ray meets."""
        id, valid, distance, p, ng, ns, uv = _asked(self._core).closest(*_ray(ray))
        return Surface(Value(valid, tr._BOOL), Value(distance, tr._F32), floats(p), floats(ng), floats(ns), floats(uv),
                       self._core, id)

    def any(self, ray: Ray) -> Value:
        """Whether the ray meets something."""
        return Value(_asked(self._core).any(*_ray(ray)), tr._BOOL)

    def suspend(self, on: bool = True) -> bool:
        """From here on values of materials and radiance of lights have no derivatives (on), or have them again. Returns
        what it was before."""
        return _asked(self._core).suspend(on)


# ---- adding ----


@dataclass
class _Added:
    same: Any  # what has to be the same when it is defined again: parameters, and which functions there are
    capsule: Any


_added: dict[tuple[str, str], _Added] = {}


def _add(kind: str, name: str, help: str, parameters: dict[str, Any], functions: dict[str, Callable[..., Any]],
         transmits: bool = False, through: bool = False) -> None:
    """Adds a plugin, or, as when the cell of a notebook runs again, puts other functions behind one of before."""
    table = [_parameter(key, default) for key, default in parameters.items()]
    if kind == "emitter":  # colours of lights are emission, which has no upper bound
        table = [(key, textured, preset, least, 0.0 if textured else most, about)
                 for key, textured, preset, least, most, about in table]
    for key in parameters:
        if key.startswith("_") or hasattr(Tracer if kind == "integrator" else _Printing, key):
            raise ArgumentError("%s: a parameter cannot be called '%s': take another name" % (name, key))
    before = _added.get((kind, name))
    same = table, transmits, through, sorted(functions)
    if before is None:
        capsule = _core.add_plugin(library.context(), kind, name, help, table, transmits, through, functions)
        _added[kind, name] = _Added(same, capsule)
        library.forget_plugins()
    elif before.same == same:
        _core.exchange_plugin(before.capsule, functions)
    else:
        raise ArgumentError("there is a plugin '%s' with other parameters or functions already: take another name, or start Python again" % name)


def _functions_of(definition: Any, single: str, allowed: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """A function is the one that every plugin of the kind needs; a class has several."""
    name = getattr(definition, "__name__", None)
    if not callable(definition) or not isinstance(name, str):
        raise ArgumentError("a function or a class is needed, whose name is the plugin's, not %s" % type(definition).__name__)
    if not (name.isascii() and name.isidentifier()):
        raise ArgumentError("%s: scenes need a name of letters, digits and _: write it with def or class" % name)
    if not isinstance(definition, type):
        return {single: definition}
    found = {key: getattr(definition, key) for key in dir(definition)
             if not key.startswith("_") and callable(getattr(definition, key))}
    unknown = [key for key in found if key not in allowed]
    if single not in found or unknown:
        raise ArgumentError("%s has the functions %s; it needs %s, and may have %s" %
                            (definition.__name__, ", ".join(found) or "none", single, ", ".join(allowed)))
    return found


def _decorator(kind: str, used: tuple[Any, ...], decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What the decorator's call returns; without a call it has been given the definition itself."""
    if used:
        raise ArgumentError("write @bl.%s(), with parentheses" % kind)
    return decorate


def _names(parameters: dict[str, Any]) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    return tuple(parameters), tuple(isinstance(default, Textured) for default in parameters.values())


def integrator(*without: Any, **parameters: Any) -> Callable[[Any], Any]:
    """Makes an integrator of a function radiance(t, ray), which returns the radiance that arrives along the ray (a Vector,
    or a Value as grey), or of a class with the functions radiance(t, ray) and adjoint(t, ray, dL). parameters are numbers
    with their defaults, attributes of t (a Tracer). Scenes know it by the function's or class's name: in <integrator
    type="NAME">, in load_dict, as the option `integrator`.

    Gradients: values of materials and radiance of lights have derivatives, all else decides the path and has none. Without
    `adjoint` the library goes backward through `radiance`, which does where loops only add to their states. `adjoint` is
    path replay (Vicini, Speierer, Jakob 2021, listings 1 and 2): it walks the same path by the same random numbers,
    calls trace.backward at each vertex, and returns the radiance."""
    def decorate(definition: Any) -> Any:
        found = _functions_of(definition, "radiance", ("radiance", "adjoint"))
        names, textured = _names(parameters)
        name = definition.__name__
        if any(textured):
            raise ArgumentError("%s: an integrator's parameters are numbers" % name)

        def given(core: _core.Trace, o: list[int], d: list[int], tmax: int) -> tuple[Tracer, Ray]:
            return Tracer(core, names, textured, None), Ray(floats(o), floats(d), Value(tmax, tr._F32))

        def radiance(core: _core.Trace, *ray: Any) -> list[int]:
            with recording(core):
                return vector_of(name, found["radiance"](*given(core, *ray)))

        def adjoint(core: _core.Trace, o: list[int], d: list[int], tmax: int, dL: list[int]) -> list[int]:
            with recording(core):
                t, ray = given(core, o, d, tmax)
                if "adjoint" in found:
                    return vector_of(name + ".adjoint", found["adjoint"](t, ray, floats(dL)))
                result = vector_of(name, found["radiance"](t, ray))
                tr.backward(floats(result), floats(dL))
                return result

        _add("integrator", name, definition.__doc__ or "", parameters, {"radiance": radiance, "adjoint": adjoint})
        return definition
    return _decorator("integrator", without, decorate)


@dataclass
class BsdfChoice:
    """The direction that a material with discrete lobes has chosen."""

    wo: Vector
    pdf: tr.Number  # of a discrete lobe the probability with which it was chosen; else the density per solid angle, pdf
    discrete: tr.Number = True
    lobe: tr.Number = 0  # the number of the discrete lobe: from 0 on, or THROUGH
    eta: tr.Number = 1.0  # index of refraction on the side of wo over that on the side of wi; 1: reflection


THROUGH = 0x40000000  # the lobe that goes straight on, as if there were no surface


def bsdf(*without: Any, transmits: bool = False, through: bool = False, **parameters: Any) -> Callable[[Any], Any]:
    """Makes a material of a function value(m, wi, wo): the BSDF times |cos(wo)|, as a Vector or a Value; or of a class with
    value and, together, sample(m, wi, u), which gives a direction from three uniform numbers, and pdf(m, wi, wo), its
    density per solid angle, which must not be 0 where value is not. Without these, directions are sampled by the
    cosine, and value is taken on the side of the normal alone. wi and wo are unit vectors in the frame of the shading
    normal, its z axis, and lead away from the surface. parameters are attributes of m; they are parameters of scenes
    and differentiable: numbers, or Textured. transmits: light goes to the other side, too.

    A material with discrete lobes (a mirror, smooth glass, holes) has choose(m, wi, u), a BsdfChoice, in place of sample,
    and coefficient(m, wi, lobe), what the lobe of this number passes on, which is differentiated. value and pdf are of
    what is not discrete. The probability of a lobe must not be 0 where its coefficient is, or may become, other than 0.
    leads(m, wi, lobe), if given, is where a lobe leads, as choose goes but differentiated, so that gradients follow
    what turns it. through: one of the lobes is THROUGH; transmits goes with it."""
    def decorate(definition: Any) -> Any:
        found = _functions_of(definition, "value", ("value", "sample", "pdf", "choose", "coefficient", "leads"))
        names, textured = _names(parameters)
        name = definition.__name__
        discrete, sampled = "choose" in found, "sample" in found or "choose" in found
        if sampled != ("pdf" in found) or (discrete and "sample" in found):
            raise ArgumentError("%s: sample and pdf belong together, or choose and pdf" % name)
        if discrete != ("coefficient" in found) or ("leads" in found and not discrete):
            raise ArgumentError("%s: choose and coefficient belong together; leads is for them" % name)
        if (transmits or through) and not sampled:
            raise ArgumentError("%s: what transmits needs sample or choose, and pdf" % name)

        def parameters_of(core: _core.Trace, uv: list[int]) -> _Printing:
            return _Printing(core, names, textured, floats(uv))

        def above(wi: Vector, wo: Vector, v: Any, else_: float = 0.0) -> Any:
            return tr.select((wi.z > 0) & (wo.z > 0), v, else_)

        def sample(core: _core.Trace, wi: list[int], uv: list[int], u: list[int]) -> list[int]:
            with recording(core):
                numbers = floats(u)
                if not sampled:
                    return vector_of(name, tr.cosine_hemisphere(numbers[1], numbers[2]))
                return vector_of(name + ".sample", found["sample"](parameters_of(core, uv), floats(wi), numbers))

        def choose(core: _core.Trace, wi: list[int], uv: list[int], u: list[int]) -> list[int]:
            with recording(core):
                c = found["choose"](parameters_of(core, uv), floats(wi), floats(u))
                if not isinstance(c, BsdfChoice):
                    raise TypeError("%s.choose returns %s, not a BsdfChoice" % (name, type(c).__name__))
                parts = ((c.pdf, tr._F32), (c.discrete, tr._BOOL), (c.lobe, tr._U32), (c.eta, tr._F32))
                return vector_of(name + ".choose", c.wo) + [tr._value(v, kind).id for v, kind in parts]

        def coefficient(core: _core.Trace, wi: list[int], uv: list[int], lobe: int) -> list[int]:
            with recording(core):
                return vector_of(name, found["coefficient"](parameters_of(core, uv), floats(wi), Value(lobe, tr._U32)))

        def leads(core: _core.Trace, wi: list[int], uv: list[int], lobe: int) -> list[int]:
            with recording(core):
                return vector_of(name, found["leads"](parameters_of(core, uv), floats(wi), Value(lobe, tr._U32)))

        def pdf(core: _core.Trace, wi: list[int], wo: list[int], uv: list[int]) -> int:
            with recording(core):
                i, o = floats(wi), floats(wo)
                if not sampled:
                    return above(i, o, o.z * 0.3183098861837907).id
                return tr._value(found["pdf"](parameters_of(core, uv), i, o), tr._F32).id

        def value(core: _core.Trace, wi: list[int], wo: list[int], uv: list[int]) -> list[int]:
            with recording(core):
                i, o, m = floats(wi), floats(wo), parameters_of(core, uv)
                if sampled:
                    return vector_of(name, found["value"](m, i, o))
                # Below the surface value is asked as if above it: an undefined number there, as of a power of a
                # negative number, would be one of the derivative, too, although it is not chosen.
                up = [Vector(d.x, d.y, above(i, o, d.z, 1.0)) for d in (i, o)]
                return vector_of(name, above(i, o, floats(vector_of(name, found["value"](m, *up)))))

        functions: dict[str, Callable[..., Any]] = {"pdf": pdf, "value": value}
        functions.update({"choose": choose, "coefficient": coefficient} if discrete else {"sample": sample})
        if "leads" in found:
            functions["leads"] = leads
        _add("bsdf", name, definition.__doc__ or "", parameters, functions, transmits, through)
        return definition
    return _decorator("bsdf", without, decorate)


def texture(*without: Any, **parameters: Any) -> Callable[[Any], Any]:
    """Makes a texture of a function eval(m, uv), which returns a colour. parameters as of bsdf."""
    def decorate(definition: Any) -> Any:
        found = _functions_of(definition, "eval", ("eval",))
        names, textured = _names(parameters)
        name = definition.__name__

        def evaluate(core: _core.Trace, uv: list[int]) -> list[int]:
            with recording(core):
                place = floats(uv)
                return vector_of(name, found["eval"](_Printing(core, names, textured, place), place))

        _add("texture", name, definition.__doc__ or "", parameters, {"eval": evaluate})
        return definition
    return _decorator("texture", without, decorate)


def emitter(*without: Any, **parameters: Any) -> Callable[[Any], Any]:
    """Makes a light of a function radiance(m, uv): what a point of a shape emits to the side of its normals, as a Vector or a
    Value. It stands in a <shape>, whose points are sampled alike. Other lights are classes, of one of two kinds:

    A light that no ray meets, at a place or afar, has radiance(m, distance), what arrives at a surface that faces it at
    this distance, and sample(m, p, u), where it is seen from p: a unit vector and the distance, or the vector alone
    if it is farther than the scene is large.

    A sky, of which a scene has one, has sample(m, p, u), a direction from two uniform numbers; pdf(m, d), its density
    per solid angle, not 0 where the sky is not dark; locate(m, d), two numbers by which radiance(m, uv) knows the direction.

    parameters as of bsdf, but colours have no upper bound. radiance is differentiated by them; where samples go is not.
    Every light has a sampling_weight besides."""
    def decorate(definition: Any) -> Any:
        found = _functions_of(definition, "radiance", ("radiance", "sample", "pdf", "locate"))
        names, textured = _names(parameters)
        name = definition.__name__
        sky, sampled = "pdf" in found or "locate" in found, "sample" in found
        if sky and not all(key in found for key in ("sample", "pdf", "locate")):
            raise ArgumentError("%s: a sky needs sample, pdf and locate" % name)

        def anywhere(core: _core.Trace) -> _Parameters:
            return _Parameters(core, names, textured, None)

        def density(core: _core.Trace, d: list[int]) -> int:
            return tr._value(found["pdf"](anywhere(core), floats(d)), tr._F32).id

        def sample(core: _core.Trace, p: list[int], u: list[int]) -> list[int]:
            with recording(core):
                result = found["sample"](anywhere(core), floats(p), floats(u))
                afar = sky or isinstance(result, Vector)
                d = tr.ids_of(name + ".sample", result if afar else tuple(result)[0], 3)
                return d + [0 if afar else tr._value(tuple(result)[1], tr._F32).id, density(core, d) if sky else 0]

        def pdf(core: _core.Trace, d: list[int]) -> int:
            with recording(core):
                return density(core, d)

        def locate(core: _core.Trace, d: list[int]) -> list[int]:
            with recording(core):
                return tr.ids_of(name + ".locate", found["locate"](anywhere(core), floats(d)), 2)

        def radiance(core: _core.Trace, uv: list[int], distance: int) -> list[int]:
            with recording(core):
                place = floats(uv)
                where = Value(distance, tr._F32) if sampled and not sky else place
                return vector_of(name, found["radiance"](_Parameters(core, names, textured, place), where))

        functions: dict[str, Callable[..., Any]] = {"radiance": radiance}
        if sampled:
            functions["sample"] = sample
        if sky:
            functions.update(pdf=pdf, locate=locate)
        _add("emitter", name, definition.__doc__ or "", parameters, functions)
        return definition
    return _decorator("emitter", without, decorate)
