#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""notebooks.py [--check | --pictures]: makes python/examples/NAME.ipynb out of NAME.py.

The source is the script: its cells begin with `# %%` or `# %% [markdown]` (the percent format of Jupytext, Spyder
and VS Code), so changes are read as changes of Python. The notebook has the same cells and no outputs. --check
names the notebooks that are not what their scripts say (status 1). --pictures also runs every script, with the
Python that runs this, and puts its NAME.png into docs/images/examples."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, PICTURES = ROOT / "python/examples", ROOT / "docs/images/examples"
CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?\n", re.M)


def sources():
    """Scripts that have cells."""
    return [path for path in sorted(EXAMPLES.glob("*.py")) if CELL.search(path.read_text(encoding="utf-8"))]


def cells(text):
    """(kind, text) of the cells of a script."""
    marks = list(CELL.finditer(text))
    for mark, end in zip(marks, [m.start() for m in marks[1:]] + [len(text)]):
        body = text[mark.end():end].strip("\n")
        if mark["markdown"]:
            yield "markdown", re.sub(r"^# ?", "", body, flags=re.M)
        else:
            yield "code", body


def notebook(path):
    """The notebook of a script, as the text of its file."""
    made = []
    for k, (kind, body) in enumerate(cells(path.read_text(encoding="utf-8"))):
        cell = {"cell_type": kind, "id": "%s-%d" % (path.stem, k), "metadata": {}, "source": body.splitlines(keepends=True)}
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        made.append(dict(sorted(cell.items())))
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1,
                      ensure_ascii=False) + "\n"


def stale():
    """Names of notebooks that are missing, differ from their scripts, or have none."""
    wanted = {path.with_suffix(".ipynb"): notebook(path) for path in sources()}
    found = {path: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.ipynb")}
    return sorted(path.name for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path))


def draw(path):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(path)], cwd=folder, check=True)
        PICTURES.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(folder, path.stem + ".png"), PICTURES)


def main():
    option = sys.argv[1] if len(sys.argv) > 1 else ""
    if option not in ("", "--check", "--pictures") or len(sys.argv) > 2:
        sys.exit(__doc__)
    if option == "--check":
        names = stale()
        print("\n".join("%s: not what its script says; scripts/notebooks.py writes it" % name for name in names))
        sys.exit(bool(names))
    for path in sources():
        path.with_suffix(".ipynb").write_text(notebook(path), encoding="utf-8")
        if option == "--pictures":
            print("==", path.stem, flush=True)
            draw(path)


if __name__ == "__main__":
    main()
