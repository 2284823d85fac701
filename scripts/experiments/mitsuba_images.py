# SPDX-License-Identifier: BSD-3-Clause
"""mitsuba_images.py JOB.json: images by Mitsuba 3, for scene_times.py, under a python that has it. A job has the scene, its
defines, the depth, samples, rounds, the variant, whether it evaluates loops and calls as wavefronts, and where the image of the
last round goes (.npy). Prints JSON: CPU seconds of every round after the first."""
import json
import sys
import time

import numpy as np
import drjit as dr
import mitsuba as mi


def main():
    with open(sys.argv[1]) as f:
        job = json.load(f)
    mi.set_variant(job["variant"])
    for flag in (dr.JitFlag.SymbolicLoops, dr.JitFlag.SymbolicCalls, dr.JitFlag.SymbolicConditionals):
        dr.set_flag(flag, not job["wavefront"])
    scene = mi.load_file(job["scene"], **job["defines"])
    integrator = mi.load_dict({"type": "path", "max_depth": job["depth"]})
    seconds = []
    for seed in range(job["rounds"]):
        before = time.process_time()
        image = np.array(mi.render(scene, integrator=integrator, spp=job["spp"], seed=seed))
        seconds.append(time.process_time() - before)
    np.save(job["image"], image[..., :3])
    print(json.dumps(seconds[1:]))


main()
