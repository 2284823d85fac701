# LABELS: swiftshader
# SPDX-License-Identifier: BSD-3-Clause
"""The fit of a radiance field to the photographs of assets/field, smaller: `backlight import` makes a job, `backlight fit` fits it from coarse to
fine, and views that were held out must be seen far better than the empty field shows them. The same command twice gives the same bytes."""
import json
import os
import subprocess
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
DEVICE = os.environ.get("BL_DEVICE", "swiftshader")


def fit(name):
    run = subprocess.run([PROGRAM, "fit", "field_fit.json", "-o", name, "--device", DEVICE, "--quiet"], capture_output=True, text=True, timeout=800)
    if run.returncode != 0:
        print(run.stderr)
        sys.exit(77 if "no device" in run.stderr and os.environ.get("BL_REQUIRE_ALL") != "1" else 1)
    with open(os.path.join(name, "result.json"), encoding="utf-8") as f:
        result = json.load(f)
    with open(os.path.join(name, "field.density.data.npy"), "rb") as f:
        return result, f.read()


def main():
    made = subprocess.run([PROGRAM, "import", os.path.join(ROOT, "assets", "field"), "-o", "field_fit.json", "--resolution", "16", "--steps", "120",
                           "--batch", "2048"], capture_output=True, text=True, timeout=100)
    if made.returncode != 0:
        print(made.stderr)
        return 1
    result, density = fit("field_fit")
    held_out = result["held_out"]
    print("PSNR %.2f dB, SSIM %.3f, of %d views that were held out, in %.0f s" % (held_out["psnr"], held_out["ssim"], held_out["views"], result["seconds"]))
    problems = []
    if held_out["views"] != 8:
        problems.append("8 views are held out, not %d" % held_out["views"])
    if not held_out["psnr"] > 19:  # the empty field: 10.2 dB
        problems.append("held-out views are not seen well")
    if fit("field_fit_again")[1] != density:
        problems.append("the same fit gave other bytes")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
