# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""What Python costs: a thousand steps leave no memory behind, and an image is not copied. `python test_cost.py`
measures what a call of render costs beyond the C call, in microseconds."""
import gc
import resource
import time
import tracemalloc

import numpy as np

import backlight as bl
from conftest import CORNELL, LIGHT, RED, SMALL


def resident():
    """Bytes of this process in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def steps(job, target, count):
    for k in range(count):
        gradient = job.gradient(target=target, spp=2, seed=k)
        job[RED] = np.clip(job[RED] - .01 * np.sign(gradient[RED]), 0, 1)
        bl.render(job.scene, 1, k, {LIGHT: [5, 5, 5 + k % 2]})


def test_a_thousand_steps_leave_nothing(box):
    """Not one object a step: the smallest has 28 bytes."""
    job, target = bl.Job(box, [RED]), bl.render(box, 16)
    tracemalloc.start()
    steps(job, target, 300)
    gc.collect()
    before, memory = tracemalloc.get_traced_memory()[0], resident()
    steps(job, target, 1500)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 30000, "%d bytes of Python objects" % (after - before)
    assert resident() - memory < 4e6, "%d bytes of the process" % (resident() - memory)


def test_objects_are_freed(box):
    """Scenes, jobs, fits, devices and images that come and go."""
    def come_and_go(count):
        for _ in range(count):
            scene = bl.load_file(CORNELL, **SMALL)
            with bl.Device() as device:
                bl.Job(scene, [RED], device=device).render(1)
                bl.Fit(scene, [RED], np.zeros((16, 16, 3), np.float32), spp=1, device=device).step()
                bl.render(scene, 1, device=device)
        gc.collect()

    come_and_go(20)
    memory = resident()
    come_and_go(60)
    assert resident() - memory < 8e6, "%d bytes of the process" % (resident() - memory)


def test_an_image_is_not_copied():
    """While a render returns an image, Python allocates that image and next to nothing else."""
    scene = bl.load_file(CORNELL, resolution=512, spp=1, max_depth=2)
    bl.render(scene, 1)
    tracemalloc.start()
    image = bl.render(scene, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert image.nbytes <= peak < image.nbytes + 50000


def overhead(calls=5000):
    """Microseconds of a call, and of the C call in it: medians."""
    scene = bl.load_file(CORNELL, resolution=8, spp=1, max_depth=1)
    whole, inner = [], []
    out = np.empty((8, 8, 3), np.float32)
    engine = scene._engine_for(None, ())
    bl.render(scene, 1)
    for k in range(calls):
        begin = time.perf_counter()
        bl.render(scene, 1, k, out=out)
        whole.append(time.perf_counter() - begin)
        inner.append(engine.core.render(1, k, out, None, None, False, None)["seconds"])
    return 1e6 * float(np.median(whole)), 1e6 * float(np.median(inner))


if __name__ == "__main__":
    print("a call of render %.1f us, %.1f us of it in C" % overhead())
