# SPDX-License-Identifier: BSD-3-Clause
"""Fits by several methods, each for as many steps as it gets through in so many CPU seconds."""
import json
import os

import numpy as np

import report


class Race:
    """job: of `fit`, without steps. arguments: of the program, besides. doubling: after so many steps samples double, again and again."""

    def __init__(self, page, folder, job, arguments, doubling=None):
        self.page, self.folder, self.job, self.arguments, self.doubling = page, folder, job, arguments, doubling

    def samples(self, method, steps):
        """Of each step, over those of the first. Biased II keeps its images, so its samples stay as many."""
        every = None if method == "rb_biased2" else self.doubling
        return 2.0**(np.arange(steps) // (every or steps))

    def fit(self, method, steps, seed=1, **changes):
        """CPU seconds, losses by step, and root mean squares before and after: of the image's error and the parameter's."""
        path, out = os.path.join(self.folder, "job.json"), os.path.join(self.folder, "out")
        job = {**self.job, "steps": steps, "seed": seed, **changes}
        samples = self.samples(method, steps)
        job["schedule"] = [{"step": int(k) + 2, "factor": 1, "samples": samples[k + 1]} for k in np.flatnonzero(np.diff(samples))]
        with open(path, "w") as f:
            json.dump(job, f)
        _, used = report.timed("fit", path, "--integrator", method, *self.arguments, "-o", out)
        with open(os.path.join(out, "result.json")) as f:
            result = json.load(f)
        self.page.device, found = result["device"], result["parameters"][0]
        image = result["evaluation"]
        return used, report.read_steps(out)["loss"], (image["before"]["rmse"], image["after"]["rmse"],
                                                      found["first_rms_error"], found["rms_error"])

    def floor(self, method):
        """What an image of the wanted values is off by, with as many samples: noise."""
        wanted = [{k: v for k, v in p.items() if k != "initial"} | {"rate": 1e-12} for p in self.job["parameters"]]
        return self.fit(method, 1, parameters=wanted)[2][0]

    def run(self, methods, seconds, most, seeds, few=2, many=30):
        """Of each method, a row as HEADER says, and curves of losses over CPU seconds and over steps. The time of a step with the
        first step's samples is what a fit of many steps takes longer than one of few."""
        rows, by_time, by_step = [], {}, {}
        for method, name in methods:
            less, more = (self.fit(method, n)[0] for n in (few, many))
            per_step = max(more - less, 1e-4) / (many - few)
            count = max(3, int(np.searchsorted(np.cumsum(self.samples(method, most)) * per_step, seconds)))
            runs = [self.fit(method, count, 1 + k) for k in range(seeds)]
            off = np.array([r[2] for r in runs])
            spread = off.std(0, ddof=1) / seeds**0.5
            rows.append([name, str(count), per_step, float(np.mean([r[0] for r in runs])), off[0, 0], "%.4g ± %.1g" % (off[:, 1].mean(), spread[1]),
                         off[0, 2], "%.4g ± %.1g" % (off[:, 3].mean(), spread[3])])
            at, part = np.cumsum(self.samples(method, count)), max(1, count // 20)
            smooth = [(k, runs[0][1][k:k + part].mean()) for k in range(0, count, part)]
            by_time[name] = [(at[k] / at[-1] * rows[-1][3], y) for k, y in smooth]
            by_step[name] = [(k + 1, y) for k, y in smooth]
        return rows, by_time, by_step


HEADER = ["method", "steps", "seconds, first steps", "seconds in all", "image off by, first", "image off by, last", "parameter off by, first",
          "parameter off by, last"]
