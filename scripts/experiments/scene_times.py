# SPDX-License-Identifier: BSD-3-Clause
"""Times of images of three scenes, in one kernel and as wavefronts, beside Mitsuba 3 where it is installed (figure 6 of the Dr.Jit
paper)."""
import json
import os
import re
import resource
import subprocess
import tempfile

import numpy as np

import ablation
import report

# name, defines that set the side, depth, with the paper's scene of that kind
SCENES = [("750 shapes", None, 5, "staircase"), ("Cornell box", "resolution", 12, "living room"),
          ("cups of glass", "resolution", 32, "glass of water")]
OURS = [("native", "native", []), ("native, wavefront", "native", ["--wavefront", "vertex"]), ("SwiftShader", "swiftshader", [])]
THEIRS = [("Mitsuba, scalar", "scalar_rgb", False), ("Mitsuba, LLVM", "llvm_ad_rgb", False),
          ("Mitsuba, LLVM, wavefront", "llvm_ad_rgb", True)]
MITSUBA = os.path.join(report.ROOT, "build", "mitsuba")
PYTHON = os.path.join(MITSUBA, "venv", "bin", "python")


def path_of(name, folder):
    path = os.path.join(folder, name.split()[0] + ".xml")
    if name == "cups of glass":  # without its integrator, which Mitsuba does not know
        with open(os.path.join(report.ASSETS, "cups.xml")) as f:
            text = re.sub(r"<integrator.*?</integrator>", "", f.read(), flags=re.S)
        with open(path, "w") as f:
            f.write(text.replace('name="filename" value="', 'name="filename" value="%s/' % report.ASSETS))
        return path
    return ablation.path_of(name, folder)


def by_backlight(scene, device, rest, depth, spp, side_is, image):
    """CPU seconds of an image; of the first one, in a new process without kept kernels; and what it takes on the device, MiB."""
    def once(n, *more):
        return report.timed("render", scene, *side_is, "--device", device, *rest, "--integrator", "path", "--max-depth", depth,
                            "--spp", n, "-o", image, *more)
    first, each = [], []
    for _ in range(report.TIMES):
        first.append(once(spp, "--no-cache")[1])
        said, few = once(spp)
        each.append(max(once(9 * spp)[1] - few, 1e-6) / 8)
    once(spp)
    return report.Measured.of(each), report.Measured.of(first), said["device_bytes"] / 2**20


def by_mitsuba(scene, variant, wavefront, depth, spp, defines, image, folder):
    """The same, of whole processes with the start of Python; memory is not told."""
    job, home = os.path.join(folder, "job.json"), os.path.join(folder, "home")
    llvm = os.path.join(MITSUBA, "llvm")
    env = dict(os.environ, HOME=home, LD_LIBRARY_PATH=llvm, DRJIT_LIBLLVM_PATH=os.path.join(llvm, "libLLVM.so.19.1"))

    def process(rounds):
        with open(job, "w") as f:
            json.dump({"scene": scene, "defines": defines, "depth": depth, "spp": spp, "rounds": rounds, "variant": variant,
                       "wavefront": wavefront, "image": image}, f)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as env["HOME"]:  # Dr.Jit keeps compiled kernels there
            r = subprocess.run([PYTHON, os.path.join(report.ROOT, "scripts", "experiments", "mitsuba_images.py"), job], env=env,
                               stdout=subprocess.PIPE, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return json.loads(r.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    first = [process(1)[1] for _ in range(report.TIMES)]
    again, _ = process(2 + report.TIMES)
    return report.Measured.of(again[1:]), report.Measured.of(first), None


def mean_error(a, b):
    """z of the difference of the means of two images, by blocks of 8 x 8 pixels: largest of three channels."""
    side = a.shape[0] // 8 * 8
    blocks = (a - b)[:side, :side].reshape(side // 8, 8, side // 8, 8, 3).mean((1, 3)).reshape(-1, 3)
    if not blocks.any():  # the same bytes
        return 0.0
    return float(np.abs(blocks.mean(0) / (blocks.std(0, ddof=1) / len(blocks)**0.5)).max())


def run(page, tiny):
    side, spp, ours, theirs = (16, 2, OURS[:1], []) if tiny else (128, 32, OURS, THEIRS if os.path.exists(PYTHON) else [])
    rows, curves, zs, over = [], {}, [], {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, define, depth, _) in enumerate(SCENES):
            scene, images, times = path_of(name, folder), {}, {}
            for way, device, rest in ours:
                image = os.path.join(folder, "image.pfm")
                side_is = ["-D", "%s=%d" % (define, side)] if define else []
                times[way] = by_backlight(scene, device, rest, depth, spp, side_is, image)
                images[way] = report.read_pfm(image)
            for way, variant, wavefront in theirs:
                image = os.path.join(folder, "image.npy")
                times[way] = by_mitsuba(scene, variant, wavefront, depth, spp, {define: str(side)} if define else {}, image, folder)
                images[way] = np.load(image).astype(float)
            for way, (again, first, memory) in times.items():
                z = None if way == "native" else mean_error(images[way], images["native"])
                zs += [] if z is None else [z]
                slower = None if way == "native" else again.over(times["native"][0])
                rows.append([name, way, again, first, slower, memory, None if z is None else "%.1f" % z])
                curves.setdefault(way, []).append((k + 1, again))
                over.setdefault(way, []).append(float(slower or 1))
    page.device = ", ".join(dict.fromkeys(device for _, device, _ in ours))
    means = "; ".join("%s: %.2f" % (way, np.exp(np.mean(np.log(r)))) for way, r in over.items() if way != "native")
    page.write("Times of images in three scenes", [
        "%d x %d pixels, %d samples per pixel, integrator `path`: %s. CPU seconds of an image once kernels are made, and of a whole "
        "process that begins without kept kernels and makes one image; Mitsuba's has the start of Python in it. Means of %d, with standard errors. "
        "*slower* is time over that of native in one kernel." %
        (side, side, spp, "; ".join("%s, depth %d, in the place of the paper's %s" % (n, d, theirs_) for n, _, d, theirs_ in SCENES), report.TIMES),
        "The paper (figure 6) compares Dr.Jit's kernels and wavefronts with PBRT 4 and Mitsuba 2 on a processor and a card, and finds itself 1.64 and 2.66 times as fast "
        "on the card; wavefronts cost up to 100 times on processors. Here its successor, Mitsuba 3.9.1 with Dr.Jit 1.5.0, stands beside Backlight on one processor, in its "
        "scalar form, in one kernel, and with loops and calls evaluated as wavefronts; PBRT is not at hand, and scenes are ours. Geometric means of "
        "times over native's: %s. Means of images agree: the largest z of %d is %.1f; it is 0 where images have the same bytes." % (means, 3 * len(zs), max(zs, default=0)),
    ], ["scene", "way", "image, s", "first image, s", "slower", "MiB", "z"], rows, [
        {"title": "an image", "x": "scene: " + ", ".join("%d %s" % (k + 1, s[0]) for k, s in enumerate(SCENES)), "y": "CPU seconds",
         "log_y": True, "curves": curves}])
