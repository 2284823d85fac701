# SPDX-License-Identifier: BSD-3-Clause
"""A slab of glass whose caustic is a picture: `backlight design` of assets/leaf, coarse to fine, and its check by path
tracing of the solid."""
import csv
import json
import os
import shutil
import tempfile

import report

LEAF = os.path.join(report.ROOT, "assets", "leaf")
SEEDS = 3
PICTURES = ["target", "start", "level_16", "level_32", "level_64", "light_traced", "verified", "heights"]


def job_of(tiny, folder, seed):
    with open(os.path.join(LEAF, "design.json")) as f:
        job = json.load(f)
    job["seed"] = seed
    job["target"] = os.path.join(LEAF, job["target"])
    if tiny:
        job.update(resolutions=[8, 16, 32, 64], steps=2, verify={"spp": 4})
    path = os.path.join(folder, "job.json")
    with open(path, "w") as f:
        json.dump(job, f)
    return path


def keep_pictures(out, page, levels):
    """Copies pictures beside the page. Levels have their own names where the job is a tiny one."""
    for name in PICTURES:
        source = name
        if name.startswith("level_"):
            source = "level_%d" % levels[PICTURES.index(name) - 2]["picture"]
        shutil.copy(os.path.join(out, source + ".png"),
                    os.path.join(page.folder, "caustic_design_%s.png" % name))


def measured(runs, value):
    return report.Measured.of([value(r) for r in runs])


def run(page, tiny):
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(2 if tiny else SEEDS):
            out = os.path.join(folder, "out%d" % seed)
            runs.append(report.backlight("design", job_of(tiny, folder, seed), "-o", out))
        found, out = runs[0], os.path.join(folder, "out0")
        page.device = found["device"]
        with open(os.path.join(out, "design.csv")) as f:
            steps = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]
        keep_pictures(out, page, found["levels"])
    rows = [["%d x %d" % (l["picture"], l["picture"]), l["steps"], l["spp"], l["smoothness"]] +
            [measured(runs, lambda r: r["levels"][k][name]) for name in ("loss", "correlation", "seconds")]
            for k, l in enumerate(found["levels"])]
    rows.append(["path-traced check", None, found["verify_spp"], None, None, measured(runs, lambda r: r["verified_correlation"]),
                 measured(runs, lambda r: r["seconds"] + r["verify_seconds"])])
    by_level = {}
    for s in steps:
        by_level.setdefault("%d" % s["picture"], []).append((max(s["seconds"], 1e-3), s["loss"], 0))
    page.write("A caustic that is a picture", [
        "`backlight design assets/leaf/design.json` ([design of caustics](../caustic-design.md)): a slab of acrylic glass, 100 mm "
        "wide, whose relief is found from a flat start so that a beam behind it draws a leaf 200 mm away. Heights and "
        "picture become finer together, from 16 to 128 pixels (Nimier-David et al. 2019, section 4.3 and figures 9 and 10, "
        "design caustics by light tracing that is differentiated by what moves).",
        "| target | flat slab | 16 pixels | 32 | 64 | 128 | path-traced | heights |\n|---|---|---|---|---|---|---|---|\n| " +
        " | ".join('<img src="caustic_design_%s.png" alt="%s" width="128">' % (name, name) for name in PICTURES) + " |",
        "Correlation is Pearson's, with the target in that many pixels; seconds are since the first step. Means of %d seeds, with standard "
        "errors; pictures are those of the first. The relief is %s mm high, its steepest slope %s." %
        (len(runs), format(measured(runs, lambda r: r["height_range_mm"]), ".2f"),
         format(measured(runs, lambda r: r["steepest_slope"]), ".3f")),
        "The last row is an independent check: `slab.obj`, the closed solid, rendered by path tracing from the receiver to a small sun. "
        "Its noise, and the sun's size, which blurs by two pixels, are what it loses against light tracing.",
    ], ["picture", "steps", "samples per pixel", "smoothness", "loss", "correlation", "seconds"], rows, [
        {"title": "loss by time, by pixels of the picture", "x": "seconds", "y": "loss", "log_x": True, "log_y": True,
         "curves": by_level}])
