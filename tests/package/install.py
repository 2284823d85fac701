# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""Installs this build into a folder, moves the folder elsewhere, and builds and runs programs in C11 and
C++17 that find it there by find_package and by pkg-config, linked to the shared library and to the static
one. They have functions of names that Backlight uses inside, and render the bytes that the program renders.
The program and the libraries find SwiftShader in the folder.
Another version of the package, and a component that it has not, are refused."""
import os
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t


def version():
    major, minor, _ = t.cache("CMAKE_PROJECT_VERSION").split(".")
    return int(major), int(minor)


def find_package(prefix, folder, expected):
    build = os.path.join(folder, "cmake")
    t.run(["cmake", "-S", t.CONSUMER, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
           "-DCMAKE_BUILD_TYPE=Debug", "-DBACKLIGHT_VERSION=%d.%d" % version()])
    t.run(["cmake", "--build", build, "--parallel", "2"])
    for kind in ("backlight", "shared", "static"):
        for language in ("c", "cxx"):
            program = os.path.join(build, "%s_%s" % (language, kind))
            linked = "libbacklight.so.0" in t.run(["readelf", "-d", program])
            if linked != (kind != "static"):
                t.fail("%s is linked to the wrong library" % program)
            t.check_consumer(program, folder, expected)


def manual(prefix):
    """Manual pages of all commands, and completion."""
    for name in ["man/man1/backlight.1", "bash-completion/completions/backlight", "zsh/site-functions/_backlight",
                 "fish/vendor_completions.d/backlight.fish"] + ["man/man1/backlight-%s.1" % c for c in (
                     "render", "fit", "params", "plugins")]:
        path = os.path.join(prefix, "share", name)
        if not os.path.exists(path) or os.path.getsize(path) < 500:
            t.fail("%s is not installed" % path)


def own_driver(prefix, folder, expected):
    """The program, and a program with the shared library, find the SwiftShader that was installed with them."""
    kept = os.environ.pop("BL_SWIFTSHADER", None)
    place = os.path.join(prefix, t.cache("BL_DATA_DIR"), "swiftshader/libvk_swiftshader.so")
    out = t.run([os.path.join(prefix, "bin/backlight"), "devices"])
    found = [os.path.realpath(line.split(None, 1)[1]) for line in out.splitlines() if line.split()[:1] == ["found"]]
    if os.path.realpath(place) not in found:
        t.fail("%s is not among the devices:\n%s" % (place, out))
    t.check_consumer(os.path.join(folder, "cmake/c_shared"), folder, expected)
    if kept:
        os.environ["BL_SWIFTSHADER"] = kept


def choices(prefix, folder):
    """Which library Backlight::backlight is, in a project of C++ alone."""
    project = os.path.join(folder, "choices")
    wanted = {"default": ("", "", "SHARED"),
              "on": ("set(BUILD_SHARED_LIBS ON)", "", "SHARED"),
              "off": ("set(BUILD_SHARED_LIBS OFF)", "", "STATIC"),
              "named": ("", "COMPONENTS static", "STATIC")}
    for name, (setting, request, kind) in wanted.items():
        os.makedirs(os.path.join(project, name))
        with open(os.path.join(project, name, "CMakeLists.txt"), "w", encoding="utf-8") as f:
            f.write("%s\nfind_package(Backlight REQUIRED %s)\n"
                    "get_target_property(kind Backlight::backlight TYPE)\n"
                    "if(NOT kind STREQUAL %s_LIBRARY)\n  message(FATAL_ERROR \"%s: ${kind}\")\nendif()\n"
                    % (setting, request, kind, name))
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as f:
        f.write("cmake_minimum_required(VERSION 3.25)\nproject(choices LANGUAGES CXX)\n"
                + "".join("add_subdirectory(%s)\n" % name for name in wanted))
    t.run(["cmake", "-S", project, "-B", project + "/build", "-DCMAKE_PREFIX_PATH=" + prefix])


def headers(prefix):
    """Each of them alone is a whole C11 and C++17 file, without a warning."""
    include = os.path.join(prefix, t.cache("CMAKE_INSTALL_INCLUDEDIR"))
    names = sorted(os.listdir(os.path.join(include, "backlight")))
    if names != sorted(os.listdir(t.HEADERS)):
        t.fail("these headers are installed: %s" % names)
    for name in names:
        for compiler, language, standard in (("cc", "c", "c11"), ("c++", "c++", "c++17")):
            t.run([compiler, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                   "-fsyntax-only", "-I" + include, "-include", "backlight/" + name,
                   "-x", language, "/dev/null"])


def refusals(prefix, folder):
    (major, minor), own = version(), t.cache("CMAKE_PROJECT_VERSION")
    for request, text in (("%d.%d" % (major, minor + 1), own), ("%d" % (major + 1), own),
                          ("%d.%d COMPONENTS python" % (major, minor), "shared and static, not python")):
        project = os.path.join(folder, "refused")
        os.makedirs(project, exist_ok=True)
        with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as f:
            f.write("cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES NONE)\n"
                    "find_package(Backlight %s REQUIRED)\n" % request)
        out = t.run(["cmake", "-S", project, "-B", project + "/build", "-DCMAKE_PREFIX_PATH=" + prefix],
                    expect=1)
        if text not in " ".join(out.split()):
            t.fail("find_package(Backlight %s) says: %s" % (request, out))


def pkg_config(prefix, folder, expected):
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(prefix, t.cache("CMAKE_INSTALL_LIBDIR"), "pkgconfig"))
    library = os.path.join(prefix, t.cache("CMAKE_INSTALL_LIBDIR"))

    def ask(*options):
        return shlex.split(t.run(["pkg-config", *options, "backlight"], env=env))

    if ask("--modversion") != [t.cache("CMAKE_PROJECT_VERSION")]:
        t.fail("pkg-config names another version")
    static = [o if o != "-lbacklight" else "-l:libbacklight.a" for o in ask("--static", "--libs")]
    for compiler, standard, file in (("cc", "c11", "consumer.c"), ("c++", "c++17", "consumer.cpp")):
        objects = os.path.join(folder, file + ".o")
        t.run([compiler, "-std=" + standard, *ask("--cflags"), "-c", os.path.join(t.CONSUMER, file),
               "-o", objects])
        for options in (["-Wl,-rpath," + library, *ask("--libs")], static):
            program = os.path.join(folder, "by_pkg_config")
            t.run([compiler, objects, *options, "-o", program])
            t.check_consumer(program, folder, expected)


def main():
    with tempfile.TemporaryDirectory(dir=".") as folder:
        folder = os.path.abspath(folder)
        t.run(["cmake", "--install", t.BUILD, "--prefix", os.path.join(folder, "first")])
        prefix = os.path.join(folder, "moved")
        os.rename(os.path.join(folder, "first"), prefix)
        expected = t.expected_image(folder)
        installed = os.path.join(folder, "installed.pfm")
        t.run([os.path.join(prefix, "bin/backlight"), "render", t.SCENE, "-o", installed, *t.SAMPLES])
        if t.read(installed) != expected:
            t.fail("the installed program renders another image")
        headers(prefix)
        find_package(prefix, folder, expected)
        manual(prefix)
        own_driver(prefix, folder, expected)
        pkg_config(prefix, folder, expected)
        choices(prefix, folder)
        refusals(prefix, folder)


if __name__ == "__main__":
    main()
