# SPDX-License-Identifier: BSD-3-Clause
"""Writes glTF 2.0 files for tests: arrays become accessors, the whole a .gltf with a file of bytes beside it, a
.gltf with data: URIs, or a .glb."""
import base64
import json
import os
import struct
import zlib

import numpy as np

COMPONENTS = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


def png(pixels):
    """The bytes of a PNG file. pixels: uint8 [y, x, 1 to 4]"""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    out = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0,
                                             0, 0)),
                       (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        out += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return out


class Scene:
    """`json` is the file's object, to which tests add what they are about."""

    def __init__(self):
        self.json = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}]}
        self.bytes = b""
        self.files = {}  # images beside the scene

    def add(self, array, item):
        items = self.json.setdefault(array, [])
        items.append(item)
        return len(items) - 1

    def view(self, data, **more):
        self.bytes += b"\0" * (-len(self.bytes) % 4)
        at = len(self.bytes)
        self.bytes += data
        return self.add("bufferViews", {"buffer": 0, "byteOffset": at, "byteLength": len(data), **more})

    def accessor(self, values, kind="float32", normalized=False, stride=None, sparse=None):
        """values [n] or [n, 1 to 4]; sparse: (indices, values) that replace those elements."""
        values = np.asarray(values, kind)
        rows = values.reshape(len(values), -1)
        data = rows.tobytes()
        if stride:
            data = b"".join(row.tobytes().ljust(stride, b"\x55") for row in rows)
        item = {"bufferView": self.view(data, **({"byteStride": stride} if stride else {})),
                "componentType": COMPONENTS[kind], "count": len(rows), "type": TYPES[rows.shape[1]]}
        if normalized:
            item["normalized"] = True
        if sparse:
            item["sparse"] = {"count": len(sparse[0]),
                              "indices": {"bufferView": self.view(np.asarray(sparse[0], "uint16").tobytes()),
                                          "componentType": 5123},
                              "values": {"bufferView": self.view(np.asarray(sparse[1], kind).tobytes())}}
        return self.add("accessors", item)

    def primitive(self, positions, faces, normals=None, uvs=None, material=None, index="uint16", **more):
        attributes = {"POSITION": self.accessor(positions)}
        if normals is not None:
            attributes["NORMAL"] = self.accessor(normals)
        if uvs is not None:
            attributes["TEXCOORD_0"] = self.accessor(uvs)
        attributes.update(more.pop("attributes", {}))
        p = {"attributes": attributes, **more}
        if faces is not None:
            p["indices"] = self.accessor(np.ravel(faces), index)
        if material is not None:
            p["material"] = material
        return p

    def mesh(self, *primitives, name=None):
        return self.add("meshes", {"primitives": list(primitives), **({"name": name} if name else {})})

    def node(self, root=True, **item):
        index = self.add("nodes", item)
        if root:
            self.json["scenes"][0]["nodes"].append(index)
        return index

    def texture(self, pixels, name=None, file=None, sampler=None):
        data = png(pixels)
        image = {"name": name} if name else {}
        if file:
            self.files[file] = data
            image["uri"] = file.replace(" ", "%20")
        else:
            image.update(bufferView=self.view(data), mimeType="image/png")
        texture = {"source": self.add("images", image)}
        if sampler:
            texture["sampler"] = self.add("samplers", sampler)
        return self.add("textures", texture)

    def save(self, path, embedded=False):
        """By the ending: .glb, or .gltf, with the bytes embedded or in a file beside it."""
        folder, name = os.path.split(path)
        for file, data in self.files.items():
            with open(os.path.join(folder, file), "wb") as out:
                out.write(data)
        json_of = dict(self.json)
        if self.bytes:
            json_of["buffers"] = [{"byteLength": len(self.bytes)}]
        if path.endswith(".glb"):
            with open(path, "wb") as out:
                out.write(glb(json.dumps(json_of).encode(), self.bytes))
            return path
        if self.bytes and embedded:
            json_of["buffers"][0]["uri"] = ("data:application/octet-stream;base64," +
                                            base64.b64encode(self.bytes).decode())
        elif self.bytes:
            json_of["buffers"][0]["uri"] = name[:-5] + ".bin"
            with open(path[:-5] + ".bin", "wb") as out:
                out.write(self.bytes)
        with open(path, "w") as out:
            json.dump(json_of, out, indent=1)
        return path


def glb(text, data):
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if data:
        data += b"\0" * (-len(data) % 4)
        chunks += struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


# ---- shapes ----


def quad(size=1.0):
    """In the plane y = 0, facing +y: positions, faces, normals, uvs; u along +x, v along +z."""
    positions = [[-size, 0, -size], [size, 0, -size], [size, 0, size], [-size, 0, size]]
    return positions, [[0, 2, 1], [0, 3, 2]], [[0, 1, 0]] * 4, [[0, 0], [1, 0], [1, 1], [0, 1]]


def ball(rings=12, radius=1.0):
    """positions, faces, normals, uvs of a sphere"""
    u, v = np.meshgrid(np.linspace(0, 1, 2 * rings + 1), np.linspace(0, 1, rings + 1))
    phi, theta = 2 * np.pi * u.ravel(), np.pi * v.ravel()
    n = np.stack([np.sin(theta) * np.cos(phi), np.cos(theta), -np.sin(theta) * np.sin(phi)], -1)
    faces, w = [], 2 * rings + 1
    for y in range(rings):
        for x in range(2 * rings):
            a = y * w + x
            if y > 0:
                faces.append([a, a + w, a + 1])
            if y < rings - 1:
                faces.append([a + 1, a + w, a + w + 1])
    return n * radius, faces, n, np.stack([u.ravel(), v.ravel()], -1)


def looking(eye, target, up=(0, 1, 0)):
    """The matrix of a node that looks along -z from eye to target, as glTF lists it: by columns."""
    back = np.subtract(eye, target).astype(float)
    back /= np.linalg.norm(back)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    m = np.eye(4)
    m[:3, 0], m[:3, 1], m[:3, 2], m[:3, 3] = right, np.cross(back, right), back, eye
    return [float(x) for x in m.T.ravel()]
