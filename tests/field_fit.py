# LABELS: swiftshader=long native
# SPDX-License-Identifier: BSD-3-Clause
"""The fit of a radiance field to the photographs of assets/field, smaller: `backlight import` makes a job,
`backlight fit` fits it from coarse to fine, and views that were held out must be seen far better than the
empty field shows them. The turntable, an animated PNG, must show each of them as the pictures beside it do,
and the difference. The same command twice gives the same bytes."""
import json
import os
import struct
import subprocess
import sys
import zlib

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
DEVICE = os.environ.get("BL_DEVICE", "swiftshader")


def fit(name):
    run = subprocess.run([PROGRAM, "fit", "field_fit.json", "-o", name, "--device", DEVICE, "--quiet"],
                         capture_output=True, text=True, timeout=800)
    if run.returncode != 0:
        print(run.stderr)
        sys.exit(77 if "no device" in run.stderr and os.environ.get("BL_REQUIRE_ALL") != "1" else 1)
    with open(os.path.join(name, "result.json"), encoding="utf-8") as f:
        result = json.load(f)
    with open(os.path.join(name, "field.density.data.npy"), "rb") as f:
        return result, f.read()


SIDE, GAP, HELD_OUT = 96, 2, range(48, 56)


def chunks(data):
    """Type and data of each chunk of a PNG, whose checksums must hold."""
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        checksum = struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        assert checksum == zlib.crc32(kind + body), "the checksum of %s" % kind
        yield kind, body
        at += 12 + size


def unpack(packed, width, height):
    """Rows of bytes of an image of 8 bits and three channels (PNG specification, 9.2)."""
    raw, stride, rows = zlib.decompress(packed), 3 * width, []
    before = [0] * stride
    assert len(raw) == height * (stride + 1)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], list(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a, b, c = row[i - 3] if i > 2 else 0, before[i], before[i - 3] if i > 2 else 0
            p = a + b - c
            nearest = (a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c)
                       else b if abs(p - b) <= abs(p - c) else c)
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        rows.append(row)
        before = row
    return rows


def frames_of(path):
    """Frames of a PNG, animated or not: (width, height, rows); and what acTL says of their number."""
    frames, packed, size, announced, sequence = [], b"", None, None, 0
    with open(path, "rb") as f:
        data = f.read()
    for kind, body in chunks(data):
        if kind == b"IHDR":
            size = struct.unpack(">IIBB", body[:10])
            assert size[2:] == (8, 2), "not 8 bits of three channels"
        elif kind == b"acTL":
            announced = struct.unpack(">I", body[:4])[0]
        elif kind in (b"fcTL", b"fdAT"):
            assert struct.unpack(">I", body[:4])[0] == sequence, "the sequence numbers have a hole"
            sequence += 1
            if kind == b"fcTL":
                assert struct.unpack(">IIII", body[4:20]) == size[:2] + (0, 0)
        if kind in (b"fcTL", b"IEND") and packed:
            frames.append(unpack(packed, *size[:2]))
            packed = b""
        packed += body if kind == b"IDAT" else body[4:] if kind == b"fdAT" else b""
    return frames, announced


def linear(byte):
    v = byte / 255
    return v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4


def turntable_problems(folder):
    frames, announced = frames_of(os.path.join(folder, "turntable.png"))
    if announced != len(frames) or len(frames) != len(HELD_OUT):
        return ["the turntable has %d frames and announces %s" % (len(frames), announced)]
    problems, largest = [], 0
    for frame, view in zip(frames, HELD_OUT):
        target, after = [frames_of(os.path.join(folder, "%s_%d.png" % (name, view)))[0][0]
                         for name in ("target", "after")]
        panels = [[row[3 * k * (SIDE + GAP):][:3 * SIDE] for row in frame] for k in range(3)]
        if (len(frame) != SIDE or len(frame[0]) != 3 * (3 * SIDE + 2 * GAP)
                or panels[0] != target or panels[1] != after):
            problems.append("the turntable does not show target and fit of view %d" % view)
        for truth_row, fit_row, error_row in zip(*panels):
            for i in range(0, 3 * SIDE, 3):
                apart = sum(abs(linear(truth_row[k]) - linear(fit_row[k])) for k in range(i, i + 3)) / 3
                # All are rounded to bytes. Half a step of each is at most .0045 as a linear value.
                largest = max([largest] + [abs(linear(error) - apart) for error in error_row[i:i + 3]])
    if largest > 0.0135:
        problems.append("the turntable's error is %.3f from that of its pictures" % largest)
    return problems


MANY = 70
SKY = """<scene version="3.0.0"><integrator type="path"/><sensor type="perspective"><float name="fov" value="40"/><film type="hdrfilm">
<integer name="width" value="804"/><integer name="height" value="7"/><rfilter type="box"/></film></sensor>
<emitter type="constant" id="sky"><rgb name="radiance" value=".2,.5,.8"/></emitter></scene>"""


def large_turntable_problems():
    """Of many wide views of a sky that is already right: at most 64 frames, of averages over 3 x 3 pixels,
    and no error anywhere."""
    with open("sky_fit.xml", "w", encoding="utf-8") as f:
        f.write(SKY)
    with open("sky_fit.json", "w", encoding="utf-8") as f:
        json.dump({"scene": "sky_fit.xml",
                   "views": [{"target": {"render": True, "spp": 1}} for k in range(MANY + 1)],
                   "held_out": list(range(1, MANY + 1)),
                   "parameters": [{"name": "sky.radiance.value"}], "steps": 1, "spp": 1}, f)
    run = subprocess.run([PROGRAM, "fit", "sky_fit.json", "-o", "sky_fit", "--device", DEVICE, "--quiet"],
                         capture_output=True, text=True, timeout=800)
    if run.returncode != 0:
        return ["the fit of the sky failed: " + run.stderr]
    frames, announced = frames_of("sky_fit/turntable.png")
    panel, gap = 268, 3 * GAP * [124]
    expected = panel * [124, 188, 231] + gap + panel * [124, 188, 231] + gap + panel * [0, 0, 0]
    if announced != 64 or len(frames) != 64:
        return ["of %d views the turntable has %d frames and announces %s" % (MANY, len(frames), announced)]
    return [] if all(frame == 2 * [expected] for frame in frames) else ["the turntable of the sky is wrong"]


def main():
    made = subprocess.run([PROGRAM, "import", os.path.join(ROOT, "assets", "field"), "-o", "field_fit.json",
                           "--resolution", "16", "--steps", "120",
                           "--batch", "2048"], capture_output=True, text=True, timeout=100)
    if made.returncode != 0:
        print(made.stderr)
        return 1
    result, density = fit("field_fit")
    held_out = result["held_out"]
    print("PSNR %.2f dB, SSIM %.3f, of %d views that were held out, in %.0f s" %
          (held_out["psnr"], held_out["ssim"], held_out["views"], result["seconds"]))
    problems = []
    if held_out["views"] != 8:
        problems.append("8 views are held out, not %d" % held_out["views"])
    if not held_out["psnr"] > 19:  # the empty field: 10.2 dB
        problems.append("held-out views are not seen well")
    problems += turntable_problems("field_fit") + large_turntable_problems()
    with open("field_fit/report.html", encoding="utf-8") as f:
        if 'alt="turntable"' not in f.read():
            problems.append("the report has no turntable")
    if fit("field_fit_again")[1] != density:
        problems.append("the same fit gave other bytes")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
