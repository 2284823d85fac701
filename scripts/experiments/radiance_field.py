# SPDX-License-Identifier: BSD-3-Clause
"""Path replay of a radiance field: the fit of the photographs of assets/field by steps and time; memory and
time of a gradient by samples along rays."""
import csv
import json
import os
import re
import subprocess
import tempfile

import report

PHOTOGRAPHS = os.path.join(report.ROOT, "assets", "field")
FOG = os.path.join(PHOTOGRAPHS, "fog.xml")
SIDE, SPP, REPETITIONS = 32, 2, 6  # SPP: of fog.xml
SEEDS = 3  # of fits
FORMS = [("fused", "fused"), ("separate", "separate"), ("two-walk", "two walks")]
PARAMETERS = ["field.density.data", "field.sh_coeffs.data"]
TAPE = "tape, estimated"
TAPE_BYTES = 20  # of a sample: transmittance, optical thickness, three channels of radiance


# ---- the fit ----

def cpu_seconds(process):
    with open("/proc/%d/stat" % process.pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def job(folder, seed, tiny):
    """A job as `backlight import` writes it, that looks at the views that are held out 40 times."""
    path, steps = os.path.join(folder, "job.json"), 20 if tiny else 2400
    smaller = ["--resolution", 8, "--batch", 256, "--held-out", 1] if tiny else []
    report.backlight("import", PHOTOGRAPHS, "-o", path, "--steps", steps, *smaller)
    with open(path) as f:
        made = json.load(f)
    made["held_out_steps"] = steps // 40 or 5
    made["seed"] = seed
    with open(path, "w") as f:
        json.dump(made, f)
    return path


def fit(folder, seed, tiny):
    """result.json, and of each look: steps, CPU seconds of the process so far, PSNR, SSIM."""
    path, out, seconds = job(folder, seed, tiny), os.path.join(folder, "fit%d" % seed), {}
    process = subprocess.Popen([report.PROGRAM, "fit", path, "-o", out, "--no-cache"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, MESA_SHADER_CACHE_DISABLE="true"))
    for line in process.stderr:
        look = re.search(r"held out, after step (\d+)", line)
        if look:
            seconds[int(look[1])] = cpu_seconds(process)
    if process.wait():
        raise SystemExit("radiance_field: the fit failed")
    with open(os.path.join(out, "held_out.csv")) as f:
        looks = [(int(step), seconds[int(step)], float(psnr), float(ssim))
                 for step, psnr, ssim, _ in list(csv.reader(f))[1:]]
    with open(os.path.join(out, "result.json")) as f:
        return json.load(f), looks


# ---- samples along rays ----

def gradient(page, form, samples, target, folder, repetitions):
    """CPU seconds of a gradient; MiB; samples whose replay drifted."""
    s, seconds = report.gradients(page, repetitions, FOG, "-D", "side=%d" % SIDE, "-D", "resolution=16", "-D", "channels=3", "-D",
                                  "step_size=%.9g" % (1 / samples), "--form", form, "--target", target, "-o", folder,
                                  "--param", *PARAMETERS)
    return seconds, s["memory"]["device_bytes"] / 2**20, s["drifted_samples"]


def run(page, tiny):
    counts = [64, 128] if tiny else [64, 128, 256, 512, 1024]
    times, memory = {name: [] for _, name in FORMS}, {name: [] for _, name in FORMS}
    drifted = 0
    with tempfile.TemporaryDirectory() as folder:
        fits = [fit(folder, seed, tiny) for seed in range(2 if tiny else SEEDS)]
        result, target = fits[0][0], os.path.join(folder, "target.exr")
        looks = [(rows[0][0], *report.Measured.columns([r[1:] for r in rows])) for rows in zip(*(looks for _, looks in fits))]
        report.backlight("render", FOG, "-D", "side=%d" % SIDE, "-D", "value=-1.5", "-D", "resolution=16",
                         "-D", "channels=3", "-o", target)
        for samples in counts:
            for form, name in FORMS:
                seconds, size, lost = gradient(page, form, samples, target, os.path.join(folder, "out"),
                                               3 if tiny else REPETITIONS)
                times[name].append((samples, seconds)), memory[name].append((samples, size))
                drifted += lost
    memory[TAPE] = [(n, memory["separate"][0][1] + TAPE_BYTES * n * SIDE * SIDE * SPP / 2**20)
                    for n in counts]
    write(page, tiny, result, looks, counts, times, memory, drifted)


def write(page, tiny, result, looks, counts, times, memory, drifted):
    last, grows = len(counts) - 1, counts[-1] / counts[0]
    page.write("Path replay of a radiance field", [
        "Rows `fit`: the job that `backlight import assets/field` writes. It has %d photographs and %d "
        "steps of %d pixels, goes from coarse to fine, and its gradients are thinned (`thin_gradient`). "
        "PSNR and SSIM are means over views that no step sees. A fit looks at the first 8 of these on its "
        "way, and its report shows pictures of the same 8; `assets/field` holds out %d. CPU seconds are "
        "those of the process, with compilation and these looks. Figures are means of fits with %d seeds, with standard errors. At the end "
        "the PSNR is %s dB, after %s CPU seconds; %d samples of the first drifted."
        % (result["views"], result["steps"], result["batch"], result["held_out"]["views"], 2 if tiny else SEEDS, format(looks[-1][2], ".2f"),
           format(looks[-1][1], ".0f"), result["drifted_samples"]),
        "Rows `gradient`: a cube of fog (`assets/field/fog.xml`), seen by %d x %d pixels with %d samples "
        "each. It has 16 x 16 x 16 voxels of degree 0. A ray has %d to %d samples in it, and every one of "
        "them is backpropagated. Time is CPU seconds of image, loss and gradient together, the mean of %d "
        "measurements with its standard error. Memory is that of all the job's buffers. From %d to %d samples (%g times as "
        "many) time grows %s times, and memory %s times; %d samples drifted."
        % (SIDE, SIDE, SPP, counts[0], counts[last], report.TIMES, counts[0], counts[last], grows,
           ratios(times), ratios({n: memory[n] for _, n in FORMS}), drifted),
        "The curve of the tape is an estimate, not a measurement, because Backlight has no tape of a march. "
        "Reverse mode that stores what it needs of every sample holds at least the sample's transmittance, "
        "optical thickness and three channels of radiance, which are %d bytes. The estimate is the memory "
        "of `separate` plus %d bytes x samples along a ray x pixels x samples per pixel: for %d samples "
        "%.2f MiB + %d x %d x %d x "
        "%d bytes = %.2f MiB." % (TAPE_BYTES, TAPE_BYTES, counts[0], memory["separate"][0][1], TAPE_BYTES,
                                  counts[0], SIDE * SIDE, SPP, memory[TAPE][0][1]),
    ], ["what", "steps or samples", "CPU s", "PSNR, dB", "SSIM"] + ["%s, s" % n for n in times]
    + ["%s, MiB" % n for n in memory],
        [["fit", str(step), cpu, psnr, ssim] + [None] * (len(times) + len(memory))
         for step, cpu, psnr, ssim in looks]
        + [["gradient", str(n), None, None, None] + [t[k][1] for t in times.values()]
           + [m[k][1] for m in memory.values()] for k, n in enumerate(counts)], [
        {"title": "fit, by steps", "x": "step", "y": "PSNR of held-out views, dB",
         "curves": {"PSNR": [(s, p) for s, _, p, _ in looks]}},
        {"title": "fit, by time", "x": "CPU seconds", "y": "PSNR of held-out views, dB",
         "curves": {"PSNR": [(c, p) for _, c, p, _ in looks]}},
        {"title": "time of a gradient", "x": "samples along a ray", "y": "CPU seconds", "log_x": True,
         "log_y": True, "curves": times},
        {"title": "memory", "x": "samples along a ray", "y": "MiB", "log_x": True, "log_y": True,
         "curves": memory},
    ])


def ratios(curves):
    """Of the last point to the first, by curve."""
    return ", ".join("%.2f (%s)" % (points[-1][1] / points[0][1], name) for name, points in curves.items())
