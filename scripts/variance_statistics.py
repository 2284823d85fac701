# SPDX-License-Identifier: BSD-3-Clause
"""Variances of gradients from many seeds, and intervals of what is made of them, by bootstrap (Efron and Tibshirani
1993, An Introduction to the Bootstrap, chapters 6 and 13).

A `Figure` is the logarithm of a positive number with REPLICATES further values of it, each of seeds drawn anew with
replacement. Ratios, products and geometric means are sums of logarithms, replicate by replicate. Figures of one
`key` draw the same seeds: gradients that share their random numbers are compared in pairs, and what their noise has in
common cancels."""
import hashlib
import math

import numpy as np

REPLICATES = 1000
LEVEL = 0.95  # of intervals


def draws(count, key):
    """How often each replicate takes each of `count` seeds: REPLICATES x count."""
    seed = int.from_bytes(hashlib.sha256(("%s %d" % (key, count)).encode()).digest()[:8], "little")
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), REPLICATES).astype(float)


class Figure:
    """log: the estimate; replicates: of the same, [REPLICATES]."""

    def __init__(self, log, replicates):
        self.log, self.replicates = float(log), np.asarray(replicates, float)

    def __truediv__(self, other):
        return Figure(self.log - other.log, self.replicates - other.replicates)

    def __mul__(self, other):
        return Figure(self.log + other.log, self.replicates + other.replicates)

    @property
    def value(self):
        return math.exp(self.log)

    @property
    def interval(self):
        """Of LEVEL: between two quantiles of the replicates, moved so that their median is the estimate."""
        low, median, high = np.quantile(self.replicates, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
        return math.exp(self.log + low - median), math.exp(self.log + high - median)

    @property
    def deviation(self):
        """Standard deviation of the logarithm."""
        return float(np.std(self.replicates))

    def text(self):
        return "%.3g (%.2g .. %.2g)" % ((self.value,) + self.interval)

    def json(self):
        return {"value": self.value, "interval": list(self.interval), "log_deviation": self.deviation}


def variance(gradients, key):
    """Of one gradient, summed over its entries. gradients: seeds x entries. None where all are the same."""
    g = np.asarray(gradients, float).reshape(len(gradients), -1)
    g = g - g.mean(axis=0)
    products, counts, n = g @ g.T, draws(len(g), key), len(g)
    total = np.trace(products) / (n - 1)
    if not total > 0:
        return None
    # the sum of squares less that of the mean; n / (n - 1): a replicate has on average so much less
    squares = counts @ np.diag(products) - np.einsum("bi,ij,bj->b", counts, products, counts) / n
    replicates = np.maximum(squares * n / (n - 1) ** 2, 1e-6 * total)
    return Figure(math.log(total), np.log(replicates))


def mean_of_rounds(seconds, key):
    """Of a cost, from a few rounds: replicates by Student's t, for bootstrap of three values knows too little."""
    s = np.asarray(seconds, float)
    error = s.std(ddof=1) / math.sqrt(len(s)) / s.mean()
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    noise = error * np.random.default_rng(seed).standard_t(len(s) - 1, REPLICATES)
    return Figure(math.log(s.mean()), math.log(s.mean()) + noise)


def geometric_mean(figures):
    return Figure(np.mean([f.log for f in figures]), np.mean([f.replicates for f in figures], axis=0))
