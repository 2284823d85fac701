# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""What programs that were compiled with an earlier header rely on is still so (docs/versions.md): abi.txt
has values of enumerators, sizes of structs, place and size of their fields, and functions of the public
headers that are not experimental. A field may come where `reserved` was, a function and an enumerator may
be added; anything else needs another SONAME (BL_ABI in cmake/Library.cmake), for which the file is written
anew: abi.py --write.

Every struct that is not among VALUES ends in `reserved`."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t

RECORD = os.path.join(t.SOURCE, "tests/package/abi.txt")
STABLE = [name for name in sorted(os.listdir(t.HEADERS)) if name not in t.EXPERIMENTAL]
VALUES = {"bl_define", "bl_ray", "bl_hit", "bl_fit_change", "bl_print"}  # elements of arrays, which stay as they are


def preprocessed():
    """The text of the stable headers, without what they include, on one line."""
    return re.sub(r"\s+", " ", " ".join(line for header in STABLE for line in t.own_lines(header, "")))


def fields_of(body):
    names = []
    for declaration in body.split(";"):
        callback = re.search(r"\(\*(\w+)\)", declaration)
        if callback:
            names.append(callback.group(1))
        elif declaration.strip():
            first, *others = declaration.split(",")
            names += [re.search(r"(\w+)\s*(\[[^]]*\])*\s*$", part).group(1) for part in [first, *others]]
    return names


def parse(text):
    structs = {name: fields_of(body)
               for body, name in re.findall(r"typedef struct \w+ \{([^{}]*)\} (\w+);", text)}
    enumerators = [re.match(r"\s*(\w+)", item).group(1)
                   for body in re.findall(r"\benum(?: \w+)? \{([^{}]*)\}", text)
                   for item in body.split(",") if item.strip()]
    plain = re.sub(r"\{[^{}]*\}", "", text.replace('extern "C" {', ""))
    functions = [re.sub(r"\s+", " ", s).strip() for s in plain.split(";")
                 if re.search(r"\bbl_\w+\(", s) and not s.strip().startswith("typedef")]
    return structs, enumerators, functions


def measure(structs, enumerators):
    """Lines "enumerator NAME VALUE", "struct NAME SIZE", "field NAME.FIELD PLACE SIZE"."""
    code = ["#include <backlight/%s>" % header for header in STABLE]
    code += ["#include <stdio.h>", "int main(void) {"]
    for name in enumerators:
        code.append('printf("enumerator %s %%d\\n", (int)%s);' % (name, name))
    for name, fields in structs.items():
        code.append('printf("struct %s %%zu\\n", sizeof(%s));' % (name, name))
        for field in fields:
            code.append('printf("field %s.%s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));'
                        % (name, field, name, field, name, field))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        source, program = os.path.join(folder, "abi.c"), os.path.abspath(os.path.join(folder, "abi"))
        with open(source, "w", encoding="utf-8") as f:
            f.write("\n".join(code + ["return 0; }", ""]))
        t.run([t.cache("CMAKE_C_COMPILER"), "-std=c11", "-I" + t.INCLUDE, source, "-o", program])
        return t.run([program]).splitlines()


def soname():
    with open(os.path.join(t.SOURCE, "cmake/Library.cmake"), encoding="utf-8") as f:
        return re.search(r"^set\(BL_ABI (\d+)\)", f.read(), re.M).group(1)


def current():
    structs, enumerators, functions = parse(preprocessed())
    if len(structs) < 25 or len(enumerators) < 40 or len(functions) < 80:
        t.fail("%d structs, %d enumerators, %d functions: the headers are read wrongly"
               % (len(structs), len(enumerators), len(functions)))
    for name, fields in structs.items():
        if (fields[-1] == "reserved") == (name in VALUES):
            t.fail("%s %s `reserved`" % (name, "has" if name in VALUES else "does not end in"))
    lines = ["soname " + soname()] + measure(structs, enumerators) + ["function " + f for f in functions]
    return [line for line in lines if not re.match(r"enumerator \w+_COUNT ", line)]


def places(lines):
    """STRUCT.FIELD -> (place, end)"""
    found = {}
    for line in lines:
        if line.startswith("field "):
            _, name, place, size = line.split()
            found[name] = int(place), int(place) + int(size)
    return found


def compare(recorded, now):
    """Lines of what has changed, and lines of what was added and must be recorded."""
    problems, old, new = [], places(recorded), places(now)
    for line in recorded:
        if line.startswith("field ") and line.split()[1].endswith(".reserved"):
            continue
        if line not in now:
            problems.append("changed or gone: " + line)
    for name, (place, end) in new.items():
        struct = name.split(".")[0]
        room = old.get(struct + ".reserved")
        if name.endswith(".reserved") and name in old and end != old[name][1]:
            problems.append("%s no longer ends where it did" % name)
        elif name not in old and room and place < room[0]:
            problems.append("%s is not where `reserved` was: earlier programs have no zeros there" % name)
    return problems, [line for line in now if line not in recorded and not line.startswith("soname ")]


def self_test(recorded):
    """The comparison finds what it is for."""
    def changed(old, new):
        return compare(recorded, [line.replace(old, new) for line in recorded])[0]
    moved = next(line for line in recorded if line.startswith("field bl_job_desc.frozen "))
    room = next(line for line in recorded if line.startswith("field bl_job_desc.reserved ")).split()
    place, size = int(room[2]), int(room[3])
    less, added = "field %s %d %d" % (room[1], place + 8, size - 8), "field bl_job_desc.added %d 4"
    taken = [line if line.split()[1] != room[1] else less for line in recorded]
    assert changed(moved, moved + "0") and changed("enumerator BL_ERROR_IO 3", "enumerator BL_ERROR_IO 4")
    assert compare(recorded, taken + [added % place]) == ([], [less, added % place])
    assert compare(recorded, recorded + [added % (place - 4)])[0]


def main():
    now = current()
    if sys.argv[1:] == ["--write"]:
        with open(RECORD, "w", encoding="utf-8") as f:
            f.write("\n".join(now) + "\n")
        return
    with open(RECORD, encoding="utf-8") as f:
        recorded = f.read().splitlines()
    if recorded[0] != now[0]:
        t.fail("abi.txt is of %s, the library of %s: tests/package/abi.py --write" % (recorded[0], now[0]))
    problems, added = compare(recorded, now)
    for line in problems:
        print(line)
    for line in added:
        print("not recorded (tests/package/abi.py --write): " + line)
    self_test(recorded)
    print("%d lines recorded, %d broken, %d to add" % (len(recorded), len(problems), len(added)))
    sys.exit(1 if problems or added else 0)


if __name__ == "__main__":
    main()
