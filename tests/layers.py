# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the includes of every source file and checks that layers look one way only (README, Folders). Inside
src/api and src/cli it reads who calls whom: no two files call each other, not by way of others either; and in src/api
a function is declared in the header of the file that defines it."""
import os
import re
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# part: folder, parts whose headers it may include, patterns of outside headers it must not include
PARTS = {
    "base": ("src/base", {"base"}, r"vulkan|spirv"),
    "spirv_gen": ("spirv_gen", {"base", "spirv_gen"}, r"vulkan|expat|openexr|png"),
    "scene": ("src/scene", {"base", "scene"}, r"vulkan|spirv"),
    "gpu": ("src/gpu", {"base", "gpu"}, r"spirv|expat|openexr|png"),
    "render": ("src/render", {"base", "spirv_gen", "scene", "render"}, r"vulkan|spirv/"),
    "fit": ("src/fit", {"base", "gpu", "fit"}, r"vulkan|spirv|expat|openexr|png"),
    "api": ("src/api", {"base", "spirv_gen", "scene", "gpu", "render", "fit", "api"}, r"vulkan|expat|openexr|png\.h"),
    "cli": ("src/cli", {"cli"}, r"vulkan"),
    "samples": ("samples", set(), r"vulkan"),
    "include": ("include", set(), r"expat|openexr|png"),
}
# what parts exchange without knowing each other: result codes, and generated kernels
FREE = re.compile(r"^backlight/|^glsl_kernels\.h$")
# inside the trace compiler: ir knows no pass, passes and differentiation no SPIR-V
ROOMS = {"ir": {"ir"}, "opt": {"ir", "opt"}, "ad": {"ir", "opt", "ad"}, "spv": {"ir", "spv"}}


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


def code_of(path):
    """The text of a file without comments and strings."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


DEFINITION = re.compile(r"^(?!static\b|typedef\b|return\b|else\b)[a-z][\w \*\n]*?\b(\w+)\([^;{}]*\)\s*\n?\{", re.M)
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


def check_calls(folder, owners, problems):
    """folder: whose files call one way only. owners: whether a header belongs to one file. Returns the number of calls read."""
    root = os.path.join(ROOT, folder)
    texts = {name: code_of(os.path.join(root, name)) for name in sorted(os.listdir(root)) if name.endswith(".c")}
    headers = {name: code_of(os.path.join(root, name)) for name in sorted(os.listdir(root)) if name.endswith(".h")}
    defined = {}
    for name, text in texts.items():
        for function in DEFINITION.findall(text) + OBJECT.findall(text):
            defined[function] = name
    uses = {name: {defined[word] for word in set(re.findall(r"\w+", text)) if word in defined} - {name} for name, text in texts.items()}
    for circle in circles(uses):
        problems.append("%s: these call each other in a circle: %s" % (folder, ", ".join(circle)))
    if owners:
        for function, name in sorted(defined.items()):
            for header, text in headers.items():
                if re.search(r"\b%s\(" % function, text) and header != name[:-2] + ".h" and header not in SHARED:
                    problems.append("%s/%s: %s is declared in %s, not in the header of its file" % (folder, name, function, header))
    return sum(len(u) for u in uses.values())


# headers of src/api for the several files of one object
SHARED = {"plugin_add.h", "ir.h"}


def main():
    problems, files = [], 0
    for folder, owners in (("src/api", True), ("src/cli", False)):
        if check_calls(folder, owners, problems) < 40:
            problems.append("%s: hardly any call found, so the check reads it wrongly" % folder)
    for part, (folder, _, _) in PARTS.items():
        for base, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    files += 1
                    check(part, os.path.join(base, name), problems)
    for p in problems:
        print(p)
    print("%d files read, %d includes against the layers" % (files, len(problems)))
    return 1 if problems or files < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
