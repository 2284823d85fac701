#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes files in the format of the measured materials of Dupuy and Jakob (2018), of computed materials:

    make.py satin FILE      isotropic, alpha 0.35, coloured
    make.py brushed FILE    anisotropic, alpha 0.15 and 0.45, with the symmetry of half a turn
    make.py tiny FILE       as satin, with hardly any numbers, for tests of the reader

The material is a metal of microfacets (GGX, Walter et al. 2007; masking and shadowing of Smith, height
correlated) with Schlick's reflectance. The grids are coarse, so what is rendered is not that metal exactly; what
the file says is."""
import struct
import sys

import numpy as np

COLOUR = np.array([.9, .6, .35])  # reflectance at normal incidence
MATERIALS = {  # alpha along x and y; angles; sides of the grids
    "satin": dict(alpha=(.35, .35), phi=[0], theta=np.linspace(0, np.pi / 2, 6), side=16, colours=8),
    "brushed": dict(alpha=(.15, .45), phi=np.linspace(-np.pi, 0, 4), theta=np.linspace(0, np.pi / 2, 5),
                    side=12, colours=8),
    "tiny": dict(alpha=(.5, .5), phi=[0], theta=[0, np.pi / 2], side=3, colours=2),
}


def direction(theta, phi):
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)


def distribution(m, alpha):
    a, b = alpha
    z = np.maximum(m[..., 2], 0)
    return np.where(z > 0, 1 / (np.pi * a * b * ((m[..., 0] / a)**2 + (m[..., 1] / b)**2 + z**2)**2), 0)


def lam(w, alpha):
    slope = (w[..., 0] * alpha[0])**2 + (w[..., 1] * alpha[1])**2
    return (np.sqrt(1 + slope / np.maximum(w[..., 2], 1e-6)**2) - 1) / 2


def normals(side):
    """Microfacet normals over the unit square, and the area of normals of an area there. Rows go with the
    azimuth."""
    y, x = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
    theta, phi = x**2 * np.pi / 2, (2 * y - 1) * np.pi
    return direction(theta, phi), 2 * np.pi**2 * x * np.sin(theta)


def sample(grid, u):
    """Where the bilinear density of a grid maps places of the unit square to."""
    side = grid.shape[0]
    inner = (grid[:, 1:] + grid[:, :-1]) / 2
    columns = np.concatenate([np.zeros((side, 1)), np.cumsum(inner, 1)], 1)
    area = columns[:, -1]
    rows = np.concatenate([[0], np.cumsum((area[1:] + area[:-1]) / 2)])

    def place(rest, a, b):
        return np.clip(2 * rest / max(a + np.sqrt(max(a * a + 2 * rest * (b - a), 0)), 1e-30), 0, 1)

    out = np.zeros_like(u)
    for i, (x, y) in enumerate(u):
        y *= rows[-1]
        j = min(max(int(np.searchsorted(rows, y, side="right")) - 1, 0), side - 2)
        v = place(y - rows[j], area[j], area[j + 1])
        line, below = (1 - v) * columns[j] + v * columns[j + 1], (1 - v) * grid[j] + v * grid[j + 1]
        x *= line[-1]
        k = min(max(int(np.searchsorted(line, x, side="right")) - 1, 0), side - 2)
        out[i] = (k + place(x - line[k], below[k], below[k + 1])) / (side - 1), (j + v) / (side - 1)
    return out


def colours(wi, visible, count, alpha, turn):
    """Reflectance times shadowing at the samples of a grid: [row][column][channel]."""
    y, x = np.meshgrid(np.linspace(0, 1, count), np.linspace(0, 1, count), indexing="ij")
    u = sample(visible, np.stack([x.ravel(), y.ravel()], -1))
    m = direction(u[:, 0]**2 * np.pi / 2, (2 * u[:, 1] - 1) * np.pi + turn)
    along = m @ wi
    wo = 2 * along[:, None] * m - wi
    shadowing = np.where(wo[:, 2] > 0, (1 + lam(wi, alpha)) / (1 + lam(wi, alpha) + lam(wo, alpha)), 0)
    fresnel = COLOUR + (1 - COLOUR) * (1 - np.clip(along, 0, 1))[:, None]**5
    return (fresnel * shadowing[:, None]).reshape(count, count, 3)


def material(alpha, phi, theta, side, colours_side):
    m, area = normals(side)
    wi = direction(*np.meshgrid(theta, phi, indexing="xy"))  # [phi][theta]
    wi[..., 2] = np.maximum(wi[..., 2], 1e-3)
    y, x = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
    w = direction(x**2 * np.pi / 2, (2 * y - 1) * np.pi)
    sigma = np.maximum(w[..., 2], 1e-3) * (1 + lam(np.maximum(w, [-1, -1, 1e-3]), alpha))
    ndf = distribution(m, alpha)
    visible = ndf * np.maximum(np.einsum("ptc,yxc->ptyx", wi, m), 0) * area
    rgb = np.array([[colours(wi[p, t], visible[p, t], colours_side, alpha, phi[p] if len(phi) <= 2 else 0)
                     for t in range(len(theta))] for p in range(len(phi))])
    rgb = np.moveaxis(rgb, -1, 2)
    return {
        "description": np.frombuffer(b"a computed material", np.uint8), "jacobian": np.ones(1, np.uint8),
        "phi_i": np.array(phi, np.float32), "theta_i": np.array(theta, np.float32),
        "ndf": ndf, "sigma": sigma, "vndf": visible, "luminance": rgb.mean(2), "rgb": rgb}


def write(path, fields):
    head, offset = b"tensor_file\0" + bytes([1, 0]) + struct.pack("<I", len(fields)), 0
    arrays = {name: np.ascontiguousarray(a if a.dtype == np.uint8 else a.astype("<f4")) for name, a in fields.items()}
    size = len(head) + sum(2 + len(name) + 11 + 8 * a.ndim for name, a in arrays.items())
    body = b""
    for name, a in arrays.items():
        body += bytes(-(size + len(body)) % 8)
        offset = size + len(body)
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack(
            "<HBQ", a.ndim, 1 if a.dtype == np.uint8 else 10, offset) + struct.pack("<%dQ" % a.ndim, *a.shape)
        body += a.tobytes()
    with open(path, "wb") as f:
        f.write(head + body)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MATERIALS:
        sys.exit(__doc__)
    of = MATERIALS[sys.argv[1]]
    write(sys.argv[2], material(of["alpha"], of["phi"], of["theta"], of["side"], of["colours"]))


if __name__ == "__main__":
    main()
