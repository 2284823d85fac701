# SPDX-License-Identifier: BSD-3-Clause
"""The same optimisation in Python with Mitsuba 3 and with Backlight: the scripts of `scripts/compare-mitsuba python`.

    mitsuba_python.py JOB.json    under a python that has the package. A job has the name of the script, the scene, its
    variables, samples, the number of steps, and for Backlight the device. One line of JSON: CPU and wall seconds of
    a step (medians, the first tenth left out), seconds to the first step, and the colours that were found.

Both start from grey walls, see the same target up to noise, and have Adam of the same rate. Each script is what a
user would write; `tick()` is the clock."""
import json
import sys
import time

MITSUBA = """\
import mitsuba as mi, drjit as dr
mi.set_variant("llvm_ad_rgb")
scene = mi.load_file(path, **defines)
target, params = mi.render(scene, spp=256, seed=1000), mi.traverse(scene)
opt = mi.ad.Adam(lr=.03, params={name: mi.Color3f(.5) for name in names})
params.update(opt)
for step in range(steps):
    loss = dr.mean(dr.square(mi.render(scene, params, spp=spp, seed=step) - target), axis=None)
    dr.backward(loss)
    opt.step()
    params.update(opt), dr.eval(opt), dr.sync_thread(), tick()
found = {name: [float(opt[name][c][0]) for c in range(3)] for name in names}
"""

BACKLIGHT = """\
import backlight as bl
device = bl.Device(device_name)
scene = bl.load_file(path, **defines)
target = bl.render(scene, spp=256, seed=1000, device=device)
params = {name: {"initial": [.5, .5, .5], "rate": .03} for name in names}
fit = bl.Fit(scene, params, target, device=device, spp=spp)
for step in range(steps):
    fit.step()
    tick()
found = {name: fit[name].tolist() for name in names}
"""

TORCH = """\
import backlight as bl, backlight.torch, torch
device = bl.Device(device_name)
scene = bl.load_file(path, **defines)
target = bl.render(scene, spp=256, seed=1000, device=device)
params = {name: torch.full((3,), .5, requires_grad=True) for name in names}
adam = torch.optim.Adam(params.values(), lr=.03)
for step in range(steps):
    adam.zero_grad()
    backlight.torch.mse(scene, params, target, spp=spp, seed=step, device=device).backward()
    adam.step()
    tick()
found = {name: params[name].tolist() for name in names}
"""

SCRIPTS = {"Mitsuba": MITSUBA, "Backlight": BACKLIGHT, "Backlight, PyTorch": TORCH}


def beside(left, right, width=100):
    """Two scripts as lines of one text, without the clock."""
    texts = [text.replace(", tick()", "").replace("    tick()\n", "").splitlines() for text in (left, right)]
    for a, b in zip(*(lines + [""] * (max(map(len, texts)) - len(lines)) for lines in texts)):
        yield a.ljust(width) + " | " + b


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    began, ticks = time.perf_counter(), []
    names = {"tick": lambda: ticks.append((time.process_time(), time.perf_counter())), "path": job["scene"],
             "defines": job["defines"], "steps": job["steps"], "spp": job["spp"], "names": job["parameters"],
             "device_name": job["device"]}
    exec(SCRIPTS[job["script"]], names)
    skip = max(1, len(ticks) // 10)
    cpu, wall = (sorted(b[i] - a[i] for a, b in zip(ticks[skip:], ticks[skip + 1:])) for i in (0, 1))
    print(json.dumps({"found": names["found"], "cpu": cpu[len(cpu) // 2], "wall": wall[len(wall) // 2],
                      "first": ticks[0][1] - began}))


if __name__ == "__main__":
    main()
