#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints src/render/bsdf/metal_samples.c from a folder of measured indices of refraction: NAME.eta.spd and
# NAME.k.spd, lines of a wavelength in nanometres and a value, comments behind #.
#
#   scripts/metals.py FOLDER > src/render/bsdf/metal_samples.c
#
# Kept is what the visible range needs: the samples in it and one on either side. Names with the same samples
# share them.

import glob
import os
import sys

FIRST, LAST, WIDTH = 360, 830, 108  # nm, nm, columns

HEAD = '''/* SPDX-License-Identifier: BSD-3-Clause
 * Measured indices of refraction of conductors, and of some other solids, around the visible range:
 * wavelength in nm, real part, extinction. Made by scripts/metals.py. The figures are those of the luxpop.com
 * database (via Mitsuba's material names). It names as its sources the "Handbook of Optical Constants of
 * Solids" I and II, ed. by Edward D. Palik, Academic Press 1985 and 1991, besides tables of its own. */
// clang-format off
#include "render/bsdf/metal.h"
'''


def samples(path):
    with open(path) as f:
        rows = [line.split()[:2] for line in f if line.strip() and not line.startswith("#")]
    return [(float(w), float(v)) for w, v in rows]


def visible(folder, name):
    eta, k = (samples(os.path.join(folder, "%s.%s.spd" % (name, part))) for part in ("eta", "k"))
    if [w for w, _ in eta] != [w for w, _ in k]:
        sys.exit("%s: eta and k are given at different wavelengths" % name)
    rows = [(w, n, x) for (w, n), (_, x) in zip(eta, k)]
    first = max([i for i, r in enumerate(rows) if r[0] <= FIRST], default=0)
    last = min([i for i, r in enumerate(rows) if r[0] >= LAST], default=len(rows) - 1)
    return tuple(rows[first:last + 1])


def wrap(words):
    lines, line = [], "   "
    for word in words:
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += " " + word
    return "\n".join(lines + [line])


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: scripts/metals.py FOLDER")
    names = sorted(os.path.basename(p)[:-len(".eta.spd")]
                   for p in glob.glob(os.path.join(folder, "*.eta.spd")))
    arrays = {}
    for name in names:
        arrays.setdefault(visible(folder, name), name)
    print(HEAD)
    for rows, name in arrays.items():
        print("static const double samples_%s[][3] = {" % name.replace("-", "_"))
        print(wrap("{%.6g, %.6g, %.6g}," % row for row in rows))
        print("};")
    print("\n#define SAMPLES(name) samples_##name, sizeof samples_##name / sizeof samples_##name[0]")
    print("const metal metals[] = {")
    print(wrap('{"%s", SAMPLES(%s)},' % (name, arrays[visible(folder, name)].replace("-", "_"))
               for name in names))
    print("};\nconst uint32_t metal_count = sizeof metals / sizeof metals[0];")


main()
