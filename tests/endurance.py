# LABELS: native swiftshader=long timeout=7200
# SPDX-License-Identifier: BSD-3-Clause
"""A long fit whose shapes move (their hierarchies follow), whose medium and texture change, and whose stages change their
resolution again and again: memory is flat, the checkpoint does not grow, and the cache of kernels stays as it is after
the first stages. 1,200 steps; BL_LONG=1: 10,000. Memory over time goes to endurance.csv and endurance.svg in
the folder that the test names. Arguments: stages, and steps of a stage; a driver compiles for minutes at each stage. Needs
BL_PROGRAM, BL_DEVICE."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
LONG = bool(os.environ.get("BL_LONG"))
STAGES, STEPS = map(int, sys.argv[1:3]) if sys.argv[2:] else (40, 250) if LONG else (8, 150)
GROWTH_MOST = 6 << 20  # bytes, from the second quarter to the last one
SCENE = """<scene version="3.0.0"><integrator type="volpath"><integer name="max_depth" value="3"/></integrator>
<sensor type="perspective"><float name="fov" value="50"/><transform name="to_world"><lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="8"/><integer name="height" value="8"/><rfilter type="box"/></film></sensor>
<shape type="rectangle"><transform name="to_world"><scale value="3"/><translate z="-1"/></transform><bsdf type="diffuse"><texture type="bitmap"
name="reflectance" id="wall"><string name="filename" value="wall.pfm"/></texture></bsdf></shape>
<shape type="cube" id="fog"><transform name="to_world"><scale value="0.8"/></transform><bsdf type="null"/><medium name="interior" type="heterogeneous"
id="smoke"><volume name="sigma_t" type="gridvolume"><string name="resolution" value="4"/><float name="value" value="0.5"/></volume></medium></shape>
<shape type="sphere" id="ball"><transform name="to_world"><scale value="0.4"/><translate x="0.3" z="1"/></transform></shape>
<emitter type="constant"/></scene>"""
SIZES = ({"wall.data": [4, 4], "smoke.sigma_t.data": [3, 3, 3]}, {"wall.data": [8, 8], "smoke.sigma_t.data": [5, 5, 5]})
JOB = {"scene": "scene.xml", "target": {"render": True}, "spp": 1, "checkpoint_steps": 50, "optimizer": {"type": "adam", "rate": 0.01},
       "parameters": [{"name": "wall.data", "initial": 0.5, "bounds": [0, 1]}, {"name": "smoke.sigma_t.data", "initial": 0.3, "bounds": [0, 2]},
                      {"name": "ball.translation", "rate": 0.0001}, {"name": "fog.vertex_positions", "rate": 0.0001}],
       "stages": [{"steps": STEPS, "resolution": SIZES[k % 2]} for k in range(STAGES)]}


def resident(pid):
    try:
        with open("/proc/%d/statm" % pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def size_of(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def count_files(folder):
    return sum(len(names) for _, _, names in os.walk(folder))


def plot(samples):
    width, height, most, end = 600, 200, max(s[1] for s in samples), samples[-1][0]
    points = " ".join("%.1f,%.1f" % (width * t / end, height * (1 - m / most)) for t, m, *_ in samples)
    with open("endurance.csv", "w", encoding="ascii") as f:
        f.write("seconds,resident_bytes,cache_files,checkpoint_bytes,log_bytes\n" + "".join("%.2f,%d,%d,%d,%d\n" % s for s in samples))
    with open("endurance.svg", "w", encoding="ascii") as f:
        f.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -20 %d %d"><text y="-5" font-size="12">resident memory, up to %.1f MB, over %.0f s'
                '</text><polyline fill="none" stroke="black" points="%s"/></svg>\n' % (width, height + 20, most / 1e6, end, points))


def main():
    folder = tempfile.mkdtemp(prefix="endurance_", dir=".")
    os.chdir(folder)
    with open("scene.xml", "w", encoding="utf-8") as f:
        f.write(SCENE)
    with open("job.json", "w", encoding="utf-8") as f:
        json.dump(JOB, f)
    with open("wall.pfm", "wb") as f:
        f.write(b"PF\n4 4\n-1\n" + struct.pack("<48f", *([.3, .5, .7] * 16)))
    samples, start = [], time.monotonic()
    with open("errors", "w+", encoding="utf-8") as errors:
        process = subprocess.Popen([PROGRAM, "fit", "job.json", "-o", "out", "--quiet", "--device", os.environ.get("BL_DEVICE", "native")],
                                   stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, "BL_CACHE_DIR": os.path.abspath("cache")})
        while process.poll() is None:
            samples.append((time.monotonic() - start, resident(process.pid), count_files("cache"), size_of("out/checkpoint"),
                            size_of("out/fit.csv")))
            time.sleep(0.02)
        errors.seek(0)
        said = errors.read()
    if "no device" in said:
        print(said)
        return 77
    problems = [] if process.returncode == 0 else ["ended with %d: %s" % (process.returncode, said)]
    samples = [s for s in samples if s[1]]
    # By the log, which has a line a step: where a driver compiles for long, most samples are from before the first step.
    steps = [4 * s[4] / max(1, samples[-1][4]) for s in samples]
    quarters = [[s for s, step in zip(samples, steps) if low <= step <= low + 1] for low in (1, 3)]
    if min(map(len, quarters)) < 5:
        problems.append("only %d and %d samples of memory in the second and the last quarter" % tuple(map(len, quarters)))
    else:
        plot(samples)
        second, last = (max(s[1] for s in part) for part in quarters)
        kept = [max(s[3] for s in part) for part in quarters]
        print("%d steps in %d stages, %.0f s: at most %.1f MB in the second quarter, %.1f MB in the last; %d files in the cache; see %s" %
              (STAGES * STEPS, STAGES, samples[-1][0], second / 1e6, last / 1e6, samples[-1][2], folder))
        if last > second + GROWTH_MOST:
            problems.append("memory grows from %d to %d bytes" % (second, last))
        if samples[-1][2] > quarters[0][-1][2]:
            problems.append("the cache grows from %d to %d files" % (quarters[0][-1][2], samples[-1][2]))
        if not 0 < kept[1] <= kept[0]:
            problems.append("the checkpoint grows from %d to %d bytes" % tuple(kept))
    left = [name for name in os.listdir("out") if ".tmp-" in name] if os.path.isdir("out") else []
    if left:
        problems.append("left " + " ".join(left))
    if not problems:
        with open("out/result.json", encoding="utf-8") as f:
            result = json.load(f)
        if not result["complete"] or result["steps"] != STAGES * STEPS:
            problems.append("not all steps: %d" % result["steps"])
    print("\n".join(problems + ["%d problems" % len(problems)]))
    return 1 if problems else 0


sys.exit(main())
