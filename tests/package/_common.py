# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the package share: where things are, and running commands."""
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../..")))
BUILD = os.path.abspath(os.environ.get("BL_BUILD_DIR", os.path.join(SOURCE, "build")))
CONSUMER = os.path.join(SOURCE, "tests/package/consumer")
SCENE = os.path.join(SOURCE, "assets/cornell/scene.xml")
SAMPLES = ["--spp", "4", "--seed", "7"]  # as the consumers
INCLUDE = os.path.join(SOURCE, "include")
HEADERS = os.path.join(INCLUDE, "backlight")
EXPERIMENTAL = {"backlight_integrator.h", "backlight_ir.h", "backlight_plugin.h", "backlight_testing.h", "backlight_vulkan.h"}  # docs/versions.md


def fail(text):
    print("FAILED: " + text, file=sys.stderr)
    sys.exit(1)


def run(command, expect=0, **options):
    """Standard output of a command, where it fails as expected both outputs; else the test ends."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if (done.returncode != 0) != (expect != 0):
        fail("%s: status %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout if expect == 0 else done.stdout + done.stderr


def cache(name):
    """The value of a variable of the build's CMake cache."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith(name + ":"):
                return line.split("=", 1)[1].strip()
    return ""


def own_lines(header, api):
    """Lines of a header after the preprocessor, without those it includes; api: what BL_API becomes."""
    text = run([cache("CMAKE_C_COMPILER"), "-E", "-std=c11", "-I" + INCLUDE, "-DBL_API=" + api,
                os.path.join(HEADERS, header)])
    own, inside = [], False
    for line in text.splitlines():
        place = re.match(r'# \d+ "([^"]*)"', line)
        if place:
            inside = place.group(1).endswith("/backlight/" + header)
        elif inside:
            own.append(line)
    return own


def read(path):
    with open(path, "rb") as f:
        return f.read()


def expected_image(folder):
    """What the program of this build renders, as every consumer must."""
    path = os.path.join(folder, "expected.pfm")
    program = os.environ.get("BL_PROGRAM", os.path.join(BUILD, "backlight"))
    run([program, "render", SCENE, "-o", path, *SAMPLES])
    return read(path)


def check_consumer(program, folder, expected):
    path = os.path.join(folder, "image.pfm")
    if os.path.exists(path):
        os.remove(path)
    out = run([program, SCENE, path])
    text = cache("CMAKE_PROJECT_VERSION")
    major, minor, patch = (int(n) for n in text.split("."))
    if out != "version %s %d\n" % (text, major * 1000000 + minor * 1000 + patch):
        fail("%s printed %r" % (program, out))
    if read(path) != expected:
        fail("%s renders another image than the program" % program)
