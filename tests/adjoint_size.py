# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that differentiate are at most 4 times the size of the primal kernel of the same scene: ops after
all passes, with every colour and light of the box requested, baked and not. `adjoint_size.py --table` prints
the sizes."""
import os
import re
import subprocess
import sys

PROGRAM, SOURCE = os.environ.get("BL_PROGRAM", "build/backlight"), os.environ.get("BL_SOURCE_DIR", ".")
SCENE = os.path.join(SOURCE, "assets/cornell/scene.xml")
MOST = 4
NO_WORK = re.compile(r"^\s*(%\d+ = (const|param|uniform|global_id)\b|func |buffer |uniforms |entry "
                     r"|return\b|\}|$)")


def run(*arguments):
    result = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode and "no device" in result.stderr:
        sys.exit(77)
    if result.returncode:
        sys.exit("%s: %s" % (" ".join(arguments), result.stderr))
    return result.stdout


def parameters():
    return [name for name in re.findall(r"^(\S+)", run("params", SCENE), re.M)
            if name.endswith((".reflectance.value", ".radiance.value"))]


def ops(kernel, wanted, options):
    text = run("ir", SCENE, "--pass", kernel, "--optimised", *options,
               *[word for name in wanted for word in ("--param", name)])
    return sum(not NO_WORK.match(line) for line in text.splitlines())


def main():
    wanted = parameters()
    assert len(wanted) >= 4, wanted
    for name, options in (("baked", ()), ("general", ("--no-baking",))):
        sizes = {kernel: ops(kernel, wanted, options)
                 for kernel in ("primal", "gradient", "replay", "adjoint", "forward")}
        if len(sys.argv) > 1:
            print(name, *("%s %d (%.2f)" % (k, n, n / sizes["primal"]) for k, n in sizes.items()))
        for kernel, size in sizes.items():
            assert 100 < size <= MOST * sizes["primal"], (name, kernel, sizes)


main()
