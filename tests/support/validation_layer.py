# SPDX-License-Identifier: BSD-3-Clause
"""Programs under the Khronos validation layer. The environment puts it under them, so they are those that people build;
the loader's own report says that it is there."""
import os
import subprocess

LAYER = "VK_LAYER_KHRONOS_validation"
SYNCHRONIZATION = {"VK_LAYER_VALIDATE_SYNC": "1", "VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC": "1"}
MESSAGES = ("Validation", "VUID", "SYNC-", "UNASSIGNED")  # how lines of the layer begin


def missing():
    """Whether there is no layer; says so."""
    gone = not os.path.exists(os.path.join(os.environ.get("VK_LAYER_PATH", ""), "VkLayer_khronos_validation.json"))
    if gone:
        print("no validation layer: VK_LAYER_PATH")
    return gone


def run(command, variables, messages=MESSAGES):
    """The command's status, and what is wrong with it, as text: lines of the layer, a layer that is absent, the status."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LOADER_DEBUG": "layer", **variables})
    said = [line for line in done.stdout.splitlines() if line.startswith(messages)]
    if 'Insert instance layer "%s"' % LAYER not in done.stdout:
        said.append("the layer was not under it")
    if done.returncode:
        said.append("status %d: %s" % (done.returncode, done.stdout[-2000:]))
    return done.returncode, "\n".join(said)
