# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""One experiment of tests/papers.py, the cheapest, in the ordinary tier."""
import papers

papers.main(["mirror_normal"])
