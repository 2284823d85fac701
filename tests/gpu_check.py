# LABELS: swiftshader lavapipe
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/gpu-check, rehearsed: it passes where this device works; it ends in time, with everything in its
report, where the program crashes, hangs or draws another picture; a run that is killed leaves what it knew.
Needs BL_PROGRAM, BL_BUILD_DIR, BL_DEVICE."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT, PROGRAM = os.environ["BL_SOURCE_DIR"], os.environ["BL_PROGRAM"]
BUILD, DEVICE = os.environ["BL_BUILD_DIR"], os.environ["BL_DEVICE"]
# A program that crashes in room, hangs in smoke, draws cornell darker, and is else itself.
BROKEN = """#!/bin/sh
case "$*" in
    *room*) kill -SEGV $$ ;;
    *smoke*) exec sleep 1000 ;;
    render*cornell*"%s"*) exec %s "$@" -D max_depth=2 ;;
esac
exec %s "$@"
"""


def command(folder, program, *more):
    return [sys.executable, os.path.join(ROOT, "scripts", "gpu-check"), "--program", program, "--tests",
            os.path.join(BUILD, "tests"), "--device", DEVICE, "--name", "here", "-o", folder, *more]


def report(folder):
    with open(os.path.join(folder, "gpu-report-here.html"), encoding="utf-8") as file:
        page = file.read()
    with open(os.path.join(folder, "gpu-report-here.json"), encoding="utf-8") as file:
        data = json.load(file)
    return page, data, {(s["name"], r["name"]): r for s in data["steps"] for r in s["results"]}


def works(folder):
    """What passes on this device, a test among it."""
    run = subprocess.run(command(folder, PROGRAM, "--steps", "pictures,tests", "--matching", "^api_self_test$"))
    page, data, results = report(folder)
    wanted = {("pictures", "cornell"), ("pictures", "room"), ("pictures", "smoke"), ("tests", "api_self_test")}
    good = run.returncode == 0 and data["finished"] and wanted <= set(results) and data["device"]["kind"] == DEVICE
    good = good and all(r["status"] == "passed" for r in results.values())
    return good and all("<td>%s</td>" % name in page for _, name in wanted)


def broken(folder):
    program = os.path.join(folder, "broken")
    with open(program, "w", encoding="utf-8") as file:
        file.write(BROKEN % ("--device " + DEVICE, PROGRAM, PROGRAM))
    os.chmod(program, 0o755)
    return program


def fails(folder):
    """A crash, a picture that is another one, and a hang that takes what is left of the time."""
    program = broken(folder)
    began = time.monotonic()
    run = subprocess.run(command(folder, program, "--steps", "pictures,determinism", "--budget", "12"))
    _, data, results = report(folder)
    status = {key: r["status"] for key, r in results.items()}
    wanted = {("pictures", "cornell"): "failed", ("pictures", "room"): "failed", ("pictures", "smoke"): "left",
              ("determinism", "cornell"): "left"}
    print("%.1f s: %s" % (time.monotonic() - began, status))
    return (run.returncode == 1 and data["finished"] and time.monotonic() - began < 60
            and wanted.items() <= status.items()
            and "signal 11" in results["pictures", "room"]["text"] and "mean" in results["pictures", "cornell"]["text"])


def killed(folder):
    """After a first result nothing more arrives, and the run is killed."""
    with subprocess.Popen(command(folder, broken(folder), "--steps", "pictures"), start_new_session=True) as run:
        for _ in range(600):
            time.sleep(0.1)
            there = os.path.exists(os.path.join(folder, "gpu-report-here.json"))
            if there and ("pictures", "room") in report(folder)[2]:
                break
        os.killpg(run.pid, signal.SIGKILL)
    _, data, results = report(folder)
    return not data["finished"] and ("pictures", "room") in results


def other_names(folder):
    """A device is found by its place in the list and by its UUID, too."""
    listed = json.loads(subprocess.run([PROGRAM, "devices", "--json"], capture_output=True, text=True).stdout)["devices"]
    place, device = next((k, d) for k, d in enumerate(listed) if d["kind"] == DEVICE)
    for name in (str(place), "uuid:" + device["uuid"]):
        run = subprocess.run(command(folder, PROGRAM, "--steps", "selftest", "--device", name))
        if run.returncode != 0 or report(folder)[1]["device"] != device:
            return False
    return True


def no_such_device(folder):
    run = subprocess.run(command(folder, PROGRAM, "--device", "no such card"), capture_output=True, text=True)
    return run.returncode == 2 and "no such card" in run.stderr and not os.listdir(folder)


def main():
    failures = 0
    for check in (works, fails, killed, other_names, no_such_device):
        with tempfile.TemporaryDirectory() as folder:
            good = check(folder)
            print("%s %s" % ("pass" if good else "FAILED:", check.__name__), flush=True)
            failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
