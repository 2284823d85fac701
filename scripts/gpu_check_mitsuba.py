# SPDX-License-Identifier: BSD-3-Clause
"""Mitsuba's figures for scripts/gpu-check, one line of JSON: gpu_check_mitsuba.py SCENE VARIANT JOB, where JOB is
JSON with defines, parameters, integrator, max_depth, spp, rounds. Seconds of an image and of a gradient step (image,
squared error, backward), medians after warming up; the first image with compilation; the mean of the image."""
import json
import statistics
import sys
import time


def named(params, name):
    """Mitsuba's name of a parameter: of what stands inside of something else it has no id, so the end decides."""
    end = "." + ".".join(name.split(".")[-2:])
    return name if name in params else next(key for key in params.keys() if key.endswith(end))


def main():
    began = time.perf_counter()
    import drjit as dr
    import mitsuba as mi
    mi.set_variant(sys.argv[2])
    job = json.loads(sys.argv[3])
    scene = mi.load_file(sys.argv[1], **job["defines"])
    integrator = mi.load_dict({"type": job["integrator"], "max_depth": job["max_depth"]})
    spp, params = job["spp"], mi.traverse(scene)
    names = [named(params, name) for name in job["parameters"]]

    def image(seed):
        picture = mi.render(scene, integrator=integrator, spp=spp, seed=seed)
        dr.eval(picture)
        dr.sync_thread()
        return picture

    def step(seed):
        for name in names:
            value = type(params[name])(params[name])
            dr.enable_grad(value)
            params[name] = value
        params.update()
        loss = dr.mean(dr.square(mi.render(scene, params, integrator=integrator, spp=spp, seed=seed)), axis=None)
        dr.backward(loss)
        dr.eval([dr.grad(params[name]) for name in names])
        dr.sync_thread()

    def seconds(work):
        times = []
        for seed in range(job["rounds"] + 2):  # two to warm up
            start = time.perf_counter()
            work(seed)
            times.append(time.perf_counter() - start)
        return statistics.median(times[2:])

    first = image(0)
    first_seconds = time.perf_counter() - began
    result = {"mitsuba": mi.__version__, "variant": sys.argv[2], "first_image_seconds": first_seconds,
              "mean": float(dr.mean(first, axis=None).array[0]), "image_seconds": seconds(image)}
    print(json.dumps(result), flush=True)  # the step may fail by itself
    print(json.dumps({**result, "step_seconds": seconds(step)}))


if __name__ == "__main__":
    main()
