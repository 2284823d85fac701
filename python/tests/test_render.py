# LABELS: native swiftshader
# SPDX-License-Identifier: BSD-3-Clause
"""Images, parameters and scenes: what Python gets are the bytes of the program, in memory of its own."""
import os
import subprocess
import sys

import numpy as np
import pytest

import backlight as bl
from conftest import CORNELL, LIGHT, RED, SMALL, program


def test_image_is_the_programs(box, tmp_path):
    program("render", CORNELL, "-o", str(tmp_path / "image.pfm"), "--seed", "3")
    image = bl.render(box, seed=3)
    assert image.shape == (16, 16, 3) and image.dtype == np.float32 and image.mean() > .01
    assert bl.Bitmap(tmp_path / "image.pfm").tobytes() == image.tobytes()


def test_scene_names_its_mode():
    text = '<?backlight mode="mono"?><scene version="3.0.0"><sensor type="perspective"/></scene>'
    assert bl.load_string(text).info["mode"] == "mono" and bl.load_string(text).shape[2] == 1
    assert bl.load_string(text, {"mode": "rgb"}).info["mode"] == "rgb"
    with pytest.raises(bl.SceneError, match=":1: there is no mode"):
        bl.load_string(text.replace("mono", "mnoo"))


def test_image_is_written_in_place(box):
    out = np.full((16, 16, 3), -1, dtype=np.float32)
    image = bl.render(box, 4, 1, out=out)
    assert np.shares_memory(image, out) and image.__array_interface__["data"] == out.__array_interface__["data"]
    assert out.tobytes() == bl.Job(box).render(4, 1).tobytes() != bl.render(box, 4, 2).tobytes()
    assert np.shares_memory(np.from_dlpack(np.asarray(image)), out)


def test_parameters(box):
    before = bl.render(box, 4, 1)
    params = bl.traverse(box)
    assert RED in params and params[RED] == pytest.approx([.61, .06, .07]) and params[RED].dtype == np.float32
    assert params.update() == []
    params[RED][:] = [.1, .2, .3]  # in place
    params[LIGHT] = 5  # one number for all
    assert sorted(params.update()) == sorted([RED, LIGHT])
    changed = bl.render(box, 4, 1)
    assert changed.tobytes() != before.tobytes()
    assert bl.traverse(box)[LIGHT].tolist() == [5, 5, 5]
    once = bl.render(box, 4, 1, {RED: [.61, .06, .07], LIGHT: [12, 9, 5]})
    assert once.tobytes() == before.tobytes()
    assert bl.render(box, 4, 1).tobytes() == changed.tobytes()
    params.update({RED: [.61, .06, .07], LIGHT: [12, 9, 5]})
    assert bl.render(box, 4, 1).tobytes() == before.tobytes()
    params.keep([RED])
    assert list(params) == [RED] and RED in repr(params) and RED in params._repr_html_()


def test_geometry_moves(box):
    before = bl.render(box, 4, 1)
    params = bl.traverse(box)
    params["tall_box.vertex_positions"] += np.float32([0, .5, 0])
    params.update()
    moved = bl.render(box, 4, 1)
    assert np.abs(moved - before).max() > .01
    params["tall_box.vertex_positions"] -= np.float32([0, .5, 0])
    params.update()
    assert np.abs(bl.render(box, 4, 1) - before).max() < 1e-3


def test_poses_move():
    scene, key = bl.load_dict({**dictionary(), "cube": {"type": "cube", "to_world": bl.Transform.translate([-1.5, .5, 1]).scale(.4)}}), "cube.to_world"
    before = bl.render(scene, 4, 1)
    moved = bl.render(scene, 4, 1, {key: np.array(bl.Transform.translate([1.5, .5, 1]).scale(.4))})
    assert np.abs(moved - before).max() > .1
    params = bl.traverse(scene)
    params[key] = bl.Transform.translate([1.5, .5, 1]).scale(.4)
    params.update()
    assert bl.render(scene, 4, 1).tobytes() == moved.tobytes()


def test_job_has_values_of_its_own(box):
    job = bl.Job(box, [RED])
    first = job.render(4, 1)
    job[RED] = [.9, .9, .9]
    assert job[RED].tolist() == pytest.approx([.9, .9, .9]) and job.render(4, 1).tobytes() != first.tobytes()
    assert bl.render(box, 4, 1).tobytes() == first.tobytes()
    image, variance = job.variance(4, 1)
    assert image.tobytes() == job.render(4, 1).tobytes() and variance.max() > 0
    assert job.stats["paths"] == 16 * 16 * 4 and job.parameters == (RED,)


def test_channels():
    text = open(CORNELL, encoding="utf-8").read().replace(
        '<integrator type="path">', '<integrator type="aov"><string name="aovs" value="dd:depth"/>'
        '<integrator type="path">').replace("</integrator>", "</integrator></integrator>", 1)
    scene = bl.load_string(text, **SMALL)
    assert scene.channels == ["dd.T"]
    found = bl.Job(scene).channels(4, 1)
    assert found["dd.T"].shape == (16, 16) and 5 < found["dd.T"].mean() < 15
    assert found["RGB"].shape == (16, 16, 3)


def test_denoised():
    scene = os.path.join(os.path.dirname(CORNELL), "../pictures/materials.xml")
    guided, plain = (bl.load_file(scene, {"guides": guides}, width=150, height=100) for guides in (True, False))
    assert guided.channels == ["albedo.R", "albedo.G", "albedo.B", "normal.X", "normal.Y", "normal.Z"]
    name = next(p.name for p in guided.parameters if p.differentiable and not p.reason)
    truth, job = bl.render(plain, 512, 1), bl.Job(guided, [name])
    noisy = job.render(4)
    gradients = [j.gradient(target=truth, spp=4)[name] for j in (job, bl.Job(plain, [name]))]
    assert noisy.tobytes() == bl.render(plain, 4).tobytes() and gradients[0].tobytes() == gradients[1].tobytes()
    try:
        clean = [j.denoised(4) for j in (job, bl.Job(plain))]
    except bl.Error as problem:
        assert "Open Image Denoise 2" in str(problem) and not os.environ.get("BL_REQUIRE_ALL")
        pytest.skip("no Open Image Denoise")
    errors = [float(np.sqrt(np.mean((np.clip(image, 0, 1) - np.clip(truth, 0, 1)) ** 2))) for image in (noisy, *clean)]
    assert errors[1] < errors[2] < errors[0] / 2, errors


def test_denoised_by_a_package(tmp_path):
    """The package pyoidn is found without BL_OIDN, which stays unset."""
    if "BL_OIDN" not in os.environ:
        pytest.skip("no Open Image Denoise")
    (tmp_path / "pyoidn/oidn").mkdir(parents=True)
    (tmp_path / "pyoidn/__init__.py").touch()
    (tmp_path / "pyoidn/oidn/lib").symlink_to(os.environ["BL_OIDN"])
    code = ("import os, backlight as bl; bl.Job(bl.load_file(%r, resolution=16)).denoised(1); "
            "print('BL_OIDN' in os.environ)" % CORNELL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    del environment["BL_OIDN"]
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_rays(box):
    job = bl.Job(box)
    rays = job.camera_rays()
    hits = job.closest_hits(rays)
    assert rays.shape == (256, 8) and np.isfinite(hits["t"]).mean() > .9
    names = {box.shapes[k] for k in hits["shape"] if k < len(box.shapes)}
    assert {"floor", "back", "left", "right"} <= names
    assert (job.any_hits(rays) == np.isfinite(hits["t"])).all()


def test_rays_meet_instances():
    scene = bl.load_string(XML.replace('<shape type="sphere">', '<shape type="shapegroup" id="group"><shape type="sphere">')
                           .replace('<bsdf type="plastic"/></shape>', '<bsdf type="plastic"/></shape></shape>'
                                    '<shape type="instance" id="copy"><ref id="group"/></shape>'))
    hits = bl.Job(scene).closest_hits([[0, 1, 6, 0, 0, 0, -1, 100], [3, 9, 0, 0, 0, -1, 0, 100]])
    assert scene.instances[hits["instance"][0]] == "copy" and hits["t"] == pytest.approx([5, 9], abs=1e-3)
    assert hits["shape"][1] != hits["shape"][0]


def dictionary():
    t = bl.Transform
    white = {"type": "rgb", "value": [.73, .71, .68]}
    return {
        "type": "scene", "integrator": {"type": "path", "max_depth": 4},
        "sensor": {"type": "perspective", "fov": 40., "to_world": t.look_at([0, 1, 6], [0, 1, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 12, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": 4}},
        "white": {"type": "diffuse", "reflectance": white},
        "floor": {"type": "rectangle", "to_world": t.rotate([1, 0, 0], -90).scale(4), "bsdf": {"type": "ref", "id": "white"}},
        "ball": {"type": "sphere", "center": [0, 1, 0], "radius": 1, "bsdf": {"type": "plastic"}},
        "lamp": {"type": "point", "position": [2, 4, 3], "intensity": {"type": "rgb", "value": [30, 30, 30]}},
        "triangle": {"type": "mesh", "positions": [[-2, 0, 0], [-1, 0, 0], [-2, 1, 0]], "faces": [[0, 1, 2]],
                     "face_normals": True, "bsdf": {"type": "ref", "id": "white"}},
    }


XML = """<scene version="3.0.0"><integrator type="path"><integer name="max_depth" value="4"/></integrator>
<sensor type="perspective"><float name="fov" value="40"/>
<transform name="to_world"><lookat origin="0,1,6" target="0,1,0" up="0,1,0"/></transform>
<film type="hdrfilm"><integer name="width" value="16"/><integer name="height" value="12"/><rfilter type="box"/></film>
<sampler type="independent"><integer name="sample_count" value="4"/></sampler></sensor>
<bsdf type="diffuse" id="white"><rgb name="reflectance" value=".73, .71, .68"/></bsdf>
<shape type="rectangle"><transform name="to_world"><scale value="4"/><rotate x="1" angle="-90"/></transform><ref id="white"/></shape>
<shape type="sphere"><point name="center" x="0" y="1" z="0"/><float name="radius" value="1"/><bsdf type="plastic"/></shape>
<emitter type="point"><point name="position" x="2" y="4" z="3"/><rgb name="intensity" value="30"/></emitter></scene>"""


def test_scene_of_a_dictionary():
    d = dictionary()
    scene = bl.load_dict(d)
    assert "white.reflectance.value" in bl.traverse(scene) and "ball" in scene.shapes
    assert bl.render(scene, 4, 1).shape == (12, 16, 3)
    del d["triangle"]
    both = bl.render(bl.load_dict(d), 4, 1), bl.render(bl.load_string(XML), 4, 1)
    assert both[0].mean() > .05 and np.abs(both[0] - both[1]).max() < 1e-4


def of_arrays(texels, density, sky, light):
    t = bl.Transform
    return bl.load_dict({
        "type": "scene", "integrator": {"type": "volpath", "max_depth": 4},
        "sensor": {"type": "perspective", "fov": 40., "to_world": t.look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 12}},
        "wall": {"type": "rectangle", "bsdf": {"type": "diffuse", "id": "paint", "reflectance": {
            "type": "bitmap", "raw": True, **texels}}},
        "fog": {"type": "cube", "to_world": t.translate([0, 0, 1]).scale(.5), "bsdf": {"type": "null"},
                "interior": {"type": "heterogeneous", "sigma_t": {"type": "gridvolume", **density}}},
        "sky": {"type": "envmap", **sky},
        "lamp": {"type": "point", "position": [1, 2, 4], "intensity": light}})


def test_arrays_in_a_dictionary(tmp_path):
    """Bitmaps, volumes and spectra from arrays are those from files and XML. The volume is converted, and so large that
    NumPy frees it at once: under the address sanitizer nobody may have forgotten to hold it."""
    texels, density = np.random.default_rng(1).random((2, 3, 3)).astype("f4"), np.arange(720.).reshape(8, 9, 10) / 300
    sky = np.random.default_rng(2).random((4, 6, 3)).astype("f4")
    bl.write_bitmap(tmp_path / "texels.exr", texels)
    bl.write_bitmap(tmp_path / "sky.exr", sky)
    (tmp_path / "fog.vol").write_bytes(
        b"VOL\3" + np.int32([1, 10, 9, 8, 1]).tobytes() + np.float32([0, 0, 0, 1, 1, 1]).tobytes() + density.astype("f4").tobytes())
    pairs = [(420, 3), (500, 25), (700, 12.5)]
    scene = of_arrays({"data": texels}, {"grid": density}, {"bitmap": bl.Bitmap(sky)}, {"type": "spectrum", "value": pairs})
    files = of_arrays({"filename": str(tmp_path / "texels.exr")}, {"filename": str(tmp_path / "fog.vol")},
                      {"filename": str(tmp_path / "sky.exr")},
                      {"type": "spectrum", "wavelengths": [420, 500, 700], "values": [3, 25, 12.5]})
    params = bl.traverse(scene)
    assert params["paint.reflectance.data"].tobytes() == texels.tobytes()
    assert params["fog.interior_medium.sigma_t.data"].shape == (8, 9, 10, 1)
    assert bl.render(scene, 4, 1).tobytes() == bl.render(files, 4, 1).tobytes() and bl.render(scene, 4, 1).mean() > .05
    xml = bl.load_string(XML.replace('<rgb name="intensity" value="30"/>', '<spectrum name="intensity" value="420:3, 500:25, 700:12.5"/>'))
    name = [n for n in bl.traverse(xml) if n.endswith("intensity.value")][0]
    assert params["lamp.intensity.value"] == pytest.approx(bl.traverse(xml)[name])
    grey = of_arrays({"data": texels[:, :, 0]}, {"data": density[..., None]}, {"data": sky}, {"type": "spectrum", "value": 2})
    assert bl.traverse(grey)["paint.reflectance.data"].shape == (2, 3, 1)
    assert bl.traverse(grey)["lamp.intensity.value"] == pytest.approx(2 * np.array([1.204794, .948290, .908915]))


def test_files(tmp_path, box):
    image = bl.render(box, 4, 1)
    for ending in ("exr", "pfm", "npy"):
        image.write(tmp_path / ("a." + ending))
        again = bl.Bitmap(tmp_path / ("a." + ending))
        assert again.tobytes() == image.tobytes() and again.shape == image.shape
    image.write(tmp_path / "a.png")
    assert np.abs(bl.Bitmap(tmp_path / "a.png") - image.clip(0, 1)).max() < .02
    assert image._repr_png_() == (tmp_path / "a.png").read_bytes()
    assert image[:, :, 0]._repr_png_()[:4] == b"\x89PNG" and (image > 0)._repr_png_() is None
    quality = bl.compare(image, image)
    assert quality["psnr"] == np.inf and quality["ssim"] == pytest.approx(1)
    assert "psnr" in bl.compare(image, image * .5)


def test_objects_show_themselves(box):
    assert "native" in bl.default_device()._repr_html_() or "SwiftShader" in bl.default_device()._repr_html_()
    assert "parameters" in box._repr_html_() and "16 x 16" in repr(box)
    assert "Job" in repr(bl.Job(box)) and bl.default_device().name in repr(bl.default_device())


def test_demo(tmp_path):
    image = bl.demo(tmp_path / "demo.png", spp=4, resolution=24)
    assert image.shape == (24, 24, 3) and .05 < image.mean() < 2 and (tmp_path / "demo.png").stat().st_size > 500
