# LABELS: native timeout=3600
# SPDX-License-Identifier: BSD-3-Clause
"""What a scene of a stranger can take: one input of each kind and format, as large as SIZE, or small and standing for
much, is rendered with --untrusted, one sample in 8 x 8 pixels. From start to end that takes at most 2 GiB, and at most 20 s
of CPU. Each ends with the image or the error that it is made for, so that none is refused before it takes anything. Ordinary runs have inputs of 1 MB, BL_LONG=1 of 10 MB. Argument: a part of the names of inputs. Needs BL_PROGRAM, BL_DEVICE."""
import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
DATA = os.path.join(os.path.abspath(os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))), "tests", "data")
LONG = bool(os.environ.get("BL_LONG"))
SIZE = 10_000_000 if LONG else 1_000_000
MEMORY_MOST, SECONDS_MOST = 2 << 30, 20
SENSOR = ('<sensor type="perspective"><film type="hdrfilm"><integer name="width" value="%d"/><integer name="height" value="%d"/></film></sensor>'
          '<emitter type="constant"/>')


def xml(body, side=8):
    return ('<scene version="3.0.0">' + SENSOR % (side, side) + body + "</scene>").encode()


def repeated(part, head="", tail=""):
    """part: a format of a number."""
    parts, size, k = [head], 0, 0
    while size < SIZE:
        parts.append(part.format(k))
        size += len(parts[-1])
        k += 1
    return {"scene.xml": xml("".join(parts) + tail)}


def shape(kind, name, data):
    return {"scene.xml": xml('<shape type="%s"><string name="filename" value="%s"/></shape>' % (kind, name)), name: data}


def image(name, data):
    return {"scene.xml": xml('<shape type="sphere"><bsdf type="diffuse"><texture type="bitmap" name="reflectance"><string name="filename" '
                             'value="%s"/></texture></bsdf></shape>' % name), name: data}


def volume(name, data, kind="gridvolume"):
    return {"scene.xml": xml('<shape type="cube"><bsdf type="null"/><medium name="interior" type="heterogeneous"><volume name="sigma_t" type="%s">'
                             '<string name="filename" value="%s"/></volume></medium></shape>' % (kind, name)), name: data}


def png(side, rows):
    """Grey, 8 bits; rows: filtered bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def exr(side):
    """One channel of halves, all zero, in ZIP blocks of 16 lines."""
    def attribute(name, kind, value):
        return name + b"\0" + kind + b"\0" + struct.pack("<I", len(value)) + value
    box = struct.pack("<4i", 0, 0, side - 1, side - 1)
    head = struct.pack("<II", 20000630, 2) + b"".join((
        attribute(b"channels", b"chlist", b"Y\0" + struct.pack("<IB3xII", 1, 0, 1, 1) + b"\0"), attribute(b"compression", b"compression", b"\3"),
        attribute(b"dataWindow", b"box2i", box), attribute(b"displayWindow", b"box2i", box), attribute(b"lineOrder", b"lineOrder", b"\0"),
        attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1)), attribute(b"screenWindowCenter", b"v2f", struct.pack("<ff", 0, 0)),
        attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1)))) + b"\0"
    blocks = (side + 15) // 16
    size = 2 * side * 16
    packed = zlib.compress(b"\0" + b"\x80" * (size - 1), 9)
    at, offsets, body = len(head) + 8 * blocks, [], []
    for k in range(blocks):
        offsets.append(at)
        body.append(struct.pack("<iI", 16 * k, len(packed)) + packed)
        at += len(body[-1])
    return head + struct.pack("<%dQ" % blocks, *offsets) + b"".join(body)


def rgbe(width, height):
    line = b"\2\2" + struct.pack(">H", width) + 4 * (b"\xff\x80" * (width // 127) + bytes((128 + width % 127, 128)) * (width % 127 > 0))
    return b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n" % (height, width) + line * height


def serialized(vertices, faces):
    """Version 4, without a name: floats and indices of zero."""
    packer = zlib.compressobj(9)
    stream = packer.compress(struct.pack("<I", 0) + b"\0" + struct.pack("<QQ", vertices, faces))
    left = 12 * vertices + 12 * faces
    while left:
        part = min(left, 1 << 20)
        stream += packer.compress(bytes(part))
        left -= part
    mesh = struct.pack("<HH", 0x041C, 4) + stream + packer.flush()
    return mesh + struct.pack("<QI", 0, 1)


def ply(count):
    head = "ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n" % count
    head += "element face %d\nproperty list uchar int vertex_indices\nend_header\n" % (count - 2)
    points = b"".join(struct.pack("<fff", k % 97 * 0.01, k % 89 * 0.01, k % 83 * 0.01) for k in range(count))
    return head.encode() + points + b"".join(struct.pack("<Biii", 3, k, k + 1, k + 2) for k in range(count - 2))


def obj():
    count = SIZE // 40
    return "".join("v %d.1 %d.2 %d.3\n" % (k % 97, k % 89, k % 83) for k in range(count)).encode() + "".join(
        "f %d %d %d\n" % (k, k + 1, k + 2) for k in range(1, count - 1)).encode()


def vol(x, y, z, data):
    return b"VOL\3" + struct.pack("<iiiii6f", 1, x, y, z, 1, 0, 0, 0, 1, 1, 1) + data


def wide_nvdb(low, high):
    """Our own grid, uncompressed, with this box around its active voxels in the root of its tree."""
    with open(os.path.join(DATA, "grid.nvdb"), "rb") as f:
        packed = f.read()
    head = 16 + 176 + packed[16 + 136]  # of the file and of its one grid, with the grid's name
    grid = bytearray(zlib.decompress(packed[head + 8:]))
    struct.pack_into("<6i", grid, 672 + 64, low, low, low, high, high, high)  # behind the grid's head and the tree's
    return packed[:14] + b"\0\0" + packed[16:head] + bytes(grid)


def text_of_curves():
    return b"".join(b"%d.5 %d.25 0 .01\n%d 1 1 .02\n2 %d 1 .01\n3 3 3 .01\n\n" % (k % 50, k % 40, k % 30, k % 20) for k in range(SIZE // 62))


def measured(angles, numbers):
    """A measured material of so many azimuths, with that many bytes of numbers for all of its fields."""
    sides = {"phi_i": [angles], "theta_i": [2], "ndf": [2, 2], "sigma": [2, 2], "vndf": [angles, 2, 64, 64],
             "luminance": [angles, 2, 8, 8], "rgb": [angles, 2, 3, 8, 8]}
    ranks = b"".join(struct.pack("<H", len(n)) + n.encode() + struct.pack("<HBQ", len(s), 10, 1000) + struct.pack(
        "<%dQ" % len(s), *s) for n, s in sides.items())
    head = b"tensor_file\0\1\0" + struct.pack("<I", len(sides)) + ranks
    return {"a.bsdf": head + bytes(1000 - len(head)) + struct.pack("<%df" % numbers, *(k * 1e-6 for k in range(numbers))),
            "scene.xml": xml('<shape type="sphere"><bsdf type="measured"><string name="filename" value="a.bsdf"/></bsdf></shape>')}


def gltf(kind, value, size=SIZE, **more):
    """glTF of very many equal "nodes", or "primitives" of one mesh. more: other arrays."""
    count = size // (len(json.dumps(value, separators=(",", ":"))) + 8)
    scene = {"asset": {"version": "2.0"}, "nodes": [{"mesh": 0}], **more}
    if kind == "nodes":
        scene["nodes"] = [value] * count
        scene["scenes"] = [{"nodes": list(range(count))}]
    else:
        points = "data:;base64," + base64.b64encode(struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)).decode()
        scene.update(buffers=[{"byteLength": 36, "uri": points}], bufferViews=[{"buffer": 0, "byteLength": 36}],
                     accessors=[{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
                     meshes=[{"name": "x" * 300, "primitives": [value] * count}])
    return {"scene.xml": json.dumps(scene, separators=(",", ":")).encode()}


CAMERA = {"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}


def lights(light, size=SIZE * 3 // 4):
    """glTF of a light that very many nodes have."""
    return gltf("nodes", {"extensions": {"KHR_lights_punctual": {"light": 0}}}, size, extensions={"KHR_lights_punctual": {"lights": [light]}})


side = 4000 if LONG else 1024
cube = 135 if LONG else 62
INPUTS = {
    "many spheres": lambda: repeated('<shape type="sphere"/>'),
    "many rectangles": lambda: repeated('<shape type="rectangle"/>'),
    "many materials": lambda: repeated('<bsdf type="diffuse" id="b{0}"/>'),
    "many shapes with materials": lambda: repeated('<shape type="sphere"><bsdf type="roughconductor"/></shape>'),
    "many lights": lambda: repeated('<emitter type="point"/>'),
    "many area lights": lambda: repeated('<shape type="sphere"><emitter type="area"/></shape>'),
    "many references": lambda: repeated('<shape type="sphere"><ref id="b"/></shape>', '<bsdf type="diffuse" id="b"/>'),
    "many variables": lambda: repeated('<default name="v{0}" value="$v"/>', '<default name="v" value="1"/>'),
    "doubling variables": lambda: {"scene.xml": xml('<default name="v0" value="%s"/>' % ("x" * 1000) + "".join(
        '<default name="v%d" value="$v%d$v%d"/>' % (k, k - 1, k - 1) for k in range(1, 64)) + '<bsdf type="diffuse" id="$v63"/>')},
    "deep elements": lambda: {"scene.xml": xml('<shape type="sphere">' * (SIZE // 30) + "</shape>" * (SIZE // 30))},
    "one long number": lambda: {"scene.xml": xml('<shape type="sphere"><float name="radius" value="%s"/></shape>' % ("1" * SIZE))},
    "a spectrum": lambda: repeated("{0}:0.5, ", '<shape type="sphere"><bsdf type="diffuse"><spectrum name="reflectance" value="', '1e9:0.5"/></bsdf></shape>'),
    "many groups": lambda: repeated('<shape type="shapegroup" id="g{0}"><shape type="sphere"/></shape><shape type="instance"><ref id="g{0}"/></shape>'),
    "entities": lambda: {"scene.xml": b'<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(20)) + b']><scene version="3.0.0">&t;</scene>'},
    "a large film": lambda: {"scene.xml": xml('<shape type="sphere"/>', side)},
    "PNG, allowed": lambda: image("a.png", png(side, bytes(side * (side + 1)))),
    "PNG, too large": lambda: image("a.png", png(20000, bytes(20000 * 20001))),
    "EXR, allowed": lambda: image("a.exr", exr(side)),
    "EXR, too large": lambda: image("a.exr", exr(30000)),
    "RGBE, allowed": lambda: image("a.hdr", rgbe(side, side)),
    "RGBE, too large": lambda: image("a.hdr", rgbe(30000, 600)),
    "PFM": lambda: image("a.pfm", b"PF\n%d %d\n-1\n" % (SIZE // 1200, 100) + bytes(SIZE // 1200 * 1200)),
    "BMP": lambda: image("a.bmp", b"BM" + struct.pack("<IIIIiiHHIIiiII", 0, 0, 54, 40, 30000, 30000, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(1000)),
    "serialized, allowed": lambda: shape("serialized", "a.serialized", serialized(SIZE // 10, SIZE // 5)),
    "serialized, too large": lambda: shape("serialized", "a.serialized", serialized(30_000_000, 30_000_000)),
    "PLY": lambda: shape("ply", "a.ply", ply(SIZE // 25)),
    "OBJ": lambda: shape("obj", "a.obj", obj()),
    "curves": lambda: shape("bsplinecurve", "a.curves", text_of_curves()),
    "measured, without a field": lambda: measured(250, 2_500_000),
    "measured, not there": lambda: measured(1_000_000, 1000),
    "grid": lambda: volume("a.vol", vol(cube, cube, cube, bytes(4 * cube**3))),
    "grid, not there": lambda: volume("a.vol", vol(30000, 30000, 30000, bytes(100))),
    "grid, resolution": lambda: {"scene.xml": xml('<shape type="cube"><bsdf type="null"/><medium name="interior" type="heterogeneous"><volume name="sigma_t" '
                                                  'type="gridvolume"><string name="resolution" value="1000"/><float name="value" value="1"/></volume></medium></shape>')},
    "glTF, many cameras": lambda: gltf("nodes", {"camera": 0}, SIZE if LONG else SIZE // 5, cameras=[CAMERA]),
    "glTF, one name": lambda: gltf("primitives", {"attributes": {"POSITION": 0}}, SIZE if LONG else SIZE // 3),
    "glTF, one light": lambda: lights({"type": "spot"}),
    # Its keys are searched for each node, so that a large one ends by the limit of time.
    "glTF, a light of many keys": lambda: lights({"type": "point", **{"a%d" % k: 0 for k in range(SIZE // 50 if LONG else SIZE // 500)}}, SIZE * 3 // 4 if LONG else SIZE // 10),
    "sparse grid, allowed": lambda: volume("a.nvdb", wide_nvdb(-150, 150)),
    "sparse grid, too large": lambda: volume("a.nvdb", wide_nvdb(-300, 300)),
}
# The others are images, or refused for the memory that 10 MB of elements take.
REFUSED = {
    "many variables": "more than 1000 parameters",
    "doubling variables": "longer than 1048576 bytes after substitution",
    "deep elements": "nested more than 64 deep",
    "one long number": "is not a number",
    "entities": "entity declarations are not allowed",
    "PNG, too large": "pixels are more than are supported",
    "EXR, too large": "pixels are more than are supported",
    "RGBE, too large": '(limit "pixels")',
    "BMP": "pixels are more than are supported",
    "serialized, too large": '(limit "triangles")',
    "measured, without a field": 'no field "jacobian"',
    "measured, not there": "lies outside of the file",
    "grid, not there": "outside [1, 16384]",
    "grid, resolution": '(limit "voxels")',
    "sparse grid, too large": '(limit "voxels")',
    **({"glTF, a light of many keys": '(limit "seconds")'} if LONG else {}),
}


def measure(name, files):
    shutil.rmtree("input", ignore_errors=True)
    os.mkdir("input")
    for path, data in files.items():
        if len(data) > 10_200_000:
            sys.exit("%s: %s has %d bytes" % (name, path, len(data)))
        with open(os.path.join("input", path), "wb") as f:
            f.write(data)
    command = [PROGRAM, "render", "input/scene.xml", "--untrusted", "--spp", "1", "-o", "o.pfm", "--quiet", "--no-cache", "--device",
               os.environ.get("BL_DEVICE", "native")]
    with open("errors", "w+b") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        status, usage = os.wait4(process.pid, 0)[1:]
        errors.seek(0)
        said = errors.read(300).decode(errors="replace").strip()
    seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    print("%-28s %8d bytes  %5.0f MB %6.2f s  %s" % (name, sum(map(len, files.values())), memory / 1e6, seconds, said or "an image"), flush=True)
    problems = []
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (0, 1) or (os.WEXITSTATUS(status) == 1 and "backlight:" not in said):
        problems.append("%s: ended with %d: %s" % (name, status, said))
    # The limit counts time, not that of the processor: on a busy machine it ends what would have taken half of it.
    if LONG and '(limit "seconds")' in said and seconds < 7.5:
        print("%s: others took the processor" % name)
        return problems
    good = REFUSED[name] in said if name in REFUSED else not said or (LONG and '(limit "memory")' in said)
    if not good and "this build reads no" not in said:
        problems.append("%s: %s, but expected %s" % (name, said or "an image", REFUSED.get(name, "an image")))
    if memory > MEMORY_MOST:
        problems.append("%s: took %.1f GB" % (name, memory / 1e9))
    if seconds > SECONDS_MOST:
        problems.append("%s: took %.1f s" % (name, seconds))
    return problems


def main():
    if "address" in os.environ.get("BL_SANITIZE", ""):
        print("sanitizers take more memory and time: nothing to measure")
        return 0
    problems = []
    folder = tempfile.mkdtemp(prefix="untrusted_size_", dir=".")
    os.chdir(folder)
    for name, make in INPUTS.items():
        if not sys.argv[1:] or sys.argv[1] in name:
            problems += measure(name, make())
    os.chdir("..")
    print("\n".join(problems + ["%d problems" % len(problems)]))
    if not problems:
        shutil.rmtree(folder)
    return 1 if problems else 0


sys.exit(main())
