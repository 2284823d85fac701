# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
# spirv_gen/opt/polynomials.h is what scripts/fit_polynomials.py prints.
import os
import subprocess
import sys

source = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
printed = subprocess.run([sys.executable, os.path.join(source, "scripts", "fit_polynomials.py")], check=True,
                         capture_output=True, text=True)
with open(os.path.join(source, "spirv_gen", "opt", "polynomials.h"), encoding="utf-8") as file:
    if file.read() != printed.stdout:
        sys.exit("polynomials.h differs from what scripts/fit_polynomials.py prints")
