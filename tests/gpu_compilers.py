# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""AMD's compiler takes today's twentieth of all scenes (scripts/gpu-compilers --today), and no kernel has become
worse than docs/gpu-compilers.csv says. Also that the comparison sees what it is for. Under sanitizers, where
our own compiler is slow, one scene stands for all."""
import os
import subprocess
import sys

SOURCE = os.environ.get("BL_SOURCE_DIR", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "scripts"))
sys.dont_write_bytecode = True
import other_script

compilers = other_script.load("gpu-compilers")


def comparison():
    """Complaints about a kernel that is a row of the table, but for one number."""
    good = {"words": "1000", "vgprs": "96", "spilled": "0", "scratch": "0", "waves": "16", "code": "9000"}
    worse = {"words": "1300", "scratch": "256", "waves": "14"}
    assert compilers.worse(good, good) is None and compilers.worse(good, None) is None
    for name, value in worse.items():
        assert compilers.worse({**good, name: value}, good), name
        assert compilers.worse(good, {**good, name: value}) is None, name
    assert compilers.worse(dict.fromkeys(good, ""), good), "a kernel that is refused"


def table():
    """The table has every scene of the repository on every family."""
    _, rows = compilers.read_table()
    there = {(row["family"], row["scene"], row["parameters"]) for row in rows.values()}
    wanted = {(family, case.name, case.parameters) for family in compilers.FAMILIES
              for case in compilers.cases() if compilers.compiled_for(case, family)}
    missing = sorted(wanted - there)
    assert not missing, "scripts/gpu-compilers --write: docs/gpu-compilers.csv lacks %s" % (missing[:3],)


comparison()
table()
if not os.environ.get("BL_RADV"):
    print("no RADV (scripts/setup --full)", file=sys.stderr)
    sys.exit(77)
which = ["--scene", "reference/cbox", "--family", "navi31"] if os.environ.get("BL_SANITIZE") else ["--today"]
environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # the driver's own
sys.exit(subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "gpu-compilers"), *which],
                        env=environment).returncode)
