# LABELS: lavapipe rayquery=long timeout=3600
# SPDX-License-Identifier: BSD-3-Clause
"""Whole commands under the Khronos validation layer, core and synchronization validation: a render, a gradient of moving
shapes, a fit that refits its hierarchy in each step, on our hierarchy and with ray queries. Not one message. The layer
is put under the program by the environment (support/validation_layer.py). BL_LONG=1: GPU-assisted validation as well, which
looks at what kernels access (20 s; of moving edges there it leaves out the kernels, which take many minutes to compile with its checks);
without it the fit alone, which renders and takes gradients, too, on our hierarchy one day and with ray queries the next. Needs BL_PROGRAM, BL_DEVICE, VK_LAYER_PATH."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import validation_layer
from today import today

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
LONG = bool(os.environ.get("BL_LONG"))
ASSISTED = {"VK_LAYER_GPUAV_ENABLE": "1", "VK_LAYER_VALIDATE_CORE": "0"}  # core validation is looked at by itself
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective">
<transform name="to_world"><lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="8"/>
<integer name="height" value="8"/></film></sensor><shape type="rectangle" id="wall"><transform name="to_world"><translate z="-1"/></transform>
<bsdf type="diffuse" id="paint"/></shape><shape type="cube" id="box"><transform name="to_world"><scale value="0.4"/></transform></shape>
<emitter type="constant"/></scene>"""
JOB = """{"scene": "scene.xml", "target": {"render": true}, "parameters": [{"name": "paint.reflectance.value", "initial": 0.2},
{"name": "box.vertex_positions", "rate": 0.001}], "steps": 3, "spp": 1, "checkpoint_steps": 1}"""
COMMON = ["--no-baking", "--no-cache", "--quiet"]
NO_EDGES = ["--edges", "none"]  # of moving edges there are kernels of their own, slow to compile
SHORT = ["fit", "job.json", "-o", "out", *NO_EDGES]
COMMANDS = (["render", "scene.xml", "--spp", "2", "-o", "o.pfm"],
            ["grad", "scene.xml", "--param", "box.vertex_positions", "--param", "paint.reflectance.value", "--adjoint", "o.pfm", "--spp", "2", "-o", "grad"],
            ["fit", "job.json", "-o", "out"])


def main():
    if validation_layer.missing():
        return 77
    folder = tempfile.mkdtemp(prefix="validation_", dir=".")
    os.chdir(folder)
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    with open("job.json", "w", encoding="utf-8") as f:
        f.write(JOB)
    failed = 0
    if not LONG and today() % 2:
        os.environ.setdefault("BL_RAY_BACKEND", "query")
    print("rays: " + os.environ.get("BL_RAY_BACKEND", "by our hierarchy"))
    # GPU-assisted validation warns of its own settings, and that it takes long.
    for name, variables, messages in (("core and synchronization", validation_layer.SYNCHRONIZATION, validation_layer.MESSAGES),
                                      ("GPU-assisted", ASSISTED, ("Validation Error", "VUID")))[:2 if LONG else 1]:
        for command in COMMANDS if LONG else [SHORT]:
            if variables is ASSISTED and command[0] != "render":
                command = [*command, *NO_EDGES]
            shutil.rmtree("out", ignore_errors=True)
            said = validation_layer.run([PROGRAM, *command, *COMMON], variables, messages)[1]
            print("%s, %s: %s" % (command[0], name, said or "silent"), flush=True)
            failed += bool(said)
    os.chdir("..")
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


sys.exit(main())
