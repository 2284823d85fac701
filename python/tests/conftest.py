# SPDX-License-Identifier: BSD-3-Clause
"""What the package's tests share. CTest runs each test_NAME.py as python_NAME (python/tests/CMakeLists.txt)."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import backlight as bl

SOURCE = Path(os.environ.get("BL_SOURCE_DIR", Path(__file__).parents[2]))
PROGRAM = os.environ.get("BL_PROGRAM", str(SOURCE / "build/backlight"))
CORNELL = str(SOURCE / "assets/cornell/scene.xml")
RED, GREEN, LIGHT = "red.reflectance.value", "green.reflectance.value", "light.emitter.radiance.value"
SMALL = {"resolution": 16, "spp": 4, "max_depth": 4}


def program(*arguments):
    """Runs the program `backlight` on the box that box() loads."""
    defines = [word for key, value in SMALL.items() for word in ("-D", "%s=%s" % (key, value))]
    device = ["--device", bl.default_device().kind]
    subprocess.run([PROGRAM, *arguments, *defines, *device, "--quiet"], check=True)


def examples(framework):
    """Scripts of python/examples that need this: "numpy" alone, or "torch"."""
    def needs(path):
        found = re.search(r"^import (torch|jax)$", path.read_text(encoding="utf-8"), re.M)
        return found.group(1) if found else "numpy"
    return [path for path in sorted((SOURCE / "python/examples").glob("*.py")) if needs(path) == framework]


def run_example(path, folder):
    """Its status says whether it has found what it is for. Of notebooks, it draws the picture that docs/ has."""
    done = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout and not done.stderr
    shown = SOURCE / "docs/images/examples" / (path.stem + ".png")
    if path.with_suffix(".ipynb").exists():
        assert bl.compare(bl.Bitmap(folder / shown.name), bl.Bitmap(shown))["psnr"] > 20


def third(paths):
    """A third of them, the next day the next ones; all with BL_LONG=1 (tests/support/today.py)."""
    day = int(os.environ.get("BL_DAY", time.time() // 86400))
    return paths if os.environ.get("BL_LONG") else paths[day % 3::3]


def run_page(page, monkeypatch, folder, framework="numpy"):
    """Runs what a page says in Python from its top to its end, smaller; blocks of PyTorch where that is asked for.
    Returns the names that there are then."""
    text = (SOURCE / page).read_text(encoding="utf-8").replace("resolution=128", "resolution=8")
    (folder / "assets").symlink_to(SOURCE / "assets")
    monkeypatch.chdir(folder)
    names = {}
    for block in re.findall("^```python\n(.*?)^```", text, re.M | re.S):
        if framework == "torch" or "import torch" not in block:
            exec(block, names)
    return names


@pytest.fixture
def box():
    """The Cornell box, 16 x 16 pixels, 4 samples, depth 4."""
    return bl.load_file(CORNELL, **SMALL)
