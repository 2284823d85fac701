# SPDX-License-Identifier: BSD-3-Clause
"""Scenes out of nested dictionaries, as Mitsuba's load_dict takes them; by way of the C library's builder.

A dictionary with a "type" is a plugin; the library's own table says of which category it is, and where one name is
of two, the parent's parameter decides. Entries are properties and objects inside; keys of the outermost scene
become ids, as in Mitsuba, and an inner "id" does, too."""
from __future__ import annotations

import os
from typing import Any, Mapping, NamedTuple

import numpy as np

from . import _core
from ._arrays import as_array, as_float32, as_image, shape_text
from ._errors import ArgumentError, SceneError
from ._library import context, plugins
from ._scene import Scene, scene_options

_GRIDS = ("bitmap", "data", "grid")  # Mitsuba's names for values in place of a file
_INPUTS = {"colour or texture": "texture", "colour or volume": "volume"}
_DEPTH = 64  # of objects in objects; deeper is a dictionary that holds itself


class _Made(NamedTuple):
    object: _core.Object
    category: str


class _Making:
    def __init__(self) -> None:
        self.core = _core.Builder(context())
        self.named: dict[str, _Made] = {}
        self.categories: dict[str, list[str]] = {}
        self.types: dict[tuple[str, str], dict[str, str]] = {}
        self.slots: dict[tuple[str, str], list[str]] = {}
        for plugin in plugins():
            self.categories.setdefault(plugin["name"], []).append(plugin["category"])
            self.types[plugin["category"], plugin["name"]] = {p["name"]: p["type"] for p in plugin["parameters"]}
            self.slots[plugin["category"], plugin["name"]] = plugin["slots"]

    # ---- objects ----

    def category(self, kind: str, wanted: str | None, where: str) -> str:
        found = self.categories.get(kind, [])
        if not found:
            raise SceneError("%s: there is no plugin \"%s\"" % (where, kind))
        if len(found) == 1:
            return found[0]
        return wanted if wanted in found else next(c for c in found if c != "texture")

    def make(self, d: Mapping[str, Any], id: str | None, wanted: str | None, where: str, depth: int) -> _Made:
        if depth > _DEPTH:
            raise SceneError("%s: more than %d objects in objects" % (where, _DEPTH))
        kind = d.get("type")
        if not isinstance(kind, str):
            raise SceneError("%s: a dictionary needs a \"type\"" % where)
        id = d.get("id", id)
        if id is not None and not isinstance(id, str):
            raise TypeError("%s: an id is a string, not %s" % (where, type(id).__name__))
        rest = {key: value for key, value in d.items() if key not in ("type", "id")}
        if kind == "mesh":
            category, made = "shape", self.mesh(rest, id, where)
        else:
            category = self.category(kind, wanted, where)
            made = self.core.object(category, kind, id)
        if id is not None:
            self.named[id] = _Made(made, category)
        types = self.types[category, kind]
        for key in [key for key in _GRIDS if key in rest and key not in types and "filename" in types]:
            self.grid(made, rest.pop(key), 2 if category in ("texture", "emitter") else 3, "%s.%s" % (where, key))
        self.fill(made, rest, (category, kind), where, depth)
        return _Made(made, category)

    def mesh(self, d: dict[str, Any], id: str | None, where: str) -> _core.Object:
        """A mesh from arrays: `positions` (n, 3), `faces` (m, 3), `normals` (n, 3), `uvs` (n, 2)."""
        def rows(name: str, width: int, count: int | None = None) -> np.ndarray | None:
            value = d.pop(name, None)
            if value is None:
                return None
            array = np.atleast_1d(as_array(value, where + "." + name))
            if array.ndim == 1 and array.size % width == 0:
                array = array.reshape(-1, width)
            return as_float32(array, (len(array) if count is None else count, width), where + "." + name)
        positions, faces = rows("positions", 3), d.pop("faces", None)
        if positions is None or faces is None:
            raise SceneError("%s: a mesh needs \"positions\" and \"faces\"" % where)
        corners = as_array(faces, where + ".faces")
        if corners.dtype.kind not in "iu" or corners.size % 3:
            raise TypeError("%s.faces: three whole numbers a face are needed" % where)
        if corners.size and (corners.min() < 0 or corners.max() >= 2**32):
            raise ArgumentError("%s.faces: numbers of vertices are in [0, %d)" % (where, len(positions)))
        return self.core.mesh(id, positions, np.ascontiguousarray(corners.reshape(-1, 3), dtype=np.uint32),
                              rows("normals", 3, len(positions)), rows("uvs", 2, len(positions)))

    def grid(self, made: _core.Object, value: Any, sides: int, where: str) -> None:
        """In place of a file: pixels, (height, width) or (height, width, channels), or voxels, (z, y, x) or (z, y, x,
        channels)."""
        array = as_image(value, None, where)
        if array.ndim == sides:
            array = array[..., None]
        if array.ndim != sides + 1:
            raise ArgumentError("%s: the shape must be %s, not %s" % (
                where, "(height, width, channels)" if sides == 2 else "(z, y, x, channels)", shape_text(array.shape)))
        made.grid("filename", array, [*array.shape[sides - 1::-1], *[1] * (3 - sides), array.shape[sides]])

    # ---- properties ----

    def fill(self, made: _core.Object, d: Mapping[str, Any], plugin: tuple[str, str], where: str, depth: int) -> None:
        types, slots = self.types[plugin], self.slots[plugin]
        for key, value in d.items():
            if not isinstance(key, str):
                raise TypeError("%s: a key is a string, not %s" % (where, type(key).__name__))
            here = "%s.%s" % (where, key)
            if isinstance(value, Mapping) and value.get("type") not in ("rgb", "spectrum"):
                child = (self.reference(value, here) if value.get("type") == "ref" else
                         self.make(value, None, _INPUTS.get(types.get(key, "")), here, depth + 1))
                named = (key in types or slots.count(child.category) > 1  # "interior", "exterior"
                         or plugin[0] == "film" and child.category == "texture")  # bands
                made.add(key if named else None, child.object)
            else:
                self.property(made, key, value, types.get(key, ""), here)

    def reference(self, d: Mapping[str, Any], where: str) -> _Made:
        name = d.get("id")
        if name not in self.named:
            raise SceneError("%s: there is no object \"%s\" before this one" % (where, name))
        return self.named[name]

    def property(self, made: _core.Object, key: str, value: Any, kind: str, where: str) -> None:
        if isinstance(value, Mapping):
            self.colour(made, key, value, where)
        elif isinstance(value, (bool, np.bool_)):
            made.flag(key, bool(value))
        elif isinstance(value, (int, np.integer)) and "float" not in kind and "colour" not in kind:
            made.integer(key, int(value))
        elif isinstance(value, (int, float, np.integer, np.floating)):
            made.number(key, float(value))
        elif isinstance(value, (str, os.PathLike)):
            made.text(key, os.fspath(value))
        else:
            self.numbers(made, key, value, kind, where)

    def colour(self, made: _core.Object, key: str, d: Mapping[str, Any], where: str) -> None:
        """{"type": "rgb", "value": three numbers or one}, {"type": "spectrum", "value": one number or pairs}, or
        {"type": "spectrum", "wavelengths": [..], "values": [..]}; wavelengths in nm."""
        pairs = ("wavelengths", "values") if "wavelengths" in d else ("value",)
        unknown = set(d) - {"type", *pairs}
        if unknown:
            raise SceneError("%s: \"%s\" is not known of a %s" % (where, min(map(str, unknown)), d["type"]))
        try:
            rows = [np.asarray(as_array(d.get(name, ()), where), dtype=np.float64) for name in pairs]
        except ValueError:  # a text
            raise SceneError("%s: \"%s\" must be numbers, such as [1, 2, 3]" % (where, "\", \"".join(pairs))) from None
        value = rows[0] if len(rows) == 1 else np.stack(np.broadcast_arrays(*rows), axis=-1)
        if d["type"] == "spectrum" and value.ndim == 0:
            made.spectrum(key, [], [float(value)])
        elif d["type"] == "spectrum" and value.ndim == 2 and value.shape[1] == 2:
            made.spectrum(key, value[:, 0].tolist(), value[:, 1].tolist())
        elif d["type"] == "spectrum":
            raise SceneError("%s: \"value\" must be a number or pairs of wavelength and value" % where)
        elif value.ndim == 0:
            made.number(key, float(value))
        elif value.shape == (3,):
            made.color(key, *value.tolist())
        else:
            raise SceneError("%s: \"value\" must be a number or three" % where)

    def numbers(self, made: _core.Object, key: str, value: Any, kind: str, where: str) -> None:
        array = as_array(getattr(value, "matrix", value), where)  # of a Transform, Mitsuba's or ours
        if array.dtype.kind not in "fiu":
            raise TypeError("%s: %s is no property of a scene" % (where, type(value).__name__))
        if array.shape == (4, 4):
            made.transform(key, np.ascontiguousarray(array, dtype=np.float64))
        elif array.shape == (3,) and "colour" in kind:
            made.color(key, *array.tolist())
        elif array.shape == (3,):
            made.point(key, *array.tolist())
        else:
            raise SceneError("%s: three numbers or a 4 x 4 matrix are needed, not the shape %s" % (where, array.shape))


def load_dict(d: Mapping[str, Any], options: Mapping[str, Any] | None = None, *, folder: str | os.PathLike[str] = "."
              ) -> Scene:
    """Makes a scene out of nested dictionaries, as Mitsuba's load_dict does: {"type": "scene", "sensor": {"type":
    "perspective", ..}, ..}.

    Values are numbers, strings, booleans, three numbers, {"type": "rgb", "value": [r, g, b]}, 4 x 4 matrices or
    Transform, {"type": "ref", "id": ".."} for an object that comes earlier, and objects. Spectra are {"type":
    "spectrum", "value": one number or pairs of wavelength (nm) and value}.

    Arrays: a "mesh" takes `positions` (n, 3), `faces` (m, 3), `normals` (n, 3), `uvs` (n, 2). A "bitmap" and an
    "envmap" take `data` (or `bitmap`), (height, width[, 1 or 3]), linear RGB, row 0 at the top, in place of
    `filename`; a "gridvolume" and an "sdfgrid" take `data` (or `grid`), (z, y, x[, channels]). All are finite and
    copied.

    options: as for load_file. folder: where files are looked for."""
    if not isinstance(d, Mapping) or d.get("type") != "scene":
        raise SceneError("a scene is a dictionary with \"type\": \"scene\"")
    making = _Making()
    root = making.core.root()
    for key, value in d.items():
        if key == "type":
            continue
        if not isinstance(key, str) or not isinstance(value, Mapping):
            raise SceneError("scene: entry %r must be an object, a dictionary with a \"type\"" % (key,))
        if value.get("type") == "ref":
            root.add(None, making.reference(value, key).object)
            continue
        root.add(None, making.make(value, key, None, key, 0).object)
    return Scene(making.core.finish(os.fspath(folder), scene_options(options)))
