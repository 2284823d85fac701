# SPDX-License-Identifier: BSD-3-Clause
"""Fits by several methods, each for as many steps as it gets through in so many CPU seconds."""
import json
import os

import report


class Race:
    """job: of `fit`, without steps. arguments: of the program, besides."""

    def __init__(self, page, folder, job, arguments):
        self.page, self.folder, self.job, self.arguments = page, folder, job, arguments

    def fit(self, method, steps):
        """CPU seconds, losses by step, and root mean squares before and after: of the image's error and the parameter's."""
        path, out = os.path.join(self.folder, "job.json"), os.path.join(self.folder, "out")
        with open(path, "w") as f:
            json.dump({**self.job, "steps": steps}, f)
        _, used = report.timed("fit", path, "--integrator", method, *self.arguments, "-o", out)
        with open(os.path.join(out, "result.json")) as f:
            result = json.load(f)
        self.page.device, found = result["device"], result["parameters"][0]
        image = result["evaluation"]
        return used, report.read_steps(out)["loss"], (image["before"]["rmse"], image["after"]["rmse"],
                                                      found["first_rms_error"], found["rms_error"])

    def run(self, methods, seconds, most, few=2, many=30):
        """Of each method, a row (name, steps, seconds a step, what fit returns) and a curve of losses over CPU seconds. The
        time of a step is what a fit of many steps takes longer than one of few."""
        rows, curves = [], {}
        for method, name in methods:
            less, more = (self.fit(method, n)[0] for n in (few, many))
            per_step = max(more - less, 1e-4) / (many - few)
            count = int(min(max(seconds / per_step, 3), most))
            _, losses, off = self.fit(method, count)
            tail = max(1, count // 10)
            rows.append([name, str(count), per_step, *off])
            smooth = [losses[k:k + tail].mean() for k in range(0, count, tail)]
            curves[name] = [((k + 0.5) * tail * per_step, y) for k, y in enumerate(smooth)]
        return rows, curves


HEADER = ["method", "steps", "seconds a step", "image off by, first", "image off by, last", "parameter off by, first",
          "parameter off by, last"]
