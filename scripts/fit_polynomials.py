#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Fits the polynomials of spirv_gen/opt/math.c and prints spirv_gen/opt/polynomials.h.
#
#   scripts/fit_polynomials.py > spirv_gen/opt/polynomials.h
#
# Each function f is written as exact leading terms plus scale(t) * p(t); p is the polynomial that minimises
# the largest |scale(t) * (p(t) - g(t))| / |f| over the interval, with g = (f - leading terms) / scale: Remez
# exchange on a dense grid, its linear systems solved in rational arithmetic. The coefficients have to be
# floats: the lowest one is rounded first, then the others are fitted again around it, and so on, so that each
# rounding is made good by the rest. g comes from power series in double precision, which lose nothing near
# zero as a difference would. Needs nothing but Python.

import math
import struct
from fractions import Fraction

GRID = 1500


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def series(term, count=200):
    """sum of term(k) for k = 0, 1, .."""
    return math.fsum(term(k) for k in range(count))


def solve(rows, right):
    """Gaussian elimination over rationals."""
    a = [[Fraction(v) for v in row] + [Fraction(r)] for row, r in zip(rows, right)]
    n = len(a)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for r in range(i + 1, n):
            q = a[r][i] / a[i][i]
            a[r] = [x - q * y for x, y in zip(a[r], a[i])]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return [float(v) for v in x]


def alternation(errors, count):
    """Indices of `count` extrema of alternating sign, the largest ones."""
    peaks = []
    for i, e in enumerate(errors):
        if peaks and (errors[peaks[-1]] < 0) == (e < 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def remez(points, goal, weight, powers):
    """Coefficients of the powers of t that minimise max weight * |p - goal| over the points."""
    n = len(powers) + 1
    chosen = [round((1 - math.cos(math.pi * k / (n - 1))) / 2 * (len(points) - 1)) for k in range(n)]
    best = None
    for _ in range(40):
        rows = [[points[i] ** p for p in powers] + [(-1) ** k / weight[i]] for k, i in enumerate(chosen)]
        c = solve(rows, [goal[i] for i in chosen])[:-1]
        errors = [(math.fsum(a * t**p for a, p in zip(c, powers)) - g) * w
                  for t, g, w in zip(points, goal, weight)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[0]:
            best = (worst, c)
        peaks = alternation(errors, n)
        if len(peaks) < n or peaks == chosen:
            break
        chosen = peaks
    return best[1]


def fit(low, high, g, weight, degree):
    """Float coefficients, lowest power first, and the largest weighted error."""
    points = [low + (high - low) * (1 - math.cos(math.pi * (k + 0.5) / GRID)) / 2 for k in range(GRID)]
    goal = [g(t) for t in points]
    weights = [weight(t) for t in points]
    fixed = []
    for first in range(degree + 1):
        rest = [v - sum(a * t**p for p, a in enumerate(fixed)) for v, t in zip(goal, points)]
        fixed.append(f32(remez(points, rest, weights, list(range(first, degree + 1)))[0]))
    error = max(w * abs(sum(a * t**p for p, a in enumerate(fixed)) - v)
                for t, v, w in zip(points, goal, weights))
    return fixed, error


def atan_tail(s):
    """(atan(a) - a) / a^3 at s = a^2."""
    if s < 0.25:
        return series(lambda k: (-1) ** (k + 1) * s**k / (2 * k + 3))
    a = math.sqrt(s)
    return (math.atan(a) - a) / (a * s)


def asin_tail(s):
    """(asin(a) - a) / a^3 at s = a^2."""
    total, term = [], 1.0
    for k in range(1, 60):
        term *= (2 * k - 1) / (2 * k)
        total.append(term * s ** (k - 1) / (2 * k + 1))
    return math.fsum(total)


def sinc(s):
    return series(lambda k: (-1) ** k * s**k / math.factorial(2 * k + 1), 20)


def cosine(s):
    return series(lambda k: (-1) ** k * s**k / math.factorial(2 * k), 20)


def log1p_over(f):
    return math.log1p(f) / f if f else 1.0


POLYNOMIALS = [
    ("SIN", "sin r = r + r s p(s), s = r^2, |r| <= pi/4", 0.0, (math.pi / 4 * 1.001) ** 2, 3,
     lambda s: series(lambda k: (-1) ** (k + 1) * s**k / math.factorial(2 * k + 3), 20),
     lambda s: s / sinc(s)),
    ("COS", "cos r = 1 - s/2 + s^2 p(s), s = r^2, |r| <= pi/4", 0.0, (math.pi / 4 * 1.001) ** 2, 2,
     lambda s: series(lambda k: (-1) ** k * s**k / math.factorial(2 * k + 4), 20),
     lambda s: s * s / cosine(s)),
    ("EXP", "exp r = 1 + r + r^2 p(r), |r| <= ln(2)/2", -math.log(2) / 2 * 1.001, math.log(2) / 2 * 1.001, 4,
     lambda r: series(lambda k: r**k / math.factorial(k + 2), 30), lambda r: r * r / math.exp(r)),
    ("LOG", "log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) <= 1 + f < sqrt(2)", math.sqrt(0.5) - 1,
     math.sqrt(2) - 1, 8,
     lambda f: series(lambda k: (-1) ** k * f**k / (k + 3)), lambda f: f * f / log1p_over(f)),
    ("ATAN", "atan a = a + a s p(s), s = a^2, 0 <= a <= 1", 0.0, 1.0, 8,
     atan_tail, lambda s: s * math.sqrt(s) / math.atan(math.sqrt(s))),
    ("ASIN", "asin a = a + a s p(s), s = a^2, 0 <= a <= 1/2", 0.0, 0.25, 4,
     asin_tail, lambda s: s * math.sqrt(s) / math.asin(math.sqrt(s))),
]


def split(value, bits):
    """The leading terms of a rational number as floats: one of each width in bits, and the rest."""
    parts = []
    for width in bits:
        exponent = math.frexp(float(value))[1]
        unit = Fraction(2) ** (exponent - width)
        parts.append(float(value // unit * unit))
        value -= Fraction(parts[-1])
    return parts + [f32(float(value))]


# 60 digits; ln 2 by its series 2 atanh(1/3)
PI = Fraction(314159265358979323846264338327950288419716939937510582097494, 10**59)
LN2 = sum(Fraction(2, (2 * k + 1) * 3 ** (2 * k + 1)) for k in range(60))

CONSTANTS = [
    ("PI_2_PART", "pi/2 in three parts, the first two of 11 bits: their products with integers up to 2^13 "
                  "are exact", split(PI / 2, [11, 11])),
    ("LN_2_PART", "ln 2 in two parts, the first of 16 bits: its products with integers up to 2^8 are exact",
     split(LN2, [16])),
    ("2_OVER_PI", "", [f32(float(2 / PI))]),
    ("1_OVER_LN_2", "", [f32(float(1 / LN2))]),
    ("PI_2", "", [f32(float(PI / 2))]),
    ("PI", "", [f32(float(PI))]),
]


def literal(value):
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}f"


def print_constants():
    for name, what, values in CONSTANTS:
        print(f"\n/* {what} */" if what else "", end="\n" if what else "")
        for k, value in enumerate(values):
            number = f"_{k + 1}" if len(values) > 1 else ""
            print(f"#define MATH_{name}{number} {literal(value)} /* {value:.9g} */")


def main():
    print("/* SPDX-License-Identifier: BSD-3-Clause")
    print(" * Printed by scripts/fit_polynomials.py; do not edit. Lowest power first. `error` is the largest "
          "relative")
    print(" * error of the whole expression with these coefficients in exact arithmetic. */")
    print("// clang-format off")
    print("#ifndef SPIRV_GEN_OPT_POLYNOMIALS_H")
    print("#define SPIRV_GEN_OPT_POLYNOMIALS_H")
    print_constants()
    for name, what, low, high, degree, g, weight in POLYNOMIALS:
        coefficients, error = fit(low, high, g, weight, degree)
        print(f"\n/* {what}; error 2^{math.log2(error):.1f} */")
        print(f"#define POLYNOMIAL_{name} {{ \\")
        for c in coefficients:
            print(f"    {literal(c)}, /* {c:.9g} */ \\")
        print("}")
    print("\n#endif")


if __name__ == "__main__":
    main()
