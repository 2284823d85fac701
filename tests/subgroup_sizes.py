# LABELS: lavapipe turn
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing depends on how many invocations a device runs together: lavapipe with subgroups of 4, 8 and 16,
each with a shader cache of its own, leaves the same bytes in image and gradients. Of two devices with one
name either can be had. Needs BL_PROGRAM, VK_DRIVER_FILES."""
import json
import os
import subprocess
import sys
import tempfile

ROOT, PROGRAM = os.environ["BL_SOURCE_DIR"], os.environ["BL_PROGRAM"]
SCENE = os.path.join(ROOT, "assets", "cornell", "scene.xml")
SMALL = ["-D", "resolution=16", "-D", "max_depth=4", "--spp", "8", "--seed", "3"]
DRIVERS = os.environ["VK_DRIVER_FILES"]


def run(width, cache, *arguments, drivers=DRIVERS):
    own = {**os.environ, "LP_NATIVE_VECTOR_WIDTH": str(width), "MESA_SHADER_CACHE_DIR": cache,
           "VK_DRIVER_FILES": drivers, "VK_ICD_FILENAMES": drivers}
    done = subprocess.run([PROGRAM, *arguments], env=own, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("FAILED: %s with %d bits: %s" % (arguments[0], width, done.stderr))
    return done.stdout


def results(width, folder, cache):
    image = os.path.join(folder, "%d.pfm" % width)
    run(width, cache, "render", SCENE, *SMALL, "-o", image, "--device", "lavapipe")
    run(width, cache, "grad", SCENE, *SMALL, "--param", "red.reflectance.value", "--adjoint", image, "-o",
        os.path.join(folder, str(width)), "--quiet", "--device", "lavapipe")
    listed = json.loads(run(width, cache, "devices", "--json", "--device", "lavapipe"))["devices"]
    size = next(d["subgroup_size"] for d in listed if d["kind"] == "lavapipe")
    with open(image, "rb") as a, open(os.path.join(folder, str(width), "red.reflectance.value.npy"), "rb") as b:
        return size, (a.read(), b.read())


def twins(folder, cache):
    """The same driver by two manifests: two devices with one name, and either can be had."""
    with open(DRIVERS, encoding="utf-8") as file:
        manifest = json.load(file)
    library = manifest["ICD"]["library_path"]
    if not os.path.isabs(library) and os.path.sep in library:
        library = os.path.join(os.path.dirname(DRIVERS), library)
    manifest["ICD"]["library_path"] = library
    paths = [os.path.join(folder, "twin_%d.json" % k) for k in range(2)]
    for path in paths:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)
    listed = json.loads(run(128, cache, "devices", "--json", drivers=":".join(paths)))["devices"]
    places = [k for k, d in enumerate(listed) if d["kind"] == "lavapipe"]
    if len(places) != 2 or listed[places[0]]["name"] != listed[places[1]]["name"]:
        return "two manifests list %d devices" % len(places)
    for place in places:
        checked = json.loads(run(128, cache, "devices", "--selftest", "--json", "--device", str(place),
                                 drivers=":".join(paths)))
        if checked["missing"] or checked["device"]["kind"] != "lavapipe":
            return "device %d: %s" % (place, checked)
    return None


def main():
    problems, found = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for width in (128, 256, 512):
            size, got = results(width, folder, os.path.join(folder, "cache-%d" % width))
            found[size] = got
            print("subgroups of %d: %d bytes" % (size, sum(map(len, got))), flush=True)
        problem = twins(folder, os.path.join(folder, "cache-128"))
        if problem:
            problems.append(problem)
    if sorted(found) != [4, 8, 16]:
        problems.append("subgroups of %s instead of 4, 8, 16" % sorted(found))
    if len(set(found.values())) != 1:
        problems.append("other bytes with another subgroup size")
    for p in problems:
        print("FAILED: " + p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
