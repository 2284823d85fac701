# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""Devices whose arithmetic is no better than Vulkan asks for, by a driver that rewrites kernels
(tests/faults/sloppy_code.c): quotients and roots are off by up to 2 ulp, otherwise in each kernel and at each place,
and half of all operations take denormal numbers for zero. What such a device lacks is found when it is opened, and
its images and gradients have the bytes of the native device, without a replayed path that drifts. Where the
corrections are left out, because the device says that it is a processor, they have not. With BL_LONG, of
media and of attached paths, too. Needs BL_PROGRAM, BL_SWIFTSHADER, BL_LAVAPIPE."""
import json
import os
import subprocess
import sys
import tempfile

ROOT, PROGRAM = os.environ["BL_SOURCE_DIR"], os.environ["BL_PROGRAM"]
SHIM = os.path.join(os.environ["BL_BUILD_DIR"], "tests", "other_device.so")
SCENE = """<scene version="3.0.0">
  <integrator type="path"><integer name="max_depth" value="4"/></integrator>
  <sensor type="perspective">
    <float name="fov" value="40"/>
    <transform name="to_world"><lookat origin="0, -4, 1.5" target="0, 0, 0.4" up="0, 0, 1"/></transform>
    <film type="hdrfilm"><integer name="width" value="16"/><integer name="height" value="16"/></film>
  </sensor>
  <shape type="rectangle"><transform name="to_world"><scale value="3"/></transform>
    <bsdf type="diffuse" id="floor"><rgb name="reflectance" value="0.4, 0.5, 0.6"/></bsdf></shape>
  <shape type="sphere"><point name="center" value="-0.6, 0, 0.5"/><float name="radius" value="0.5"/>
    <bsdf type="roughconductor" id="metal"><float name="alpha" value="0.3"/></bsdf></shape>
  <shape type="sphere"><point name="center" value="0.8, 0.2, 0.9"/><float name="radius" value="0.3"/>
    <emitter type="area"><rgb name="radiance" value="4, 3, 2"/></emitter></shape>
</scene>"""
# What a device is, its driver, and the checks of the self-test that do not hold there.
OWN, FMA, ROOTS = {"own division", "own root"}, {"Fma division", "Fma root"}, {"division", "square root"}
CORRECTED = [("discrete,sloppy,fused,zeros", "lavapipe", OWN | {"denormals"}),
             ("discrete,sloppy", "swiftshader", OWN | FMA | {"denormals"})]
EXACT = [("discrete", "swiftshader", FMA | {"denormals"}), ("discrete,fused", "lavapipe", set())]
LEFT_ALONE = [("sloppy", "swiftshader", OWN | FMA | ROOTS | {"denormals"})]
REFERENCES = [("heterogeneous", ["fog.sigma_t.data", "fog.albedo.data"]), ("smooth_glass_ior", ["glass.eta"])]
failures = 0


def check(good, text):
    global failures
    failures += not good
    print(("pass: " if good else "FAILED: ") + text, flush=True)


def library(driver):
    if not (os.environ.get("BL_LAVAPIPE") and os.environ.get("BL_SWIFTSHADER")):
        print("needs lavapipe and SwiftShader", file=sys.stderr)
        sys.exit(77)
    if driver == "swiftshader":
        return os.environ["BL_SWIFTSHADER"]
    with open(os.environ["BL_LAVAPIPE"], encoding="utf-8") as file:
        return os.path.join(os.path.dirname(file.name), json.load(file)["ICD"]["library_path"])


def run(words, driver, *arguments):
    """words: of other_device.c; "": the native device."""
    own, name = dict(os.environ), "native"
    if words:
        own.update(BL_SWIFTSHADER=SHIM, OTHER_DEVICE_DRIVER=library(driver), OTHER_DEVICE=words,
                   VK_DRIVER_FILES=os.devnull, VK_ICD_FILENAMES=os.devnull)
        name = "Other device" if "discrete" in words else driver
    done = subprocess.run([PROGRAM, *arguments, "--device", name], env=own, capture_output=True, text=True)
    if "--selftest" not in arguments:
        done.check_returncode()
    return done.stdout


def results(words, driver, scene, parameters):
    """Bytes of the image and the gradients, and the share of paths that drift."""
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "image.pfm")
        run(words, driver, "render", scene, "--spp", "4", "-o", image)
        run(words, driver, "grad", scene, "--spp", "4", "--param", *parameters, "--adjoint", image, "-o", folder,
            "--quiet")
        found = []
        for name in sorted(os.listdir(folder)):
            if name.endswith((".pfm", ".npy")):
                with open(os.path.join(folder, name), "rb") as file:
                    found.append(file.read())
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            return found, json.load(file)["drift"]


def self_test(words, driver, missing):
    found = json.loads(run(words, driver, "devices", "--selftest", "--json"))["checks"]
    got = {c["name"] for c in found if not c["holds"]}
    check(got == missing, "%s on %s lacks %s" % (words, driver, ", ".join(sorted(got)) or "nothing"))


def images(scene, parameters):
    expected, drift = results("", "", scene, parameters)
    check(drift == 0 and len(expected) == 1 + len(parameters), "%s, native" % os.path.basename(scene))
    for words, driver, _ in CORRECTED:
        got, drift = results(words, driver, scene, parameters)
        check(got == expected and drift == 0, "%s on %s has the same bytes; drift %g" % (words, driver, drift))
    for words, driver, _ in LEFT_ALONE:
        got, drift = results(words, driver, scene, parameters)
        check(all(a != b for a, b in zip(got, expected)), "%s on %s has others; drift %g" % (words, driver, drift))


def main():
    for words, driver, missing in CORRECTED + EXACT + LEFT_ALONE:
        self_test(words, driver, missing)
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "scene.xml")
        with open(scene, "w", encoding="utf-8") as file:
            file.write(SCENE)
        images(scene, ["floor.reflectance.value", "metal.alpha.value"])
    for name, parameters in REFERENCES if os.environ.get("BL_LONG") else []:
        images(os.path.join(ROOT, "tests", "reference", name, "scene.xml"), parameters)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
