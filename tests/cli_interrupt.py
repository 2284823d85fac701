# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C ends a command with the shell's status for the signal, 130, and SIGTERM with 143, not with that of a
failure; no file is left behind. Needs BL_PROGRAM, BL_DEVICE."""
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = os.path.join(os.path.abspath(ROOT), "assets", "cornell", "scene.xml")
COMMANDS = (["render", SCENE, "-o", "a.pfm", "--spp", "1000000"],
            ["bench", SCENE, "--spp", "1000000"],
            ["check", SCENE, "--param", "red.reflectance.value", "--spp", "1000000", "-o", "a.png"],
            ["bench", SCENE, "--rays", "--rounds", "1000"],
            ["grad", SCENE, "--forward", "red.reflectance.value", "-o", "a", "--spp", "1000000"])


def catches(process, number):
    """Whether the program has installed its handler: before that the signal simply ends it."""
    with open("/proc/%d/status" % process.pid, encoding="ascii") as status:
        caught = [int(line.split()[1], 16) for line in status if line.startswith("SigCgt:")]
    return bool(caught and caught[0] >> (number - 1) & 1)


def interrupt(command, number):
    process = subprocess.Popen([PROGRAM, *command, "--no-cache"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not catches(process, number):
        time.sleep(0.01)
    if process.poll() is None:
        process.send_signal(number)
    return process.communicate(timeout=600)[1], process.returncode


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for command in COMMANDS:
            for number, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                err, status = interrupt(command, number)
                if "no device" in err or "no Vulkan" in err:
                    print(err)
                    return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
                if status != expected:
                    problems.append("%s ended with %d, not %d: %s" % (command[0], status, expected, err))
                left = [os.path.join(at, name) for at, _, names in os.walk(".") for name in names]
                if left:
                    problems.append("%s left %s" % (command[0], left))
        os.chdir("/")
    print("\n".join(problems + ["%d problems" % len(problems)]))
    return 1 if problems else 0


sys.exit(main())
