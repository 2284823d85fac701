# SPDX-License-Identifier: BSD-3-Clause
"""The report of scripts/gpu-check: a JSON file, and a page of HTML made of it. Both are written anew, by renaming,
whenever a result arrives, so whatever ends the run leaves what was known until then."""
import html
import json
import os
import threading
import time

FORMAT = 1
OUTPUT_MOST = 4000  # characters of a failed command's output that are kept, its end
STYLE = """body{font:14px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{padding:.15em .8em .15em 0;text-align:left;
vertical-align:top;border-bottom:1px solid #ddd}.passed{color:#070}.failed,.timeout{color:#b00;font-weight:bold}
.skipped,.left{color:#777}pre{background:#f5f5f5;padding:.5em;overflow-x:auto;font-size:12px}"""


class Report:
    """Results may be added from several threads."""

    def __init__(self, folder, name, facts):
        self.path = os.path.join(folder, "gpu-report-" + name)
        self.lock, self.began = threading.Lock(), time.monotonic()
        self.data = {"format": FORMAT, "name": name, "finished": False, "seconds": 0, "counts": {}, **facts,
                     "steps": []}
        self.write()

    def step(self, name, text):
        """Begins a step; what is added later names it."""
        with self.lock:
            self.data["steps"].append({"name": name, "text": text, "results": []})

    def add(self, step, name, status, seconds, text="", output="", figures=None):
        """status: passed, failed, timeout, skipped, left (not begun or not ended for want of time)."""
        result = {"name": name, "status": status, "seconds": round(seconds, 2), "text": text}
        if figures:
            result["figures"] = figures
        if output and status in ("failed", "timeout"):
            result["output"] = output[-OUTPUT_MOST:]
        with self.lock:
            next(s for s in self.data["steps"] if s["name"] == step)["results"].append(result)
            self.data["counts"][status] = self.data["counts"].get(status, 0) + 1
        self.write()

    def finish(self):
        self.data["finished"] = True
        self.write()

    def write(self):
        with self.lock:
            self.data["seconds"] = round(time.monotonic() - self.began, 1)
            for suffix, text in ((".json", json.dumps(self.data, indent=1)), (".html", page(self.data))):
                with open(self.path + suffix + ".part", "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(self.path + suffix + ".part", self.path + suffix)


def cell(value):
    if isinstance(value, float):
        return "%.4g" % value
    return html.escape(str(value))


def table(rows, head=None):
    lines = ["<table>"]
    if head:
        lines.append("<tr>%s</tr>" % "".join("<th>%s</th>" % cell(c) for c in head))
    lines += ["<tr>%s</tr>" % "".join("<td>%s</td>" % c for c in row) for row in rows]
    return "\n".join(lines + ["</table>"])


def step_rows(step):
    """What failed is read first."""
    order = {"failed": 0, "timeout": 1, "passed": 2, "skipped": 3, "left": 4}
    for r in sorted(step["results"], key=lambda r: order[r["status"]]):
        figures = ", ".join("%s %s" % (k.replace("_", " "), cell(v)) for k, v in r.get("figures", {}).items()
                            if not isinstance(v, (list, dict)))
        text = " ".join(filter(None, (cell(r["text"]), figures)))
        if r.get("output"):
            text += "<details><summary>output</summary><pre>%s</pre></details>" % html.escape(r["output"])
        yield ("<span class=%s>%s</span>" % (r["status"], r["status"]), cell(r["name"]),
               "%.1f s" % r["seconds"], text)


def page(data):
    parts = ["<!doctype html><meta charset=utf-8><title>Backlight on %s</title><style>%s</style>" %
             (cell(data["device"]["name"]), STYLE), "<h1>Backlight on %s</h1>" % cell(data["device"]["name"])]
    counts = ", ".join("%d %s" % (n, status) for status, n in sorted(data["counts"].items()))
    parts.append("<p>%s; %s after %.0f s of at most %.0f.</p>" % (
        counts or "nothing has been run", "finished" if data["finished"] else "NOT finished", data["seconds"],
        data["budget"]))
    for title in ("device", "system"):
        parts.append("<h2>%s</h2>" % title.capitalize())
        parts.append(table([(cell(k.replace("_", " ")), cell(v)) for k, v in data[title].items()]))
    for step in data["steps"]:
        parts.append("<h2>%s</h2><p>%s</p>" % (cell(step["name"].capitalize()), cell(step["text"])))
        parts.append(table(step_rows(step)))
    return "\n".join(parts) + "\n"
