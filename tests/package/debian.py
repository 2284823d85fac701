# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Debian packages and installs them by dpkg into an empty root, which holds the libraries of
those packages that ours declare to depend on, a shell, and nothing else. Inside it (chroot) the program is
on the PATH, finds SwiftShader where the package has put it, and renders the bytes of this build's. A fit
with large steps says which package is missing: CHOLMOD is not among the dependencies. A program that was
built with the development package runs there. Removing the packages leaves the root as it was.

Needs root, or user namespaces."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t

CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",
         "DEBIAN_FRONTEND": "noninteractive", "BL_DEVICE": "swiftshader"}


def make_packages(folder):
    """name -> file"""
    # "Ninja": elsewhere cpack would build everything once more before it starts. gzip is the fastest.
    t.run(["cpack", "-G", "DEB", "-B", folder, "-D", "CPACK_CMAKE_GENERATOR=Ninja",
           "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"], cwd=t.BUILD)
    files = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".deb")]
    return {field(file, "Package"): file for file in files}


def field(file, name):
    return t.run(["dpkg-deb", "-f", file, name]).strip()


def installed(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Depends}, ${Pre-Depends}", name],
                          capture_output=True, text=True)
    return done.stdout.split("|", 1)[1] if done.returncode == 0 and done.stdout.startswith("ii") else None


def closure(depends, own):
    """Packages of this machine that a field Depends leads to, those that ours are aside."""
    found, open_fields = set(), [depends]
    while open_fields:
        for alternatives in open_fields.pop().split(","):
            names = [re.split(r"[\s(:]", a.strip())[0] for a in alternatives.split("|")]
            if not names[0] or own & set(names) or found & set(names):
                continue
            for name in names:
                more = installed(name)
                if more is not None:
                    found.add(name)
                    open_fields.append(more)
                    break
    return sorted(found)


def make_root(root, packages):
    """Shared libraries of packages, and a dpkg that believes these are installed."""
    for name in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "etc", "tmp", "usr"):
        os.makedirs(os.path.join(root, name))
    for name in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(os.path.join(root, "usr", name))
        os.symlink("usr/" + name, os.path.join(root, name))
    with open(os.path.join(root, "var/lib/dpkg/status"), "w", encoding="utf-8") as status:
        for name in packages:
            status.write(t.run(["dpkg-query", "-s", name]).rstrip("\n") + "\n\n")
    for path in t.run(["dpkg-query", "-L", *packages]).splitlines():
        if re.match(r"(/usr)?/lib.*\.so(\.[\d.]+)?$", path) and os.path.isfile(path):
            copy = root + path
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if not os.path.lexists(copy):
                shutil.copy2(path, copy)
    for tool in ("sh", "ldconfig"):  # of packages that every Debian has; maintainer scripts call them
        shutil.copy2(shutil.which(tool, path=CLEAN["PATH"]), os.path.join(root, "usr/bin", tool))
    with open(os.path.join(root, "etc/ld.so.conf"), "w", encoding="utf-8") as f:
        f.write("/usr/local/lib\n/usr/lib/x86_64-linux-gnu\n/usr/lib/aarch64-linux-gnu\n")


def dpkg(root, *command):
    t.run(["dpkg", "--root=" + root, "--log=/dev/null", *command], env=CLEAN)
    t.run(["ldconfig", "-r", root])  # the trigger of libc-bin, which is not there


def inside(root, *command, expect=0):
    return t.run(["chroot", root, *command], expect=expect, env=CLEAN)


def listing(root):
    found = set()
    for base, folders, names in os.walk(root):
        if base == os.path.join(root, "var/lib"):
            folders.remove("dpkg")
        found.update(os.path.relpath(os.path.join(base, name), root) for name in folders + names)
    return found - {"etc/ld.so.cache", "var/cache/ldconfig", "var/cache/ldconfig/aux-cache"}


def check_fields(files):
    names = {"backlight", "backlight-swiftshader", "libbacklight-dev", "libbacklight0"}
    if set(files) != names:
        t.fail("the packages are %s, not %s" % (sorted(files), sorted(names)))
    for name, file in files.items():
        if field(file, "Version") != t.cache("CMAKE_PROJECT_VERSION"):
            t.fail("%s has the version %s" % (name, field(file, "Version")))
        if re.search("cholmod|suitesparse|metis|blas|lapack", field(file, "Depends")):
            t.fail("%s depends on CHOLMOD: %s" % (name, field(file, "Depends")))
    needs = "libbacklight.so" in t.run(["readelf", "-d", os.path.join(t.BUILD, "backlight")])
    if needs != ("libbacklight0" in field(files["backlight"], "Depends")):
        t.fail("backlight depends on " + field(files["backlight"], "Depends"))
    if "libcholmod" not in field(files["backlight"], "Suggests"):
        t.fail("backlight does not suggest CHOLMOD")


def check_program(root, folder):
    version = inside(root, "backlight", "--version").split()
    if version != ["backlight", t.cache("CMAKE_PROJECT_VERSION")]:
        t.fail("backlight --version prints %s" % version)
    place = os.path.join(t.cache("CMAKE_INSTALL_PREFIX"), t.cache("BL_DATA_DIR"), "swiftshader")
    devices = inside(root, "backlight", "devices")
    if place not in devices:
        t.fail("SwiftShader is not found in %s: %s" % (place, devices))
    expected = t.expected_image(folder)
    shutil.copy(t.SCENE, os.path.join(root, "tmp/scene.xml"))
    inside(root, "backlight", "render", "/tmp/scene.xml", "-o", "/tmp/image.pfm", *t.SAMPLES)
    if t.read(os.path.join(root, "tmp/image.pfm")) != expected:
        t.fail("the installed program renders another image")
    return expected


def check_large_steps(root):
    """The job assets/relief, of few samples."""
    relief = os.path.join(root, "tmp/relief")
    shutil.copytree(os.path.join(t.SOURCE, "assets/relief"), relief)
    with open(os.path.join(relief, "fit.json"), encoding="utf-8") as f:
        job = json.load(f)
    job["target"]["spp"] = 1
    with open(os.path.join(relief, "fit.json"), "w", encoding="utf-8") as f:
        json.dump(job, f)
    out = inside(root, "backlight", "fit", "/tmp/relief/fit.json", "-o", "/tmp/out", expect=1)
    if not re.search(r"libcholmod\.so\.\d+: install it \(Debian: the package libcholmod\d+\)", out):
        t.fail("a fit with large steps says: " + out)


def check_development(root, folder, expected):
    prefix = root + t.cache("CMAKE_INSTALL_PREFIX")
    build = os.path.join(folder, "consumer")
    t.run(["cmake", "-S", t.CONSUMER, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix])
    t.run(["cmake", "--build", build, "--target", "c_shared", "c_static"])
    for name in ("c_shared", "c_static"):
        shutil.copy(os.path.join(build, name), os.path.join(root, "tmp", name))
        inside(root, "/tmp/" + name, "/tmp/scene.xml", "/tmp/image.pfm")
        if t.read(os.path.join(root, "tmp/image.pfm")) != expected:
            t.fail(name + " renders another image")


def main():
    if os.geteuid() != 0:
        command = ["unshare", "--map-root-user"]
        if subprocess.run(command + ["true"], capture_output=True).returncode != 0:
            print("neither root nor user namespaces")
            sys.exit(77)
        os.execvp(command[0], command + [sys.executable, os.path.abspath(__file__)])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        folder = os.path.abspath(folder)
        root = os.path.join(folder, "root")
        files = make_packages(os.path.join(folder, "packages"))
        check_fields(files)
        users = [file for name, file in files.items() if name != "libbacklight-dev"]
        make_root(root, closure(", ".join(field(file, "Depends") for file in users), set(files)))
        before = listing(root)
        dpkg(root, "--install", *users)
        expected = check_program(root, folder)
        check_large_steps(root)
        # its dependencies are what this machine builds with
        dpkg(root, "--force-depends", "--install", files["libbacklight-dev"])
        check_development(root, folder, expected)
        shutil.rmtree(os.path.join(root, "tmp"))
        os.mkdir(os.path.join(root, "tmp"))
        dpkg(root, "--purge", *files)
        left = listing(root) - before
        if left:
            t.fail("left behind: " + ", ".join(sorted(left)))


if __name__ == "__main__":
    main()
