# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""A scene of the form that Mitsuba's add-on for Blender writes (mitsuba-blender, and Mitsuba's mitsuba.python.xml
behind it): defaults spp, resx and resy, a camera as turns and a translation, materials by ids like mat-NAME,
meshes/NAME.ply, textures/NAME.png, lights with a `null` material, all in one file or in fragments. Both forms
give the same bytes, parameters have the names and values of the file, and the camera sees what it is aimed at."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.conformance import read_pfm  # noqa: E402
from support.gltf_scene import ball, png, quad  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))

DEFAULTS = """
<!-- Defaults, these can be set via the command line: -Darg=value -->

	<default name="spp" value="16"/>
	<default name="resx" value="64"/>
	<default name="resy" value="48"/>
"""
CAMERA = """
<!-- Camera and Rendering Parameters -->

	<integrator type="path" id="integrator">
		<integer name="max_depth" value="12"/>
		<boolean name="hide_emitters" value="false"/>
	</integrator>
	<sensor type="perspective" id="Camera">
		<string name="fov_axis" value="x"/>
		<float name="fov" value="39.597755"/>
		<float name="principal_point_offset_x" value="0.000000"/>
		<float name="principal_point_offset_y" value="-0.000000"/>
		<float name="near_clip" value="0.100000"/>
		<float name="far_clip" value="100.000000"/>
		<transform name="to_world">
			<rotate x="1" angle="14.036243"/>
			<rotate y="1" angle="180.000000"/>
			<translate value="0.000000 3.000000 8.000000"/>
		</transform>
		<sampler type="independent">
			<integer name="sample_count" value="$spp"/>
		</sampler>
		<film type="hdrfilm">
			<integer name="width" value="$resx"/>
			<integer name="height" value="$resy"/>
			<string name="pixel_format" value="rgb"/>
			<rfilter type="gaussian">
				<float name="stddev" value="0.500000"/>
			</rfilter>
		</film>
	</sensor>
"""
MATERIALS = """
<!-- Materials -->

	<bsdf type="twosided" id="mat-Gold">
		<bsdf type="principled">
			<rgb value="1.000000 0.700000 0.300000" name="base_color"/>
			<rgb value="1.000000 1.000000 1.000000" name="spec_tint"/>
			<float name="metallic" value="1.000000"/>
			<float name="anisotropic" value="0.000000"/>
			<float name="roughness" value="0.250000"/>
			<float name="sheen" value="0.000000"/>
			<rgb value="1.000000 1.000000 1.000000" name="sheen_tint"/>
			<float name="clearcoat" value="0.000000"/>
			<float name="clearcoat_gloss" value="0.030000"/>
			<float name="specular" value="1.001000"/>
		</bsdf>
	</bsdf>
	<bsdf type="principled" id="mat-Glass_001">
		<rgb value="0.900000 0.900000 0.900000" name="base_color"/>
		<float name="metallic" value="0.000000"/>
		<float name="roughness" value="0.010000"/>
		<float name="spec_trans" value="1.000000"/>
		<float name="eta" value="1.450000"/>
	</bsdf>
	<bsdf type="twosided" id="mat-Floor">
		<bsdf type="diffuse">
			<texture type="bitmap" name="reflectance">
				<string name="filename" value="textures/Checker.png"/>
			</texture>
		</bsdf>
	</bsdf>
	<bsdf type="mask" id="mat-Veil">
		<bsdf type="twosided">
			<bsdf type="diffuse">
				<rgb value="0.200000 0.300000 0.800000" name="reflectance"/>
			</bsdf>
		</bsdf>
		<float name="opacity" value="0.500000"/>
	</bsdf>
	<bsdf type="twosided" id="default-bsdf">
		<bsdf type="diffuse"/>
	</bsdf>
"""
EMITTERS = """
<!-- Emitters -->

	<emitter type="constant" id="world">
		<rgb value="0.050876 0.050876 0.050876" name="radiance"/>
	</emitter>
	<emitter type="point" id="emit-Point">
		<point name="position" x="3.0" y="4.0" z="3.0"/>
		<rgb value="63.661977 63.661977 63.661977" name="intensity"/>
	</emitter>
	<emitter type="directional" id="emit-Sun">
		<rgb value="0.500000 0.500000 0.500000" name="irradiance"/>
		<transform name="to_world">
			<matrix value="1.0 0.0 0.0 0.0 0.0 0.0 -1.0 9.0 0.0 1.0 0.0 0.0 0.0 0.0 0.0 1.0"/>
		</transform>
	</emitter>
	<shape type="rectangle" id="emit-Area">
		<boolean name="flip_normals" value="true"/>
		<transform name="to_world">
			<matrix value="1.0 0.0 0.0 0.0 0.0 0.0 1.0 4.5 0.0 -1.0 0.0 0.0 0.0 0.0 0.0 1.0"/>
		</transform>
		<emitter type="area">
			<rgb value="4.000000 3.000000 2.000000" name="radiance"/>
		</emitter>
		<bsdf type="null"/>
	</shape>
"""
SHAPES = """
<!-- Shapes -->

	<shape type="ply" id="mesh-Floor">
		<string name="filename" value="meshes/Floor.ply"/>
		<boolean name="face_normals" value="true"/>
		<ref id="mat-Floor" name="bsdf"/>
	</shape>
	<shape type="ply" id="mesh-Ball_001">
		<string name="filename" value="meshes/Ball_001.ply"/>
		<ref id="mat-Gold" name="bsdf"/>
	</shape>
	<shape type="shapegroup" id="mesh-Twin">
		<shape type="ply">
			<string name="filename" value="meshes/Twin.ply"/>
			<ref id="%s" name="bsdf"/>
		</shape>
	</shape>
	<shape type="instance">
		<ref id="mesh-Twin" name="shape"/>
		<transform name="to_world">
			<matrix value="1.0 0.0 0.0 -2.0 0.0 1.0 0.0 0.5 0.0 0.0 1.0 1.0 0.0 0.0 0.0 1.0"/>
		</transform>
	</shape>
	<shape type="instance">
		<ref id="mesh-Twin" name="shape"/>
		<transform name="to_world">
			<matrix value="1.0 0.0 0.0 2.0 0.0 1.0 0.0 0.5 0.0 0.0 1.0 1.0 0.0 0.0 0.0 1.0"/>
		</transform>
	</shape>
"""
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if "no device" in done.stderr:
        sys.exit(77)
    check(done.returncode == 0, "%s: %s" % (" ".join(arguments), done.stderr))
    return done


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())


def ply(path, positions, faces, normals, uvs):
    """As Mitsuba's Mesh.write_ply."""
    columns = [np.asarray(positions)] + [np.asarray(a) for a in (normals, uvs) if a is not None]
    names = ["x", "y", "z"] + (["nx", "ny", "nz"] if normals is not None else []) + (
        ["u", "v"] if uvs is not None else [])
    rows = np.hstack(columns).astype("<f4")
    header = "ply\nformat binary_little_endian 1.0\nelement vertex %d\n" % len(rows)
    header += "".join("property float %s\n" % n for n in names)
    header += "element face %d\nproperty list uchar int vertex_index\nend_header\n" % len(faces)
    write(path, header.encode() + rows.tobytes() +
          b"".join(b"\3" + np.asarray(face, "<i4").tobytes() for face in faces))


def picture(scene, *options):
    image = scene + ".pfm"
    run("render", scene, "-o", image, *options)
    return read_pfm(image)


def check_export(folder, version, material):
    parts = [DEFAULTS, CAMERA, MATERIALS, EMITTERS, SHAPES % material]
    whole, split = os.path.join(folder, "scene.xml"), os.path.join(folder, "split.xml")
    write(whole, '<scene version="%s">\n' % version + "".join(parts) + "</scene>\n")
    files = ["fragments/split-%s.xml" % name for name in ("render", "materials", "emitters", "geometry")]
    for file, part in zip(files, parts[1:]):
        write(os.path.join(folder, file), '<scene version="%s">\n%s</scene>\n' % (version, part))
    write(split, '\n<!-- # Main Scene File -->\n\n<scene version="%s">\n' % version + DEFAULTS +
          "".join('\t<include filename="%s"/>\n' % file for file in files) + "</scene>\n")
    image = picture(whole)
    check(image.shape == (48, 64, 3), "the defaults are not the film's size: %s" % (image.shape,))
    check(np.array_equal(image, picture(split)), "in fragments the scene is another one")
    check(picture(whole, "-D", "resx=32", "-D", "resy=24", "-D", "spp=4").shape == (24, 32, 3), "-D resx, resy")
    # aimed at the gold ball, whose middle is (0, 1, 0): the camera is turned down by atan(1 / 4)
    colour = image[22:27, 29:35].mean((0, 1))
    check(colour[0] > 1.3 * colour[2] > 0, "no gold in the middle, but %s" % colour)
    return {p["name"]: p.get("value") for p in json.loads(run("params", whole, "--json").stdout)["parameters"]}


def main():
    with tempfile.TemporaryDirectory() as folder:
        p, f, n, uv = quad(5)
        ply(os.path.join(folder, "meshes", "Floor.ply"), p, f, None, uv)
        p, f, n, uv = ball(10)
        ply(os.path.join(folder, "meshes", "Ball_001.ply"), p + [0, 1, 0], f, n, uv)
        ply(os.path.join(folder, "meshes", "Twin.ply"), 0.5 * p, f, n, uv)
        checker = (np.indices((8, 8)).sum(0) % 2 * 155 + 50).astype(np.uint8)
        write(os.path.join(folder, "textures", "Checker.png"), png(np.repeat(checker[..., None], 3, 2)))
        for version in ("2.1.0", "3.0.0", "3.7.1"):
            for material in ("mat-Glass_001", "mat-Veil", "default-bsdf"):
                if version != "3.7.1" and material != "mat-Veil":
                    continue
                values = check_export(folder, version, material)
        for name, value in {"mat-Gold.base_color.value": [1, 0.7, 0.3], "mat-Gold.roughness.value": [0.25],
                            "mat-Glass_001.eta": [1.45], "emit-Point.position": [3, 4, 3],
                            "emit-Area.emitter.radiance.value": [4, 3, 2], "world.radiance.value": [0.050876] * 3,
                            "mat-Gold.specular": [1.001]}.items():
            got = [v for k, v in values.items() if k == name or k.replace("brdf_0.", "") == name]
            check(got and np.allclose(got[0], value, rtol=1e-5), "%s is %s, not %s; there are %s" %
                  (name, got, value, sorted(values)))
        check("mesh-Ball_001.to_world" in values, "no place of mesh-Ball_001")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
