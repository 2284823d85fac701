# LABELS: swiftshader turn
# SPDX-License-Identifier: BSD-3-Clause
"""A project that has these sources as a part (add_subdirectory) gets the library that BUILD_SHARED_LIBS
says, and neither the program nor the other library; its programs in C11 and C++17 render the bytes that
ours does. Compiled without optimisation, which is the fastest to build."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _common as t


def main():
    with tempfile.TemporaryDirectory(dir=".") as folder:
        folder = os.path.abspath(folder)
        expected = t.expected_image(folder)
        build = os.path.join(folder, "build")
        static, dynamic = "libbacklight.a", "libbacklight.so"
        for shared, here, absent in (("OFF", static, dynamic), ("ON", dynamic, static)):
            t.run(["cmake", "-S", t.CONSUMER, "-B", build, "-DBACKLIGHT_SOURCE=" + t.SOURCE,
                   "-DBUILD_SHARED_LIBS=" + shared, "-DCMAKE_C_FLAGS=-O0"])
            t.run(["cmake", "--build", build, "--parallel", "2"])
            made = os.listdir(os.path.join(build, "backlight"))
            if here not in made or absent in made or "backlight" in made:
                t.fail("with BUILD_SHARED_LIBS=%s these files are made: %s" % (shared, sorted(made)))
            for program in ("c_backlight", "cxx_backlight"):
                t.check_consumer(os.path.join(build, program), folder, expected)
            os.remove(os.path.join(build, "backlight", here))


if __name__ == "__main__":
    main()
