# LABELS: lavapipe
# SPDX-License-Identifier: BSD-3-Clause
"""samples/09_embed_window.c on a display of its own (Xvfb): its rasteriser shows the colour and the light that
the fit has found, so that its panel looks like the picture, and so does the path-traced one; G puts dL/dI over
the latter, Escape ends the program. Screens are read from Xvfb's frame buffer and written as embed_window.png
and embed_window_overlay.png. Needs BL_BUILD_DIR, and libX11, which lavapipe is linked to."""
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

PROGRAM = os.path.join(os.environ.get("BL_BUILD_DIR", "build"), "samples", "sample_09_embed_window")
PANEL, PANELS = 256, 3
WIDTH, HEIGHT = PANELS * PANEL, PANEL


class KeyEvent(ctypes.Structure):  # XKeyEvent of Xlib
    _fields_ = ([("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                 ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("root", ctypes.c_ulong),
                 ("subwindow", ctypes.c_ulong), ("time", ctypes.c_ulong)] +
                [(name, ctypes.c_int) for name in ("x", "y", "x_root", "y_root")] +
                [("state", ctypes.c_uint), ("keycode", ctypes.c_uint), ("same_screen", ctypes.c_int)])


class Event(ctypes.Union):
    _fields_ = [("key", KeyEvent), ("pad", ctypes.c_long * 24)]


class Keyboard:
    """Sends keys to the one window of a display."""

    def __init__(self, display):
        self.x = ctypes.CDLL("libX11.so.6")
        for name in ("XOpenDisplay",):
            getattr(self.x, name).restype = ctypes.c_void_p
        for name in ("XDefaultRootWindow", "XStringToKeysym"):
            getattr(self.x, name).restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x.XOpenDisplay(display.encode()))
        if not self.display:
            sys.exit("no connection to the display " + display)

    def windows(self):
        root, parent = ctypes.c_ulong(), ctypes.c_ulong()
        children, count = ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint()
        self.x.XQueryTree(self.display, ctypes.c_ulong(self.x.XDefaultRootWindow(self.display)),
                          ctypes.byref(root), ctypes.byref(parent), ctypes.byref(children), ctypes.byref(count))
        return [children[i] for i in range(count.value)]

    def press(self, name):
        keysym = ctypes.c_ulong(self.x.XStringToKeysym(name.encode()))
        code = self.x.XKeysymToKeycode(self.display, keysym) & 0xff
        for window in self.windows():
            for kind in (2, 3):  # KeyPress, KeyRelease
                event = Event()
                event.key.type, event.key.window, event.key.keycode = kind, window, code
                event.key.same_screen = 1
                self.x.XSendEvent(self.display, ctypes.c_ulong(window), 1, ctypes.c_long(kind - 1),
                                  ctypes.byref(event))
        self.x.XSync(self.display, 0)


def screen(path):
    """The pixels of Xvfb's frame buffer, an xwd file: rows of RGB, 0 to 255."""
    with open(path, "rb") as file:
        data = file.read()
    head = struct.unpack(">25I", data[:100])
    size, width, height, bits, stride, colours = head[0], head[4], head[5], head[11], head[12], head[19]
    if bits != 32:
        sys.exit("a screen of %d bits a pixel" % bits)
    rows = np.frombuffer(data, np.uint8, height * stride, size + 12 * colours).reshape(height, stride)
    return rows[:, :4 * width].reshape(height, width, 4)[:HEIGHT, :WIDTH, 2::-1].astype(np.float64)


def write_png(path, pixels):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = np.concatenate([np.zeros((HEIGHT, 1), np.uint8), pixels.astype(np.uint8).reshape(HEIGHT, -1)], 1)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b""))


def wait_for(process, pattern):
    for line in process.stdout:
        print(line, end="")
        found = re.search(pattern, line)
        if found:
            return found
    sys.exit("the program ended with %d before it said '%s'" % (process.wait(), pattern))


def panel(pixels, k):
    return pixels[:, PANEL * k:PANEL * (k + 1)]


def blocks(pixels):
    """Means of 16 x 16 pixels, which noise and jagged edges do not change much."""
    return pixels.reshape(PANEL // 16, 16, PANEL // 16, 16, 3).mean((1, 3))


def difference(a, b):
    return np.abs(blocks(a) - blocks(b)).mean()


def check_values(process):
    for _ in range(2):
        found = wait_for(process, r"found (.*), was (.*)")
        is_, was = (np.array([float(v) for v in text.split()]) for text in found.groups())
        assert np.all(np.abs(is_ - was) < 0.08 * was + 0.02), (is_, was)


def fitted(pixels):
    raster, traced, picture = (panel(pixels, k) for k in range(PANELS))
    print("off by %.2f (path traced), %.2f (rasterised) of 255" % (
        difference(traced, picture), difference(raster, picture)))
    return picture.std() > 20 and difference(traced, picture) < 3 and difference(raster, picture) < 12


def see(path, name, condition):
    """The first screen of which the condition holds. Frames arrive some time after they have been presented."""
    for _ in range(200):
        pixels = screen(path)
        if condition(pixels):
            break
        time.sleep(0.1)
    write_png(name + ".png", pixels)
    assert condition(pixels), name
    return pixels


def check(process, folder, keys):
    path = os.path.join(folder, "Xvfb_screen0")
    check_values(process)
    wait_for(process, "shown")
    before = see(path, "embed_window", fitted)

    def overlaid(pixels):
        changes = [difference(panel(pixels, k), panel(before, k)) for k in range(PANELS)]
        print("overlay: panels change by %.2f, %.2f, %.2f" % tuple(changes))
        return changes[0] < 1 and changes[1] > 12 and changes[2] < 1

    keys.press("g")
    wait_for(process, "overlay on")
    see(path, "embed_window_overlay", overlaid)
    keys.press("Escape")


def main():
    if not os.path.exists(PROGRAM) or not shutil.which("Xvfb"):
        print("no %s, or no Xvfb" % PROGRAM)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        xvfb = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "800x300x24", "-fbdir", folder,
                                 "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process = None
        try:
            display = ":" + xvfb.stdout.readline().strip()
            keys = Keyboard(display)  # before the program: a server whose last client leaves starts anew
            process = subprocess.Popen([PROGRAM, *sys.argv[1:]], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "DISPLAY": display})
            check(process, folder, keys)
            assert process.wait(timeout=600) == 0
        finally:
            for child in (process, xvfb):
                if child and child.poll() is None:
                    child.terminate()
                    child.wait()
    return 0


sys.exit(main())
