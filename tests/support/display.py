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


def encoded(linear):
    """sRGB of 0 to 1, as a number from 0 to 255."""
    v = min(max(linear, 0), 1)
    return 255 * (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055)
