# LABELS: native long
# SPDX-License-Identifier: BSD-3-Clause
"""Notebooks run in a kernel of Jupyter: cells show their pictures, scenes show themselves, and long work has a bar."""
import base64

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import SOURCE, examples


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def execute(notebook, folder):
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return outputs(notebook)


@pytest.mark.parametrize("name", [path.stem for path in examples("numpy") if path.with_suffix(".ipynb").exists()])
def test_notebook(name, tmp_path):
    (tmp_path / "python/examples").mkdir(parents=True)
    (tmp_path / "assets").symlink_to(SOURCE / "assets")
    notebook = nbformat.read(SOURCE / ("python/examples/%s.ipynb" % name), as_version=4)
    nbformat.validate(notebook)
    shown = [o["data"]["image/png"] for o in execute(notebook, tmp_path / "python/examples") if "image/png" in o.get("data", {})]
    assert shown and base64.b64decode(shown[-1]) == (tmp_path / ("python/examples/%s.png" % name)).read_bytes()


def test_bar_and_tables(tmp_path):
    cells = ["import backlight as bl", "scene = bl.demo_scene(32)\nscene", "bl.traverse(scene)", "bl.render(scene, spp=2**15)"]
    found = execute(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), tmp_path)
    tables = [o["data"]["text/html"] for o in found if "text/html" in o.get("data", {})]
    assert "parameters" in tables[0] and "<table>" in tables[1]
    assert any("render" in o.get("text", "") and "%" in o["text"] for o in found if o["output_type"] == "stream")
    assert "image/png" in found[-1]["data"]
