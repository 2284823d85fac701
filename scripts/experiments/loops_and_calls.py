# SPDX-License-Identifier: BSD-3-Clause
"""Micro-benchmarks of the tracing compiler: loops and calls, beside Dr.Jit where Mitsuba is installed, and what optimisations of calls
gain (figures 4 and 5 of the Dr.Jit paper)."""
import json
import os
import re
import subprocess
import tempfile

import numpy as np

import report
import tracing_api
from tracing_api import F32

MITSUBA = os.path.join(report.ROOT, "build", "mitsuba")
DEVICES = ["native", "lavapipe", "swiftshader"]
TARGETS, FEW = 8, 5  # of the calls of figure 5; different functions of figure 4


def write_loop(t, count, form):
    """x = (x + 1) ^ x, so many times: as a loop, or recorded anew for each time."""
    f = t.function("main")
    i = x = f.global_id()
    if form == "loop":
        x = f.repeat(x, count, lambda v: f.xor(f.add(v, f.u32(1)), v))
    else:
        for _ in range(count):
            x = f.xor(f.add(x, f.u32(1)), x)
    f.store(t.buffers[0], i, x)
    t.entry(f)


def fraction(f, i):
    return f.mul(f.to_f32(f.mod(i, f.u32(1024))), f.f32(1 / 1024))


def arctangent(f, x, terms):
    """The first terms of its series."""
    square, power, total = f.mul(x, x), x, f.f32(0)
    for k in range(terms + 1):
        total = f.add(total, f.mul(power, f.f32((-1)**k / (2 * k + 1))))
        power = f.mul(power, square)
    return total


def write_calls(t, count, unique):
    """Invocation i calls target i mod count, whose series is as long as its number modulo `unique` says."""
    targets = []
    for k in range(count):
        f = t.function("arctangent_%d" % k)
        targets.append(f.returned(arctangent(f, f.param(F32), k % unique)))
    f = t.function("main")
    i = f.global_id()
    x = fraction(f, i)
    f.store(t.buffers[0], i, f.call(f.mod(i, f.u32(count)), targets, [x], 1)[0])
    t.entry(f)


def expected(case, lanes):
    """What the case computes, by numpy."""
    what, *numbers = case.split(":")
    i = np.arange(lanes, dtype=np.uint32)
    if what != "calls":
        for _ in range(int(numbers[0])):
            i = (i + np.uint32(1)) ^ i
        return i
    count, unique = map(int, numbers)
    x, k = (i % 1024) / 1024, (i % count) % unique
    terms = np.arange(unique)
    return ((terms <= k[:, None]) * (-1.0)**terms / (2 * terms + 1) * x[:, None]**(2 * terms + 1)).sum(1)


def write_case(t, case):
    what, *numbers = case.split(":")
    if what == "calls":
        write_calls(t, *map(int, numbers))
    else:
        write_loop(t, int(numbers[0]), what)


def chain(f, x, scale):
    """Forty operations on one value."""
    for _ in range(20):
        x = f.add(f.mul(x, scale), f.f32(0.25))
    return x


def write_polymorphic(t, what, hidden):
    """A call of TARGETS targets of which the compiler can make less, or, where it is hidden, cannot."""
    targets = []
    for k in range(TARGETS):
        f = t.function("target_%d" % k)
        x, given = f.param(F32), f.param(F32)
        own = f.f32(0.1 + 0.01 * k)
        if what == "constant argument":
            results = [f.mul(chain(f, given, f.f32(0.5)), f.mul(x, own))]
        elif what == "unused result":
            results = [f.mul(x, own), chain(f, x, own)]
        elif what == "common to all targets":
            results = [f.add(f.mul(x, own), chain(f, x, own if hidden else f.f32(0.1)))]
        else:
            results = [chain(f, x, own if hidden else f.f32(0.1 + 0.01 * (k % 2)))]
        targets.append(f.returned(*results))
    f, (words, more) = t.function("main"), t.buffers
    i = f.global_id()
    x = fraction(f, i)
    given = f.load(F32, more, i) if what == "constant argument" and hidden else f.f32(0.5)
    results = f.call(f.mod(i, f.u32(TARGETS)), targets, [x, given], len(results))
    f.store(words, i, results[0])
    if hidden and len(results) > 1:
        f.store(more, i, results[1])
    t.entry(f)


POLYMORPHIC = ["constant argument", "unused result", "common to all targets", "identical targets"]


def size(trace):
    """Operations and functions that go to code generation."""
    text = trace.text(True)
    return len(re.findall(r"^  ", text, re.M)), len(re.findall(r"^func ", text, re.M))


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / len(values)**0.5


def measure(device, case, lanes, rounds):
    """What the first run takes longer, with compiling, in ms; nanoseconds a lane of later ones, and their error."""
    trace = tracing_api.Trace(device.lib, 1)
    write_case(trace, case)
    words = np.zeros(lanes, np.float32 if case.startswith("calls") else np.uint32)
    array = device.array(words)
    compiling, taken = device.time(trace, [array], lanes, 1 + rounds)
    found, wanted = device.read(array, words)[:4096], expected(case, min(lanes, 4096))
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5), case
    device.destroy_array(array)
    trace.destroy()
    mean, error = mean_and_error(taken[1:])
    return 1e3 * max(compiling + taken[0] - mean, compiling), 1e9 * mean / lanes, 1e9 * error / lanes


def by_drjit(cases, lanes, rounds):
    """The same by Dr.Jit, or nothing where it is not installed."""
    python = os.path.join(MITSUBA, "venv", "bin", "python")
    if not os.path.exists(python):
        return {}
    llvm = os.path.join(MITSUBA, "llvm")
    with tempfile.TemporaryDirectory() as home:  # Dr.Jit keeps compiled kernels there
        env = dict(os.environ, HOME=home, LD_LIBRARY_PATH=llvm, DRJIT_LIBLLVM_PATH=os.path.join(llvm, "libLLVM.so.19.1"))
        r = subprocess.run([python, os.path.join(report.ROOT, "scripts", "experiments", "drjit_loops.py"), str(lanes), str(rounds)] + cases,
                           env=env, stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for case, said in json.loads(r.stdout).items():
        assert np.allclose(said["values"], expected(case, len(said["values"])), rtol=1e-4, atol=1e-5), case
        mean, error = mean_and_error(said["again"])
        found[case] = 1e3 * max(said["first"] - mean, 0), 1e9 * mean / lanes, 1e9 * error / lanes
    return found


def compare_optimised(device, lanes, rounds):
    """Rows of figure 5: operations, functions and time with what can be left out, and with it hidden; times in turn."""
    rows = []
    for what in POLYMORPHIC:
        traces = [tracing_api.Trace(device.lib, 2) for _ in range(2)]
        for t, hidden in zip(traces, (False, True)):
            write_polymorphic(t, what, hidden)
        arrays = [device.array(np.full(lanes, 0.5, np.float32)) for _ in range(2)]
        ratios = []
        for _ in range(rounds):
            given, hidden = (np.mean(device.time(t, arrays, lanes, 5)[1][1:]) for t in traces)
            ratios.append(hidden / given)
        rows.append((what, *size(traces[0]), *size(traces[1]), *mean_and_error(ratios)))
        for a in arrays:
            device.destroy_array(a)
        for t in traces:
            t.destroy()
    return rows


def run(page, tiny):
    lanes, rounds, devices = (1 << 10, 2, DEVICES[:1]) if tiny else (1 << 20, 10, DEVICES)
    counts, targets = ((1, 4), (8, 16)) if tiny else ((1, 3, 10, 30, 100, 300, 1000), (1, 2, 4, 8, 16, 32, 64))
    groups = {"loop": ["loop:%d" % n for n in counts], "unrolled": ["unrolled:%d" % n for n in counts],
              "calls": ["calls:%d:%d" % (n, n) for n in targets],
              "calls of %d functions" % FEW: ["calls:%d:%d" % (n, FEW) for n in targets if n > FEW]}
    cases, found, optimised = [c for g in groups.values() for c in g], {}, []
    os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"
    lib = tracing_api.load()
    for name in devices:
        device = tracing_api.Device(lib, name)
        found[name] = {c: measure(device, c, lanes if name == "native" else lanes >> 4, rounds) for c in cases}
        optimised += [(name, *row) for row in compare_optimised(device, lanes if name == "native" else lanes >> 4, rounds)]
    page.device = ", ".join(devices)
    other = {} if tiny else by_drjit(cases, lanes, rounds)
    if other:
        found["Dr.Jit"] = other
    rows = [[group, case.split(":")[1]] + [cell for by_case in found.values() for cell in
                                           ("%.2g" % by_case[case][0], "%.3g ± %.1g" % by_case[case][1:])]
            for group, members in groups.items() for case in members]
    panels = [{"title": group, "x": "times" if group in ("loop", "unrolled") else "targets", "y": "compiling and running once, ms",
               "log_x": True, "log_y": True,
               "curves": {name: [(int(c.split(":")[1]), by_case[c][0] + 1e-6 * by_case[c][1] * lanes) for c in members]
                          for name, by_case in found.items()}} for group, members in groups.items()]
    page.write("Loops and calls", text(found, groups, optimised, lanes, counts, targets), ["what", "times or targets"] +
               [cell for name in found for cell in (name + ", compiling, ms", "running, ns a lane")], rows, panels)


def beside_drjit(found, groups):
    """A sentence: the largest case of each group."""
    if "Dr.Jit" not in found:
        return ""
    parts = []
    for column in (0, 1):
        parts.append(", ".join("%s %.2g" % (g, found["native"][c[-1]][column] / found["Dr.Jit"][c[-1]][column]) for g, c in groups.items()))
    return (" Of the time of Dr.Jit's LLVM backend the native device takes in the largest cases: to compile, %s; to run, %s." %
            tuple(parts))


def text(found, groups, optimised, lanes, counts, targets):
    lines = ["| device | what | operations | hidden | functions | hidden | time, hidden over optimised |", "| --- | --- | --- | --- | --- | --- | --- |"]
    lines += ["| %s | %s | %d | %d | %d | %d | %.2f ± %.2f |" % (name, what, ops, more, functions, others, ratio, error)
              for name, what, ops, functions, more, others, ratio, error in optimised]
    return [
        "The micro-benchmarks of figure 4 through the [tracing interface](../../include/backlight/backlight_ir.h): x = (x + 1) ^ x on 32-bit integers, %d to %d times, "
        "as a loop and recorded as often; and a call of 1 to %d targets that sum a series to ever more terms, each as many as its number, or as that number modulo %d. "
        "The series is that of the arctangent: of the paper's, the sine's, the terms beyond the 19th are 0 in 32 bits, and Dr.Jit leaves out what is multiplied by 0, which is no "
        "exact operation. CPU time, %d lanes (a sixteenth on drivers; the plot has the time of as many as elsewhere); *compiling* is what the first run takes longer than later ones, *running* "
        "their mean and its standard error. Results are compared with numpy's. The paper has 10^9 lanes, and JAX beside it, which is not at hand." %
        (counts[0], counts[-1], targets[-1], FEW, lanes),
        "The paper: the time to compile a loop does not depend on its trips, that of an unrolled one does; many targets that are few different functions cost "
        "no more than these." + beside_drjit(found, groups),
        "Figure 5: a call of %d targets of which something can be left out, and the same with that hidden from the compiler (a constant read from memory, a result "
        "stored, constants that differ). Operations and functions of all targets. Means of ratios in turn, and their standard errors." % TARGETS,
        "\n".join(lines),
    ]
