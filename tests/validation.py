# LABELS: lavapipe rayquery=long timeout=3600
# SPDX-License-Identifier: BSD-3-Clause
"""Whole commands under the Khronos validation layer, core and synchronization validation: a render, a gradient of moving
shapes, a fit that refits its hierarchy in each step, on our hierarchy and with ray queries. Not one message. The layer
is put under the program by the environment, and the loader's own report says that it is there. BL_LONG=1: GPU-assisted
validation as well, which looks at what kernels access; without it the fit alone, which renders and takes gradients, too. Needs BL_PROGRAM, BL_DEVICE, VK_LAYER_PATH."""
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
LONG = bool(os.environ.get("BL_LONG"))
LAYER = "VK_LAYER_KHRONOS_validation"
CORE = {"VK_LAYER_VALIDATE_SYNC": "1", "VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC": "1"}
ASSISTED = {"VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT"}
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective">
<transform name="to_world"><lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="8"/>
<integer name="height" value="8"/></film></sensor><shape type="rectangle" id="wall"><transform name="to_world"><translate z="-1"/></transform>
<bsdf type="diffuse" id="paint"/></shape><shape type="cube" id="box"><transform name="to_world"><scale value="0.4"/></transform></shape>
<emitter type="constant"/></scene>"""
JOB = """{"scene": "scene.xml", "target": {"render": true}, "parameters": [{"name": "paint.reflectance.value", "initial": 0.2},
{"name": "box.vertex_positions", "rate": 0.001}], "steps": 3, "spp": 1, "checkpoint_steps": 1}"""
COMMON = ["--no-baking", "--no-cache", "--quiet"]
SHORT = ["fit", "job.json", "-o", "out", "--edges", "none"]  # of moving edges there are kernels of their own, slow to compile
COMMANDS = (["render", "scene.xml", "--spp", "2", "-o", "o.pfm"],
            ["grad", "scene.xml", "--param", "box.vertex_positions", "--param", "paint.reflectance.value", "--adjoint", "o.pfm", "--spp", "2", "-o", "grad"],
            ["fit", "job.json", "-o", "out"])


def problems(command, variables):
    done = subprocess.run([PROGRAM, *command, *COMMON], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LOADER_DEBUG": "layer", **variables})
    # GPU-assisted validation warns of its own settings, and that it takes long.
    bad = ("Validation Error", "VUID") if variables is ASSISTED else ("Validation", "VUID", "SYNC-", "UNASSIGNED")
    said = [line for line in done.stdout.splitlines() if line.startswith(bad)]
    if 'Insert instance layer "%s"' % LAYER not in done.stdout:
        said.append("the layer was not under it")
    if done.returncode:
        said.append("status %d: %s" % (done.returncode, done.stdout[-1000:]))
    return "\n".join(said)


def main():
    if not os.path.exists(os.path.join(os.environ.get("VK_LAYER_PATH", ""), "VkLayer_khronos_validation.json")):
        print("no validation layer: VK_LAYER_PATH")
        return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    folder = tempfile.mkdtemp(prefix="validation_", dir=".")
    os.chdir(folder)
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    with open("job.json", "w", encoding="utf-8") as f:
        f.write(JOB)
    failed = 0
    for name, variables in (("core and synchronization", CORE), ("GPU-assisted", ASSISTED))[:2 if LONG else 1]:
        for command in COMMANDS if LONG else [SHORT]:
            shutil.rmtree("out", ignore_errors=True)
            said = problems(command, variables)
            print("%s, %s: %s" % (command[0], name, said or "silent"), flush=True)
            failed += bool(said)
    os.chdir("..")
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


sys.exit(main())
