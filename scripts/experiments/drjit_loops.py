# SPDX-License-Identifier: BSD-3-Clause
"""drjit_loops.py LANES ROUNDS CASE...: the cases of loops_and_calls.py by Dr.Jit, under a python that has it. A case is loop:N,
unrolled:N, or calls:N:UNIQUE. Prints JSON: by case the CPU seconds of the first run, with compiling, and of later ones, and the first values."""
import json
import sys
import time

import drjit as dr
from drjit.llvm import Float, UInt32


def loop(count, lanes):
    x = dr.arange(UInt32, lanes)
    x, _ = dr.while_loop((x, UInt32(0)), lambda x, k: k < count, lambda x, k: ((x + 1) ^ x, k + 1), mode="symbolic")
    return x


def unrolled(count, lanes):
    x = dr.arange(UInt32, lanes)
    for _ in range(count):
        x = (x + 1) ^ x
    return x


def series(terms):
    def f(x):
        square, power, total = x * x, x, Float(0)
        for k in range(terms + 1):
            total = total + power * ((-1)**k / (2 * k + 1))
            power = power * square
        return total
    return f


def calls(count, unique, lanes):
    i = dr.arange(UInt32, lanes)
    x = Float(i & 1023) / 1024
    return dr.switch(i % count, [series(k % unique) for k in range(count)], x)


def main():
    lanes, rounds, out = int(sys.argv[1]), int(sys.argv[2]), {}
    dr.eval(dr.arange(UInt32, lanes) + 1)
    for case in sys.argv[3:]:
        what, *numbers = case.split(":")
        taken = []
        for _ in range(1 + rounds):
            before = time.process_time()
            dr.eval(result := {"loop": loop, "unrolled": unrolled, "calls": calls}[what](*map(int, numbers), lanes))
            dr.sync_thread()
            taken.append(time.process_time() - before)
        out[case] = {"first": taken[0], "again": taken[1:], "values": list(dr.gather(type(result), result, dr.arange(UInt32, min(lanes, 4096))))}
    print(json.dumps(out))


main()
