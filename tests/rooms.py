# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the README files of the integrator's rooms say with the code, so that they cannot rot.

Each room of src/render/integrator has a README.md of at most a page (PAGE lines) with
    a table with a row for every .c file of the room, and for no other file; a picture, a mermaid graph whose
    nodes are .c files without their ending and whose arrows are the calls between them: all of them, and no
    others. Functions that are put into a table count as called; dotted arrows (`-.->`) are not read.
The picture of src/render/integrator/README.md has the calls between rooms. The lowest room is left out there,
since all call it. Inside a room files call one way only."""
import os
import re
import sys

import layers

BASE = os.path.join(layers.ROOT, "src/render/integrator")
PAGE = 80
ROW = re.compile(r"^\| *((?:`[\w./]+`[, ]*)+)\|")
ARROW = re.compile(r"^\s*(\w+)(?:\[[^]]*\])? *--> *(.+?);?\s*$")


def code_with_tables(path):
    """The code of a file, and of the .def files that it includes."""
    text = layers.code_of(path)
    for _, _, header in layers.includes(path):
        if header.startswith("render/integrator/") and header.endswith(".def"):
            text += layers.code_of(os.path.join(layers.ROOT, "src", header))
    return text


def read_code():
    """room/file -> code, and function or object -> room/file."""
    texts, defined = {}, {}
    for room in layers.INTEGRATOR:
        for name in sorted(os.listdir(os.path.join(BASE, room))):
            if name.endswith(".c"):
                text = texts[room + "/" + name] = code_with_tables(os.path.join(BASE, room, name))
                defined.update((n, room + "/" + name) for n in layers.DEFINITION.findall(text)
                               + layers.OBJECT.findall(text))
    return texts, defined


def is_used(name, text):
    """Called, or named where it is neither a field nor a variable of the file."""
    if re.search(r"(?<![\w.>])%s\(" % name, text):
        return True
    if re.search(r"\b(?!return\b|else\b)[a-z]\w*\s+\*?%s\s*[=;,\[)]" % name, text):
        return False
    return re.search(r"(?<![\w.>])%s\b" % name, text) is not None


def calls(texts, defined):
    """Pairs of room/file: the first uses a function of the second."""
    found = set()
    for path, text in texts.items():
        for word in set(re.findall(r"\w+", text)):
            if word in defined and defined[word] != path and is_used(word, text):
                found.add((path, defined[word]))
    return found


def picture(readme):
    """The arrows of the mermaid graph in a page."""
    arrows = set()
    for graph in re.findall(r"^```mermaid\n(.*?)^```", readme, re.M | re.S):
        for m in filter(None, map(ARROW.match, graph.splitlines())):
            arrows.update((m.group(1), re.sub(r"\[.*", "", to).strip()) for to in m.group(2).split("&"))
    return arrows


def compare(where, what, drawn, real, problems):
    for a, b in sorted(real - drawn):
        problems.append("%s: the %s lacks %s --> %s" % (where, what, a, b))
    for a, b in sorted(drawn - real):
        problems.append("%s: the %s has %s --> %s, which the code has not" % (where, what, a, b))


def read_page(folder, problems):
    path = os.path.join(BASE, folder, "README.md")
    if not os.path.exists(path):
        problems.append("%s is missing" % os.path.relpath(path, layers.ROOT))
        return None
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count("\n") > PAGE:
        problems.append("%s: %d lines, more than a page" %
                        (os.path.relpath(path, layers.ROOT), text.count("\n")))
    return text


def check_room(room, files, found, problems):
    where, page = "src/render/integrator/%s/README.md" % room, read_page(room, problems)
    inside = {(a, b) for a, b in found if a.startswith(room + "/") and b.startswith(room + "/")}
    uses = {f: {b for a, b in inside if a == f} for f in files}
    for circle in layers.circles(uses):
        problems.append("%s: these call each other in a circle: %s" % (room, ", ".join(circle)))
    if page is None:
        return
    rows = {n for m in filter(None, map(ROW.match, page.splitlines()))
            for n in re.findall(r"`([\w./]+)`", m.group(1)) if n.endswith(".c")}
    names = {f.split("/")[1] for f in files}
    problems += ["%s: the table lacks %s" % (where, n) for n in sorted(names - rows)]
    problems += ["%s: the table has %s, which is not in the room" % (where, n) for n in sorted(rows - names)]
    compare(where, "picture", picture(page),
            {tuple(os.path.basename(x)[:-2] for x in pair) for pair in inside}, problems)


def main():
    problems = []
    texts, defined = read_code()
    found = calls(texts, defined)
    for room in layers.INTEGRATOR:
        check_room(room, [f for f in texts if f.startswith(room + "/")], found, problems)
    page = read_page(".", problems)
    if page is not None:
        rooms = {tuple(x.split("/")[0] for x in pair) for pair in found}
        compare("src/render/integrator/README.md", "picture", picture(page),
                {(a, b) for a, b in rooms if a != b and b != layers.INTEGRATOR[0]}, problems)
        problems += ["src/render/integrator/README.md: does not lead to %s" % r for r in layers.INTEGRATOR
                     if "](%s/README.md)" % r not in page]
    for p in problems:
        print(p)
    print("%d files of %d rooms, %d calls between files, %d problems" %
          (len(texts), len(layers.INTEGRATOR), len(found), len(problems)))
    return 1 if problems or len(texts) < 30 or len(found) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
