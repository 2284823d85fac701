# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Scenes in glTF 2.0, all of them made here. The same scene is rendered as .gltf with files, with data: URIs, as
.glb, converted by `backlight import`, and written by hand as XML: the images have the same bytes. Ways to write
the same geometry and placement give the same image; parameters have the values that the extensions say; what is
not used is listed; and every mistake of a file is one message."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.conformance import read_pfm  # noqa: E402
from support.gltf_scene import Scene, ball, glb, looking, png, quad  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if "no device" in done.stderr:
        sys.exit(77)
    check("Sanitizer" not in done.stderr and "runtime error" not in done.stderr
          and "ssertion" not in done.stderr, "crashed: " + done.stderr)
    check(done.returncode == status, "%s ended with %d: %s" %
          (" ".join(arguments), done.returncode, done.stderr))
    return done


def picture(scene, resolution=None, *options):
    """The bytes of an image of 4 samples, and what was said."""
    define = ["-D", "resolution=%d" % resolution] if resolution else []
    image = scene + ".pfm"
    said = run("render", scene, "-o", image, "--spp", "4", *define, *options).stderr
    with open(image, "rb") as file:
        return file.read(), said


def params(scene, *options):
    out = run("params", scene, "--json", *options).stdout
    return {p["name"]: p.get("value") for p in json.loads(out or '{"parameters": []}')["parameters"]}


def notes(scene):
    return run("params", scene).stderr


def converted(scene):
    """The text of the scene file that `backlight import` makes."""
    out = scene + ".xml"
    run("import", scene, "-o", out)
    with open(out) as file:
        return file.read()


def near(value, expected):
    return value is not None and np.allclose(value, expected, rtol=2e-6, atol=1e-7)


# ---- the same scene in all ways ----

CHECKER = np.kron(np.indices((4, 4)).sum(0) % 2, np.ones((2, 2)))[..., None] * [200, 180, 90]
CHECKER = (CHECKER + [30, 10, 90]).astype(np.uint8)


def camera(s, aspect=1.5, **more):
    c = s.add("cameras", {"type": "perspective", "perspective": {"yfov": 0.7, "aspectRatio": aspect, "znear": 0.5,
                                                                  "zfar": 50}})
    return s.node(camera=c, translation=[0, 1, 6], **more)


def lamp(s, strength=6.0):
    m = s.add("materials", {"name": "Light", "emissiveFactor": [1, 1, 0.5], "extensions": {
        "KHR_materials_emissive_strength": {"emissiveStrength": strength}}})
    return s.node(mesh=s.mesh(s.primitive(*quad(1), material=m)), name="Lamp", translation=[0, 3, 0],
                  rotation=[1, 0, 0, 0])


def plastic(s, name="Plastic", **more):
    return s.add("materials", {"name": name, "pbrMetallicRoughness": {
        "baseColorFactor": [0.75, 0.25, 0.5, 1], "metallicFactor": 0.25, "roughnessFactor": 0.5}, **more})


def usual(file="checker board.png"):
    s = Scene()
    floor = s.add("materials", {"name": "Floor", "pbrMetallicRoughness": {
        "baseColorTexture": {"index": s.texture(CHECKER, "Tiles", file)}, "metallicFactor": 0}})
    s.node(mesh=s.mesh(s.primitive(*quad(3), material=floor)), name="Ground")
    s.node(mesh=s.mesh(s.primitive(*ball(8), material=plastic(s, "Glossy plastic", doubleSided=True))),
           name="Ball.001", translation=[0.5, 1, 0], scale=[0.75, 1, 0.75])
    lamp(s)
    camera(s)
    return s


def ply(path, positions, faces, normals, uvs):
    rows = np.hstack([positions, normals, uvs]).astype("<f4")
    with open(path, "wb") as out:
        out.write(b"ply\nformat binary_little_endian 1.0\nelement vertex %d\n" % len(rows) +
                  b"".join(b"property float %s\n" % n for n in (b"x", b"y", b"z", b"nx", b"ny", b"nz", b"u", b"v"))
                  + b"element face %d\nproperty list uchar int vertex_index\nend_header\n" % len(faces))
        out.write(rows.tobytes())
        for face in faces:
            out.write(b"\3" + np.asarray(face, "<i4").tobytes())


HAND = """<scene version="3.0.0">
<integrator type="path"/>
<bsdf type="principled" id="floor"><texture type="bitmap" name="base_color"><string name="filename" value="hand.png"/>
 </texture><float name="roughness" value="1"/><float name="metallic" value="0"/><float name="eta" value="1.5"/></bsdf>
<bsdf type="twosided" id="plastic"><bsdf type="principled"><rgb name="base_color" value="0.75 0.25 0.5"/>
 <float name="roughness" value="0.5"/><float name="metallic" value="0.25"/><float name="eta" value="1.5"/></bsdf></bsdf>
<bsdf type="principled" id="white"><rgb name="base_color" value="1 1 1"/><float name="roughness" value="1"/>
 <float name="metallic" value="1"/><float name="eta" value="1.5"/></bsdf>
<shape type="ply"><string name="filename" value="floor.ply"/><ref id="floor"/></shape>
<shape type="ply"><string name="filename" value="ball.ply"/><ref id="plastic"/>
 <transform name="to_world"><scale x="0.75" y="1" z="0.75"/><translate x="0.5" y="1"/></transform></shape>
<shape type="ply"><string name="filename" value="lamp.ply"/><ref id="white"/>
 <transform name="to_world"><scale y="-1" z="-1"/><translate y="3"/></transform>
 <emitter type="area"><rgb name="radiance" value="6 6 3"/></emitter></shape>
<sensor type="perspective"><float name="fov" value="%.17g"/><string name="fov_axis" value="y"/>
 <float name="near_clip" value="0.5"/><float name="far_clip" value="50"/>
 <transform name="to_world"><matrix value="-1 0 0 0  0 1 0 1  0 0 -1 6  0 0 0 1"/></transform>
 <film type="hdrfilm"><integer name="width" value="96"/><integer name="height" value="64"/></film></sensor>
</scene>""" % np.degrees(0.7)


def check_routes(folder):
    """Every way to the scene gives the image of the scene by hand, with the names of the file."""
    for name, shape in (("floor", quad(3)), ("ball", ball(8)), ("lamp", quad(1))):
        ply(os.path.join(folder, name + ".ply"), *shape)
    with open(os.path.join(folder, "hand.png"), "wb") as out:
        out.write(png(CHECKER))
    hand = os.path.join(folder, "hand.xml")
    with open(hand, "w") as out:
        out.write(HAND)
    want, _ = picture(hand)
    names = set()
    for name, file, embedded in (("files.gltf", "checker board.png", False), ("data.gltf", None, True),
                                 ("one.glb", None, False)):
        scene = usual(file).save(os.path.join(folder, name), embedded)
        got, said = picture(scene, 96)
        check(got == want, name + ": not the image of the scene by hand")
        check("not used" not in said, name + ": " + said)
        converted = os.path.join(folder, "converted", name.split(".")[0] + ".xml")
        os.makedirs(os.path.dirname(converted), exist_ok=True)
        run("import", scene, "-o", converted, "-D", "resolution=96")
        check(picture(converted)[0] == want, name + ": not the same image once converted")
        check(params(converted) == params(scene, "-D", "resolution=96"), name + ": not the same parameters once converted")
        names = set(params(scene))
    for name in ("Tiles.data", "Glossy_plastic.base_color.value", "Ball_001.to_world", "Floor.roughness.value",
                 "Lamp.emitter.radiance.value"):
        check(name in names, "no parameter %s in %s" % (name, sorted(names)))
    with open(os.path.join(folder, "converted", "files_files", "Tiles.png"), "rb") as file:
        check(file.read() == png(CHECKER), "the texture is not the file's own bytes")


# ---- ways to write the same geometry ----


def one_mesh(primitive_of, **node):
    """A scene with one mesh, which the function adds to it."""
    s = Scene()
    s.node(mesh=s.mesh(primitive_of(s)), name="It", **node)
    lamp(s)
    camera(s)
    return s


def check_geometry(folder):
    q = quad(1)
    def painted(s):
        return s.add("materials", {"pbrMetallicRoughness": {
            "baseColorTexture": {"index": s.texture(CHECKER, "Tiles")}, "metallicFactor": 0}})
    far = [[9, 9, 9]] * 4

    def add(**kinds):
        def primitive(s):
            a = dict(POSITION=s.accessor(q[0]), NORMAL=s.accessor(q[2]), TEXCOORD_0=s.accessor(q[3]))
            a.update({k: v(s) for k, v in kinds.items() if k.isupper()})
            if kinds.get("flat"):
                del a["NORMAL"]
            p = {"attributes": a, "material": painted(s)}
            if "indices" in kinds:
                p["indices"] = kinds["indices"](s)
            if "mode" in kinds:
                p["mode"] = kinds["mode"]
            return p
        return primitive

    def indices(kind):
        return lambda s: s.accessor(np.ravel(q[1]), kind)

    def unindexed(s):
        at = np.ravel(q[1])
        return {"attributes": dict(POSITION=s.accessor(np.array(q[0])[at]), NORMAL=s.accessor(np.array(q[2])[at]),
                                   TEXCOORD_0=s.accessor(np.array(q[3])[at])), "material": painted(s)}

    ways = {
        "plain": add(indices=indices("uint16")),
        "uint8": add(indices=indices("uint8")),
        "uint32": add(indices=indices("uint32")),
        "unindexed": unindexed,
        "interleaved": add(indices=indices("uint16"), POSITION=lambda s: s.accessor(q[0], stride=32)),
        "sparse": add(indices=indices("uint16"),
                      POSITION=lambda s: s.accessor(far, sparse=([0, 1, 2, 3], q[0]))),
        "int16": add(indices=indices("uint16"), POSITION=lambda s: s.accessor(q[0], "int16")),
        "normalised int16": add(indices=indices("uint16"), POSITION=lambda s: s.accessor(
            np.multiply(q[0], 32767), "int16", True, stride=8)),
        "normalised int8": add(indices=indices("uint16"), NORMAL=lambda s: s.accessor(
            np.multiply(q[2], 127), "int8", True, stride=4)),
        "normalised uint16": add(indices=indices("uint16"), TEXCOORD_0=lambda s: s.accessor(
            np.multiply(q[3], 65535), "uint16", True)),
        "normalised uint8": add(indices=indices("uint16"), TEXCOORD_0=lambda s: s.accessor(
            np.multiply(q[3], 255), "uint8", True, stride=4)),
    }
    images = {name: picture(one_mesh(way).save(os.path.join(folder, "way.glb")), 64)[0]
              for name, way in ways.items()}
    for name, image in images.items():
        check(image == images["plain"], "a quad by %s is another image" % name)
    # strips and fans are the triangles that the specification says; without normals their order says which side
    # is the front
    for flat in (False, True):
        for mode, order, triangles in ((5, [1, 0, 2, 3], [1, 0, 2, 0, 3, 2]), (6, [0, 3, 2, 1], [3, 2, 0, 2, 1, 0])):
            short = add(indices=lambda s: s.accessor(order, "uint16"), mode=mode, flat=flat)
            long = add(indices=lambda s: s.accessor(triangles, "uint16"), flat=flat)
            got, want = (picture(one_mesh(way).save(os.path.join(folder, "way.glb")), 64)[0] for way in (short, long))
            check(got == want, "mode %d%s is not its triangles" % (mode, " without normals" * flat))
    # without normals a primitive is flat
    for normals, differs in ((None, True), (ball(4)[2], False)):
        p, f, n, uv = ball(4)
        flat = one_mesh(lambda s: s.primitive(p, f, normals, uv, plastic(s)))
        text = converted(flat.save(os.path.join(folder, "flat.glb")))
        check(("face_normals" in text) == differs, "face normals where there are none")


def check_places(folder):
    """Matrices and parts, children, mirrors, instances."""
    def placed(name, build):
        s = Scene()
        build(s)
        lamp(s)
        camera(s)
        return picture(s.save(os.path.join(folder, name + ".glb")), 64)[0]

    def of_ball(s, rings=5):
        return s.mesh(s.primitive(*ball(rings), material=plastic(s)))

    def parts(s):
        s.node(mesh=of_ball(s), translation=[0.5, 1, 0.25], rotation=[0, 0.5**0.5, 0, 0.5**0.5], scale=[1, 0.5, 2])

    def matrix(s):
        s.node(mesh=of_ball(s), matrix=[0, 0, -1, 0, 0, 0.5, 0, 0, 2, 0, 0, 0, 0.5, 1, 0.25, 1])

    def child(s):
        inner = s.node(False, mesh=of_ball(s), scale=[1, 0.5, 2])
        turned = s.node(False, children=[inner], rotation=[0, 0.5**0.5, 0, 0.5**0.5])
        s.node(children=[turned], translation=[0.5, 1, 0.25])

    for build in (parts, matrix, child):
        placed("placed", build)
        text = converted(os.path.join(folder, "placed.glb"))
        at = text.index('<matrix value="') + len('<matrix value="')
        value = [float(x) for x in text[at:text.index('"', at)].split(",")]
        check(near(value, [0, 0, 2, 0.5, 0, 0.5, 0, 1, -1, 0, 0, 0.25, 0, 0, 0, 1]),
              "%s: %s" % (build.__name__, value))

    # a mirrored mesh is the mesh of mirrored vertices whose faces are turned, with or without normals
    p, f, n, uv = (np.array(x) for x in ball(5))
    for normals in (n, None):
        def mirrored(s):
            s.node(mesh=s.mesh(s.primitive(p + [0.5, 0, 0], f, normals, uv, plastic(s))), scale=[-1, 1, 1])

        def by_hand(s):
            turned = None if normals is None else normals * [-1, 1, 1]
            s.node(mesh=s.mesh(s.primitive((p + [0.5, 0, 0]) * [-1, 1, 1], f[:, [0, 2, 1]], turned, uv,
                                           plastic(s))))
        check(placed("mirrored", mirrored) == placed("by_hand", by_hand), "a mirrored mesh is not mirrored")

    # a large mesh that several nodes show is a group with instances, and the image that of shapes
    def twice(s):
        m = of_ball(s, 12)
        s.node(mesh=m, name="Left", translation=[-1.5, 1, 0])
        s.node(mesh=m, name="Right", translation=[1.5, 1, 0])

    def apart(s):
        material = plastic(s)
        for x in (-1.5, 1.5):
            s.node(mesh=s.mesh(s.primitive(*ball(12), material=material)), translation=[x, 1, 0])
    placed("twice", twice)
    placed("apart", apart)
    scene = os.path.join(folder, "twice.glb")
    check("Left.to_world" in params(scene), "no instance")
    check(converted(scene).count('type="instance"') == 2, "two nodes of a mesh are not two instances")
    a, b = (read_pfm(os.path.join(folder, name + ".glb.pfm")) for name in ("twice", "apart"))
    check(np.mean(np.abs(a - b)) < 0.02 * np.mean(b), "instances are not where shapes are: %g of %g" %
          (np.mean(np.abs(a - b)), np.mean(b)))



# ---- materials ----


def of_material(material, prepare=None, **mesh):
    """A scene with a quad of the material; prepare(scene) may add textures and returns keys of the material."""
    s = Scene()
    more = prepare(s) if prepare else {}
    m = s.add("materials", {"name": "M", **material, **more})
    s.node(mesh=s.mesh(s.primitive(*quad(1), material=m, **{k: v(s) for k, v in mesh.items()})), name="It")
    lamp(s)
    camera(s)
    return s


def extension(name, **values):
    return {"extensions": {"KHR_materials_" + name: values}}


def check_materials(folder):
    path = os.path.join(folder, "material.glb")

    def values(material, prepare=None, **mesh):
        return params(of_material(material, prepare, **mesh).save(path))

    glossy = {"baseColorFactor": [0.5, 0.25, 1, 1], "metallicFactor": 0, "roughnessFactor": 0.3}
    pbr = {"pbrMetallicRoughness": glossy}
    cases = [
        (pbr, {"M.base_color.value": [0.5, 0.25, 1], "M.metallic.value": 0, "M.roughness.value": 0.3, "M.eta": 1.5}),
        ({}, {"M.base_color.value": 1, "M.metallic.value": 1, "M.roughness.value": 1}),
        ({**pbr, **extension("ior", ior=1.33)}, {"M.eta": 1.33}),
        # half of the reflectance at normal incidence
        ({**pbr, **extension("specular", specularFactor=0.5)}, {"M.eta": (1 + 0.2 * 0.5**0.5) / (1 - 0.2 * 0.5**0.5)}),
        ({**pbr, **extension("specular", specularFactor=0)}, {"M.eta": 1}),
        ({**pbr, **extension("clearcoat", clearcoatFactor=0.5, clearcoatRoughnessFactor=0.1)},
         {"M.clearcoat.value": 2, "M.clearcoat_gloss.value": (0.1 - 0.01) / 0.099}),
        ({**pbr, **extension("clearcoat", clearcoatFactor=1, clearcoatRoughnessFactor=0.9)},
         {"M.clearcoat.value": 4, "M.clearcoat_gloss.value": 0}),
        ({**pbr, **extension("sheen", sheenColorFactor=[0.25, 0.5, 0.125])}, {"M.sheen.value": 0.5}),
        # a thin sheet; with a thickness a body; a metal is no sheet
        ({**pbr, **extension("transmission", transmissionFactor=0.75)},
         {"M.spec_trans.value": 0.75, "M.eta.value": 1.5, "M.diff_trans.value": 0}),
        ({**pbr, "extensions": {"KHR_materials_transmission": {"transmissionFactor": 0.75},
                                "KHR_materials_volume": {"thicknessFactor": 0.1},
                                "KHR_materials_ior": {"ior": 1.4}}},
         {"M.spec_trans.value": 0.75, "M.eta": 1.4, "M.metallic.value": 0}),
        ({**pbr, "emissiveFactor": [0.5, 0.25, 1]}, {"It.emitter.radiance.value": [0.5, 0.25, 1]}),
        ({**pbr, "emissiveFactor": [0.5, 0.25, 1], **extension("emissive_strength", emissiveStrength=8)},
         {"It.emitter.radiance.value": [4, 2, 8]}),
        ({"pbrMetallicRoughness": {**glossy, "baseColorFactor": [1, 1, 1, 0.25]}, "alphaMode": "BLEND"},
         {"M_mask.opacity.value": 0.25, "M.base_color.value": 1}),
        ({"pbrMetallicRoughness": {**glossy, "baseColorFactor": [1, 1, 1, 0.25]}, "alphaMode": "MASK"},
         {"M_mask.opacity.value": 0}),
        ({"pbrMetallicRoughness": {**glossy, "baseColorFactor": [1, 1, 1, 0.25]}, "alphaMode": "MASK",
          "alphaCutoff": 0.2}, {"M_mask.opacity.value": None}),
        ({"pbrMetallicRoughness": {**glossy, "baseColorFactor": [1, 1, 1, 0.25]}}, {"M_mask.opacity.value": None}),
    ]
    for material, expected in cases:
        got = values(material)
        for name, value in expected.items():
            good = name not in got if value is None else near(got.get(name), value)
            check(good, "%s: %s is %s, not %s" % (json.dumps(material), name, got.get(name), value))


def check_textures(folder):
    """Pixels of textures, by what a picture would read: the converted scene's files."""
    rgba = np.zeros((2, 2, 4), np.uint8)
    rgba[..., 0], rgba[..., 1], rgba[..., 2] = 128, [[0, 51], [102, 204]], [[255, 128], [64, 0]]
    rgba[..., 3] = [[255, 128], [100, 0]]
    path = os.path.join(folder, "texture.glb")

    def texels(name, keys, **mesh):
        s = of_material({}, lambda s: keys(s, s.texture(rgba, "T")), **mesh)
        s.save(path)
        run("import", path, "-o", path + ".xml")
        file = os.path.join(folder, "texture.glb_files", name)
        if not os.path.exists(file):
            check(False, "no %s of %s" % (name, os.listdir(os.path.dirname(file))))
            return None
        with open(os.path.join(folder, "show.xml"), "w") as out:  # a picture whose pixels are the texels
            out.write(SHOW % (os.path.relpath(file, folder)))
        run("render", os.path.join(folder, "show.xml"), "-o", os.path.join(folder, "show.pfm"), "--spp", "1")
        return read_pfm(os.path.join(folder, "show.pfm"))

    def metal(s, t, **more):
        return {"pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": t}, **more}}

    def colour(s, t, **more):
        return {"pbrMetallicRoughness": {"baseColorTexture": {"index": t}, **more.pop("pbr", {})}, **more}

    linear = ((128 / 255 + 0.055) / 1.055)**2.4
    channel = rgba / 255.0
    cases = [
        ("T_green.exr", metal, channel[..., 1]),
        ("T_blue.exr", metal, channel[..., 2]),
        ("T_green.exr", lambda s, t: metal(s, t, roughnessFactor=0.5), channel[..., 1] / 2),
        ("T_colour.exr", lambda s, t: colour(s, t, pbr={"baseColorFactor": [0.5, 1, 1, 1]}), linear / 2),
        ("T_alpha.exr", lambda s, t: colour(s, t, alphaMode="BLEND"), channel[..., 3]),
        ("T_cut.exr", lambda s, t: colour(s, t, alphaMode="MASK"), (channel[..., 3] >= 0.5) * 1.0),
        ("T_normal.exr", lambda s, t: {"normalTexture": {"index": t, "scale": 0.5}},
         0.5 + (channel[..., 0] - 0.5) / 2),
    ]
    for name, keys, expected in cases:
        got = texels(name, keys)
        check(got is not None and np.allclose(got[..., 0], expected, atol=1e-6),
              "%s: %s, not %s" % (name, got, expected))

    # colours of vertices
    scene = of_material({"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 1, 1]}}, attributes=lambda s: {
        "COLOR_0": s.accessor([[255, 0, 51, 255]] * 4, "uint8", True)}).save(path)
    check("It.vertex_color" in params(scene) and "vertex_opacity" in converted(scene) + " ".join(params(scene)),
          "no colours of vertices: %s" % sorted(params(scene)))
    want = of_material({"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0, 0.2, 1]}}).save(path)
    a = picture(want, 48)[0]
    b = picture(of_material({"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 1, 1]}}, attributes=lambda s: {
        "COLOR_0": s.accessor([[1, 0, 0.2]] * 4)}).save(path), 48)[0]
    images = []
    for data in (a, b):
        with open(os.path.join(folder, "c.pfm"), "wb") as out:
            out.write(data)
        images.append(read_pfm(os.path.join(folder, "c.pfm")))
    check(np.allclose(*images, atol=1e-5), "colours of vertices are not the material's")

    # KHR_texture_transform: the lower left quarter of the image, turned by 90 degrees (an example of the
    # extension's text), so the image of texture coordinates that are so transformed
    transform = {"KHR_texture_transform": {"offset": [0, 1], "rotation": np.pi / 2, "scale": [0.5, 0.5]}}

    def checker(s, uvs=None):
        info = {"index": s.texture(CHECKER, "Tiles", sampler={"magFilter": 9728})}
        if not uvs:
            info["extensions"] = transform
        m = s.add("materials", {"pbrMetallicRoughness": {"baseColorTexture": info, "metallicFactor": 0}})
        p, f, n, uv = quad(1)
        return s.primitive(p, f, n, uvs or uv, m)
    uvs = [[v / 2, 1 - u / 2] for u, v in quad(1)[3]]
    check(picture(one_mesh(checker).save(path), 64)[0] ==
          picture(one_mesh(lambda s: checker(s, uvs)).save(path), 64)[0], "KHR_texture_transform is another one")


SHOW = """<scene version="3.0.0"><integrator type="path"/>
<emitter type="constant"/>
<shape type="rectangle"><bsdf type="diffuse"><rgb name="reflectance" value="0"/></bsdf>
 <transform name="to_world"><scale y="-1" z="-1"/></transform>
 <emitter type="area"><texture type="bitmap" name="radiance"><string name="filename" value="%s"/>
 <string name="filter_type" value="nearest"/></texture></emitter></shape>
<sensor type="orthographic"><transform name="to_world"><matrix value="-1 0 0 0  0 1 0 0  0 0 1 -3  0 0 0 1"/></transform>
 <film type="hdrfilm"><integer name="width" value="2"/><integer name="height" value="2"/><rfilter type="box"/></film>
</sensor></scene>"""


# ---- cameras and lights ----


def check_views(folder):
    path = os.path.join(folder, "view.glb")
    s = Scene()
    s.node(mesh=s.mesh(s.primitive(*quad(1))), name="It")
    camera(s, name="First")
    wide = s.add("cameras", {"name": "Wide", "type": "orthographic",
                             "orthographic": {"xmag": 2, "ymag": 1, "znear": 0.1, "zfar": 9}})
    s.node(camera=wide, name="Second", matrix=looking([0, 4, 0], [0, 0, 0], (0, 0, -1)), scale=None)
    del s.json["nodes"][-1]["scale"]
    lights = [("point", {"color": [1, 0.5, 0.25], "intensity": 8}, dict(translation=[1, 2, 3])),
              ("directional", {"intensity": 2}, dict(rotation=[-0.5**0.5, 0, 0, 0.5**0.5])),
              ("spot", {"intensity": 4, "spot": {"innerConeAngle": np.pi / 8, "outerConeAngle": np.pi / 4}},
               dict(translation=[0, 3, 0], rotation=[-0.5**0.5, 0, 0, 0.5**0.5]))]
    s.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": t, **v} for t, v, _ in lights]}}
    for k, (kind, _, place) in enumerate(lights):
        s.node(name="Light " + kind, extensions={"KHR_lights_punctual": {"light": k}}, **place)
    s.save(path)
    got = params(path)
    for name, value in {"Light_point.position": [1, 2, 3], "Light_point.intensity.value": [8, 4, 2],
                        "Light_directional.irradiance.value": [2, 2, 2], "Light_directional.direction": [0, -1, 0],
                        "light_2.cutoff_angle": 45, "light_2.beam_width": 22.5,
                        "light_2.intensity.value": [4, 4, 4]}.items():
        check(near(got.get(name), value), "%s is %s, not %s" % (name, got.get(name), value))

    # the second camera looks down on 4 x 2 of the quad's plane, with -z up
    for options in (["--sensor", "1"], ["-D", "camera=Second"], ["-D", "camera=1"]):
        picture(path, 64, *options)
        image = read_pfm(path + ".pfm")
        check(image.shape[:2] == (32, 64), "%s: an image of %s" % (options, image.shape))
        covered = image.sum(-1) > 1e-3
        check(not covered[:, :15].any() and not covered[:, 49:].any() and covered[:, 17:47].all(),
              "%s: the quad is not in the middle half: %s" % (options, covered[16]))
    picture(path, 64, "--sensor", "0")
    check(read_pfm(path + ".pfm").shape[:2] == (43, 64), "the first camera has another aspect")
    said = run("render", path, "-o", path + ".pfm", "-D", "camera=Third", status=1).stderr
    check('the cameras 0 "First", 1 "Second"' in said, "no list of cameras: " + said)

    # what stands in
    empty = Scene()
    empty.node(mesh=empty.mesh(empty.primitive(*ball(6))), translation=[100, 50, 7], scale=[3, 3, 3])
    empty.save(path)
    _, said = picture(path, 32)
    check("no camera" in said and "no light" in said, "nothing said of what stands in: " + said)
    image = read_pfm(path + ".pfm")
    check(abs(image[16, 16] - 1).max() > 0.05 and abs(image[1, 1] - 1).max() < 1e-6,
          "the ball is not in the middle under a white sky")


# ---- what is not used ----


def check_notes(folder):
    path = os.path.join(folder, "notes.glb")
    s = usual(None)
    for a in s.json["meshes"][0]["primitives"]:
        a["attributes"]["TANGENT"] = s.accessor([[1, 0, 0, 1]] * 4)
        a["attributes"]["_OWN"] = s.accessor([1, 2, 3, 4])
        a["targets"] = [{}]
    s.json["meshes"][0]["primitives"].append({"attributes": a["attributes"], "mode": 1})
    s.json["materials"][0]["occlusionTexture"] = {"index": 0}
    s.json["materials"][0]["extensions"] = {"KHR_materials_iridescence": {}}
    s.json["animations"] = [{"name": "Walk"}]
    s.json["skins"] = [{}]
    s.json["nodes"][0].update(skin=0, extensions={"OWN_thing": {}})
    s.json["extensionsUsed"] = ["EXT_lights_image_based", "KHR_texture_transform"]
    s.json["scenes"].append({"name": "Other", "nodes": []})
    said = notes(s.save(path))
    for what in ("TANGENT", "_OWN", "morph targets", "lines", "occlusionTexture", "KHR_materials_iridescence",
                 'animation "Walk"', "skin number 0", "a skin", "OWN_thing", "EXT_lights_image_based", '"Other"'):
        check(what in said, "%s is not listed in %s" % (what, said))
    check("KHR_texture_transform" not in said and "POSITION" not in said, "listed what is used: " + said)
    listed = json.loads(run("import", path, "-o", path + ".xml", "--json").stdout)["notes"]
    check("\n".join(listed) == said.strip(), "import lists %s, and a scene %s" % (listed, said))


# ---- mistakes ----


def check_mistakes(folder):
    path = os.path.join(folder, "mistake.gltf")

    def spoilt(*keys, value):
        s = usual(None)
        text = dict(s.json, buffers=[{"byteLength": len(s.bytes)}])
        at = text = json.loads(json.dumps(text))
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value
        with open(path, "wb") as out:
            out.write(glb(json.dumps(text).encode(), s.bytes))

    def refused(what, *words, scene=path):
        said = run("params", scene, status=1).stderr
        check(all(w in said for w in words), "%s: %s" % (what, said))

    huge = 2**53
    for keys, value, words in [
        (("accessors", 0, "count"), 5, ["accessors[0]", "do not lie in a view"]),
        (("accessors", 0, "count"), huge, ["count"]),
        (("accessors", 0, "byteOffset"), huge, ["accessors[0]"]),
        (("accessors", 0, "componentType"), 5124, ["componentType"]),
        (("accessors", 0, "type"), "MAT4", ["type"]),
        (("accessors", 0, "bufferView"), 99, ["bufferView", "99"]),
        (("bufferViews", 0, "byteLength"), huge, ["bufferViews[0]", "do not lie in a buffer"]),
        (("bufferViews", 0, "byteStride"), huge, ["byteStride"]),
        (("bufferViews", 0, "buffer"), -1, ["bufferViews[0]", "not an index"]),
        (("buffers", 0, "byteLength"), 1 << 40, ["buffers[0]"]),
        (("buffers", 0, "uri"), "../missing.bin", ["missing.bin", "not found"]),
        (("buffers", 0, "uri"), "https://example.org/x.bin", ["not a file beside the scene"]),
        (("buffers", 0, "uri"), "data:;base64,!!", ["not base64"]),
        (("meshes", 0, "primitives", 0, "indices"), 0, ["unsigned integers"]),
        (("meshes", 0, "primitives", 0, "mode"), 9, ["mode"]),
        (("meshes", 0, "primitives", 0, "attributes", "NORMAL"), 2, ["NORMAL"]),
        (("nodes", 0, "children"), [1], ["reached twice"]),
        (("nodes", 0, "children"), [0], ["reached twice"]),
        (("nodes", 0, "matrix"), [1] * 16, ["not affine"]),
        (("nodes", 0, "matrix"), [1] * 3, ["array of 16 numbers"]),
        (("nodes", 0, "rotation"), [0, 0, 0, 0], ["quaternion"]),
        (("nodes", 0, "mesh"), 7, ["nodes[0]", "Ground", "7"]),
        (("scenes", 0, "nodes"), ["x"], ["not an index"]),
        (("materials", 0, "pbrMetallicRoughness", "metallicFactor"), 2, ["materials[0]", "Floor", "from 0 to 1"]),
        (("materials", 0, "alphaMode"), "HAZE", ["alphaMode"]),
        (("textures", 0, "source"), 3, ["textures[0]"]),
        (("images", 0), {}, ["images[0]"]),
        (("cameras", 0, "type"), "fisheye", ["fisheye"]),
        (("cameras", 0, "perspective", "zfar"), 0.1, ["zfar"]),
        (("extensionsRequired",), ["KHR_draco_mesh_compression"], ["requires", "KHR_draco_mesh_compression"]),
        (("asset", "version"), "1.0", ["version 1.0"]),
        (("nodes",), {}, ["not an array"]),
        (("nodes", 0), 3, ["nodes[0]", "not an object"]),
    ]:
        spoilt(*keys, value=value)
        refused("%s = %s" % (keys, value), *words)

    # sparse elements that do not ascend, or lie outside
    for indices in ([1, 1], [0, 4]):
        s = one_mesh(lambda s: {"attributes": {"POSITION": s.accessor(
            quad()[0], sparse=(indices, quad()[0][:2]))}, "indices": s.accessor(np.ravel(quad()[1]), "uint8")})
        s.save(path.replace("gltf", "glb"))
        refused("sparse %s" % indices, "must ascend", scene=path.replace("gltf", "glb"))

    # a file that ends early, wherever
    with open(usual(None).save(os.path.join(folder, "whole.glb")), "rb") as file:
        whole = file.read()
    for size in [*range(0, 40, 3), 200, len(whole) // 2, len(whole) - 1]:
        with open(path, "wb") as out:
            out.write(whole[:size])
        refused("the first %d bytes" % size)
    # deep trees end; a chain of 50000 nodes is no recursion, and JSON that is too deep is none
    s = Scene()
    s.json["nodes"] = [{"children": [k + 1]} for k in range(50000)] + [{"mesh": 0}]
    s.json["scenes"][0]["nodes"] = [0]
    s.mesh(s.primitive(*quad(1)))
    check("It" not in params(s.save(os.path.join(folder, "deep.glb"))), "a deep tree")
    with open(path, "w") as out:
        out.write("{" + '"a":[' * 100000)
    refused("deep JSON", "no JSON")
    with open(path, "w") as out:
        out.write('{"asset":{"version":"2.0"},\n"nodes":[}')
    refused("bad JSON", "line 2")

    # an untrusted scene reads nothing above its folder, and takes no more than the limits
    inner = os.path.join(folder, "inner")
    os.makedirs(inner, exist_ok=True)
    scene = usual(None).save(os.path.join(inner, "x.gltf"))
    os.rename(os.path.join(inner, "x.bin"), os.path.join(folder, "x.bin"))
    with open(scene) as file:
        text = json.load(file)
    text["buffers"][0]["uri"] = "../x.bin"
    with open(scene, "w") as out:
        json.dump(text, out)
    check(len(params(scene)) > 0, "a file in the folder above")
    check("not found" in run("params", scene, "--untrusted", status=1).stderr, "untrusted, but reads it")
    check(len(params(scene, "--untrusted", "--root", folder)) > 0, "not even with --root")
    for limit in ("triangles=100", "text=100", "pixels=10"):
        said = run("params", os.path.join(folder, "whole.glb"), "--limit", limit, status=1).stderr
        check(limit.split("=")[0] in said, "%s: %s" % (limit, said))

    # usage of import
    for arguments in ([path, "-o", path + ".json"], [path, "-o", path + ".xml", "--steps", "3"]):
        run("import", *arguments, status=2)
    run("import", "hand.xml" if os.path.exists("hand.xml") else os.path.join(folder, "hand.xml"), "-o",
        path + ".xml", status=1)
    run("params", os.path.join(folder, "whole.glb"), "-D", "spp=3", status=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        for part in (check_routes, check_geometry, check_places, check_materials, check_textures, check_views,
                     check_notes, check_mistakes):
            part(where)
    sys.exit(1 if failures else 0)
