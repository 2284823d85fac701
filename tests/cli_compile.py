# LABELS: nodevice native swiftshader lavapipe
# SPDX-License-Identifier: BSD-3-Clause
"""backlight compile: kernels of a scene and of a fit job, with what compilers tell; no device memory is held.
Without a device: AMD's compiler on RADV's null device (BL_RADV, scripts/setup --full), where also
`backlight ir` works and everything that would run something says that it cannot."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SOURCE = os.environ.get("BL_SOURCE_DIR", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORNELL = os.path.join(SOURCE, "assets/cornell/scene.xml")
COLOUR = "red.reflectance.value"
DEVICE = os.environ.get("BL_DEVICE")
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def run(*arguments, status=0, environment=None):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    if "no device matches" in done.stderr:
        print(done.stderr, file=sys.stderr)
        sys.exit(77)
    check(done.returncode == status, "%s ended with %d, not %d: %s" %
          (" ".join(arguments), done.returncode, status, done.stderr))
    return done


def kernels(*arguments, environment=None):
    """Kernels by name, as --json has them."""
    told = json.loads(run("compile", *arguments, "--json", environment=environment).stdout or "{}")
    check({"version", "device", "driver", "ray_backend"} <= set(told), "no origin: %s" % list(told))
    return {kernel["kernel"]: kernel for kernel in told.get("kernels", [])}


def check_kernels(made, wanted):
    check(set(made) == set(wanted), "kernels %s instead of %s" % (sorted(made), sorted(wanted)))
    for kernel in made.values():
        check(kernel["words"] > 100 and kernel["ops"] > 10 and kernel["own_seconds"] > 0
              and kernel["driver_seconds"] >= 0, "empty numbers: %s" % kernel)


def check_numbers(made, kernel, names):
    told = made.get(kernel, {}).get("statistics", {})
    for name in names:
        check(told.get(name, 0) > 0, "%s of %s is %s" % (name, kernel, told.get(name)))


def check_mode_of_job():
    """A job's own mode is that of its kernels, as if the command line had named it."""
    with open(os.path.join(SOURCE, "assets/demo/fit.json"), encoding="utf-8") as f:
        job = json.load(f)
    job["scene"] = os.path.join(SOURCE, "assets/demo", job["scene"])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        for own, named in (({}, ["--mode", "mono"]), ({"mode": "mono"}, []), ({}, [])):
            with open(path, "w", encoding="utf-8") as f:
                json.dump({**job, **own}, f)
            found.append(kernels(path, "--pass", "primal", *named)["primal"]["words"])
    check(found[0] == found[1] != found[2], "words of mono by name, of a mono job, of colours: %s" % found)


def on_device():
    forms = ("primal", "gradient", "replay", "adjoint")
    made = kernels(CORNELL, "--param", COLOUR)
    check_kernels(made, forms)
    if DEVICE == "native":
        for name in forms:
            check_numbers(made, name, ("Code size", "Workspace size"))
        fit = kernels(os.path.join(SOURCE, "assets/demo/fit.json"))
        check("fixed optimizer_adam" in fit and "adjoint" in fit, "a fit's kernels are %s" % sorted(fit))
        check_mode_of_job()
        # what words say of a kernel is what `ir` says of it
        listing = run("ir", CORNELL, "--pass", "primal", "--native").stdout
        check("run" in listing, "no listing")
    elif DEVICE in ("lavapipe", "swiftshader"):
        check(not any(kernel["statistics"] for kernel in made.values()), "this driver tells nothing")
        check(made["adjoint"]["driver_seconds"] > 0.01,
              "the driver has not compiled: %g s" % made["adjoint"]["driver_seconds"])
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "modules", "primal.spv")
        kernels(CORNELL, "--pass", "primal", "--spirv", os.path.dirname(module))
        with open(module, "rb") as f:
            check(f.read(4) == b"\x03\x02\x23\x07", "the module does not begin as one")
    table = run("compile", CORNELL, "--param", COLOUR, "--pass", "primal").stdout
    check("primal" in table and "adjoint" not in table, "a table of one pass: " + table)


def null_device(family):
    manifest = os.environ["BL_RADV"]
    libraries = os.path.dirname(manifest) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    return {"RADV_FORCE_FAMILY": family, "VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest,
            "LD_LIBRARY_PATH": libraries, "BL_DEVICE": "RADV",
            "ASAN_OPTIONS": "detect_leaks=0"}  # the driver's own


def asks_for_narrow_waves():
    """RDNA2 runs kernels in waves of 32, which its driver does only if it is asked to; RDNA3 does not."""
    for family, size in (("navi10", 32), ("navi21", 32), ("navi31", 64), ("navi33", 64), ("gfx1200", 64)):
        environment = null_device(family)
        listed = json.loads(run("devices", "--json", environment=environment).stdout)["devices"]
        found = [device["subgroup_size"] for device in listed if "RADV" in device["name"]]
        check(found == [size], "subgroups of %s instead of %d on %s" % (found, size, family))
        of = ("--pass", "primal")
        as_it_likes = kernels(CORNELL, *of, environment=environment)["primal"]["statistics"]
        narrow = kernels(CORNELL, *of, environment=dict(environment, RADV_PERFTEST="cswave32"))["primal"]["statistics"]
        same = as_it_likes["Inverse Throughput"] == narrow["Inverse Throughput"]
        check(same == (size == 32), "%s: waves of %d are not as asked" % (family, size))


def without_device():
    environment = null_device("navi31")
    made = kernels(CORNELL, "--param", COLOUR, environment=environment)
    check_kernels(made, ("primal", "gradient", "replay", "adjoint"))
    for name in made:
        check_numbers(made, name, ("VGPRs", "SGPRs", "Code size", "Subgroups per SIMD"))
    check(kernels(CORNELL, "--pass", "primal", "--ray-backend", "query", environment=environment)
          ["primal"]["words"] != made["primal"]["words"], "ray queries make no difference")
    other = kernels(CORNELL, "--param", COLOUR, "--pass", "adjoint", environment=null_device("vega20"))
    check(other["adjoint"]["statistics"] != made["adjoint"]["statistics"], "Vega is as RDNA3")
    asks_for_narrow_waves()
    ir = ("ir", CORNELL, "--pass", "adjoint", "--param", COLOUR, "--optimised")
    check("func" in run(*ir, environment=environment).stdout, "no trace")
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "a.png")
        rendered = run("render", CORNELL, "-o", picture, status=1, environment=environment)
        check("compiles only" in rendered.stderr and "choose another device" in rendered.stderr,
              "rendering says: " + rendered.stderr)
        check(not os.listdir(folder), "a picture of nothing")
    # the best device is never one that cannot run
    del environment["BL_DEVICE"]
    listed = json.loads(run("devices", "--json", environment=environment).stdout)["devices"]
    check("Null hardware" in listed[-1]["name"], "null hardware is not the last device: %s" %
          [device["name"] for device in listed])


def usage():
    done = run("compile", CORNELL, "--pass", "nosuch", status=2)
    check("no pass 'nosuch'" in done.stderr, "a wrong pass: " + done.stderr)
    done = run("compile", os.path.join(SOURCE, "nosuch.json"), status=1)
    check("nosuch.json" in done.stderr, "a missing job: " + done.stderr)


if DEVICE:
    on_device()
else:
    usage()
    if not os.environ.get("BL_RADV"):
        print("no RADV (scripts/setup --full)", file=sys.stderr)
        sys.exit(1 if failures else 77)
    without_device()
sys.exit(1 if failures else 0)
