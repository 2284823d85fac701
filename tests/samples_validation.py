# LABELS: lavapipe turn
# SPDX-License-Identifier: BSD-3-Clause
"""The samples under the Khronos validation layer with synchronization validation (support/validation_layer.py): not one
message. Those that take a minute: with BL_LONG only."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import validation_layer

BUILD = os.environ.get("BL_BUILD_DIR", "build")
TESTS = os.path.dirname(os.path.abspath(__file__))
SHORT = ["02_render", "03_fit_colours", "05_own_material", "07_own_light", "08_embed_headless", "09_embed_window",
         "10_shared_memory"]
LONG = ["04_fit_mlp", "06_own_scene"]
SKIPPED = 77


def command(sample):
    if sample == "09_embed_window":  # needs a display
        return [sys.executable, os.path.join(TESTS, "embed_window.py")]
    return [os.path.join(BUILD, "samples", "sample_" + sample)]


def main():
    if validation_layer.missing():
        return SKIPPED
    skipped = failed = 0
    for sample in SHORT + (LONG if os.environ.get("BL_LONG") else []):
        if not shutil.which(command(sample)[0]):
            print("%s: not built" % sample)
            skipped += 1
            continue
        status, said = validation_layer.run(command(sample), validation_layer.SYNCHRONIZATION)
        print("%s: %s" % (sample, "skipped" if status == SKIPPED else said or "silent"))
        skipped += status == SKIPPED
        failed += bool(said) and status != SKIPPED
    return 1 if failed else SKIPPED if skipped else 0


sys.exit(main())
