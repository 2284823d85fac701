# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use is an exception of the fitting type with a text that says what to do, and never a crash."""
import gc
import random
import threading

import numpy as np
import pytest

import backlight as bl
from backlight import _core
from conftest import CORNELL, RED, SMALL

SHAPE = (16, 16, 3)


def read_only():
    array = np.zeros(SHAPE, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("array, kind, text", [
    (np.zeros((16, 15, 3), np.float32), ValueError, r"\(16, 16, 3\), not \(16, 15, 3\)"),
    (np.zeros((16, 16), np.float32), ValueError, r"\(16, 16, 3\)"),
    (np.zeros(SHAPE, np.complex64), TypeError, "complex64"),
    (np.zeros(SHAPE, bool), TypeError, "bool"),
    (np.zeros(SHAPE, np.uint8), TypeError, "uint8"),
    (np.array([["x"]]), TypeError, "<U1"),
    (object(), TypeError, "dtype object"),
    ("image.exr", TypeError, "dtype"),
])
def test_arrays(box, array, kind, text):
    job = bl.Job(box, [RED])
    with pytest.raises(kind, match=text):
        job.gradient(array)
    with pytest.raises(kind, match=text):
        job.gradient(target=array)


@pytest.mark.parametrize("out, kind, text", [
    (np.zeros(SHAPE, np.float64), TypeError, "float32, not float64"),
    (np.zeros((3, 16, 16), np.float32).transpose(1, 2, 0), ValueError, "C-contiguous"),
    (read_only(), ValueError, "read-only"),
    (np.zeros((1, 16, 3), np.float32), ValueError, r"\(16, 16, 3\)"),
    ([0.] * 768, TypeError, "list"),
])
def test_outputs(box, out, kind, text):
    with pytest.raises(kind, match=text):
        bl.render(box, 4, out=out)


def test_the_object_of_a_dictionary_is_named():
    def load(**objects):
        bl.load_dict({"type": "scene", "sensor": {"type": "perspective"}, **objects})
    with pytest.raises(bl.SceneError, match='sphere" id="ball".*radios'):
        load(other={"type": "sphere"}, ball={"type": "sphere", "radios": 1.0})
    with pytest.raises(bl.SceneError, match='sky.radiance: "value" must be numbers'):
        load(sky={"type": "constant", "radiance": {"type": "rgb", "value": "1, 2, 3"}})


def test_arrays_on_another_device(box):
    class OnGpu:
        def __dlpack__(self, **_):
            raise BufferError

        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(TypeError, match=r"another device.*cpu"):
        bl.Job(box, [RED]).gradient(OnGpu())


def test_parameters(box):
    with pytest.raises(KeyError, match='nearest is "red.reflectance.value"') as caught:
        bl.Job(box, ["red.reflectance.valu"])
    assert isinstance(caught.value, bl.ParameterError) and caught.value.result == "" and "\\" not in str(caught.value)
    params = bl.traverse(box)
    with pytest.raises(KeyError, match="nearest"):
        params["red"]
    with pytest.raises(ValueError, match=r"\(3\), not \(2\)"):
        params[RED] = [1, 2]
    with pytest.raises(TypeError, match="name of a parameter"):
        params[3]
    with pytest.raises(ValueError, match="not among the job's parameters"):
        bl.Job(box, [RED]).forward({"green.reflectance.value": 1})
    with pytest.raises(ValueError, match="another scene"):
        bl.render(bl.load_file(CORNELL, **SMALL), 4, params=params)


def test_numbers_and_names(box):
    job = bl.Job(box, [RED])
    w = np.ones(SHAPE, np.float32)
    for spp, kind in ((-1, ValueError), (2**32, ValueError), (1.5, TypeError), ("4", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="spp"):
            job.render(spp)
    with pytest.raises(ValueError, match="l3.*huber"):
        job.gradient(target=w, loss="l3")
    with pytest.raises(TypeError, match="either adjoint or target"):
        job.gradient()
    with pytest.raises(TypeError, match="no option 'ray'"):
        bl.Job(box, ray="bvh")
    with pytest.raises(NotImplementedError):
        bl.Job(box, rays="query").render(4)
    with pytest.raises(TypeError, match="backlight.Scene"):
        bl.render("scene.xml")
    with pytest.raises(RuntimeError, match="no such device|nosuch"):
        bl.Device("nosuch")


def test_files(tmp_path):
    with pytest.raises(OSError, match="nothing.xml"):
        bl.load_file(tmp_path / "nothing.xml")
    with pytest.raises(ValueError):
        bl.load_string("<scene")
    with pytest.raises(ValueError, match="diffus"):
        bl.load_string('<scene version="3.0.0"><bsdf type="diffus"/></scene>')
    (tmp_path / "bad.exr").write_bytes(b"no image")
    with pytest.raises(ValueError):
        bl.Bitmap(tmp_path / "bad.exr")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(ValueError):
        bl.Bitmap(tmp_path / "bad.npy")
    with pytest.raises(OSError):
        bl.Bitmap(tmp_path / "none.npy")
    with pytest.raises(ValueError, match=r"\(2, 2, 2\)"):
        bl.write_bitmap(tmp_path / "a.png", np.zeros((2, 2, 2), np.float32))
    with pytest.raises(ValueError, match="options: 'depth'"):
        bl.load_file(CORNELL, {"depth": 3})


def test_dictionaries():
    for wrong, kind, text in [
            ({}, ValueError, "type"), ({"type": "scene", "a": 3}, ValueError, "entry 'a'"),
            ({"type": "scene", "a": {"type": "ball"}}, ValueError, 'no plugin "ball"'),
            ({"type": "scene", "a": {"type": "sphere", "radius": [1, 2]}}, ValueError, "a.radius"),
            ({"type": "scene", "a": {"type": "sphere", "radius": object()}}, TypeError, "a.radius"),
            ({"type": "scene", "a": {"type": "sphere", "b": {"type": "ref", "id": "x"}}}, ValueError, 'no object "x"'),
            ({"type": "scene", "a": {"type": "bitmap", "data": np.zeros((2, 2, 3), np.uint8)}}, TypeError, "uint8"),
            ({"type": "scene", "a": {"type": "bitmap", "data": np.zeros(3)}}, ValueError, r"height, width.*\(3\)"),
            ({"type": "scene", "a": {"type": "bitmap", "data": np.zeros((0, 3))}}, ValueError, "empty"),
            ({"type": "scene", "a": {"type": "bitmap", "data": np.full((2, 2), np.nan)}}, ValueError, "not finite"),
            ({"type": "scene", "a": {"type": "bitmap", "data": "a.exr"}}, TypeError, "dtype"),
            ({"type": "scene", "a": {"type": "gridvolume", "grid": np.zeros((2, 2))}}, ValueError, r"\(z, y, x, channels\)"),
            ({"type": "scene", "a": {"type": "ply", "data": np.zeros((2, 2, 2))}}, ValueError, "not <grid>"),
            ({"type": "scene", "a": {"type": "sphere", "data": np.zeros((2, 2, 2))}}, ValueError, "a.data"),
            ({"type": "scene", "a": {"type": "constant", "radiance": {"type": "spectrum", "value": [1, 2]}}}, ValueError, "pairs"),
            ({"type": "scene", "a": {"type": "constant", "radiance": {"type": "spectrum", "value": [(5, 1), (4, 1)]}}},
             ValueError, "spectrum"),
            ({"type": "scene", "a": {"type": "constant", "radiance": {"type": "spectrum", "filename": "a"}}}, ValueError, "filename"),
            ({"type": "scene", "a": {"type": "mesh"}}, ValueError, "positions"),
            ({"type": "scene", "a": {"type": "mesh", "positions": [[0, 0, 0]], "faces": [[0, 0, -1]]}}, ValueError, "faces"),
            ({"type": "scene", "a": {"type": "mesh", "positions": [[0, 0, 0]], "faces": [[0, 0, 9]]}}, ValueError, "vertex 9")]:
        with pytest.raises(kind, match=text):
            bl.load_dict(wrong)
    loop = {"type": "scene"}
    loop["a"] = {"type": "twosided", "b": loop}
    loop["a"]["b"] = loop["a"]
    with pytest.raises(ValueError, match="objects in objects"):
        bl.load_dict(loop)


def test_closed_device(box):
    device = bl.Device()
    job, fit = bl.Job(box, [RED], device=device), bl.Fit(box, [RED], np.zeros(SHAPE, np.float32), device=device)
    image = bl.render(box, 4, device=device)
    device.close()
    device.close()
    assert device.closed and job.closed and fit.closed and "closed" in repr(device)
    assert RED in repr(fit) and "closed" in repr(fit) and "closed" in fit._repr_html_() and RED in repr(job)
    for call in (job.render, fit.step, lambda: job.gradient(image), lambda: bl.Job(box, device=device),
                 lambda: bl.render(box, device=device), lambda: device.stats, lambda: fit[RED], lambda: fit.status):
        with pytest.raises(bl.ClosedError, match="closed"):
            call()
    assert bl.render(box, 4).tobytes() == image.tobytes()  # on the default device


def test_unmade_objects_are_shown(box):
    for kind in (bl.Device, bl.Scene, bl.Job, bl.Fit):
        assert repr(kind.__new__(kind)) == "<backlight.%s that could not be made>" % kind.__name__
    with pytest.raises(ValueError) as caught:
        bl.Fit(box, ["nothing"], np.zeros(SHAPE, np.float32))
    made = [entry.frame.f_locals["self"] for entry in caught.traceback if isinstance(entry.frame.f_locals.get("self"), bl.Fit)]
    assert made and "could not be made" in repr(made[0])


def test_objects_outlive_names(box):
    job = bl.Job(box, [RED], device=bl.Device())
    expected = job.render(4, 1)
    del box
    gc.collect()
    assert job.render(4, 1).tobytes() == expected.tobytes()


def test_calls_from_a_progress_function(box):
    job = bl.Job(box)
    with pytest.raises(ValueError, match="progress"):
        bl.render(box, 2**16, progress=lambda done: job.render(4) and None)

    def forget(done):  # what goes here is destroyed later
        nonlocal other
        other = None
        gc.collect()

    other = bl.Job(bl.load_file(CORNELL, **SMALL))
    other.render(4)
    job.render(64, progress=forget)


def test_threads(box):
    expected = bl.render(box, 64, 3).tobytes()
    jobs, found, problems = [bl.Job(box, [RED]) for _ in range(2)], [], []

    def work(k):
        try:
            for _ in range(5):
                found.append(jobs[k % 2].render(64, 3).tobytes())
                found.append(bl.render(box, 64, 3).tobytes())
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems and len(found) == 40 and set(found) == {expected}


def test_interpreter_runs_while_the_library_works(box):
    """The interpreter's lock is released: a thread counts while another one renders."""
    count, stop = 0, threading.Event()

    def counting():
        nonlocal count
        while not stop.is_set():
            count += 1

    thread = threading.Thread(target=counting)
    thread.start()
    before = count
    bl.render(box, 2**15)
    during = count - before
    stop.set()
    thread.join()
    assert during > 1000


def values(rng, box):
    return rng.choice([
        None, True, 0, 1, -1, 2**32, 2**64, 10**400, 1.5, float("nan"), "", "native", RED, "x" * 3000, b"a", [],
        [1, 2, 3], {}, {"type": "scene"}, {RED: 1}, (), object(), box, np.zeros(3, np.float32), np.zeros(SHAPE, np.float32),
        np.zeros((0, 8), np.float32), np.full((4, 8), np.nan, np.float32), np.zeros((4, 4)), read_only(), np.float32(1),
        np.zeros((2, 2), object), iter([]), max, "a\0b", "\udc80", np.zeros(7, np.uint8), np.zeros(1, bool)])


def functions(box):
    """Everything that a program can call: the package's functions, its classes, their methods, and the extension's."""
    job, fit = bl.Job(box, [RED]), bl.Fit(box, [RED], np.zeros(SHAPE, np.float32), spp=1)
    targets = [job, fit, box, bl.traverse(box), bl.default_device(), job._engine.core, box._core, fit._core,
               bl.default_device()._core, _core.Builder(bl._library.context())]
    targets.append(targets[-1].root())
    found = [getattr(bl, name) for name in bl.__all__ if name not in ("demo", "demo_scene")]
    found += [getattr(_core, name) for name in dir(_core) if not name.startswith("_")]
    for target in targets:
        skip = ("run", "write", "write_image", "save", "close", "pop", "popitem")
        found += [getattr(target, name) for name in dir(target) if not name.startswith("_") and name not in skip
                  and callable(getattr(target, name))]
    return [f for f in found if callable(f) and getattr(f, "__name__", "") not in ("write_bitmap", "image_write")]


def test_anything_is_an_exception_and_no_crash(box):
    """Calls with arguments drawn at random: each returns or raises, and afterwards the library still works."""
    rng = random.Random(27)
    expected = bl.render(box, 4, 1).tobytes()
    calls, refused = functions(box), 0
    assert len(calls) > 90
    for _ in range(4000):
        call = rng.choice(calls)
        try:
            call(*(values(rng, box) for _ in range(rng.randint(0, 5))))
        except Exception:
            refused += 1
    assert refused > 2000
    assert bl.render(bl.load_file(CORNELL, **SMALL), 4, 1).tobytes() == expected
