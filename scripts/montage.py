#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts 8-bit RGB PNG files of one size side by side: montage.py OUT.png IN.png IN.png .. (for the pictures in
docs). scripts/gallery uses its functions. An image is (width, height, list of rows of bytes)."""
import struct
import sys
import zlib

GAP = 8


def read(path):
    """(width, height, list of rows of bytes)"""
    with open(path, "rb") as f:
        data = f.read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            if (depth, color) != (8, 2):
                sys.exit("%s: not 8-bit RGB" % path)
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, stride, rows, above = zlib.decompress(packed), 3 * width, [], bytearray(3 * width)
    for y in range(height):
        method, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a, b, c = (row[i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
            p = a + b - c
            paeth = (a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c)
                     else b if abs(p - b) <= abs(p - c) else c)
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[method]) & 255
        rows.append(bytes(row))
        above = row
    return width, height, rows


def write(path, width, height, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    packed = zlib.compress(b"".join(b"\0" + r for r in rows), 9)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def grid(images, across):
    """The images in rows of `across`, with white between them; those of a row are of one height, those of a
    column of one width."""
    rows = []
    for first in range(0, len(images), across):
        line = images[first:first + across]
        if any(i[1] != line[0][1] for i in line):
            sys.exit("the images differ in height")
        gap = b"\xff" * (3 * GAP)
        joined = [gap.join(i[2][y] for i in line) for y in range(line[0][1])]
        if rows and len(joined[0]) != len(rows[0]):
            sys.exit("the rows differ in width")
        rows += ([b"\xff" * len(joined[0])] * GAP if rows else []) + joined
    return len(rows[0]) // 3, len(rows), rows


def inset(image, small, frame=2):
    """`small` in the upper right corner of `image`, in a white frame."""
    width, height, rows = image
    side, tall = small[0] + 2 * frame, small[1] + 2 * frame
    white = b"\xff" * (3 * frame)
    inner = [b"\xff" * (3 * side)] * frame + [white + row + white
                                              for row in small[2]] + [b"\xff" * (3 * side)] * frame
    left = 3 * (width - GAP - side)
    rows = [row[:left] + inner[y - GAP] + row[left + 3 * side:] if GAP <= y < GAP + tall else row
            for y, row in enumerate(rows)]
    return width, height, rows


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    write(sys.argv[1], *grid([read(p) for p in sys.argv[2:]], len(sys.argv) - 2))


if __name__ == "__main__":
    main()
