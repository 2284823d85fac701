# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""The shared library exports the functions that the headers declare with BL_API, and nothing else;
functions of experimental headers have the version of the experiment. The static library defines no other
global either, but for C++'s where the reader of OpenVDB files is built in. Every function of a header has
BL_API. No library is needed at run time but those that are listed here."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t

# of the build without OpenVDB and Embree
NEEDED = {"libcjson", "libexpat", "libjpeg", "libpng16", "libz", "libOpenEXRCore-3_1", "libZydis", "libm", "libc",
          "ld-linux-x86-64", "libgcc_s"}
MARK = "bl_api_mark"


def functions(header):
    """Functions that a header declares itself: marked by BL_API, and all."""
    marked, declared = set(), set()
    text = "\n".join(t.own_lines(header, MARK)).replace('extern "C" {', "")
    for _ in range(2):  # bodies of structs, and of structs in them
        text = re.sub(r"\{[^{}]*\}", "", text)
    for statement in text.split(";"):
        name = re.search(r"\b(bl_\w+)\s*\(", statement)
        if name and not statement.strip().startswith("typedef"):
            declared.add(name.group(1))
            if MARK in statement:
                marked.add(name.group(1))
    return marked, declared


def symbols(path, *options):
    """name -> type letter, of what another file can see"""
    lines = (line.split() for line in t.run(["nm", "--defined-only", *options, path]).splitlines())
    return {line[2]: line[1] for line in lines if len(line) == 3 and (line[1].isupper() or line[1] in "uvw")}


def is_cxx(name, kind):
    return name.startswith("_Z") and kind in "uVvWw" and t.cache("BL_OPENVDB") == "ON"


def main():
    problems, wanted = [], {}
    for header in sorted(os.listdir(t.HEADERS)):
        marked, declared = functions(header)
        problems += ["%s: %s lacks BL_API" % (header, name) for name in sorted(declared - marked)]
        wanted.update({name: header in t.EXPERIMENTAL for name in marked})
    if len(wanted) < 180:
        problems.append("only %d functions found, so the headers are read wrongly" % len(wanted))

    shared = symbols(os.path.join(t.BUILD, "libbacklight.so"), "-D")
    exported = {}
    for name, kind in shared.items():
        name, _, version = name.partition("@@")
        if kind != "A" and not is_cxx(name, kind):  # A: the versions themselves
            exported[name] = version
    problems += ["libbacklight.so exports " + name for name in sorted(exported.keys() - wanted.keys())]
    problems += ["libbacklight.so lacks " + name for name in sorted(wanted.keys() - exported.keys())]
    problems += ["%s has the version %s" % (name, version) for name, version in sorted(exported.items())
                 if name in wanted and version.startswith("BACKLIGHT_EXPERIMENTAL_") != wanted[name]]

    static = {name for name, kind in symbols(os.path.join(t.BUILD, "libbacklight.a"), "-g").items()
              if not is_cxx(name, kind)}
    problems += ["libbacklight.a defines " + name for name in sorted(static - wanted.keys())]
    problems += ["libbacklight.a lacks " + name for name in sorted(wanted.keys() - static)]

    if "arena_alloc" not in symbols(os.path.join(t.BUILD, "libbacklight_internal.a"), "-g"):
        problems.append("libbacklight_internal.a has no arena_alloc: symbols are read wrongly")

    dynamic = t.run(["readelf", "-d", os.path.join(t.BUILD, "libbacklight.so")])
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\.so", dynamic))
    if t.cache("BL_OPENVDB") != "ON" and not t.cache("BL_SANITIZE") and t.cache("BL_EMBREE") != "ON":
        problems += ["libbacklight.so needs " + name for name in sorted(needed - NEEDED)]
    problems += ["libbacklight.so needs " + name for name in sorted(needed)
                 if re.search("cholmod|lapack|blas|metis", name)]
    for p in problems:
        print(p)
    print("%d public functions, %d problems" % (len(wanted), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
