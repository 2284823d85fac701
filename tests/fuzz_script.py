# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/fuzz knows every target of tests/fuzz and the inputs that it begins with, and refuses what is none."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

SOURCE = os.environ.get("BL_SOURCE_DIR", ".")
PATH = os.path.join(SOURCE, "scripts", "fuzz")

loader = importlib.machinery.SourceFileLoader("fuzz_script", PATH)
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_script", loader))
sys.dont_write_bytecode = True
loader.exec_module(script)

known = script.targets()
problems = [] if known else ["no targets"]
for name, (folder, endings) in known.items():
    have = script.seeds(name, folder, endings)
    problems += [f"{name}: no input ends in {ending}" for ending in endings if not any(path.endswith(ending) for path in have)]
for arguments, wanted in ((["no_such_target"], "no target no_such_target"), (["--seconds", "0"], "at least 1"), (["--jobs", "-1"], "at least 1")):
    ended = subprocess.run([sys.executable, PATH, *arguments], capture_output=True, text=True, check=False)
    if ended.returncode != 2 or wanted not in ended.stderr:
        problems.append(f"{arguments}: status {ended.returncode}, {ended.stderr!r}")
print(*problems, f"{len(known)} targets, {len(problems)} problems", sep="\n")
sys.exit(bool(problems))
