# SPDX-License-Identifier: BSD-3-Clause
"""What experiments have in common: they run the program and leave a page, a table and a plot."""
import csv
import datetime
import json
import os
import resource
import struct
import subprocess
import sys
import zlib

import numpy as np

import montage
import plot

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
ASSETS = os.path.join(ROOT, "assets", "papers")
TIMES = 4  # as often is measured what has a standard error


def backlight(*args, statuses=(0,)):
    """What `backlight ARGS --json` prints; ends the script where its exit status is not one of these, with 77
    where there is no device."""
    r = subprocess.run([PROGRAM] + [str(a) for a in args] + ["--quiet", "--json"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    if r.returncode not in statuses or not r.stdout.strip() and r.returncode:
        print("%s: %s" % (" ".join(map(str, args)), r.stderr.strip()), file=sys.stderr)
        sys.exit(77 if "no device" in r.stderr or "not found" in r.stderr else 1)
    return json.loads(r.stdout) if r.stdout.strip() else {}


def write_pfm(path, image):
    """height x width x 3, or x 1 for grey; the uppermost row first."""
    with open(path, "wb") as f:
        f.write((b"PF" if image.shape[2] == 3 else b"Pf") + b"\n%d %d\n-1.0\n" % (image.shape[1], image.shape[0]) + image[::-1].astype("<f4").tobytes())


def write_ones(path, side):
    """An image of 1 / 3: as dL/dI, the loss is the sum over pixels of the mean channel."""
    write_pfm(path, np.full((side, side, 3), 1 / 3))


def screen_bytes(linear):
    """Of light from 0 to 1, by the sRGB curve."""
    v = np.clip(linear, 0, 1)
    return np.round(255 * np.where(v <= 0.0031308, 12.92 * v, 1.055 * v**(1 / 2.4) - 0.055)).astype(np.uint8)


def enlarged(picture, times):
    """Each pixel so many times in both directions."""
    return np.repeat(np.repeat(picture, times, 0), times, 1)


def write_png(path, picture):
    """Bytes: height x width x 3."""
    montage.write(path, picture.shape[1], picture.shape[0], [row.tobytes() for row in picture])


def read_pfm(path):
    """Its values: height x width x 3, or x 1 for grey."""
    with open(path, "rb") as f:
        channels = {b"PF": 3, b"Pf": 1}[f.readline().strip()]
        width, height = map(int, f.readline().split())
        assert float(f.readline()) < 0
        return np.frombuffer(f.read(), "<f4").reshape(height, width, channels)[::-1].astype(float)


def read_exr(path):
    """Its values as the program writes them: float channels in chunks of up to 16 lines, deflated (or as they are, where
    that is no longer). height x width x channels, those of colour as red, green, blue."""
    with open(path, "rb") as f:
        data = f.read()
    at, header = 8, {}
    while data[at]:
        name, kind, rest = data[at:].split(b"\0", 2)
        at += len(name) + len(kind) + 2
        size, = struct.unpack_from("<i", data, at)
        header[name], at = data[at + 4:at + 4 + size], at + 4 + size
    names, channels = [], header[b"channels"]
    while channels[0]:
        name, channels = channels.split(b"\0", 1)
        names.append(name.decode())
        channels = channels[16:]
    x0, y0, x1, y1 = struct.unpack("<4i", header[b"dataWindow"])
    width, height, lines = x1 - x0 + 1, y1 - y0 + 1, {0: 1, 2: 1, 3: 16}[header[b"compression"][0]]
    image = np.empty((height, len(names), width))
    for offset in struct.unpack_from("<%dQ" % -(-height // lines), data, at + 1):
        y, size = struct.unpack_from("<2i", data, offset)
        part = image[y - y0:y - y0 + lines]
        chunk = data[offset + 8:offset + 8 + size]
        if size < 4 * part.size:
            halves = np.cumsum(np.frombuffer(zlib.decompress(chunk), np.uint8).astype(np.int64) - 128) + 128
            chunk = (halves & 255).astype(np.uint8).reshape(2, -1).T.tobytes()
        part[:] = np.frombuffer(chunk, "<f4").reshape(part.shape)
    order = [names.index(n) for n in "RGB"] if set("RGB") <= set(names) else range(len(names))
    return image[:, order].transpose(0, 2, 1)


def view(fov, origin, target):
    """Of a scene file whose $resolution is the side of the image: a sensor, z being up, and a sky in which every direction has a
    colour of its own."""
    return '''    <sensor type="perspective">
        <float name="fov" value="%s"/>
        <transform name="to_world"><lookat origin="%s" target="%s" up="0, 0, 1"/></transform>
        <film type="hdrfilm"><integer name="width" value="$resolution"/><integer name="height" value="$resolution"/>
            <rfilter type="box"/></film>
    </sensor>
    <emitter type="envmap"><string name="filename" value="%s"/>
        <transform name="to_world"><rotate x="1" angle="90"/></transform></emitter>
''' % (fov, origin, target, os.path.join(ASSETS, "sky.pfm"))


class Measured(float):
    """A mean with its standard error: tables show the error behind it, plots as a bar. Sums and products of it
    are plain numbers; `over` is a quotient that keeps the error."""

    def __new__(cls, mean, error):
        made = super().__new__(cls, mean)
        made.error = float(error)
        return made

    @classmethod
    def of(cls, values):
        """The mean of independent values."""
        values = np.asarray(values, float)
        return cls(values.mean(), values.std(ddof=1) / len(values)**0.5)

    @classmethod
    def columns(cls, runs):
        """The same of each number of runs, which are independent and of as many numbers each."""
        return [cls.of(column) for column in zip(*runs)]

    def over(self, other):
        """The quotient, where the two are independent."""
        return Measured(self / other, abs(self / other) * ((self.error / self)**2 + (other.error / other)**2)**0.5)

    def __format__(self, how):
        """The error has one digit."""
        return "%s ± %.1g" % (float.__format__(self, how), self.error) if how else float.__repr__(self)


def timed(*args):
    """What `backlight ARGS` prints, and the CPU seconds that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = backlight(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def gradients(page, repetitions, *args):
    """Takes so many gradients by `grad ARGS` and, once more, two; that TIMES times. Returns what the first of
    them prints, and the CPU seconds of one gradient with their standard error: the difference of two runs over
    that of their counts. Other work on the machine does not count, but for what it does to caches, and what is
    done once, as compiling, cancels out. A gradient that outgrew its fixed-point scale was computed twice, and
    counts so."""
    each = []
    for _ in range(TIMES):
        fewer, few = timed("grad", *args, "--variance", 2)
        found, many = timed("grad", *args, "--variance", repetitions)
        computed = repetitions - 2 + found["repeats"] - fewer["repeats"]
        each.append(max(many - few, 1e-6) / max(computed, 1))
    page.device = found["device"]
    return found, Measured.of(each)


def exponent(first, last):
    """k, where y grows as x^k between two points (x, y)."""
    (a, x), (b, y) = first, last
    return np.log(y / x) / np.log(b / a)


def fit(scene, parameter, folder, steps, spp, *args, **rest):
    """A fit of one parameter to the scene's own image with l2 and Adam; rest: of the job. Returns result.json
    and the columns of fit.csv."""
    job = {"scene": os.path.join(ASSETS, scene), "target": {"render": True, "spp": 16 * spp, "seed": 4242},
           "loss": "l2", "parameters": [parameter],
           "optimizer": {"type": "adam", "beta_2": 0.99}, "steps": steps, "spp": spp, "spp_grad": spp,
           "seed": 1}
    job.update(rest)
    path = os.path.join(folder, "job.json")
    with open(path, "w") as f:
        json.dump(job, f)
    out = os.path.join(folder, "out")
    backlight("fit", path, "-o", out, *args)
    with open(os.path.join(out, "result.json")) as f:
        return json.load(f), read_steps(out)


def read_steps(folder):
    """Columns of fit.csv: name -> values."""
    with open(os.path.join(folder, "fit.csv")) as f:
        rows = list(csv.reader(f))
    return {name: np.array([float(r[k]) for r in rows[1:]]) for k, name in enumerate(rows[0])}


class Page:
    def __init__(self, name, folder):
        self.name, self.folder, self.device = name, folder, None

    def picture(self, picture):
        """NAME.png beside the page; bytes, height x width x 3."""
        write_png(os.path.join(self.folder, self.name + ".png"), picture)

    def write(self, title, text, header, rows, panels):
        """text: paragraphs before the table; rows: as many values as header, None where there is none."""
        cells = [["" if v is None else v if isinstance(v, str) else format(v, ".4g") for v in row] for row in rows]
        with open(os.path.join(self.folder, self.name + ".csv"), "w", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerows([header] + cells)
        with open(os.path.join(self.folder, self.name + ".svg"), "w") as f:
            f.write(plot.svg(panels))
        lines = ["# " + title, "", "`scripts/papers %s`, %s, %s. Written by the script." %
                 (self.name, self.device, datetime.date.today()), ""]
        lines += [p + "\n" for p in text]
        lines += ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header)] + cells]
        lines += ["", "![%s](%s.svg)" % (title, self.name), ""]
        with open(os.path.join(self.folder, self.name + ".md"), "w") as f:
            f.write("\n".join(lines))
        print("%s: %s/%s.md" % (title, self.folder, self.name))
