# LABELS: lavapipe
# SPDX-License-Identifier: BSD-3-Clause
"""The samples under the Khronos validation layer with synchronization validation: not one message. The layer is
put under them by the environment, so the programs are those that people build; the loader's own report says
that it is there. Those that take a minute: with BL_LONG only."""
import os
import shutil
import subprocess
import sys

BUILD = os.environ.get("BL_BUILD_DIR", "build")
TESTS = os.path.dirname(os.path.abspath(__file__))
LAYER = "VK_LAYER_KHRONOS_validation"
SHORT = ["02_render", "03_fit_colours", "05_own_material", "07_own_light", "08_embed_headless", "09_embed_window",
         "10_shared_memory"]
LONG = ["04_fit_mlp", "06_own_scene"]
SKIPPED = 77


def command(sample):
    if sample == "09_embed_window":  # needs a display
        return [sys.executable, os.path.join(TESTS, "embed_window.py")]
    return [os.path.join(BUILD, "samples", "sample_" + sample)]


def problems(sample):
    """What is wrong with the sample, as text; None: it is skipped."""
    environment = {**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_VALIDATE_SYNC": "1",
                   "VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC": "1", "VK_LOADER_DEBUG": "layer"}
    done = subprocess.run(command(sample), env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode == SKIPPED:
        return None
    said = [line for line in done.stdout.splitlines() if line.startswith(("Validation", "VUID", "SYNC-"))]
    if 'Insert instance layer "%s"' % LAYER not in done.stdout:
        said.append("the layer was not under it")
    if done.returncode:
        said.append("status %d: %s" % (done.returncode, done.stdout[-2000:]))
    return "\n".join(said)


def main():
    if not os.path.exists(os.path.join(os.environ.get("VK_LAYER_PATH", ""), "VkLayer_khronos_validation.json")):
        print("no validation layer: VK_LAYER_PATH")
        return SKIPPED
    skipped = failed = 0
    for sample in SHORT + (LONG if os.environ.get("BL_LONG") else []):
        if not shutil.which(command(sample)[0]):
            print("%s: not built" % sample)
            skipped += 1
            continue
        said = problems(sample)
        print("%s: %s" % (sample, "skipped" if said is None else said or "silent"))
        skipped += said is None
        failed += bool(said)
    return 1 if failed else SKIPPED if skipped else 0


sys.exit(main())
