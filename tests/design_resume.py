# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A design that is killed again and again, at moments spread over its course, and resumed each time, ends in the same heights, solid,
pictures and losses as one that was not. Ctrl-C keeps a checkpoint, too. A checkpoint is not lost to a design that begins anew,
nor gone on from where the job's levels, its target or the heights of the level before have changed; two designs do not work
in one folder. Needs BL_PROGRAM, BL_DEVICE."""
import filecmp
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM, DEVICE = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight")), os.environ.get("BL_DEVICE", "native")
KILLS = 100 if os.environ.get("BL_LONG") else 8
JOB = {"target": "target.pfm", "slab": {"size": 40, "thickness": 3}, "distance": 90, "resolutions": [8, 16, 24],
       "steps": [40, 40, 20], "verify": {"spp": 500}, "checkpoint_steps": 3}
SAME = ("heights.npy", "slab.obj", "slab.stl", "heights.png", "start.png", "target.png", "level_8.png", "level_16.png", "level_24.png",
        "level_8.npy", "level_16.npy", "light_traced.exr", "verified.exr")
LONG = [40, 800, 20]  # steps
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def write_job(name="job.json", **changes):
    with open(name, "w", encoding="utf-8") as f:
        json.dump({**JOB, **changes}, f)


def write_target(name, level):
    """24 x 16: a bright disk."""
    rows = [[1.0 if (x - 9)**2 + (y - 7)**2 < 20 else level for x in range(24)] for y in range(16)]
    with open(name, "wb") as f:
        f.write(b"Pf\n24 16\n-1\n" + b"".join(struct.pack("<24f", *row) for row in reversed(rows)))


def start(folder, *options, job="job.json"):
    return subprocess.Popen([PROGRAM, "design", job, "-o", folder, "--device", DEVICE, *options], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def run(folder, *options, job="job.json"):
    process = start(folder, *options, job=job)
    err = process.communicate(timeout=1000)[1]
    return process.returncode, err


def losses(folder):
    """The rows of design.csv without their seconds."""
    with open(os.path.join(folder, "design.csv"), encoding="ascii") as f:
        return [line.rsplit(",", 1)[0] for line in f]


def compare(folder, what, whole="whole"):
    for name in SAME:
        made = os.path.join(folder, name)
        check(os.path.exists(made) and filecmp.cmp(made, os.path.join(whole, name), shallow=False), "%s: %s differs" % (what, name))
    check(losses(folder) == losses(whole), what + ": other losses")


def wait_for(process, name):
    while process.poll() is None and not os.path.exists(name):
        time.sleep(.002)


def kills(duration):
    numbers, done, ends, resumed = random.Random(time.time_ns()), 0, 0, 0
    while done < KILLS:
        process = start("killed", "--resume")
        if done % 2:  # the others may be killed before there is a checkpoint
            wait_for(process, "killed/checkpoint")
        try:
            process.wait(numbers.uniform(.02, .8 * duration))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            done += 1
        err = process.communicate(timeout=1000)[1]
        resumed += "going on with" in err
        if process.returncode == 0:
            compare("killed", "after %d kills" % done)
            shutil.rmtree("killed")
            ends += 1
        else:
            check(process.returncode == -signal.SIGKILL, "ended with %d: %s" % (process.returncode, err))
    status, err = run("killed", "--resume")
    check(status == 0, "after the last kill: " + err)
    compare("killed", "at the end")
    check(not [n for n in os.listdir("killed") if ".tmp-" in n], "temporary files are left")
    print("%d kills, %d went on from a checkpoint, %d got to the end before" % (done, resumed, ends))
    check(resumed > 0, "no design has gone on from a checkpoint")


def interrupted():
    """Leaves the folder "stopped" with a checkpoint of the second level, which has so many steps that it is not over before the signal."""
    write_job("long.json", steps=LONG)
    process = start("stopped", job="long.json")
    # By its first checkpoint the level has compiled its kernels; while they compile, Ctrl-C ends the program at once.
    while process.poll() is None and not (os.path.exists("stopped/design.csv") and len(losses("stopped")) > 1 + LONG[0]):
        time.sleep(.002)
    status, err = run("stopped", "--resume", job="long.json")
    check(status == 1 and "process %d" % process.pid in err, "a second design in the folder: %d %s" % (status, err))
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=1000)[1]
    check(process.returncode == 130 and "--resume" in err, "interrupted: %d %s" % (process.returncode, err))
    check(os.path.exists("stopped/slab.obj"), "the relief so far is not there")


def refuse(what, words, *options, job="long.json"):
    status, err = run("stopped", *options, job=job)
    check(status == 1 and all(word in err for word in words), "%s: %d %s" % (what, status, err))


def read(name):
    with open(name, "rb") as f:
        return f.read()


def refusals():
    before, kept = read("stopped/checkpoint"), read("stopped/level_8.npy")
    refuse("anew over a checkpoint", ("--resume", "--force"))
    write_job("other.json", steps=[LONG[0] + 1, *LONG[1:]])
    refuse("other levels", ("first levels were others",), "--resume", job="other.json")
    write_target("brighter.pfm", .5)
    write_job("other.json", steps=LONG, target="brighter.pfm")
    refuse("another target", ("belongs to a fit",), "--resume", job="other.json")
    with open("stopped/level_8.npy", "wb") as f:
        f.write(kept[:-4] + b"\0\0\0\0")
    refuse("other heights", ("was changed since",), "--resume")
    with open("stopped/level_8.npy", "wb") as f:
        f.write(kept)
    check(read("stopped/checkpoint") == before, "a refusal has changed the checkpoint")


def goes_on():
    status, err = run("stopped", "--resume", job="long.json")
    check(status == 0 and "going on with" in err, "resumed: %d %s" % (status, err))
    code = run("long_whole", job="long.json")[0]
    check(code == 0, "the uninterrupted one ended with %d" % code)
    if status == code == 0:
        compare("stopped", "interrupted and resumed", "long_whole")
        with open("stopped/result.json", encoding="utf-8") as f:
            check(json.load(f)["resumed"] == 1, "the result does not say that it was resumed")
    refuse("over another job's result", ("the result of another job",), job="other.json")
    status, err = run("stopped", "--force", job="other.json")
    check(status == 0, "--force: %d %s" % (status, err))


os.chdir(tempfile.mkdtemp(prefix="design_resume_", dir="."))
write_target("target.pfm", .2)
write_job()
begun = time.monotonic()
code, message = run("whole")
if code:
    sys.exit("the uninterrupted design failed: " + message)
kills(time.monotonic() - begun)
interrupted()
refusals()
goes_on()
print("\n".join(problems + ["%d problems" % len(problems)]))
if not problems:
    shutil.rmtree(os.getcwd())
sys.exit(bool(problems))
