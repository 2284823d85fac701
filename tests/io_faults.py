# LABELS: native timeout=3600 sanitized=native
# SPDX-License-Identifier: BSD-3-Clause
"""The disk fails: every call of the system that uses a file of ours (open, read, write, fsync, rename, close, stat,
mkdir, mmap and so on; what stdio and libraries call counts too) is refused in turn, once or from then on, with ENOSPC
or EIO, while the program writes images, checkpoints, folders of fits and gradients, imported jobs, JSON and the kernel
cache, and while it goes on from checkpoints. Then it ends with 0 and all that was asked for is there, or with 1 and a
message. A file under its final name is the old one or the whole new one, nothing else is left, and the same command without
faults goes on from what there is and ends in the same bytes. The same with a call that a signal interrupts (EINTR). Reads
and writes that do half of what they are asked for, from then on, are no failure: the program ends with 0. A short run takes another share every day, BL_LONG=1 all.
Under sanitizers a call that fails must not make the program lose memory, either. Arguments: cases instead of all.
Needs BL_PROGRAM, BL_BUILD_DIR, BL_DEVICE."""
import collections
import errno
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from today import today

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
REFUSE = os.path.join(os.path.abspath(os.environ.get("BL_BUILD_DIR", "build")), "tests", "refuse_calls")
DEVICE = os.environ.get("BL_DEVICE", "native")
RUNS = 3  # of each command
SCENE = """<scene version="3.0.0"><sensor type="perspective"><float name="fov" value="50"/><transform name="to_world"><lookat
origin="0,0,3" target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="8"/><integer
name="height" value="8"/></film></sensor><bsdf type="diffuse" id="wall"/><shape type="rectangle"><ref id="wall"/></shape>
<emitter type="constant"/></scene>"""
JOB = """{"scene": "scene.xml", "views": [{"target": {"render": true}}, {"target": {"render": true}}], "held_out": [1],
"held_out_steps": 1, "variance_steps": 1, "parameters": [{"name": "wall.reflectance.value", "initial": 0.2}], "steps": %d, "spp": 1,
"checkpoint_steps": 1}"""
# Other bytes in each run: times, memory. What grows line by line may end early when the disk is full.
VARYING = ("result.json", "report.html", "summary.json", "stdout", "lock", "cache", "checkpoint")
GROWING = ("fit.csv", "held_out.csv", "noise.csv")
problems = []


def render(output, *more):
    return ["render", "scene.xml", "--spp", "4", "-o", output, *more]


PASSES = render("i.exr", "--checkpoint", "passes", "--pass", "1", "--no-cache")
FIT = ["fit", "job.json", "-o", "out", "--no-cache"]
# name: what is done before without faults, the command, how it is done again
CASES = {
    "exr": ([], render("i.exr", "--no-cache"), None),
    "png, JSON": ([], render("i.png", "--no-cache", "--json"), None),
    "variance": ([], render("i.pfm", "--variance", "v.hdr", "--no-cache"), None),
    "new cache": ([], render("i.pfm"), None),
    "old cache": ([render("j.pfm")], render("i.pfm"), None),
    "passes": ([], PASSES, None),
    "resumed passes": (["kill", PASSES], PASSES, None),
    "gradient": ([render("j.pfm", "--no-cache")], ["grad", "scene.xml", "--param", "wall.reflectance.value", "--target", "j.pfm", "--spp", "1", "-o", "out", "--no-cache"], None),
    "fit": ([], FIT, [*FIT, "--resume"]),
    "resumed fit": ([["fit", "first.json", "-o", "out", "--no-cache"]], [*FIT, "--resume"], [*FIT, "--resume"]),
    "params": ([], ["params", "scene.xml", "--json"], None),
    "check": ([], ["check", "scene.xml", "--param", "wall.reflectance.value", "--spp", "2", "--seeds", "2", "-o", "check.png", "--no-cache"], None),
    "bench": ([], ["bench", "scene.xml", "--spp", "2", "--rounds", "1", "--no-cache", "--json"], None),
    "import": ([], ["import", "photos", "-o", "field.json"], None),
    "import again": ([["import", "photos", "-o", "field.json", "--steps", "10"]], ["import", "photos", "-o", "field.json"], None),
}
# How a call is refused: name, what refuse_calls is told, kinds of calls (None: all).
FULL, BAD = {"REFUSE_ERROR": str(errno.ENOSPC)}, {"REFUSE_ERROR": str(errno.EIO)}
LATER = {"REFUSE_LATER": "1"}
REFUSALS = (("ENOSPC", FULL, None), ("EIO and later ones", {**BAD, **LATER}, None), ("EIO", BAD, None), ("ENOSPC and later ones", {**FULL, **LATER}, None),
            ("EINTR", {"REFUSE_ERROR": str(errno.EINTR)}, None),
            ("half and later ones", {"REFUSE_SHORT": "1", **LATER}, ("read", "pread", "readv", "write", "pwrite", "writev")))


def start(command, folder, **variables):
    """Standard output is a file of the folder, so that writing to it counts. A program that is watched to its end cannot
    look for leaks."""
    if "REFUSE_LIST" in variables or "REFUSE_LATER" in variables:
        variables["ASAN_OPTIONS"] = "detect_leaks=0"
    arguments = [PROGRAM, *command, "--quiet"] if command[0] == "params" else [PROGRAM, *command, "--quiet", "--device", DEVICE]
    with open(os.path.join(folder, "stdout"), "wb") as out:
        return subprocess.run([*([REFUSE] if variables else []), *arguments], cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=100, env={**os.environ, "BL_CACHE_DIR": "cache", **variables})


def content(folder):
    """Of all files, by their names."""
    files = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, folder)] = f.read()
    return files


def same(name, one, other):
    return any(v in name for v in VARYING) or one == other


def resumed(files):
    """How often a fit went on from a checkpoint."""
    return json.loads(files["out/result.json"])["resumed"] if "out/result.json" in files else None


def check_files(what, now, before, whole, finished, removes):
    for name, data in now.items():
        if ".tmp-" in name or name.endswith("turntable_frame.png"):
            if not removes and not name.startswith("cache"):
                problems.append("%s: left %s" % (what, name))
        elif name.split("/")[-1] in GROWING or name == "stdout" or name.split("/")[-1] == "lock":
            continue
        elif any(v in name for v in VARYING):
            if name.endswith("result.json") and not data.endswith(b"}\n"):
                problems.append("%s: half of %s" % (what, name))
        elif data != whole.get(name) and data != before.get(name) and name != "passes":
            problems.append("%s: %s is neither the old file nor the new one" % (what, name))
    if finished:
        for name in whole:
            if name.startswith("cache"):
                continue  # is of no consequence
            if name not in now or not same(name, now[name], whole[name]):
                problems.append("%s: ended with 0, but %s is %s" % (what, name, "other" if name in now else "absent"))
        if whole["stdout"] and now["stdout"].count(b"\n") != whole["stdout"].count(b"\n"):
            problems.append("%s: ended with 0, but wrote %d of %d bytes to standard output" %
                            (what, len(now["stdout"]), len(whole["stdout"])))


def one(case, before, whole, again, call, name, refusal):
    how, variables, _ = refusal
    what = "%s, call %d (%s), %s" % (case, call, name, how)
    shutil.rmtree("now", ignore_errors=True)
    shutil.copytree("template", "now")
    done = start(CASES[case][1], "now", REFUSE_AT=str(call), **variables)
    if done.returncode not in ((0,) if "REFUSE_SHORT" in variables else (0, 1)) or "Sanitizer" in done.stderr or "assertion" in done.stderr:
        problems.append("%s: %d %s" % (what, done.returncode, done.stderr[-2000:]))
    if done.returncode == 1 and "backlight:" not in done.stderr:
        problems.append("%s: 1 without a message" % what)
    now = content("now")
    check_files(what, now, before, whole, done.returncode == 0, name.startswith("unlink"))
    if done.returncode == 0 and resumed(now) != resumed(whole):
        problems.append("%s: ended with 0, but did not go on from the checkpoint" % what)
    if done.returncode:  # what there is is good enough to go on from
        after = start(again, "now")
        if after.returncode != 0:
            problems.append("%s: %s, but then: %d %s" % (what, done.stderr[-300:], after.returncode, after.stderr[-300:]))
        else:
            check_files(what + ", done again", content("now"), {}, whole, True, name.startswith("unlink"))
    return done.returncode


def make_photographs(folder):
    """Two grey ones of Instant-NGP's form, from two sides."""
    os.mkdir(folder)
    frames = []
    for k, pose in enumerate(([[1, 0, 0, 0], [0, 0, -1, -4], [0, 1, 0, 0], [0, 0, 0, 1]], [[0, 0, 1, 4], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])):
        with open(os.path.join(folder, "%d.png" % k), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n")
            for name, data in ((b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0\x60\x60\x60\x60" * 4)), (b"IEND", b"")):
                f.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))
        frames.append({"file_path": "%d.png" % k, "transform_matrix": pose})
    with open(os.path.join(folder, "transforms.json"), "w", encoding="utf-8") as f:
        json.dump({"fl_x": 5, "fl_y": 5, "cx": 2, "cy": 2, "w": 4, "h": 4, "frames": frames}, f)


def make_template(case):
    shutil.rmtree("template", ignore_errors=True)
    os.mkdir("template")
    for name, text in (("scene.xml", SCENE), ("job.json", JOB % 3), ("first.json", JOB % 2)):
        with open(os.path.join("template", name), "w", encoding="utf-8") as f:
            f.write(text)
    if case.startswith("import"):
        make_photographs("template/photos")
    steps = CASES[case][0]
    if steps and steps[0] == "kill":  # its last file, the picture, could not be written
        listed = os.path.abspath("list")
        start(steps[1], "template", REFUSE_LIST=listed)
        with open(listed, encoding="ascii") as f:
            renames = [k for k, line in enumerate(f, 1) if line == "rename\n"]
        start(steps[1], "template", REFUSE_AT=str(renames[-1]))
        if not os.path.exists("template/passes"):
            problems.append("%s: there is nothing to go on from" % case)
    else:
        for step in steps:
            done = start(step, "template")
            if done.returncode:
                problems.append("%s: before: %s" % (case, done.stderr))
    if case == "resumed fit":  # of another job: steps are no part of what a checkpoint is of
        os.unlink("template/out/result.json")


def run_case(case):
    make_template(case)
    before = content("template")
    shutil.rmtree("now", ignore_errors=True)
    shutil.copytree("template", "now")
    listed = os.path.abspath("list")
    done = start(CASES[case][1], "now", REFUSE_LIST=listed)
    if done.returncode != 0:
        problems.append("%s: %d %s" % (case, done.returncode, done.stderr))
        return
    whole = content("now")
    with open(listed, encoding="ascii") as f:
        calls = f.read().split()
    # Of each call: one kind of error once, the other from then on, and so on.
    at = [(call, refusal) for call, name in enumerate(calls, 1) for k, refusal in enumerate(REFUSALS)
          if (k >= 4 or (k // 2 == call % 2)) and (refusal[2] is None or name in refusal[2])]
    if not os.environ.get("BL_LONG"):
        at = random.Random("%s %d" % (case, today())).sample(at, min(RUNS, len(at)))
    failed = 0
    for call, refusal in at:
        failed += one(case, before, whole, CASES[case][2] or CASES[case][1], call, calls[call - 1], refusal) != 0
    print("%s: %d calls (%s), %d refused, %d commands failed" %
          (case, len(calls), ", ".join("%d %s" % (n, c) for c, n in collections.Counter(calls).most_common()), len(at), failed))


def main():
    if not os.path.exists(REFUSE):
        print("there is no " + REFUSE)
        return 77
    folder = tempfile.mkdtemp(prefix="io_faults_", dir=".")
    os.chdir(folder)
    if subprocess.run([REFUSE, "true"], check=False).returncode == 126:
        print("the system lets no program trace another (ptrace)")
        return 77
    for case in CASES:
        if not sys.argv[1:] or case in sys.argv[1:]:
            run_case(case)
    os.chdir("..")
    print("\n".join(problems[:200] + ["%d problems" % len(problems)]))
    if not problems:
        shutil.rmtree(folder)
    return 1 if problems else 0


sys.exit(main())
