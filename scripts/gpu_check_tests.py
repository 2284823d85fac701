# SPDX-License-Identifier: BSD-3-Clause
"""The step `tests` of scripts/gpu-check: tests are found by their labels, as cmake/Tests.cmake finds them, and run on
the device without cmake."""
import os
import re
import shutil
import sys
import tempfile

from gpu_check_run import ROOT, Failure

# of the tests, first those that say whether the device computes what we think it does
FIRST_TESTS = ["unit_gpu_basic", "unit_spv_device", "unit_spv_device_ops", "unit_spv_device_traces",
               "unit_ad_device", "gradient_determinism", "unit_fit_kernels", "image_device_equals_interpreter",
               "image_analytic", "api_threads", "api_vulkan_device"]
LEFT_OUT = re.compile(r"^package_|^samples_validation$|^conformance_")  # a compiler; layers; the step conformance


def tests_of(labels):
    """(name, file) of every test that has one of the labels, by the rule of cmake/Tests.cmake."""
    base = os.path.join(ROOT, "tests")
    for folder, _, files in sorted(os.walk(base)):
        below = os.path.relpath(folder, base)
        for file in sorted(files):
            stem, kind = os.path.splitext(file)
            if kind not in (".c", ".py", ".sh") or (below == ".") == (kind == ".c"):
                continue
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                found = re.search(r"LABELS: *([A-Za-z0-9_= -]+)", "".join(next(text, "") for _ in range(10)))
            words = {w.split("=")[0] if w.endswith("=long") else w for w in found.group(1).split()} if found else set()
            name = stem if below == "." else "%s_%s" % (below, stem)
            if words & labels and "long" not in words and not LEFT_OUT.search(name):
                yield name, os.path.join(folder, file)


def one_test(check, name, path, backend):
    program = {".py": [sys.executable, path], ".sh": ["bash", path]}.get(os.path.splitext(path)[1],
                                                                        [os.path.join(check.tests, name)])
    shown = name + ("@rayquery" if backend else "")
    if check.left() <= 1:
        return check.report.add("tests", shown, "left", 0)
    if not os.path.exists(program[-1]):
        return check.say("tests", shown, "skipped", 0, "was not built")
    cwd = tempfile.mkdtemp(dir=check.folder)
    environment = {"BL_DEVICE": check.selector, "BL_PROGRAM": check.program, "BL_SOURCE_DIR": ROOT,
                   "BL_BUILD_DIR": os.path.dirname(check.program), "BL_PYTHON": sys.executable, "BL_SANITIZE": "",
                   "BL_CACHE_DIR": os.path.join(check.folder, "cache")}
    if backend:
        environment["BL_RAY_BACKEND"] = "query"
    status, out, errors, seconds = check.run(program, check.options.test_limit, cwd, **environment)
    output = out + errors
    late = "timeout" if check.left() > 1 else "left"
    verdict = late if status is None else "skipped" if status == 77 or (
        status == 0 and "[  SKIPPED ]" in output) else "passed" if status == 0 else "failed"
    text = "" if verdict in ("passed", late) else Failure(status, output).text()
    check.say("tests", shown, verdict, seconds, text, output)
    shutil.rmtree(cwd, ignore_errors=True)


def test_jobs(check):
    found = list(tests_of({"swiftshader", "lavapipe"}))
    found.sort(key=lambda t: FIRST_TESTS.index(t[0]) if t[0] in FIRST_TESTS else len(FIRST_TESTS))
    jobs = [(t, False) for t in found]
    if check.info["ray_query"]:
        jobs += [(t, True) for t in tests_of({"rayquery"})]
    only = re.compile(check.options.matching)
    return [lambda t=t, backend=backend: one_test(check, *t, backend) for t, backend in jobs if only.search(t[0])]
