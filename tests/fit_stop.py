# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Fits that end early ("stop"): at the step that a second implementation of both rules finds in fit.csv and
held_out.csv, with the reason on the terminal, in result.json and in the report; up to there as without the rule; not
while the loss falls; and, killed and resumed, in the same bytes."""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="3"/></integrator><sensor type="perspective"><float name="fov" value="40"/>
<transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="12"/>
<integer name="height" value="12"/><rfilter type="box"/></film></sensor><bsdf type="diffuse" id="wall"><rgb name="reflectance" value=".6,.3,.1"/></bsdf>
<shape type="rectangle"><ref id="wall"/></shape><emitter type="point"><point name="position" x="0" y="0" z="2"/><rgb name="intensity" value="6"/></emitter></scene>"""
SIDE = {"target": {"render": True}, "to_world": {"origin": [1, 0, 3], "target": [0, 0, 0], "up": [0, 1, 0]}}
JOB = {"scene": "scene.xml", "views": [{"target": {"render": True, "spp": 64}}, SIDE],
       "parameters": [{"name": "wall.reflectance.value", "initial": 0.5}], "steps": 300, "spp": 4, "batch": 40,
       "optimizer": {"type": "adam", "rate": 0.02}, "checkpoint_steps": 7}
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def start(folder, job, *options):
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump({**JOB, **job}, f)
    return subprocess.Popen([PROGRAM, "fit", "job.json", "-o", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(folder, job, *options):
    """Standard output, messages, result.json."""
    out, said = (process := start(folder, job, *options)).communicate(timeout=300)
    check(process.returncode == 0, "%s: %d: %s" % (job, process.returncode, said))
    if process.returncode:
        return out, said, {"steps": 0, "stopped": ""}
    with open(folder + "/result.json", encoding="utf-8") as f:
        return out, said, json.load(f)


def rows(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return [[float(v) for v in line.split(",")] for line in f.read().split("\n")[1:-1]]


def plateau_step(losses, window, improvement, first=0):
    for end in range(first + 2 * window, len(losses) + 1):
        part = losses[end - 2 * window:end]
        before, after = sum(part[:window]) / window, sum(part[window:]) / window
        variance = sum((a - b)**2 for a, b in zip(part, part[1:])) / 2 / (2 * window - 1)
        if before - after <= improvement * abs(before) + 2 * math.sqrt(2 * variance / window):
            return end
    return 0


def told(folder, out, said, result):
    reason = result.get("stopped", "")
    line = "stopped after step %d of 300: %s" % (result["steps"], reason)
    with open(folder + "/report.html", encoding="utf-8") as f:
        page = f.read()
    check(reason and result["complete"] and line in said and line in out and "S" + line[1:] in page and "stopped early" in page,
          "the reason is not told everywhere: %s" % line)


def same(folder, reference, what):
    for name in sorted(os.listdir(reference)):
        if name.endswith((".csv", ".npy", ".png", ".exr")):
            with open(os.path.join(folder, name), "rb") as f, open(os.path.join(reference, name), "rb") as g:
                check(f.read() == g.read(), "%s: %s differs" % (what, name))
    check(sorted(n for n in os.listdir(folder) if n.endswith(".png")) == sorted(n for n in os.listdir(reference) if n.endswith(".png")),
          "%s: other pictures" % what)


def resumed(job, reference, last):
    """Killed before the end, and at it; and gone on from once it is done."""
    for step in (1, last // 2, last - 1):
        process = start("killed", job, "--resume", "--verbose")
        for line in process.stderr:
            found = re.match(r"step (\d+)/", line)
            if found and int(found.group(1)) >= step:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
    run("killed", job, "--resume")
    same("killed", reference, "killed and resumed")
    run("killed", job, "--resume")
    same("killed", reference, "resumed after its end")
    shutil.rmtree("killed")


def by_plateau():
    job = {"stop": {"window": 15, "improvement": 0.01}, "held_out": [1], "held_out_steps": 9}
    out, said, result = run("plateau", job)
    told("plateau", out, said, result)
    whole = run("whole", {k: v for k, v in job.items() if k != "stop"})[2]
    check(whole["steps"] == 300 and "stopped" not in whole, "without the rule: %s" % whole)
    losses = [r[1] for r in rows("whole", "fit.csv")]
    expected = plateau_step(losses, 15, 0.01)
    check(30 < expected < 300 and result["steps"] == expected and rows("plateau", "fit.csv") == rows("whole", "fit.csv")[:expected],
          "ended after step %d instead of %d" % (result["steps"], expected))
    resumed(job, "plateau", result["steps"])
    shutil.rmtree("whole")
    # A rate so small that the loss falls all the time, without noise from step to step.
    steady = run("steady", {"stop": {"window": 20, "improvement": 1e-6}, "optimizer": {"type": "adam", "rate": 1e-4},
                            "common_random_numbers": True, "batch": 288, "form": "one-image", "spp": 8})[2]
    check(steady["steps"] == 300 and "stopped" not in steady, "a loss that falls: %s" % steady.get("stopped"))


def by_held_out():
    job = {"stop": {"patience": 3}, "held_out": [1], "held_out_steps": 5}
    out, said, result = run("patient", job)
    told("patient", out, said, result)
    psnr = [r[1] for r in rows("patient", "held_out.csv")]
    looks = next(k for k in range(1, len(psnr) + 1) if k - 1 - max(range(k), key=lambda i: psnr[i]) >= 3)
    check(result["steps"] == 5 * looks == 5 * len(psnr) < 300, "ended after step %d with looks %s" % (result["steps"], psnr))
    resumed(job, "patient", result["steps"])


def in_stages():
    """The rule holds in the last stage alone."""
    job = {"steps": None, "stages": [{"steps": 200}, {"steps": 100}], "stop": {"window": 15, "improvement": 0.01}}
    job = {k: v for k, v in {**JOB, **job}.items() if v is not None}
    with open("staged.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    done = subprocess.run([PROGRAM, "fit", "staged.json", "-o", "staged"], capture_output=True, text=True, check=False)
    losses = [r[1] for r in rows("staged", "fit.csv")]
    expected = plateau_step(losses, 15, 0.01, 200)
    check(done.returncode == 0 and len(losses) == expected > 200 and "stopped after step %d" % expected in done.stdout,
          "stages: %d steps instead of %d" % (len(losses), expected))


def mistakes():
    for job, named in (({"stop": {"patience": 2}}, "stop.patience: needs views that are held out"),
                       ({"stop": {"improvement": 0.1}}, "stop.window: give a window"),
                       ({"stop": {"patience": 2, "improvement": 0.1}, "held_out": [1]}, "stop.improvement: needs a window"),
                       ({"stop": {"window": 9}, "average": 5}, '"average" needs to know the last step'),
                       ({"stop": {"window": 9}, "average": "auto"}, '"average" needs to know the last step')):
        out, said = (process := start("wrong", job)).communicate()
        check(process.returncode == 1 and named in said, "expected '%s': %s%s" % (named, out, said))


def main():
    os.chdir(tempfile.mkdtemp(prefix="fit_stop_", dir="."))
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    by_plateau()
    by_held_out()
    in_stages()
    mistakes()
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
