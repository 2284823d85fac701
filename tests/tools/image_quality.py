# SPDX-License-Identifier: BSD-3-Clause
"""Prints what tests/unit/image_quality.c expects of PSNR and SSIM: computed from the formulas of Wang et al.
2004 with an explicit 11 x 11 window at every place, in numpy. python3 tests/tools/image_quality.py"""
import numpy as np


def pattern(width, height):
    y, x, c = np.mgrid[:height, :width, :3]
    a = ((7 * x + 13 * y + 29 * c) % 64 / 64 * 1.2 - 0.05).astype(np.float32)
    b = (a + 0.3 * ((x * y + 3 * c) % 8 / 8 - 0.4)).astype(np.float32)
    return a, b


def displayed(v):
    v = np.clip(v.astype(float), 0, 1)
    return np.where(v <= 0.0031308, 12.92 * v, 1.055 * np.maximum(v, 1e-9) ** (1 / 2.4) - 0.055)


def quality(a, b):
    a, b = displayed(a), displayed(b)
    k = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    w = np.outer(k, k)
    w = (w / w.sum())[:, :, None]
    values = []
    for y in range(a.shape[0] - 10):
        for x in range(a.shape[1] - 10):
            p, q = a[y : y + 11, x : x + 11], b[y : y + 11, x : x + 11]
            mp, mq = (w * p).sum((0, 1)), (w * q).sum((0, 1))
            vp, vq = (w * (p - mp) ** 2).sum((0, 1)), (w * (q - mq) ** 2).sum((0, 1))
            cov = (w * (p - mp) * (q - mq)).sum((0, 1))
            values.append((2 * mp * mq + 1e-4) * (2 * cov + 9e-4)
                          / ((mp**2 + mq**2 + 1e-4) * (vp + vq + 9e-4)))
    return -10 * np.log10(((a - b) ** 2).mean()), np.mean(values)


for size in ((11, 11), (23, 17), (64, 40)):
    print("{%d, %d, %.10f, %.10f}," % (*size, *quality(*pattern(*size))))
