# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the includes of every source file and checks that layers look one way only (docs/guide.md, The
folders).

In src/api, src/cli and src/render with all its folders it reads who calls whom: no two files call each other,
not by way of others either. In src/api a function is declared in the header of the file that defines it."""
import os
import re
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# part: folder, parts whose headers it may include, patterns of outside headers it must not include
PARTS = {
    "base": ("src/base", {"base"}, r"vulkan|spirv"),
    "spirv_gen": ("spirv_gen", {"base", "spirv_gen"}, r"vulkan|expat|openexr|png"),
    "scene": ("src/scene", {"base", "scene"}, r"vulkan|spirv"),
    "gpu": ("src/gpu", {"base", "gpu", "spirv_gen"}, r"spirv|expat|openexr|png"),
    "render": ("src/render", {"base", "spirv_gen", "scene", "render"}, r"vulkan|spirv/"),
    "codegen": ("src/codegen", {"base", "spirv_gen", "gpu", "codegen"}, r"vulkan|spirv/|expat|openexr|png"),
    "fit": ("src/fit", {"base", "spirv_gen", "gpu", "codegen", "fit"}, r"vulkan|spirv/|expat|openexr|png"),
    "api": ("src/api", {"base", "spirv_gen", "scene", "gpu", "codegen", "render", "fit", "api"},
            r"vulkan|expat|openexr|png\.h"),
    "cli": ("src/cli", {"cli"}, r"vulkan"),
    "samples": ("samples", set(), r"vulkan"),
    "python": ("python/src", set(), r"vulkan|expat|openexr|png"),
    "include": ("include", set(), r"expat|openexr|png"),
}
# what parts exchange without knowing each other: result codes, and generated kernels
FREE = re.compile(r"^backlight/|^glsl_kernels\.h$")
# inside the trace compiler: ir knows no pass, passes and differentiation no SPIR-V, nor machine code
ROOMS = {"ir": {"ir"}, "opt": {"ir", "opt"}, "ad": {"ir", "opt", "ad"}, "spv": {"ir", "spv"},
         "x86": {"ir", "x86"}}
# inside the integrator, from the lowest room to the highest: a room knows itself and those before it
INTEGRATOR = ["walk", "derived", "vertex", "eikonal", "media", "field", "path", "boundary", "motion", "kernels"]
DOOR = "render/integrator/passes.h"  # the one header of the integrator for everyone else, about no room
# kinds of plugins know their own folder, what all of src/render shares, and these folders
PLUGINS = {
    "bsdf": set(), "emitter": {"shape"}, "field": set(), "film": set(), "filter": set(), "medium": set(),
    "phase": set(),
    "sampler": set(), "sensor": set(), "shape": set(), "texture": set(), "volume": set(),
}
# traced mathematics in folders of their own: they know themselves and the types of traces
LEAVES = {"polarization", "spectrum"}


def includes(path):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if m:
                yield number, m.group(1) == "<", m.group(2)


def check(part, path, problems):
    folder, allowed, forbidden = PARTS[part]
    where = os.path.relpath(path, ROOT)
    for number, outside, header in includes(path):
        place = "%s:%d: %s" % (where, number, header)
        if FREE.match(header):
            continue
        if outside:
            if re.search(forbidden, header):
                problems.append(place + " is not for " + part)
            continue
        if "/" in header:
            target = header.split("/")[0]
            if target not in allowed:
                problems.append("%s: %s must not look into %s" % (place, part, target))
        if part == "spirv_gen" and header.startswith("spirv_gen/"):
            room, other = where.split("/")[1], header.split("/")[1]
            if other not in ROOMS[room]:
                problems.append("%s: spirv_gen/%s must not look into spirv_gen/%s" % (place, room, other))


def room_of(path):
    """The room of the integrator that a file or header (from src/ on) is in, or None."""
    m = re.match(r"render/integrator/(\w+)/", path)
    return m.group(1) if m else None


def check_render(path, problems):
    """Rooms inside src/render: plugins, the integrator's rooms, and what is above all of them."""
    where = os.path.relpath(path, os.path.join(ROOT, "src"))
    room, folder = room_of(where), where.split("/")[1]
    for number, outside, header in includes(path):
        place = "src/%s:%d: %s" % (where, number, header)
        other = room_of(header)
        if outside or not header.startswith("render/"):
            continue
        if room:
            if other and INTEGRATOR.index(other) > INTEGRATOR.index(room):
                problems.append("%s: the room %s must not look up into %s" % (place, room, other))
        elif folder == "integrator":
            if other:
                problems.append("%s: stands below the rooms" % place)
        else:
            if header.startswith("render/integrator/") and header != DOOR:
                problems.append("%s: only the integrator knows its rooms" % place)
            target = header.split("/")[1]
            if folder in LEAVES and target not in (folder, "trace.h"):
                problems.append("%s: %s must not look into anything but render/trace.h" % (place, folder))
            if folder in PLUGINS and target in PLUGINS and target != folder and target not in PLUGINS[folder]:
                problems.append("%s: %s must not look into %s" % (place, folder, target))


# what the common part of src/gpu may see of its back ends
BACKENDS = {"vulkan": "gpu/vulkan/open.h", "native": "gpu/native/native.h"}


def check_gpu(path, problems):
    """Back ends do not know each other. Vulkan is for one of them, the contract of native kernels for the
    other."""
    where = os.path.relpath(path, ROOT)
    room = os.path.basename(os.path.dirname(path))
    for number, outside, header in includes(path):
        place = "%s:%d: %s" % (where, number, header)
        backend = re.match(r"gpu/(\w+)/", header)
        if backend and backend.group(1) != room and (room in BACKENDS or header not in BACKENDS.values()):
            problems.append(place + " is another back end's")
        if outside and header.startswith("vulkan") and room != "vulkan":
            problems.append(place + " is for src/gpu/vulkan alone")
        if header.startswith("spirv_gen/") and (room != "native" or header != "spirv_gen/x86/x86.h"):
            problems.append(place + " is not for gpu, but x86.h in src/gpu/native")


PROTOTYPE = re.compile(
    r"^(?!static|typedef|return|else)[a-z]\w*[\w \*]*?\b(\w+)\([^;{}]*\)\s*(;|\n\{|\{)", re.M)


def functions(path):
    """Names of the functions that a file declares, and of those that it defines."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    found = [(m.group(1), m.group(2) == ";") for m in PROTOTYPE.finditer(text)]
    return [n for n, only in found if only], [n for n, only in found if not only]


def check_declarations(problems):
    """A room declares in its headers only what it defines, so that includes tell who calls whom."""
    base, declared, defined = os.path.join(ROOT, "src/render/integrator"), [], {}
    for room in INTEGRATOR:
        for name in sorted(os.listdir(os.path.join(base, room))):
            if name.endswith((".c", ".h")):
                only, own = functions(os.path.join(base, room, name))
                if name.endswith(".h"):
                    declared += [(room, name, n) for n in only]
                else:
                    defined.update((n, room) for n in own)
    for room, name, n in declared:
        if defined.get(n) != room:
            problems.append("src/render/integrator/%s/%s: declares %s, which %s defines"
                            % (room, name, n, defined.get(n, "nobody")))
    return len(declared)


def code_of(path):
    """The text of a file without comments and strings."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b)[a-z][\w \*\n]*?\b(\w+)\([^;{}]*\)\s*\n?\{", re.M)
NAME = re.compile(r"(?<![\w.>])\w+")  # not a member of a struct
OBJECT = re.compile(r"^const \w+ (\w+) = \{", re.M)


def circles(uses):
    """The strongly connected components of more than one file (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(uses[v]):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(part) > 1:
                found.append(sorted(part))

    for v in sorted(uses):
        if v not in index:
            visit(v)
    return found


def check_calls(folder, owners, objects, problems):
    """folder: whose files call one way only. owners: whether a header belongs to one file. objects: whether
    naming another file's constant counts as a call; classes of plugins are named to compare with them.

    Returns the number of calls read."""
    root, texts, headers, defined, uses = os.path.join(ROOT, folder), {}, {}, {}, {}
    for base, _, names in os.walk(root):
        for path in (os.path.join(base, name) for name in sorted(names)):
            if path.endswith(".c"):
                texts[os.path.relpath(path, root)] = code_of(path)
            elif path.endswith(".h"):
                headers[os.path.relpath(path, root)] = code_of(path)
    for name, text in texts.items():
        for function in DEFINITION.findall(text) + (OBJECT.findall(text) if objects else []):
            defined[function] = name
    for name, text in texts.items():
        uses[name] = {defined[word] for word in NAME.findall(text) if word in defined} - {name}
    for circle in circles(uses):
        problems.append("%s: these call each other in a circle: %s" % (folder, ", ".join(circle)))
    for function, name in sorted(defined.items()) if owners else ():
        for header, text in headers.items():
            own = header == name[:-2] + ".h" or header in SHARED
            if not own and re.search(r"\b%s\(" % function, text):
                problems.append("%s/%s: %s is declared in %s, not in the header of its file"
                                % (folder, name, function, header))
    return sum(len(u) for u in uses.values())


# headers of src/api for the several files of one object
SHARED = {"plugin_add.h", "ir.h"}


def main():
    problems, files = [], 0
    for folder, owners, objects, least in (
            ("src/api", True, True, 40), ("src/cli", False, True, 40), ("src/render", False, False, 400)):
        if check_calls(folder, owners, objects, problems) < least:
            problems.append("%s: hardly any call found, so the check reads it wrongly" % folder)
    for part, (folder, _, _) in PARTS.items():
        for base, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".cpp", ".h", ".def")):
                    files += 1
                    check(part, os.path.join(base, name), problems)
                    if part == "render":
                        check_render(os.path.join(base, name), problems)
                    if part == "gpu":
                        check_gpu(os.path.join(base, name), problems)
    declarations = check_declarations(problems)
    for p in problems:
        print(p)
    print("%d files read, %d includes against the layers" % (files, len(problems)))
    return 1 if problems or files < 50 or declarations < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
