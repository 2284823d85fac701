# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Annotations and stubs: mypy finds no mistake in the package, none in right use of it, and one in wrong use."""
import subprocess
import sys
from pathlib import Path

import backlight

PACKAGE = Path(backlight.__file__).parent.parent
STRICT = ["--disallow-untyped-defs", "--disallow-incomplete-defs", "--warn-unused-ignores", "--warn-redundant-casts"]
USE = """
import backlight as bl
scene: bl.Scene = bl.load_file("scene.xml", resolution=8)
image: bl.Bitmap = bl.render(scene, spp=4, seed=%s)
gradient = bl.Job(scene, ["a"]).gradient(target=image)
loss: float = gradient.loss
bl.Fit(scene, {"a": .1}, image).run(3).save("fit.state")
"""


def test_types(tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-torch.*,jax.*]\nignore_missing_imports = true\n")
    (tmp_path / "right.py").write_text(USE % "1")
    (tmp_path / "wrong.py").write_text(USE % '"one"')
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-incremental", *STRICT, "-p", "backlight", "-m", "right", "-m", "wrong"]
    done = subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": str(PACKAGE)}, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == 1, done.stdout + done.stderr
    assert lines[0].startswith("wrong.py:4: error:") and '"seed"' in lines[0]
