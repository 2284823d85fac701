# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples that needs NumPy alone runs, a third each day, and finds what it is for (it says so by its status).
Notebooks have the cells of their scripts. What README.md and docs/python.md say in Python runs, too."""
import json
import subprocess
import sys

import pytest

from conftest import RED, SOURCE, examples, run_example, run_page, third

NOTEBOOKS = sorted((SOURCE / "python/examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", third(examples("numpy")), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    run_example(path, tmp_path)


def test_there_are_examples():
    assert {path.stem for path in NOTEBOOKS} == {"first_render", "fit_colours", "textures", "neural_texture", "perceptual_loss",
                                                 "pose", "smoke", "radiance_field"}


def test_notebooks_are_what_scripts_say():
    done = subprocess.run([sys.executable, str(SOURCE / "scripts/notebooks.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_a_title_and_say_how_mitsuba_does_it(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert text[0].startswith("# ") and sum("**In Mitsuba 3**" in t for t in text) == 1
    assert all(cell["cell_type"] == "markdown" or not cell["outputs"] for cell in cells)
    page = (SOURCE / "docs/python-examples.md").read_text(encoding="utf-8")
    assert "](images/examples/%s.png)" % path.stem in page and "](../python/examples/%s)" % path.name in page


def test_readme(monkeypatch, tmp_path):
    names = run_page("README.md", monkeypatch, tmp_path)
    assert abs(names["gradient"][RED]).max() > 0


def test_manual(monkeypatch, tmp_path):
    names = run_page("docs/python.md", monkeypatch, tmp_path)
    assert (tmp_path / "box.exr").exists() and (tmp_path / "fit.state").exists()
    assert names["fit"][RED] == pytest.approx([.61, .06, .07], abs=.1)
