# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""Fuzzed fit jobs and NumPy arrays: whatever they say, the program ends with 0, 1 or 2 and a message, and never by a
signal. BL_FUZZ_SECONDS: how long (default 2; with BL_LONG=1 600). Needs BL_PROGRAM."""
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective"><film type="hdrfilm"><integer name="width"
value="4"/><integer name="height" value="4"/></film></sensor><bsdf type="diffuse" id="b"/><shape type="sphere"><ref id="b"/></shape></scene>"""
JOB = {"scene": "s.xml", "views": [{"target": "t.pfm", "to_world": {"origin": [0, 0, 3], "target": [0, 0, 0], "up": [0, 1, 0]}}, {"target": {"render": True}}],
       "loss": {"type": "huber", "delta": 0.1}, "parameters": [{"name": "b.reflectance.value", "initial": [0.1, 0.2, 0.3], "bounds": [0, 1], "rate": 0.1}],
       "optimizer": {"type": "adam", "rate": 0.1, "beta_1": 0.9}, "steps": 3, "spp": 1, "held_out": [1], "schedule": [{"step": 2, "rate": 0.5}],
       "defines": {}, "background": [0, 0, 0], "seed": 1, "checkpoint_steps": 2}
VALUES = [None, True, -1, 0, 1e300, -1e300, 1e-320, 4294967295, 4294967296, 1.5, "", "x" * 5000, "/dev/zero", "..", [], {}, [[[]]], {"type": "x"}, [1] * 40]


def places(value, path=()):
    yield path
    if isinstance(value, (dict, list)):
        for key in (value if isinstance(value, dict) else range(len(value))):
            yield from places(value[key], path + (key,))


def any_value(numbers):
    """A copy, which later mutations may change."""
    return copy.deepcopy(numbers.choice(VALUES))


def mutate(job, numbers):
    for _ in range(numbers.randint(1, 3)):
        path = numbers.choice([p for p in places(job) if p])
        at = job
        for key in path[:-1]:
            at = at[key]
        if numbers.random() < 0.2 and isinstance(at, dict):
            at[numbers.choice(["x", "target", "stages", "batch", "form", "pixels"])] = any_value(numbers)
        elif numbers.random() < 0.2:
            del at[path[-1]]
        else:
            at[path[-1]] = any_value(numbers)
    return job


def damage(data, numbers):
    data = bytearray(data)
    for _ in range(numbers.randint(1, 6)):
        at = numbers.randrange(len(data))
        if numbers.random() < 0.3:
            del data[at:at + numbers.randint(1, 30)]
        else:
            data[at] = numbers.randrange(256)
        if not data:
            return b" "
    return bytes(data)


def main():
    end, rounds, problems = time.monotonic() + float(os.environ.get("BL_FUZZ_SECONDS", "600" if os.environ.get("BL_LONG") else "2")), 0, []
    seed = int(os.environ.get("BL_FUZZ_SEED", "1"))
    numbers = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("s.xml", "w", encoding="utf-8") as f:
            f.write(SCENE)
        with open("t.pfm", "wb") as f:
            f.write(b"PF\n4 4\n-1\n" + bytes(192))
        npy = (b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }").ljust(127) + b"\n" + bytes(12)
        while time.monotonic() < end or rounds < 10:
            rounds += 1
            text = json.dumps(mutate(json.loads(json.dumps(JOB)), numbers)).encode()
            if numbers.random() < 0.3:
                text = damage(text, numbers)
            with open("job.json", "wb") as f:
                f.write(text)
            with open("tangent.npy", "wb") as f:
                f.write(damage(npy, numbers))
            for command in (["fit", "job.json", "-o", "out", "--untrusted", "--device", "no such device"],
                            ["grad", "s.xml", "--forward", "b.reflectance.value", "--tangent", "tangent.npy", "-o", "g",
                             "--device", "no such device"]):
                try:
                    done = subprocess.run([PROGRAM, *command], capture_output=True, timeout=300)
                except subprocess.TimeoutExpired:
                    problems.append("%s hangs: %r" % (command[0], text))
                    continue
                if done.returncode not in (0, 1, 2) or not done.stderr or b"assertion" in done.stderr or b"Sanitizer" in done.stderr:
                    problems.append("%s: %d %r\n%r" % (command[0], done.returncode, done.stderr[-500:], text))
        os.chdir("/")
    print("\n".join(problems + ["seed %d, %d rounds, %d problems" % (seed, rounds, len(problems))]))
    return 1 if problems else 0


sys.exit(main())
