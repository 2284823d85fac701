# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples runs, and finds what it is for (it says so by its status)."""
import os
import subprocess
import sys

import pytest

from conftest import SOURCE

EXAMPLES = sorted((SOURCE / "python/examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout and not done.stderr


def test_there_are_examples():
    assert {"first_render", "fit_colours"} <= {path.stem for path in EXAMPLES}
