# LABELS: swiftshader=long native timeout=3600
# SPDX-License-Identifier: BSD-3-Clause
"""A fit that is killed at random moments and resumed ends in the same bytes (values, log, pictures) as one
that never was; Ctrl-C leaves a checkpoint and a report; a checkpoint or log that is damaged or of another fit
is an error that changes nothing. 20 kills; BL_LONG=1: 200."""
import filecmp
import html.parser
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
DEVICE = os.environ.get("BL_DEVICE", "swiftshader")
KILLS = 200 if os.environ.get("BL_LONG") == "1" else 20

SCENE = """<scene version="3.0.0"><integrator type="direct"/>
<sensor type="perspective"><float name="fov" value="50"/><transform name="to_world"><lookat origin="0,0,3" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="10"/><integer name="height" value="10"/><rfilter type="box"/></film>
<sampler type="independent"><integer name="sample_count" value="8"/></sampler></sensor>
<bsdf type="diffuse" id="wall"><rgb name="reflectance" value=".6,.3,.1"/></bsdf>
<shape type="rectangle"><ref id="wall"/></shape>
<emitter type="point" id="lamp"><point name="position" x="0" y="1" z="2"/><rgb name="intensity" value="6"/></emitter></scene>"""
JOB = {"scene": "scene.xml",
       "views": [{"target": {"render": True}},
                 {"target": {"render": True}, "to_world": {"origin": [1, 0, 3], "target": [0, 0, 0],
                                                           "up": [0, 1, 0]}}],
       "parameters": [{"name": "wall.reflectance.value", "initial": 0.5},
                      {"name": "lamp.intensity.value", "initial": 2, "rate": 0.1}],
       "optimizer": {"type": "adam", "rate": 0.02}, "schedule": [{"step": 30, "factor": 0.5}],
       "loss": {"type": "huber", "delta": 0.5},
       "form": "fused", "steps": 120, "spp": 2, "checkpoint_steps": 3}
SAME = (["fit.csv", "wall.reflectance.value.npy", "lamp.intensity.value.npy"]
        + ["%s_%d.%s" % (n, v, k) for n in ("before", "after", "target") for v in (0, 1)
           for k in ("exr", "png")]
        + ["difference_0.png", "difference_1.png"])
# The wall as an image, from coarse to fine, with a colour beside it.
STAGES = [{"steps": 7, "resolution": {"wall.reflectance.data": [3, 5]}}, {"steps": 5},
          {"steps": 9, "resolution": {"wall.reflectance.data": [6, 10]}}, {"steps": 9}]
# Pixels drawn from two views, and a look at a third one.
THIRD = {"target": {"render": True},
         "to_world": {"origin": [-0.5, 0.5, 3], "target": [0, 0, 0], "up": [0, 1, 0]}}
BATCHED = {"batch": 30, "form": "one-image", "loss": [{"type": "huber", "delta": 0.5}, {"type": "l1", "weight": 0.01}], "held_out": [2], "held_out_steps": 4, "variance_steps": 5, "average": "auto",
           "adaptive_samples": {"noise": 0.2}, "spp": 8,
           "checkpoint_steps": 3,
           "views": JOB["views"] + [THIRD]}
STAGED = {"parameters": [{"name": "wall.reflectance.data", "initial": 0.5, "bounds": [0, 1],
                          "total_variation": 0.1},
                         {"name": "lamp.intensity.value", "initial": 2}],
          "loss": ["l2", {"type": "l1", "levels": 3, "weight": 0.1}], "scene": "staged.xml", "steps": None, "stages": STAGES, "checkpoint_steps": 2, "average": 4}
# What all these have, and a ball that moves before the wall.
WALL = '<texture type="bitmap" name="reflectance"><string name="filename" value="wall.pfm"/></texture>'
BALL = '<shape type="sphere" id="ball"><float name="radius" value="0.3"/><point name="center" x="0.2" y="0" z="0.5"/></shape>'
MOVING = {"scene": "moving.xml", "form": None, "steps": None, "stages": STAGES, "checkpoint_steps": 2,
          "parameters": STAGED["parameters"] + [{"name": "ball.translation", "rate": 0.01}]}
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def start(folder, *options, job="job.json"):
    return subprocess.Popen([PROGRAM, "fit", job, "-o", folder, "--device", DEVICE, *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=1000)
    check("Sanitizer" not in err and "Assertion" not in err, "crashed: " + err)
    return process.returncode, err


def run(folder, *options, job="job.json"):
    return finish(start(folder, *options, job=job))


def made_files(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith((".csv", ".npy", ".png", ".exr")) or n.startswith("stage_"))


def write_job(name, **changes):
    with open(name, "w", encoding="utf-8") as f:
        json.dump({k: v for k, v in {**JOB, **changes}.items() if v is not None}, f)


def expect_same(folder, reference, what, names=SAME):
    for name in names:
        made = os.path.join(folder, name)
        if not os.path.exists(made) or not filecmp.cmp(made, os.path.join(reference, name), shallow=False):
            check(False, "%s: %s differs from the uninterrupted fit's" % (what, name))


def wait_for_steps(process):
    for line in process.stderr:
        if line.startswith(("step ", "going on")):
            return


def kills(job, reference, duration, names):
    """Kills a fit again and again, at moments spread over the whole run and in turn over its steps; whenever
    it gets to its end before that, compares, and starts anew. duration: seconds of the whole."""
    with open(os.path.join(reference, "result.json"), encoding="utf-8") as f:
        loop = json.load(f)["seconds"]
    numbers, most = random.Random(time.time_ns()), KILLS // 2
    done, in_the_middle, ends = 0, 0, 0
    shutil.rmtree("killed", ignore_errors=True)
    while done < most:
        process = start("killed", "--resume", job=job)
        among_steps = done % 2 == 1
        if among_steps:
            wait_for_steps(process)
        try:
            process.wait(numbers.uniform(0, 0.4 * loop) if among_steps
                         else numbers.uniform(0.02, 0.9 * duration))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            done += 1
            in_the_middle += os.path.exists("killed/checkpoint")
        status, err = finish(process)
        if status == 0:
            expect_same("killed", reference, "%s after %d kills" % (job, done), names)
            shutil.rmtree("killed")
            ends += 1
        else:
            check(status == -signal.SIGKILL, "%s: a resumed fit failed with %d: %s" % (job, status, err))
    status, err = run("killed", "--resume", job=job)
    check(status == 0, "%s: the last resumed fit failed: %s" % (job, err))
    expect_same("killed", reference, "%s after the last kill" % job, names)
    with open("killed/result.json", encoding="utf-8") as f:
        check(json.load(f)["complete"] is True, "%s: result.json does not say that the fit is complete" % job)
    check(in_the_middle > most / 4, "%s: only %d of %d kills came after a checkpoint" % (job, in_the_middle, most))
    left = [n for n in os.listdir("killed") if ".tmp-" in n]
    check(not left, "%s: a finished fit has remains of killed ones: %s" % (job, left))
    print("%s: %d kills, %d of them after a checkpoint; %d fits were finished" % (job, done, in_the_middle, ends + 1))


def moving_kills():
    """The same with stages, two views and a shape that moves."""
    write_image("wall.pfm", 10, 6)
    write_job("moving.json", **MOVING)
    with open("moving.xml", "w", encoding="utf-8") as f:
        f.write(SCENE.replace('<rgb name="reflectance" value=".6,.3,.1"/>', WALL).replace("<emitter", BALL + "<emitter"))
    begun = time.monotonic()
    status, err = run("moving_whole", job="moving.json")
    duration = time.monotonic() - begun
    check(status == 0, "the uninterrupted fit of a moving shape failed: " + err)
    names = made_files("moving_whole")
    check("stage_3" in names and "ball.translation.npy" in names and "after_1.exr" in names, "files of a fit of a moving shape: %s" % names)
    if status == 0:
        kills("moving.json", "moving_whole", duration, names)


class References(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.outside, self.images, self.charts, self.open = [], 0, 0, []

    def handle_starttag(self, tag, attributes):
        self.images += tag == "img"
        self.charts += tag == "svg"
        self.outside += [v for k, v in attributes if k in ("src", "href", "data", "action")
                         and not (v or "").startswith(("data:image/png;base64,", "#"))]
        check(tag not in ("script", "link", "iframe", "object"), "the report has a <%s>" % tag)


def check_report(folder, text):
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as f:
        page = f.read()
    parser = References()
    parser.feed(page)
    check(not parser.outside, "the report refers to %s" % parser.outside)
    check(not re.search(r"https?:|@import|url\(", page), "the report refers to the network")
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        thumbs = json.load(f)["steps"].bit_length()  # after 1, 2, 4 .. steps
    check(parser.images == 8 + thumbs and parser.charts == 3, "the report has %d pictures, of %d steps, and %d curves" %
          (parser.images, thumbs, parser.charts))
    for wanted in [text, DEVICE, "RMSE", " dB", "rate 0.02, betas 0.9 and 0.999", "replay drift", "huber", "form ",
                   "seed", "--spp 2"]:
        check(wanted in page, "the report does not say '%s'" % wanted)


def interruptions(reference):
    for number, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        shutil.rmtree("stopped", ignore_errors=True)
        process = start("stopped")
        wait_for_steps(process)
        process.send_signal(number)
        status, err = finish(process)
        check(status == expected, "signal %d ended with %d: %s" % (number, status, err))
        check("--resume goes on" in err, "the interrupted fit does not say how to go on: " + err)
        with open("stopped/result.json", encoding="utf-8") as f:
            result = json.load(f)
        check(result["complete"] is False and 0 < result["steps"] < JOB["steps"],
              "result.json of an interrupted fit: %s" % result)
        check_report("stopped", "interrupted")
        status, err = run("stopped", "--resume")
        check(status == 0, "resuming after a signal failed: " + err)
        expect_same("stopped", reference, "after signal %d" % number)
    check_report("stopped", "complete")


def snapshot(folder):
    """All but the lock, which has the number of the last process."""
    return {n: open(os.path.join(folder, n), "rb").read() for n in sorted(os.listdir(folder)) if n != "lock"}


def refusal(named, what, *options, job="job.json"):
    before = snapshot("stopped")
    status, err = run("stopped", "--resume", *options, job=job)
    check(status == 1 and named in err, "%s: expected '%s', got %d: %s" % (what, named, status, err))
    check(snapshot("stopped") == before, "%s: the folder was changed" % what)


def damage(reference):
    """stopped/ is a complete fit with its checkpoint."""
    with open("stopped/checkpoint", "rb") as f:
        good = f.read()
    for what, bytes_ in (("cut", good[: len(good) // 2]), ("empty", b""),
                         ("one bit", good[:-3] + bytes([good[-3] ^ 4]) + good[-2:]),
                         ("text", b"checkpoint\n")):
        with open("stopped/checkpoint", "wb") as f:
            f.write(bytes_)
        refusal("stopped/checkpoint", "checkpoint: " + what)
    with open("stopped/checkpoint", "wb") as f:
        f.write(good)
    refusal("other settings", "another seed", "--seed", "5")
    write_job("other.json", steps=40)
    refusal("beyond the 40 steps", "fewer steps", job="other.json")
    with open("stopped/fit.csv", "r+b") as f:
        log = f.read()
        f.seek(40)
        f.write(b"7")
    refusal("stopped/fit.csv was changed", "a changed log")
    os.rename("stopped/fit.csv", "stopped/log")
    refusal("stopped/fit.csv", "no log")
    os.remove("stopped/log")
    with open("stopped/fit.csv", "wb") as f:
        f.write(log + b"121,0.5,junk after a crash")
    status, err = run("stopped", "--resume")
    check(status == 0, "a log with more lines than the checkpoint knows: " + err)
    expect_same("stopped", reference, "with a longer log")


def extension(reference):
    """A finished fit goes on when the job asks for more steps; without --resume everything starts anew."""
    write_job("short.json", steps=31)
    write_job("job <b>&'.json")
    check(run("longer", job="short.json")[0] == 0, "the shorter fit failed")
    status, err = run("longer", "--resume", job="job <b>&'.json")
    check(status == 0 and "going on after step 31" in err, "more steps: " + err)
    expect_same("longer", reference, "31 steps, then the rest")
    check_report("longer", "job &lt;b&gt;&amp;")
    status, err = run("longer", "--resume", job="nosuch.json")
    check(status == 1, "a missing job")
    shutil.rmtree("longer")
    status, err = run("longer", "--resume")
    check(status == 0 and "starting from the beginning" in err, "nothing to resume: " + err)
    expect_same("longer", reference, "resumed from nothing")


def write_image(name, width, height):
    with open(name, "wb") as f:
        f.write(b"PF\n%d %d\n-1\n" % (width, height))
        f.write(struct.pack("<%df" % (3 * width * height),
                            *(i * 37 % 100 / 100 for i in range(3 * width * height))))


def wait_until(process, step):
    for line in process.stderr:
        found = re.match(r"step (\d+)/", line)
        if found and int(found.group(1)) >= step:
            return


def stages():
    """Killed in every stage, also right at their ends; what the stage began with belongs to the
    checkpoint."""
    write_image("wall.pfm", 10, 6)
    with open("staged.xml", "w", encoding="utf-8") as f:
        f.write(SCENE.replace('<rgb name="reflectance" value=".6,.3,.1"/>', WALL))
    write_job("staged.json", **STAGED)
    status, err = run("staged_whole", job="staged.json")
    check(status == 0, "the uninterrupted fit in stages failed: " + err)
    names = made_files("staged_whole")
    for wanted in ("stage_1", "stage_2", "stage_3", "wall.reflectance.data_before.png",
                   "wall.reflectance.data_after.png", "wall.reflectance.data_true.png", "fit.csv"):
        check(wanted in names, "a fit in stages has no " + wanted)
    with open("staged_whole/fit.csv", encoding="utf-8") as f:
        check(f.readline()
              == "step,loss,lamp.intensity.value[0],lamp.intensity.value[1],lamp.intensity.value[2],"
              "loss:0:l2,loss:1:l1\n", "the columns of fit.csv")
    with open("staged_whole/result.json", encoding="utf-8") as f:
        result = json.load(f)
    with open("staged_whole/fit.csv", encoding="utf-8") as f:
        last = f.read().split("\n")[-2].split(",")
    terms = result["loss_terms"]
    check([t["type"] for t in terms] == ["l2", "l1"] and terms[1]["levels"] == 3 and terms[1]["weight"] == 0.1
          and [t["last"] for t in terms] == [float(c) for c in last[-2:]]
          and abs(sum(t["last"] for t in terms) - float(last[1])) < 1e-5 * float(last[1]), "terms of the loss: %s" % terms)
    with open("staged_whole/report.html", encoding="utf-8") as f:
        page = f.read()
    check("0.1 l1 of 3 levels: %.3g at the first step" % terms[1]["first"] in page, "terms in the report")
    check(">loss</text>" in page and "0.1 l1 of 3 levels</text>" not in page, "the axis of the loss names a sum, which it has no room for")
    check(result["stages"] == 4 and result["steps"] == 30 and result["parameters"][0]["shape"] == [6, 10, 3],
          "result.json of stages: %s" % result)
    for step in (3, 6, 9, 12, 15, 21, 27):
        process = start("staged", "--resume", job="staged.json")
        wait_until(process, step)
        process.send_signal(signal.SIGKILL)
        finish(process)
    shutil.copytree("staged", "staged_damaged")
    status, err = run("staged", "--resume", job="staged.json")
    check(status == 0 and "going on after step" in err, "the last resumed fit in stages failed: " + err)
    expect_same("staged", "staged_whole", "in stages", names)
    with open("staged_damaged/stage_3", "r+b") as f:
        f.write(b"7")
    status, err = run("staged_damaged", "--resume", job="staged.json")
    check(status == 1 and "staged_damaged/stage_3" in err, "a damaged beginning of a stage: %d %s" %
          (status, err))
    for changes, named in (({"parameters": [dict(STAGED["parameters"][0], initial=[0.5, 0.5]),
                                            STAGED["parameters"][1]]},
                                            "has 2 numbers; wall.reflectance.data has 45 entries"),
                           ({"stages": [{"steps": 1, "resolution": {"wall.reflectance.data": [3, 5, 5]}}]},
                            "stages[0].resolution.wall.reflectance.data"),
                           ({"stages": [{"steps": 1, "resolution": {"wall.reflectance.data": [1, 5]}}]},
                            "wall.reflectance.data: a side of 1"),
                           ({"stages": [{"steps": 1, "resolution": {"lamp.intensity.value": [3, 5]}}]},
                            "stages[0].resolution.lamp.intensity.value: its size is fixed")):
        write_job("bad.json", **{**STAGED, **changes})
        status, err = run("bad", job="bad.json")
        check(status == 1 and named in err, "expected '%s', got %d: %s" % (named, status, err))


def batches():
    """Killed among steps and looks at the view that is held out; the log of these looks belongs to the
    checkpoint, too. Then more steps."""
    write_job("batched.json", **BATCHED)
    status, err = run("batched_whole", job="batched.json")
    check(status == 0 and "held out, after step 4:" in err, "the uninterrupted fit by batches failed: " + err)
    names = [n for n in os.listdir("batched_whole") if n.endswith((".csv", ".npy", ".png", ".exr"))]
    check("held_out.csv" in names and "noise.csv" in names and "samples.csv" in names and "after_2.exr" in names and "after_0.exr" not in names,
          "pictures of a fit by batches: %s" % names)
    with open("batched_whole/held_out.csv", encoding="utf-8") as f:
        rows = f.read().split("\n")
    check(rows[0] == "step,psnr,ssim,views" and [r.split(",")[0] for r in rows[1:]]
          == [str(4 * k) for k in range(1, 31)] + [""], "held_out.csv: %s" % rows)
    for step in (3, 10, 24, 50, 90):
        process = start("batched", "--resume", job="batched.json")
        wait_until(process, step)
        process.send_signal(signal.SIGKILL if step != 24 else signal.SIGINT)
        finish(process)
    status, err = run("batched", "--resume", job="batched.json")
    check(status == 0 and "going on after step" in err, "the last resumed fit by batches failed: " + err)
    expect_same("batched", "batched_whole", "by batches", names)
    results = [json.load(open(folder + "/result.json", encoding="utf-8"))
               for folder in ("batched", "batched_whole")]
    check(results[0]["held_out"] == results[1]["held_out"] and results[0]["held_out"]["views"] == 1
          and results[0]["views"] == 2, "held_out of result.json")
    settled = [[p["settled"] for p in r["parameters"]] for r in results]
    check(settled[0] == settled[1] and max(settled[0]) > 0, "shares that have settled: %s" % settled)
    check(abs(results[0]["held_out"]["psnr"] - float(rows[-2].split(",")[1])) < 1e-6, "PSNR at the end")
    write_job("shorter.json", **{**BATCHED, "steps": 50})
    check(run("batched_more", job="shorter.json")[0] == 0, "the shorter fit by batches failed")
    status, err = run("batched_more", "--resume", job="batched.json")
    expect_same("batched_more", "batched_whole", "50 steps by batches, then the rest", names)


def divergence():
    """A parameter that becomes infinite ends the fit with its name, and leaves the checkpoint of the step
    before. The rate throws the lamp's intensity beyond 1e36 at once, where its light is no number any more;
    momentum carries it on."""
    with open("wild.xml", "w", encoding="utf-8") as f:
        f.write(SCENE.replace('name="intensity" value="6"', 'name="intensity" value="600"'))
    write_job("wild.json", scene="wild.xml", views=None, target={"render": True}, loss="l2", schedule=None,
              checkpoint_steps=1,
              parameters=[{"name": "lamp.intensity.value", "initial": 2}],
              optimizer={"type": "sgd", "rate": 3e38, "momentum": 0.9})
    status, err = run("wild", job="wild.json")
    found = re.search(r"lamp.intensity.value: \d of its 3 values are NaN or infinite after step (\d+)", err)
    check(status == 1 and found is not None and "wild/checkpoint is from before" in err,
          "a parameter that becomes infinite: %d %s" % (status, err))
    check(not os.path.exists("wild/result.json"), "a fit that was lost has a result")
    status, err = run("wild", "--resume", job="wild.json")
    check(status == 1 and found and "going on after step %d" % (int(found.group(1)) - 1) in err,
          "going on before the loss: %d %s" % (status, err))


def main():
    os.chdir(tempfile.mkdtemp(prefix="fit_resume_", dir="."))
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    write_job("job.json")
    begun = time.monotonic()
    status, err = run("whole")
    duration = time.monotonic() - begun
    if "no device" in err or "no Vulkan" in err:
        print(err)
        return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    check(status == 0, "the uninterrupted fit failed: " + err)
    check(os.path.exists("whole/checkpoint"), "a finished fit has no checkpoint")
    if not problems:
        kills("job.json", "whole", duration, SAME)
        moving_kills()
        interruptions("whole")
        damage("whole")
        extension("whole")
        stages()
        batches()
        divergence()
    for p in problems[:30]:
        print(p)
    print("uninterrupted: %.1f s; %d problems" % (duration, len(problems)))
    if not problems:
        shutil.rmtree(os.getcwd())
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
