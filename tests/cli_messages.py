# LABELS: swiftshader
# SPDX-License-Identifier: BSD-3-Clause
"""What commands say on the way: --quiet nothing but errors, --verbose the scene, the device and the kernels, too. On a
terminal a bar tells the time that is left, which does not count what compiling took: SwiftShader compiles for longer than
this render runs. Needs BL_PROGRAM, BL_DEVICE."""
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = os.path.join(os.path.abspath(ROOT), "assets", "cornell", "scene.xml")
RENDER = [PROGRAM, "render", SCENE, "-o", "a.pfm", "-D", "resolution=64"]
UNITS = {"s": 1, "min": 60, "h": 3600}
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def run(*options):
    done = subprocess.run([*RENDER, "--spp", "4", *options], text=True, capture_output=True, check=False)
    if "no device" in done.stderr:
        sys.exit(77)
    check(done.returncode == 0, "%s: %s" % (options, done.stderr))
    return done


def loudness():
    for option in ("-q", "--quiet"):
        done = run(option)
        check(done.stdout + done.stderr == "", "%s says %s" % (option, done.stdout + done.stderr))
    usual = run().stderr
    check(re.fullmatch(r"64 x 64, 4 samples per pixel on .*\n", usual), "it says %s" % usual)
    for option in ("-v", "--verbose"):
        lines = run(option).stderr
        for wanted in (r"^scene: .*scene\.xml, \d+ parameters, read in ", r"^device: .*, driver ", r"^kernels: "):
            check(re.search(wanted, lines, re.M), "%s does not say %s: %s" % (option, wanted, lines))
    done = subprocess.run([PROGRAM, "render", "nowhere.xml", "-o", "a.pfm", "-q"], text=True, capture_output=True, check=False)
    check(done.returncode == 1 and "nowhere.xml" in done.stderr, "-q hides an error: %s" % done.stderr)


def on_terminal(command):
    """What the command writes, with the time of each piece; how long it took."""
    main, side = pty.openpty()
    pieces, begun = [], time.monotonic()
    process = subprocess.Popen(command, stdin=side, stdout=subprocess.DEVNULL, stderr=side, close_fds=True)
    os.close(side)
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # the other side is closed
            break
        pieces.append((time.monotonic() - begun, piece.decode()))
    check(process.wait() == 0, "a render on a terminal ended with %d" % process.returncode)
    os.close(main)
    return pieces, time.monotonic() - begun


def time_left(command, spp, compiling, device_seconds):
    """Of a run that renders for as long as it compiles, and 3 seconds at least. compiling, device_seconds: of `spp` samples."""
    spp = int(spp * max(compiling, 3) / device_seconds)
    pieces, whole = on_terminal([*command, "--spp", str(spp), "--no-cache"])
    told = [(at, float(m[1]) * UNITS[m[2]]) for at, text in pieces for m in re.finditer(r"ETA ([\d.]+) (s|min|h)", text)]
    check(told, "no bar: %s" % pieces)
    for at, left in told[:1]:
        print("compiled for %.1f s; %.1f s after the start %.1f s were left, told were %.1f s" % (compiling, at, whole - at, left))
        check(left < 2 * (whole - at) + 1, "%.1f s were left, told were %.1f s" % (whole - at, left))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        loudness()
        once = json.loads(run("--json", "--no-cache").stdout)
        time_left(RENDER, 4, once["compile_seconds"], once["device_seconds"])
        grad = [PROGRAM, "grad", SCENE, "--param", "red.reflectance.value", "--target", "a.pfm", "-o", "out", "-D", "resolution=64"]
        subprocess.run([*grad, "--spp", "4", "--no-cache", "-q"], check=True)
        with open("out/summary.json", encoding="utf-8") as f:
            once = json.load(f)["time"]
        time_left(grad, 4, once["compile_seconds"], once["device_seconds"])
        os.chdir("/")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
