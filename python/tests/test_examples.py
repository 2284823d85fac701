# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples that needs NumPy alone runs, and finds what it is for (it says so by its status)."""
import pytest

from conftest import examples, run_example


@pytest.mark.parametrize("path", examples("numpy"), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    run_example(path, tmp_path)


def test_there_are_examples():
    assert {"first_render", "fit_colours"} <= {path.stem for path in examples("numpy")}
