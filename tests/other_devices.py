# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that this machine does not have, by a driver that makes SwiftShader look like them
(tests/faults/other_device.c): memory that the host cannot see, several queue families, no timestamps or odd
ones, robust buffer access, a budget of memory, a device that is lost. Image, gradient and fit have the same
bytes on all of them; what fails says why and leaves nothing; a fit that lost its device goes on from its
checkpoint to the same end. Needs BL_PROGRAM, BL_SWIFTSHADER."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT, PROGRAM = os.environ["BL_SOURCE_DIR"], os.environ["BL_PROGRAM"]
SHIM = os.path.join(os.environ["BL_BUILD_DIR"], "tests", "other_device.so")
SCENE = os.path.join(ROOT, "assets", "cornell", "scene.xml")
SMALL = ["-D", "resolution=24", "--spp", "8", "--seed", "3"]
PARAMETERS = ["--param", "red.reflectance.value"]
DEVICES = ["hidden,queues,no_time", "hidden,odd_time", "robust,no_time", "queues"]
JOB = {"scene": SCENE, "defines": {"resolution": "16", "max_depth": "4"}, "target": {"render": True, "spp": 16},
       "parameters": [{"name": "red.reflectance.value", "initial": 0.5, "bounds": [0, 1]}],
       "optimizer": {"type": "adam", "rate": 0.02}, "steps": 8, "spp": 2, "checkpoint_steps": 2}
GLASS = """<scene version="3.0.0">
  <integrator type="%s"><integer name="max_depth" value="%d"/></integrator>
  <sensor type="perspective"><float name="fov" value="40"/>
    <transform name="to_world"><lookat origin="0, -4, 1.5" target="0, 0, 0.4" up="0, 0, 1"/></transform>
    <film type="hdrfilm"><integer name="width" value="16"/><integer name="height" value="16"/></film></sensor>
  <shape type="rectangle"><transform name="to_world"><scale value="3"/></transform><bsdf type="diffuse"/></shape>
  <shape type="sphere"><point name="center" value="-0.6, 0, 0.5"/><float name="radius" value="0.5"/>
    <bsdf type="dielectric" id="glass"/></shape>
  <emitter type="point"><point name="position" value="0.8, 0.2, 1.9"/></emitter>
</scene>"""
failures = 0


def check(good, text):
    global failures
    failures += not good
    if not good:
        print("FAILED: " + text)


def run(device, *arguments, **environment):
    """device: words of other_device.c; "" is SwiftShader as it is."""
    own = {**os.environ, "VK_DRIVER_FILES": os.devnull, "VK_ICD_FILENAMES": os.devnull, **environment}
    name = "swiftshader"
    if device:
        own.update(BL_SWIFTSHADER=SHIM, OTHER_DEVICE_DRIVER=os.environ["BL_SWIFTSHADER"], OTHER_DEVICE=device)
        name = "Other device" if "discrete" in device else name
    named = [] if "--device" in arguments else ["--device", name]
    done = subprocess.run([PROGRAM, *arguments, *named], env=own, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def contents(folder):
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".pfm", ".npy")):
                with open(os.path.join(base, name), "rb") as file:
                    found[os.path.relpath(os.path.join(base, name), folder)] = file.read()
    return found


def results(device, scene=SCENE, drawn=tuple(SMALL), gradient=tuple(PARAMETERS)):
    """Image and gradients, as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image.pfm")
        for arguments in (["render", scene, *drawn, "-o", image],
                          ["grad", scene, *drawn, *gradient, "--adjoint", image, "-o", folder, "--quiet"]):
            status, _, err = run(device, *arguments)
            check(status == 0, "%s on '%s': %s" % (arguments[0], device, err))
        return contents(folder)


def same_bytes():
    expected = results("")
    check(len(expected) == 2, "image and gradient: %s" % sorted(expected))
    for device in DEVICES:
        check(results(device) == expected, "'%s' computes something else" % device)


def positions_of_chains():
    """A GPU's lane walks along short chains again, and keeps positions of longer ones in one array, as those of
    paths from lights. Images have the bytes of a device that keeps them in two, gradients but for the order of sums:
    GPUs add what a function finds where it is found."""
    with tempfile.TemporaryDirectory() as folder:
        for integrator, depth in (("path", 4), ("path", 9), ("ptracer", 6)):
            scene = os.path.join(folder, "%s%d.xml" % (integrator, depth))
            with open(scene, "w", encoding="utf-8") as file:
                file.write(GLASS % (integrator, depth))
            gradient = ["--param", "glass.eta", "--edges", "none"]
            one, two = (results(device, scene, ["--spp", "4"], gradient) for device in ("discrete", ""))
            name = next(n for n in two if n.endswith(".npy"))
            by_eta, expected = (struct.unpack("<f", r.pop(name)[-4:])[0] for r in (one, two))
            good = one == two and len(two) == 1 and expected != 0 and abs(by_eta - expected) <= 1e-6 * abs(expected)
            check(good, "%s to depth %d on a GPU: %g instead of %g" % (integrator, depth, by_eta, expected))


def the_list():
    status, out, _ = run("discrete", "devices", "--json")
    first = json.loads(out)["devices"][0]
    check(status == 0 and first["name"] == "Other device" and first["kind"] == "discrete", "the list: %s" % first)
    for selector in ("0", "uuid:" + first["uuid"], "uuid:" + first["uuid"][:8].upper(), "other"):
        status, out, err = run("discrete", "devices", "--selftest", "--json", "--device", selector)
        found = json.loads(out)
        check(found["device"]["name"] == "Other device", "%s: %s" % (selector, err))
        missing = {c["name"] for c in found["checks"] if c["needed"] and not c["holds"]}
        check(not missing and status == 0, "missing: %s" % missing) # its Fma rounds twice: it divides by itself
    for selector in ("7", "uuid:", "uuid:1234", "foo"):
        status, _, err = run("discrete", "devices", "--device", selector)
        check(status == 1 and "no device matches" in err and "0 Other device" in err, "%s: %s" % (selector, err))


def budget():
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image.pfm")
        render = ["render", SCENE, "-D", "resolution=400", "--spp", "1", "-o", image]
        status, _, err = run("hidden,budget", *render, OTHER_DEVICE_BUDGET=str(64 << 20))
        check(status == 0, "64 MiB are enough: " + err)
        os.remove(image)
        status, _, err = run("hidden,budget", *render, OTHER_DEVICE_BUDGET=str(1 << 20))
        check(status == 1 and re.search(r"of the 1 MiB that the system leaves .*close other programs", err),
              "a budget of 1 MiB: " + err)
        check(not os.listdir(folder), "a render without memory leaves " + str(os.listdir(folder)))


def lost_device():
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job.json")
        with open(job, "w", encoding="utf-8") as file:
            json.dump(JOB, file)
        whole, lost = os.path.join(folder, "whole"), os.path.join(folder, "lost")
        status, _, err = run("hidden", "fit", job, "-o", whole, "--quiet")
        check(status == 0, "a fit: " + err)
        ends = 0
        for at in (20, 60, 60, 60, 60, 60, 60):  # submissions of each process until the device is lost
            status, _, err = run("hidden,lost", "fit", job, "-o", lost, "--quiet", "--resume",
                                 OTHER_DEVICE_LOST=str(at))
            if status == 0:
                break
            ends += 1
            said = [line for line in err.splitlines() if "DEVICE_LOST" in line]
            check(status == 1 and len(said) == 1 and "--resume" in said[0], "a lost device: %d %s" % (status, err))
        status, _, err = run("hidden", "fit", job, "-o", lost, "--quiet", "--resume")
        check(status == 0 and ends >= 2, "after %d losses: %s" % (ends, err))
        check(contents(lost) == contents(whole) and contents(whole), "a fit that lost its device ends otherwise")


def pieces_of_memory():
    """A fit asks for memory when it begins, and not again: nothing can become fragmented, however long it is."""
    said = []
    with tempfile.TemporaryDirectory() as folder:
        for steps in (4, 40):
            job = os.path.join(folder, "%d.json" % steps)
            with open(job, "w", encoding="utf-8") as file:
                json.dump({**JOB, "steps": steps}, file)
            status, _, err = run("hidden,count", "fit", job, "-o", job + ".out", "--quiet")
            found = re.findall(r"asked for (\d+) times, (\d+) pieces", err)
            check(status == 0 and found, "%d steps: %s" % (steps, err))
            said.append(found[-1:])
        print("memory was asked for, pieces at most: %s" % said)
        check(said[0] == said[1] and said[0] and int(said[0][0][1]) < 100, "memory: %s" % said)


def faults_of_the_self_test():
    """The device is lost at every submission of the first checks: the checks say so, and nothing crashes."""
    for at in range(1, 8):
        status, out, err = run("hidden,lost", "devices", "--selftest", "--json", OTHER_DEVICE_LOST=str(at))
        good = status == 1 and "lacks what images and gradients need" in err
        check(good and "DEVICE_LOST" in json.loads(out)["checks"][-1]["found"], "lost at %d: %d %s" % (at, status, err))


def main():
    for part in (same_bytes, positions_of_chains, the_list, budget, lost_device, pieces_of_memory, faults_of_the_self_test):
        before = failures
        part()
        print("%s %s" % ("pass" if failures == before else "FAIL", part.__name__), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
