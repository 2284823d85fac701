# SPDX-License-Identifier: BSD-3-Clause
"""Line plots as SVG, of curves in panels side by side, in as many rows as it takes."""
import math

COLOURS = ["#4477aa", "#cc6677", "#228833", "#aa3377", "#ccbb44", "#66ccee", "#000000", "#999933", "#ee7733", "#882255"]
DASHES = ' stroke-dasharray="5 3"'  # of curves beyond these colours, which begin again
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 306, 66, 18, 28, 66
NAMES, ROWS = 13, 2  # height of a row of names; for so many HEIGHT has room
COLUMNS = 4


class Axis:
    """Of values, logarithmic or linear, over [begin, end] of the page."""

    def __init__(self, label, values, log, begin, end):
        self.label, self.log, self.begin, self.end = label, log, begin, end
        values = [v for v in values if self.has(v)]
        self.low, self.high = min(values), max(values)
        if log:
            self.low, self.high = 10 ** math.floor(math.log10(self.low)
                                                   + 1e-9), 10 ** math.ceil(math.log10(self.high) - 1e-9)
        if self.low == self.high:
            self.high = self.low * 10 if log else self.low + 1

    def has(self, value):
        return value > 0 or not self.log

    def at(self, value):
        f = math.log10 if self.log else float
        return self.begin + (self.end - self.begin) * (f(value) - f(self.low)) / (f(self.high) - f(self.low))

    def ticks(self):
        if self.log:
            return [10.0 ** k for k in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 3))
        step *= next(m for m in (1, 2, 5, 10) if (self.high - self.low) / (m * step) <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def text(x, y, what, anchor="middle", colour="#000"):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>' % (x, y, anchor, colour, what)


def lines(curve, x, y):
    """A curve as one line, or several: what a logarithmic axis has no place for interrupts it."""
    out = [[]]
    for a, b, *_ in curve:
        if x.has(a) and y.has(b):
            out[-1].append("%.1f,%.1f" % (x.at(a), y.at(b)))
        elif out[-1]:
            out.append([])
    return [" ".join(line) for line in out if len(line) > 1]


def with_error(point):
    """(x, y, standard error of y) of a point whose y has one, or is a number that brings it along (report.Measured)."""
    error = getattr(point[1], "error", None)
    return point if error is None else (point[0], float(point[1]), error)


def errors(curve, x, y):
    """Bars of one standard error to both sides, where the curve has them and the axis a place for their lower end."""
    return " ".join("M%.1f %.1fV%.1f" % (x.at(a), y.at(b - e[0]), y.at(b + e[0])) for a, b, *e in curve
                    if e and x.has(a) and y.has(b - e[0]))


def panel(left, p):
    """p: title, x, y (labels), log_x, log_y, curves: name -> [(x, y)], or [(x, y, standard error of y)]. Returns its elements, and
    how many rows its names take."""
    p = {**p, "curves": {name: [with_error(q) for q in c] for name, c in p["curves"].items()}}
    points = [q for c in p["curves"].values() for q in c]
    x = Axis(p["x"], [q[0] for q in points], p.get("log_x"), left + LEFT, left + WIDTH - RIGHT)
    y = Axis(p["y"], [q[1] + side * sum(q[2:]) for q in points for side in (-1, 1)], p.get("log_y"),
             HEIGHT - BOTTOM, TOP)
    out = [text((x.begin + x.end) / 2, 16, p["title"])]
    for v in x.ticks():
        out += ['<path d="M%.1f %d V%d" stroke="#ddd"/>' % (x.at(v), TOP, HEIGHT - BOTTOM),
                text(x.at(v), HEIGHT - BOTTOM + 15, "%g" % v)]
    for v in y.ticks():
        out += ['<path d="M%.1f %.1f H%.1f" stroke="#ddd"/>' % (x.begin, y.at(v), x.end),
                text(x.begin - 5, y.at(v) + 4, "%g" % round(v, 10), "end")]
    out += [text((x.begin + x.end) / 2, HEIGHT - BOTTOM + 31, p["x"]),
            '<text transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle">%s</text>' %
            (left + 14, (TOP + HEIGHT - BOTTOM) / 2, p["y"])]
    along, row = x.begin, 0
    for k, (name, curve) in enumerate(p["curves"].items()):
        colour, dashes = COLOURS[k % len(COLOURS)], DASHES if k >= len(COLOURS) else ""
        name = "– – " + name if dashes else name
        width = 6.2 * len(name)
        if along > x.begin and along + width > x.end:
            along, row = x.begin, row + 1
        out += ['<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>' % (line, colour, dashes)
                for line in lines(curve, x, y)]
        out += ['<path d="%s" stroke="%s"/>' % (bars, colour) for bars in [errors(curve, x, y)] if bars]
        out.append(text(along, HEIGHT - BOTTOM + 47 + NAMES * row, name, "start", colour))
        along += 16 + width
    return out, row + 1


def svg(panels):
    drawn = [panel(k * WIDTH, p) for k, p in enumerate(panels)]
    height = HEIGHT + NAMES * max(0, max(rows for _, rows in drawn) - ROWS)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
           'font-size="11">' % (WIDTH * min(len(panels), COLUMNS), height * math.ceil(len(panels) / COLUMNS)),
           '<rect width="100%" height="100%" fill="#fff"/>']
    for k, (elements, _) in enumerate(drawn):
        row = k // COLUMNS
        out += ['<g transform="translate(%d %d)">' % (-row * COLUMNS * WIDTH, row * height), *elements, "</g>"] if row else elements
    return "\n".join(out + ["</svg>", ""])
