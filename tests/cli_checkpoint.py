# LABELS: swiftshader=long native sanitized=native
# SPDX-License-Identifier: BSD-3-Clause
"""render --checkpoint: passes are kept. Killed at any time, the same command goes on and ends in the same bytes;
Ctrl-C writes the image so far and ends with 130; a checkpoint of another render, or one that is not whole, is
refused and stays. A signal during a long compilation ends the program at once. BL_LONG=1: 200 kills. Needs
BL_PROGRAM, BL_DEVICE."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
ROOT = os.path.abspath(os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")))
SCENE = os.path.join(ROOT, "assets", "cornell", "scene.xml")
KILLS = 200 if os.environ.get("BL_LONG") else 6
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def command(output, checkpoint, *options, spp=96):
    return [PROGRAM, "render", SCENE, "-D", "resolution=64", "--spp", str(spp), "--pass", "4", "-o", output,
            "--checkpoint", checkpoint, "--no-cache", *options]


def run(*arguments, **keywords):
    done = subprocess.run(command(*arguments, **keywords), capture_output=True, text=True, timeout=600)
    return done.returncode, done.stderr


def read(path):
    with open(path, "rb") as f:
        return f.read()


def kills(reference, seconds):
    numbers, done, ends = random.Random(time.time_ns()), 0, 0
    while done < KILLS:
        process = subprocess.Popen(command("killed.pfm", "killed"), stderr=subprocess.PIPE, text=True)
        try:
            err = process.communicate(timeout=numbers.uniform(0.1, 0.9) * seconds)[1]
            check(process.returncode == 0, "resumed: %d %s" % (process.returncode, err))
            check(read("killed.pfm") == reference, "after kills the image has other bytes")
            check(not os.path.exists("killed"), "the checkpoint of a finished render is still there")
            ends += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            done += 1
            left = [name for name in os.listdir(".") if name.startswith("killed.tmp-")]
            for name in left: # a kill while the file was written
                os.unlink(name)
    status, err = run("killed.pfm", "killed")
    check(status == 0 and read("killed.pfm") == reference, "the end after all kills: %d %s" % (status, err))
    print("%d kills, %d ends in between" % (done, ends))


def interrupted(reference):
    process = subprocess.Popen(command("stopped.pfm", "stopped", spp=1000000), stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not os.path.exists("stopped"):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=600)[1]
    check(process.returncode == 130, "Ctrl-C: %d %s" % (process.returncode, err))
    check("of 1000000 samples" in err, "Ctrl-C does not say how many samples: " + err)
    check(os.path.exists("stopped.pfm") and len(read("stopped.pfm")) == len(reference), "Ctrl-C leaves no image")

    status, err = run("stopped.pfm", "stopped")
    check(status == 1 and "of another render" in err, "a checkpoint of another render: %d %s" % (status, err))
    kept = read("stopped")
    with open("stopped", "wb") as f:
        f.write(kept[:-9] + bytes([kept[-9] ^ 1]) + kept[-8:])
    status, err = run("stopped.pfm", "stopped", spp=1000000)
    check(status == 1 and "not whole" in err, "a damaged checkpoint: %d %s" % (status, err))
    check(os.path.exists("stopped"), "a damaged checkpoint was removed")


def compilation():
    """About 250 textures within each other take SwiftShader ten seconds or more."""
    text = '<texture type="checkerboard" id="t0"/>' + "".join(
        '<texture type="checkerboard" id="t%d"><ref name="color0" id="t%d"/><ref name="color1" id="t%d"/></texture>' %
        (i, i - 1, i - 1) for i in range(1, 8))
    with open("slow.xml", "w", encoding="utf-8") as f:
        f.write('<scene version="3.0.0">%s<sensor type="perspective"><film type="hdrfilm"><integer name="width" value="8"/>'
                '<integer name="height" value="8"/></film></sensor><shape type="sphere"><bsdf type="diffuse"><ref '
                'name="reflectance" id="t7"/></bsdf></shape><emitter type="constant"/></scene>' % text)
    spent = []
    for wait in (None, 1.5):
        process = subprocess.Popen([PROGRAM, "render", "slow.xml", "-o", "slow.pfm", "--spp", "1", "--no-cache", "--quiet"])
        if wait:
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
        status, usage = os.wait4(process.pid, 0)[1:]
        spent.append(usage.ru_utime)
        ended = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        check(ended == (130 if wait else 0), "%s a driver that compiles: %d" % ("Ctrl-C with" if wait else "", ended))
    check(spent[1] < 0.5 * spent[0], "Ctrl-C waits for the driver's compiler: %.1f of %.1f s of CPU" %
          (spent[1], spent[0]))


os.chdir(tempfile.mkdtemp(prefix="cli_checkpoint_", dir="."))
start = time.monotonic()
status, err = run("whole.pfm", "whole")
if "no device" in err or "no Vulkan" in err:
    print(err)
    sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)
check(status == 0 and not os.path.exists("whole"), "a render in passes: %d %s" % (status, err))
if status == 0:
    kills(read("whole.pfm"), time.monotonic() - start)
    interrupted(read("whole.pfm"))
if os.environ.get("BL_DEVICE") == "swiftshader":
    compilation()
for problem in problems:
    print(problem)
print("%d problems" % len(problems))
if not problems:
    shutil.rmtree(os.getcwd())
sys.exit(1 if problems else 0)
