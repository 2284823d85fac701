# SPDX-License-Identifier: BSD-3-Clause
"""The scenes of scripts/compare-variance, and gradients of them from many seeds."""
import json
import os
import resource
import subprocess
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
REFERENCE = os.path.join(ROOT, "tests", "reference")


class Failed(Exception):
    """With what the program said."""


class Case:
    """A scene, dL/dI, and parameters; `expected` is expected.json of a reference case."""

    def __init__(self, name, scene, adjoint, parameters, defines=(), expected=None):
        self.name, self.scene, self.adjoint = name, scene, adjoint
        self.parameters, self.defines, self.expected = list(parameters), list(defines), expected


def reference_cases():
    for name in sorted(os.listdir(REFERENCE)):
        path = os.path.join(REFERENCE, name, "expected.json")
        if os.path.exists(path):
            with open(path) as f:
                expected = json.load(f)
            folder = os.path.dirname(path)
            yield Case(name, os.path.join(folder, "scene.xml"), os.path.join(folder, "adjoint.exr"),
                       expected["parameters"], expected=expected)


def run(arguments):
    """Runs the program; its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = subprocess.run([PROGRAM] + arguments + ["--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       text=True)
    if r.returncode:
        raise Failed("backlight %s: %s" % (" ".join(arguments), r.stderr.strip()))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def gradients(case, parameters, count, options):
    """name -> count x entries; one process takes all. Seeds are the same for every choice of parameters."""
    with tempfile.TemporaryDirectory() as out:
        run(["grad", case.scene, "--adjoint", case.adjoint, "--variance", str(count), "--each", "-o", out]
            + [w for d in case.defines for w in ("-D", d)] + options + ["--param"] + list(parameters))
        return {name: np.load(os.path.join(out, name + ".gradients.npy")).astype(float).reshape(count, -1)
                for name in parameters}
