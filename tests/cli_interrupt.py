# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C ends a command with the shell's status for the signal, 130, and SIGTERM with 143, not with that of a
failure; no file is left behind, but by render, which keeps the rows that it has. Needs BL_PROGRAM, BL_DEVICE."""
import os
import pty
import re
import signal
import struct
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


def rows(name):
    """The sums of rows, from above, of an image of 64 x 64 pixels; the file is removed."""
    with open(name, "rb") as f:
        values = struct.unpack("<%df" % (3 * 64 * 64), f.read()[-4 * 3 * 64 * 64:])
    os.unlink(name)
    return [sum(values[3 * 64 * y:3 * 64 * (y + 1)]) for y in reversed(range(64))]


def read_until(terminal, pattern):
    """What a program says to its terminal until it has said this, or until it ends."""
    said = b""
    while not (pattern and re.search(pattern, said)):
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux's end of file of a terminal
            break
        if not part:
            break
        said += part
    return said.decode(errors="replace")


def part_of_a_picture():
    """Of a render that is interrupted once its progress shows that it draws: upper rows are as bright as the whole picture's, the rest is black. Its film has
    alpha, which such a picture lacks."""
    with open(SCENE, encoding="utf-8") as f, open("alpha.xml", "w", encoding="utf-8") as to:
        to.write(f.read().replace('<film type="hdrfilm">', '<film type="hdrfilm"><string name="pixel_format" value="rgba"/>'))
    command = [PROGRAM, "render", "alpha.xml", "-D", "resolution=64", "--spp", "20000", "-o", "part.pfm"]
    own, terminal = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    err = read_until(own, rb"Mpaths/s")
    process.send_signal(signal.SIGINT)
    err += read_until(own, None)
    os.close(own)
    process.wait(timeout=600)
    if process.returncode == 0:
        return []  # a fast device
    share = re.search(r"part.pfm has [\d.e+]+ of 20000 samples per pixel", err)
    if process.returncode != 130 or not share:
        return ["an interrupted render ended with %d: %s" % (process.returncode, err)]
    whole = [PROGRAM, "render", SCENE, "-D", "resolution=64", "--spp", "64", "-o", "whole.pfm", "--quiet"]
    subprocess.run(whole, check=True)
    part, whole = rows("part.pfm"), rows("whole.pfm")
    lit = [y for y in range(64) if part[y] > 0.5 * whole[y] > 0]
    dark = [y for y in range(64) if part[y] == 0 < whole[y]]
    if not lit or (dark and max(lit) > min(dark)) or any(abs(part[y] / whole[y] - 1) > 0.1 for y in lit[:-1]):
        return ["the picture so far: lit rows %s, black rows %s, %s" % (lit, dark, [part[y] / whole[y] for y in lit])]
    return []


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
                if left and (command[0] != "render" or left != ["./a.pfm"] or "samples per pixel" not in err):
                    problems.append("%s left %s: %s" % (command[0], left, err))
                for name in left:
                    os.unlink(name)
        problems += part_of_a_picture()
        os.chdir("/")
    print("\n".join(problems + ["%d problems" % len(problems)]))
    return 1 if problems else 0


sys.exit(main())
