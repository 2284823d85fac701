# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples that needs NumPy alone runs, and finds what it is for (it says so by its status).
So does what README.md and docs/python.md say in Python."""
import pytest

from conftest import RED, examples, run_example, run_page


@pytest.mark.parametrize("path", examples("numpy"), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    run_example(path, tmp_path)


def test_there_are_examples():
    assert {"first_render", "fit_colours"} <= {path.stem for path in examples("numpy")}


def test_readme(monkeypatch, tmp_path):
    names = run_page("README.md", monkeypatch, tmp_path)
    assert abs(names["gradient"][RED]).max() > 0


def test_manual(monkeypatch, tmp_path):
    names = run_page("docs/python.md", monkeypatch, tmp_path)
    assert (tmp_path / "box.exr").exists() and (tmp_path / "fit.state").exists()
    assert names["fit"][RED] == pytest.approx([.61, .06, .07], abs=.1)
