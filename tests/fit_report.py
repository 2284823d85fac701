# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""The report of a fit. One fit of colours, a pose and an image by losses that cross zero: terminal, result.json and
report.html give the same numbers; a matrix is translation, rotation and scale, many values are a picture and a
histogram; curves have titles, legends and values to hover over; no script, nothing from outside. Where there is a
Chromium (scripts/test --long has one), at 390, 800 and 1280 pixels, light and dark, nothing sticks out of the page, all of
it has a size, and text is told from its ground. Pixels are not compared: letters differ from system to system.
BL_REPORT_PICTURES=FOLDER keeps pictures of all six. What the decomposition of a matrix says is compared with what made it."""
import html
import html.parser
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")))
PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
DEVICE = os.environ.get("BL_DEVICE", "native")
SCENE = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="3"/></integrator>
<sensor type="perspective"><float name="fov" value="50"/><transform name="to_world"><lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="24"/><integer name="height" value="16"/><rfilter type="box"/></film>
<sampler type="independent"><integer name="sample_count" value="16"/></sampler></sensor>
<bsdf type="diffuse" id="wall"><texture type="bitmap" name="reflectance"><string name="filename" value="wall.pfm"/><boolean name="raw" value="true"/></texture></bsdf>
<bsdf type="diffuse" id="paint"><rgb name="reflectance" value=".6,.3,.1"/></bsdf>
<shape type="rectangle"><transform name="to_world"><scale value="2"/></transform><ref id="wall"/></shape>
<shape type="cube" id="box"><transform name="to_world"><scale value=".3"/><rotate z="1" angle="30"/><translate x=".2" y=".1" z=".5"/></transform><ref id="paint"/></shape>
<emitter type="constant" id="sky"><rgb name="radiance" value="1"/></emitter></scene>"""
JOB = {"scene": "scene.xml", "target": {"render": True, "spp": 16},
       "parameters": [{"name": "paint.reflectance.value", "initial": 0.5},
                      {"name": "box.to_world", "rate": 0.004},
                      {"name": "wall.reflectance.data", "initial": 0.5}],
       "optimizer": {"type": "adam", "rate": 0.03, "beta_2": 0.99}, "form": "two-walk", "steps": 40, "spp": 2}
problems = []


def check(good, text):
    if not good:
        problems.append(text)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.rows, self.text, self.cell = [], [], "", None
        self.unscrolled, self.open = 0, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
            self.cell = self.rows[-1]
        if tag == "table":
            self.unscrolled += "scroll" not in [a.get("class") for _, a in self.open]
        if tag not in ("meta", "img", "line", "rect", "polyline"):
            self.open.append((tag, attributes))

    def handle_endtag(self, tag):
        if tag == "td":
            self.cell = None
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        self.text += data
        if self.cell:
            self.cell[-1] += data

    def count(self, tag, kind=None):
        return sum(t == tag and (kind is None or kind in a.get("class", "").split()) for t, a in self.tags)


def numbers(terminal, result, page):
    """The rows of all parameters, as the three say them, and the headline."""
    rows = [r for p in result["parameters"] for r in p["rows"]]
    in_page = {r[0]: r[1:] for r in page.rows if r}
    lines = terminal.splitlines()
    check(len(rows) == 3 + 9 + 4, "rows of result.json: %s" % [r["name"] for r in rows])
    for row in rows:
        said = ["%.4g" % row["initial"], "%.4g" % row["fitted"]]
        if "true" in row:
            said += ["%.4g" % row["true"], "%+.2f%%" % (100 * row["relative_error"]) if "relative_error" in row
                     else "%+.2g" % row["error"]]
        line = [s for s in lines if s.startswith(row["name"] + " ")]
        check(line and line[0][len(row["name"]):].split() == said, "the terminal says %s, not %s" % (line, said))
        check([c for c in in_page.get(row["name"], []) if c] == said,
              "the page says %s of %s, not %s" % (in_page.get(row["name"]), row["name"], said))
    before, after = result["evaluation"]["before"], result["evaluation"]["after"]
    check(after["rmse"] < 0.7 * before["rmse"] and after["psnr"] > before["psnr"] + 2, "the fit: %s %s" % (before, after))
    check("RMSE %.3g -> %.3g, PSNR %.1f -> %.1f dB" % (before["rmse"], after["rmse"], before["psnr"], after["psnr"])
          in terminal, "the terminal's first numbers")
    for wanted in ("%.3g \u2192 %.3g" % (before["rmse"], after["rmse"]), "%.1f \u2192 %.1f dB" % (before["psnr"], after["psnr"]),
                   "adam, rate 0.03, betas 0.9 and 0.99", "noise makes it negative"):
        check(wanted in page.text, "the page does not say '%s'" % wanted)


def pose(result):
    rows = {r["name"]: r for r in [p for p in result["parameters"] if p["name"] == "box.to_world"][0]["rows"]}
    for name, true in (("translation.x", 0.2), ("translation.z", 0.5), ("rotation.z (\u00b0)", 30), ("rotation.x (\u00b0)", 0),
                       ("scale.y", 0.3)):
        got = rows["box.to_world " + name]["true"]
        check(math.isclose(got, true, abs_tol=1e-4), "%s of the matrix is %g, not %g" % (name, got, true))


def structure(text, page):
    check(text.index("<p class=\"warning\">") < text.index("<h1>") if "class=\"warning\"" in text else True,
          "the warning is not first")
    check(not {"script", "iframe", "link"} & {t for t, _ in page.tags}, "the report runs or loads something")
    check(page.unscrolled == 0, "%d tables do not scroll" % page.unscrolled)
    # loss; three of the colour and the pose's three; one of texels
    check(page.count("svg") == 1 + 1 + 3 + 1, "%d charts" % page.count("svg"))
    check(page.text.count("histogram of 192 values") == 1, "no histogram of texels")
    check(page.count("text", "axis") == 2 * page.count("svg"), "axes without titles")
    check(page.count("g", "hover") >= 30 * 6, "%d places to hover" % page.count("g", "hover"))
    check(page.count("i", "swatch") == 3, "%d swatches" % page.count("i", "swatch"))
    check(page.count("div", "slider") == 1 and page.count("span", "scale") == 1, "slider and scale")
    check(len(re.findall(r"step \d+</figcaption>", text)) == 6, "thumbnails by step")
    check("running median" in page.text, "no median of the loss")


# Of a frame: how wide it is, what sticks out of it and of no box that scrolls or cuts, what has no size, and how far its colours are
# apart: contrast as WCAG 2 has it, and the luminance of the ground.
LOOK = """frame => {
    const d = frame.contentDocument, box = e => e.getBoundingClientRect(), view = frame.contentWindow;
    const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, k) => s + v * [.2126, .7152, .0722][k], 0);
    const style = view.getComputedStyle(d.body), ground = light(style.backgroundColor), text = light(style.color);
    const inside = e => e && e !== d.body && (view.getComputedStyle(e).overflowX !== 'visible' || inside(e.parentElement));
    const all = [...d.body.querySelectorAll('*')].filter(e => !e.closest('svg') || e.localName === 'svg');
    return {wide: d.documentElement.scrollWidth,
            out: all.filter(e => box(e).right > +frame.width + 1 && !inside(e.parentElement)).map(e => e.localName + '.' + e.className),
            gone: [...d.querySelectorAll('h1, h2, table, svg, img, figure')].filter(e => box(e).width < 8 || box(e).height < 8)
                .map(e => e.localName),
            ground, contrast: (Math.max(ground, text) + .05) / (Math.min(ground, text) + .05)};
}"""


def browser(text):
    own = os.path.join(ROOT, "build/chromium")
    found = [f for f in (os.path.join(own, "chromium-headless-shell"), *map(shutil.which, ("chromium", "google-chrome")))
             if f and os.path.exists(f)]
    if not found:
        check(not (os.environ.get("BL_LONG") and os.environ.get("BL_REQUIRE_ALL")), "there is no Chromium: scripts/setup --frameworks")
        print("there is no Chromium: the page is not looked at")
        return
    start = [found[0], "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=home"]
    libraries = os.pathsep.join([own, os.environ.get("LD_LIBRARY_PATH", "")])
    widths = (390, 800, 1280)

    def run(page, *options):
        with open("probe.html", "w", encoding="utf-8") as f:
            f.write(page)
        return subprocess.run(start + [*options, "file://" + os.path.abspath("probe.html")], check=False, text=True, timeout=120,
                              env={**os.environ, "LD_LIBRARY_PATH": libraries}, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    def frames(*wanted):  # since a window of Chromium is 500 pixels wide at least
        return ("<!doctype html><title></title><body style='margin:0'>"
                + "".join("<iframe width=%d height=2600 style='border:0' srcdoc=\"%s\"></iframe>" % (w, html.escape(text)) for w in wanted)
                + "<script>addEventListener('load', () => { document.title = JSON.stringify([...document.querySelectorAll('iframe')]"
                ".map(%s)) })</script>" % LOOK)

    keep = os.environ.get("BL_REPORT_PICTURES")
    for name, scheme in (("light", 1), ("dark", 0)):
        option = "--blink-settings=preferredColorScheme=%d" % scheme
        title = re.search(r"<title>(\[.*?\])</title>", run(frames(*widths), option, "--dump-dom"))
        check(title, "Chromium shows nothing")
        for width, got in zip(widths, json.loads(html.unescape(title[1])) if title else []):
            where = "%s, %d pixels: " % (name, width)
            check(got["wide"] <= width and not got["out"], where + "%d wide, %s stick out" % (got["wide"], got["out"][:5]))
            check(not got["gone"], where + "%s cannot be seen" % got["gone"])
            check((got["ground"] > 0.7) == (name == "light") and got["contrast"] > 7, where + "ground %(ground).2f, contrast %(contrast).1f" % got)
            if keep:
                run(frames(width), option, "--window-size=%d,2600" % max(width, 500),
                    "--screenshot=%s/report-%d-%s.png" % (keep, width, name))


def evaluation():
    """Of pictures of one colour, whose RMSE and PSNR are known."""
    with open("sky.xml", "w", encoding="utf-8") as f:
        f.write(SCENE[:SCENE.index("<bsdf")] + SCENE[SCENE.index("<emitter"):])
    with open("sky.json", "w", encoding="utf-8") as f:
        json.dump({"scene": "sky.xml", "target": {"render": True}, "steps": 1, "spp": 2,
                   "parameters": [{"name": "sky.radiance.value", "initial": 0.5}]}, f)
    subprocess.run([PROGRAM, "fit", "sky.json", "-o", "sky", "--device", DEVICE, "--quiet"], check=True)
    with open("sky/result.json", encoding="utf-8") as f:
        before = json.load(f)["evaluation"]["before"]
    shown = 1.055 * 0.5 ** (1 / 2.4) - 0.055
    check(abs(before["rmse"] - 0.5) < 1e-5, "RMSE of 0.5 and 1: %s" % before["rmse"])
    check(abs(before["psnr"] + 20 * math.log10(1 - shown)) < 1e-3, "PSNR of 0.5 and 1: %s" % before["psnr"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("scene.xml", "w", encoding="utf-8") as f:
            f.write(SCENE)
        with open("job.json", "w", encoding="utf-8") as f:
            json.dump(JOB, f)
        with open("wall.pfm", "wb") as f:
            f.write(b"PF\n8 8\n-1.0\n" + b"".join(int(0x3f000000 + 0x20000 * i).to_bytes(4, "little") for i in range(192)))
        done = subprocess.run([PROGRAM, "fit", "job.json", "-o", "out", "--device", DEVICE], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            print(done.stderr)
            return 1
        with open("out/result.json", encoding="utf-8") as f:
            result = json.load(f)
        with open("out/report.html", encoding="utf-8") as f:
            text = f.read()
        page = Page()
        page.feed(text)
        numbers(done.stdout, result, page)
        pose(result)
        structure(text, page)
        browser(text)
        evaluation()
        os.chdir("/")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
