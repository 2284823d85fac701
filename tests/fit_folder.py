# LABELS: native sanitized=native
# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a fit belongs to one fit at a time; a checkpoint of an unfinished fit is not lost without --force;
an untrusted job names ordinary files below its folder and --root alone. Needs BL_PROGRAM, BL_DEVICE."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SIDE = 8
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective"><transform name="to_world"><lookat origin="0,0,3" target="0,0,0"
up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/><rfilter type="box"/></film>
</sensor><bsdf type="diffuse" id="wall"/><shape type="rectangle"><ref id="wall"/></shape><emitter type="constant"/></scene>""" % (SIDE, SIDE)
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def write_job(path, **changes):
    job = {"scene": "scene.xml", "target": {"render": True}, "steps": 3, "spp": 1, "checkpoint_steps": 1,
           "parameters": [{"name": "wall.reflectance.value", "initial": 0.2}], **changes}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)


def start(*arguments):
    return subprocess.Popen([PROGRAM, "fit", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def run(*arguments):
    process = start(*arguments)
    try:
        err = process.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:  # a pipe that nobody writes to
        process.kill()
        process.communicate()
        return -1, "hangs"
    return process.returncode, err


def read(path):
    with open(path, "rb") as f:
        return f.read()


def other_jobs():
    write_job("first.json")
    write_job("second.json")
    for arguments, wanted in ((["first.json"], 0), (["first.json"], 0), (["second.json"], 1), (["second.json", "--force"], 0),
                              (["first.json"], 1)):
        status, err = run(*arguments, "-o", "shared")
        check(status == wanted, "%s into the folder of another job ended with %d: %s" % (arguments, status, err))
        check(status == 0 or "the result of another job" in err, "it does not say whose: " + err)


def two_fits():
    write_job("long.json", steps=1000000)
    first = start("long.json", "-o", "out")
    while first.poll() is None and not os.path.exists("out/checkpoint"):
        time.sleep(0.01)
    status, err = run("job.json", "-o", "out", "--resume")
    check(status == 1 and "process %d" % first.pid in err and "--force" in err, "a second fit: %d %s" % (status, err))
    check(first.poll() is None, "the first fit ended")
    first.send_signal(signal.SIGKILL)
    first.communicate()

    before = read("out/checkpoint")
    status, err = run("job.json", "-o", "out")
    check(status == 1 and "--resume" in err and "--force" in err, "a fit over a checkpoint: %d %s" % (status, err))
    check(os.path.exists("out/checkpoint") and read("out/checkpoint") == before, "the checkpoint is gone")
    status, err = run("job.json", "-o", "out", "--force")
    check(status == 0, "--force: %d %s" % (status, err))
    status, err = run("job.json", "-o", "out")
    check(status == 0, "over a finished fit: %d %s" % (status, err))


def names_are_no_patterns():
    for folder, name in (("a", "checkpoint.tmp-0123456789abcdef"), ("[a]", "report.html.tmp-fedcba9876543210")):
        os.makedirs(folder)
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    status, err = run("job.json", "-o", "[a]")
    check(status == 0, "a folder called [a]: " + err)
    check(os.path.exists("a/checkpoint.tmp-0123456789abcdef"), "a folder's name is taken for a pattern: another folder lost a file")
    check(not os.path.exists("[a]/report.html.tmp-fedcba9876543210"), "what a killed fit left is still there")


def untrusted():
    outside = tempfile.mkdtemp(prefix="outside_", dir="..")
    shutil.copy("scene.xml", outside)
    with open("target.pfm", "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (SIDE, SIDE) + bytes(12 * SIDE * SIDE))
    shutil.copy("target.pfm", outside)
    os.symlink(os.path.abspath(outside), "link")
    os.mkfifo("pipe.pfm")
    for changes, options, said in (
            ({"target": "target.pfm"}, (), None),
            ({"target": os.path.join(outside, "target.pfm")}, (), "target"),
            ({"target": os.path.join(outside, "target.pfm")}, ("--root", outside), None),
            ({"target": "link/target.pfm"}, (), "target"),
            ({"target": "pipe.pfm"}, (), "not an ordinary file"),
            ({"target": "/dev/zero"}, (), "target"),
            ({"scene": os.path.join(outside, "scene.xml")}, (), "scene"),
            ({"scene": "link/scene.xml"}, (), "scene")):
        write_job("untrusted.json", **changes)
        status, err = run("untrusted.json", "-o", "untrusted_out", "--untrusted", *options)
        check((status == 1 and said in err) if said else status == 0, "%s: %d %s" % (changes, status, err))
    write_job("untrusted.json", target="pipe.pfm")
    status, err = run("untrusted.json", "-o", "untrusted_out")
    check(status == 1 and "ordinary" in err, "a pipe as target of a trusted job: %d %s" % (status, err))
    for output, good in (("inside", True), (os.path.join(outside, "out"), False), ("inside/../../elsewhere", False),
                         ("link/out", False)):
        write_job("untrusted.json", output=output)
        status, err = run("untrusted.json", "--untrusted")
        check((status == 0) == good, "output %s: %d %s" % (output, status, err))
        check(good or not os.path.exists(output), "output %s was made" % output)
    shutil.rmtree(outside)


os.chdir(tempfile.mkdtemp(prefix="fit_folder_", dir="."))
with open("scene.xml", "w", encoding="utf-8") as scene:
    scene.write(SCENE)
write_job("job.json")
probe = run("job.json", "-o", "probe")
if "no device" in probe[1]:
    print(probe[1])
    sys.exit(1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77)
two_fits()
other_jobs()
names_are_no_patterns()
untrusted()
for problem in problems:
    print(problem)
print("%d problems" % len(problems))
if not problems:
    shutil.rmtree(os.getcwd())
sys.exit(1 if problems else 0)
