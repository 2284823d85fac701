# SPDX-License-Identifier: BSD-3-Clause
"""Pictures for screens, as the tests read them."""
import struct
import zlib


def first_pixel(data):
    """Of an 8-bit RGB PNG (its bytes), whose first pixel is as it is under every filter."""
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return tuple(zlib.decompress(packed)[1:4])


def rows(data):
    """All pixels of an 8-bit RGB PNG (its bytes): a list of rows of (red, green, blue)."""
    at, packed = 8, b""
    width, height = struct.unpack(">II", data[16:24])
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, out, before = zlib.decompress(packed), [], bytearray(3 * width)
    for y in range(height):
        kind, line = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3 * width):
            left, up, corner = (line[i - 3] if i > 2 else 0), before[i], (before[i - 3] if i > 2 else 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v, guess=guess: abs(guess - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        before = line
        out.append([tuple(line[3 * x:3 * x + 3]) for x in range(width)])
    return out


def encoded(linear):
    """sRGB of 0 to 1, as a number from 0 to 255."""
    v = min(max(linear, 0), 1)
    return 255 * (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055)
