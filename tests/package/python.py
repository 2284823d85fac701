# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""A wheel of the Python package, made of the library that this build installs, works where nothing else is: it
is for all CPython from 3.10 on, carries SwiftShader with its licence and finds it without an environment
variable, has type stubs, and draws the demo on SwiftShader and on the device that it chooses itself."""
import os
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t

VENV = os.path.join(t.SOURCE, "build/venv/bin/python")
SWIFTSHADER = os.path.join(t.SOURCE, "build/swiftshader/libvk_swiftshader.so")
PROGRAM = """
import backlight, sys
device = backlight.Device(%r)
image = backlight.demo(%r, spp=2, resolution=16, device=device)
assert image.shape == (16, 16, 3) and image.mean() > .05
print(device.kind, device.info["found"], backlight.__version__, backlight.__file__)
"""


def build(folder):
    prefix, wheels = os.path.join(folder, "installed"), os.path.join(folder, "wheels")
    t.run(["cmake", "--install", t.BUILD, "--prefix", prefix, "--component", "development"])
    t.run(["cmake", "--install", t.BUILD, "--prefix", prefix, "--component", "runtime"])
    t.run([VENV, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation",
           t.SOURCE, "-w", wheels, "--config-settings=build-dir=" + os.path.join(folder, "build"),
           "--config-settings=cmake.define.BL_PYTHON_INSTALLED=ON",
           "--config-settings=cmake.define.CMAKE_PREFIX_PATH=" + prefix],
          env=dict(os.environ, CMAKE_BUILD_PARALLEL_LEVEL="2"))
    names = os.listdir(wheels)
    if len(names) != 1 or "-cp310-abi3-linux_" not in names[0]:
        t.fail("these wheels are built: %s" % names)
    return os.path.join(wheels, names[0])


def check_content(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        wanted = ["backlight/__init__.py", "backlight/_core.abi3.so", "backlight/_core.pyi", "backlight/py.typed",
                  "backlight/torch.py"]
        if os.path.exists(SWIFTSHADER):
            wanted += ["backlight/swiftshader/libvk_swiftshader.so", "backlight/swiftshader/SwiftShader-Apache-2.0.txt"]
            with open(SWIFTSHADER, "rb") as f:
                if z.read(wanted[-2]) != f.read():
                    t.fail("another SwiftShader is in the wheel")
            if b"Apache License" not in z.read(wanted[-1]):
                t.fail("no licence beside SwiftShader")
        for name in wanted:
            if name not in names:
                t.fail("the wheel has no %s" % name)
        for name in names:
            if not name.startswith(("backlight/", "backlight-")):
                t.fail("the wheel has %s" % name)
        metadata = next(name for name in names if name.endswith("/METADATA"))
        text = z.read(metadata).decode()
        for line in ("Version: " + t.cache("CMAKE_PROJECT_VERSION"), "Requires-Dist: numpy", "Requires-Dist: nanobind-backend"):
            if line not in text:
                t.fail("no '%s' in the metadata:\n%s" % (line, text))


def check_run(folder, wheel):
    site = os.path.join(folder, "site")
    t.run([VENV, "-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps", "--target", site, wheel])
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("BL_", "VK_", "LD_", "PYTHON"))}
    for selector, kinds in (("swiftshader", ["swiftshader"]), (None, ["native", "swiftshader", "discrete", "integrated"])):
        picture = os.path.join(folder, "demo.png")
        out = t.run([VENV, "-c", PROGRAM % (selector, picture)], cwd=folder,
                    env=dict(clean, PYTHONPATH=site, XDG_CACHE_HOME=os.path.join(folder, "cache")))
        kind, found = out.splitlines()[-1].split()[:2]
        if kind not in kinds or site not in out or not t.read(picture).startswith(b"\x89PNG"):
            t.fail("the demo says: " + out)
        if kind == "swiftshader" and not os.path.realpath(found).startswith(os.path.realpath(site)):
            t.fail("SwiftShader is that of %s" % found)


def main():
    if not os.path.exists(VENV):
        print("no %s: scripts/setup --full makes it" % VENV)
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        folder = os.path.abspath(folder)
        wheel = build(folder)
        check_content(wheel)
        check_run(folder, wheel)
        print("%s, %.1f MB" % (os.path.basename(wheel), os.path.getsize(wheel) / 1e6))


if __name__ == "__main__":
    main()
