#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges gradients of reverse mode against references, which README.md beside this file describes.

    judge.py PROGRAM [--cases FOLDER] [--only a,b] [--param TEXT] [--seeds 4] [--max-seeds 16] [--spp N]
    [--timeout 600]

Runs, for every parameter of every case and for several seeds,

    PROGRAM grad scene.xml --adjoint adjoint.exr --param NAME --spp N --seed S -o FOLDER

in the folder of the case, and reads FOLDER/NAME.npy. A run fails that ends with a status other than 0 or not
in time, or whose output is missing, has another shape or type, or is not finite. Prints a line a parameter,
and a last line `N passed, M failed`; the status is 0 only where something was judged and nothing failed.
Needs Python 3 with numpy.

The rule. g and se are the mean over seeds and its standard error, ref and se_ref those of the reference:
  up to 64 entries    each of them: |g - ref| <= 4 sqrt(se^2 + se_ref^2) + 0.01 max|ref| more entries
  ||g - ref|| <= 4 sqrt(||se||^2 + ||se_ref||^2) + 0.01 ||ref||, and the scale <g, ref> / <ref, ref>
                      is 1 within four of its standard errors and 0.01: by the norm alone a wrong factor could
                      hide in noise
  a direction         the first rule, for the number <g, direction>
Passing means nothing where the noise could hide a scale that is wrong by a tenth: where four standard errors
exceed 0.08 of the largest entry (of numbers and colours), or of the scale. Then more seeds are run, up to
--max-seeds; a parameter that is still as noisy fails. """
import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PATHS_MOST = 4.5e6   # of one run
SIGMAS = 4
RELATIVE = 0.01      # error that is always allowed
LOUDEST = 0.08       # noise at which a run says nothing
ENTRIES_SINGLE = 64  # up to which each entry is judged by itself
ENTRIES_COLOUR = 3   # up to which the noise of entries is judged


class RunFailed(Exception):
    pass


def case_names(cases):
    return sorted(d for d in os.listdir(cases) if os.path.isfile(os.path.join(cases, d, "expected.json")))


def expected(folder):
    with open(os.path.join(folder, "expected.json")) as f:
        return json.load(f)


def sample_count(folder, case):
    """The case's own number of samples per pixel, as long as that is not too many paths."""
    film = next(ElementTree.parse(os.path.join(folder, "scene.xml")).getroot().iter("film"))
    sides = {p.get("name"): int(p.get("value")) for p in film if p.get("name") in ("width", "height")}
    most = int(PATHS_MOST / (sides["width"] * sides["height"]))
    return max(1, min(int(case.get("judge_spp", most)), most))


def same_shape(got, wanted):
    """A number may be stored with the shape () or (1,)."""
    return tuple(got) == tuple(wanted) or (tuple(wanted) == (1,) and tuple(got) == ())


def read_gradient(path, shape):
    if not os.path.isfile(path):
        raise RunFailed("no output " + os.path.basename(path))
    a = np.load(path, allow_pickle=False)
    if a.dtype != np.float32 or not same_shape(a.shape, shape):
        raise RunFailed("%s is %s %s, expected float32 %s" %
                        (os.path.basename(path), a.dtype, list(a.shape), list(shape)))
    if not np.isfinite(a).all():
        raise RunFailed("%d of %d entries are not finite" % ((~np.isfinite(a)).sum(), a.size))
    return a.astype(np.float64).reshape(-1)


def run(program, folder, parameters, spp, seed, timeout=None):
    """Gradients of all parameters by one call: a flat array each, by name; and the program's summary. Raises
    RunFailed."""
    with tempfile.TemporaryDirectory(prefix="grad_") as out:
        command = [program, "grad", "scene.xml", "--adjoint", "adjoint.exr", "--spp", str(spp), "--seed",
                   str(seed), "-o", out, "--quiet"]
        for name in parameters:
            command += ["--param", name]
        try:
            r = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=timeout)
        except subprocess.TimeoutExpired:
            raise RunFailed("took more than %g s" % timeout)
        except OSError as e:
            raise RunFailed("cannot run %s: %s" % (program, e.strerror))
        if r.returncode != 0:
            lines = r.stdout.decode("utf-8", "replace").strip().splitlines()
            raise RunFailed("status %d of %s: %s" %
                            (r.returncode, " ".join(command), lines[-1][:200] if lines else "no output"))
        try:
            with open(os.path.join(out, "summary.json")) as f:
                summary = json.load(f)
            return {n: read_gradient(os.path.join(out, n + ".npy"), p["shape"])
                    for n, p in parameters.items()}, summary
        except (OSError, ValueError) as e:
            raise RunFailed("unreadable output: %s" % e)


def reference_values(folder, values):
    """Numbers of expected.json, which stand there or in a file that it names."""
    a = np.load(os.path.join(folder, values["file"])) if isinstance(values, dict) else np.array(values)
    return a.astype(np.float64).reshape(-1)


def mean_and_error(rows):
    a = np.array(rows)
    return a.mean(0), a.std(0, ddof=1) / np.sqrt(len(a))


def judge_entries(rows, ref, ref_se):
    g, se = mean_and_error(rows)
    noise, top = SIGMAS * np.sqrt(se ** 2 + ref_se ** 2), np.abs(ref).max()
    share = np.abs(g - ref) / np.maximum(noise + RELATIVE * top, 1e-30)
    i = int(share.argmax())
    text = "worst entry %d: %.6g +- %.2g, expected %.6g +- %.2g, %.2f of the tolerance" % (
        i, g[i], se[i], ref[i], ref_se[i], share[i])
    if not share[i] <= 1:
        return False, text
    if ref.size <= ENTRIES_COLOUR and noise.max() > LOUDEST * top:
        return None, "too noisy to judge, %.1f %% of the largest entry; %s" % (
            100 * noise.max() / max(top, 1e-30), text)
    return True, text


def judge_array(rows, ref, ref_se):
    g, se = mean_and_error(rows)
    norm, distance = np.linalg.norm(ref), np.linalg.norm(g - ref)
    allowed = SIGMAS * np.sqrt((se ** 2).sum() + (ref_se ** 2).sum()) + RELATIVE * norm
    square = float(ref @ ref)
    scale, scale_se = mean_and_error([float(r @ ref) / square for r in rows])
    # the reference's own noise in <g, ref>, and the bias that it has in <ref, ref>
    scale_ref = np.sqrt((ref_se ** 2 * ref ** 2).sum()) / square + (ref_se ** 2).sum() / square
    noise = SIGMAS * np.sqrt(scale_se ** 2 + scale_ref ** 2)
    text = "distance %.3g of %.3g allowed (norm %.4g), scale %.4f +- %.2g" % (
        distance, allowed, norm, scale, scale_se)
    if not (distance <= allowed and abs(scale - 1) <= noise + RELATIVE):
        return False, text
    if noise > LOUDEST:
        return None, "too noisy to judge; " + text
    return True, text


def judge(folder, parameter, rows):
    """rows: a flat gradient a seed. True, False, or None where it is too noisy to say; and a text."""
    ref, ref_se = reference_values(folder,
                                   parameter["gradient"]), reference_values(folder, parameter["stderr"])
    if "direction" in parameter:
        direction = reference_values(folder, {"file": parameter["direction"]})
        rows = [np.array([r @ direction]) for r in rows]
    if rows[0].size != ref.size:
        return False, "%d entries, expected %d" % (rows[0].size, ref.size)
    return (judge_entries if ref.size <= ENTRIES_SINGLE else judge_array)(rows, ref, ref_se)


def judge_by_runs(options, folder, name, parameter, spp):
    rows, ok, text = [], None, ""
    while ok is None and len(rows) < max(options.seeds, options.max_seeds):
        try:
            rows.append(run(options.program, folder, {name: parameter}, spp, 1 + len(rows),
                            options.timeout)[0][name])
        except RunFailed as e:
            return False, str(e)
        if len(rows) >= options.seeds:
            ok, text = judge(folder, parameter, rows)
    return ok is True, text + " (%d seeds)" % len(rows)


def arguments():
    p = argparse.ArgumentParser(description="judge gradients against references")
    p.add_argument("program")
    p.add_argument("--cases", default=HERE, help="folder of the cases (default: that of this script)")
    p.add_argument("--only", default="", help="names of cases, between commas")
    p.add_argument("--param", default="", help="only parameters whose name contains this")
    p.add_argument("--seeds", type=int, default=4)
    p.add_argument("--max-seeds", type=int, default=16, help="where the first seeds are too noisy to judge")
    p.add_argument("--spp", type=int, default=0, help="in place of the number that the case asks for")
    p.add_argument("--timeout", type=float, default=600, help="most seconds of a run")
    a = p.parse_args()
    if a.seeds < 2:
        p.error("at least 2 seeds")
    if os.path.exists(a.program):
        a.program = os.path.abspath(a.program)
    return a


def main():
    options = arguments()
    verdicts = []
    for case in case_names(options.cases):
        if options.only and case not in options.only.split(","):
            continue
        folder = os.path.abspath(os.path.join(options.cases, case))
        wanted = expected(folder)
        for name, parameter in wanted["parameters"].items():
            if options.param in name:
                ok, text = judge_by_runs(options, folder, name, parameter, options.spp
                                         or sample_count(folder, wanted))
                print("%s %s %s: %s" % ("pass" if ok else "FAIL", case, name, text), flush=True)
                verdicts.append(ok)
    print("%d passed, %d failed" % (sum(verdicts), len(verdicts) - sum(verdicts)))
    return 0 if verdicts and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
