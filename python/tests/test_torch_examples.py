# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples that needs PyTorch runs, and finds what it is for."""
import pytest

from conftest import examples, run_example


@pytest.mark.parametrize("path", examples("torch"), ids=lambda path: path.stem)
def test_example(path, tmp_path):
    run_example(path, tmp_path)


def test_there_are_examples():
    assert {path.stem for path in examples("torch")} >= {"textures", "neural_texture", "perceptual_loss"}
