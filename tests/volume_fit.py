# LABELS: swiftshader=long native
# SPDX-License-Identifier: BSD-3-Clause
"""The volume fit of assets/smoke, smaller: from a constant, coarse to fine, to the density of the grid that
the targets were rendered from. Its error must fall well below the start's, that of each view's image too, and
the report must show slices of start, fit and truth."""
import json
import os
import subprocess
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
DEVICE = os.environ.get("BL_DEVICE", "swiftshader")
GRID = "smoke.sigma_t.data"


def main():
    with open(os.path.join(ROOT, "assets", "smoke", "fit.json"), encoding="utf-8") as f:
        job = json.load(f)
    job.update(scene=os.path.join(ROOT, "assets", "smoke", "scene.xml"), defines={"resolution": "24"},
               schedule=[{"step": 26, "factor": 0.5}, {"step": 41, "factor": 0.2}],
               stages=[{"steps": 25, "resolution": {GRID: [8, 8, 8]}},
                       {"steps": 25, "resolution": {GRID: [16, 16, 16]}}])
    with open("volume_fit.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    run = subprocess.run([PROGRAM, "fit", "volume_fit.json", "-o", "volume_fit", "--device", DEVICE],
                         capture_output=True, text=True, timeout=800)
    if "no device" in run.stderr or "no Vulkan" in run.stderr:
        print(run.stderr)
        return 1 if os.environ.get("BL_REQUIRE_ALL") == "1" else 77
    if run.returncode != 0:
        print(run.stderr)
        return 1
    with open("volume_fit/result.json", encoding="utf-8") as f:
        result = json.load(f)
    grid = result["parameters"][0]
    print("density error %.3f -> %.3f, loss %.3g -> %.3g in %.0f s" %
          (grid["first_rms_error"], grid["rms_error"], result["first_loss"], result["last_loss"],
           result["seconds"]))
    problems = []
    if not grid["rms_error"] < 0.55 * grid["first_rms_error"]:
        problems.append("the density is not much closer to the truth than the start is")
    if not result["last_loss"] < 0.15 * result["first_loss"]:
        problems.append("the loss hardly fell")
    with open("volume_fit/report.html", encoding="utf-8") as f:
        page = f.read()
    if ([page.count('class="compare"'), page.count('class="zoom difference"'), page.count('class="zoom true"')] != [3, 3, 1]
            or GRID not in page):
        problems.append("the report does not show three views and the slices")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
