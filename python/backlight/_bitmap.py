# SPDX-License-Identifier: BSD-3-Clause
"""Images: NumPy arrays that notebooks show, and that files hold."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Sequence

import numpy as np

from . import _core
from ._arrays import as_image, shape_text
from ._errors import ArgumentError, FileError, FormatError
from ._library import context


def _read_npy(path: str) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as problem:
        raise FileError("%s: %s" % (path, problem.strerror or problem)) from None
    except ValueError as problem:
        raise FormatError("%s: %s" % (path, problem)) from None
    return as_image(array, None, path)


class Bitmap(np.ndarray):
    """An image: a float32 array of linear values, shape (height, width, channels), row 0 at the top.

    Bitmap("photo.exr") reads EXR, PNG, PFM or NPY; background=(r, g, b) puts it in front of a colour where the
    file has an alpha channel. Bitmap(array) shows an array as an image, without a copy where it is float32.
    It is a NumPy array in every way; .write(path) saves it, and notebooks show it (sRGB, clipped to [0, 1])."""

    def __new__(cls, source: Any, background: Sequence[float] | None = None) -> Bitmap:
        if isinstance(source, (str, os.PathLike)):
            path = os.fsdecode(source)
            if path.lower().endswith(".npy"):
                return _read_npy(path).view(cls)
            return _core.image_read(context(), path, background).view(cls)
        return as_image(source, None, "Bitmap").view(cls)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Saves the image: .exr, .pfm, .npy keep the values; .hdr rounds them; .png is sRGB, clipped to [0, 1].
        One channel or three; .npy takes any shape."""
        write_bitmap(path, self)

    def _repr_png_(self) -> bytes | None:
        if self.dtype.kind != "f" or self.size == 0 or self.ndim not in (2, 3):
            return None
        image = np.asarray(self)
        if image.ndim == 3 and image.shape[2] not in (1, 3):
            if image.shape[2] != 4:
                return None
            image = image[:, :, :3]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "image.png")
            write_bitmap(path, image)
            with open(path, "rb") as file:
                return file.read()


def write_bitmap(path: str | os.PathLike[str], image: Any) -> None:
    """Saves an array of shape (height, width), (height, width, 1) or (height, width, 3) as Bitmap.write does."""
    path = os.fsdecode(path)
    array = as_image(image, None, "image")
    if path.lower().endswith(".npy"):
        np.save(path, np.asarray(array))
        return
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3):
        raise ArgumentError("image: the shape must be (height, width), (height, width, 1) or (height, width, 3), not %s"
                            % shape_text(array.shape))
    _core.image_write(context(), path, array)


def compare(image: Any, truth: Any) -> dict[str, float]:
    """How close an image is to another as they are displayed (clipped, sRGB): `psnr` in dB (inf where equal), and
    `ssim` (Wang et al. 2004; NaN where a side is below 11 pixels). Both have the shape (height, width, 3)."""
    first = as_image(image, None, "image")
    second = as_image(truth, first.shape, "truth")
    if first.ndim != 3:
        raise ArgumentError("image: the shape must be (height, width, 3), not %s" % shape_text(first.shape))
    psnr, ssim = _core.image_compare(first, second)
    return {"psnr": psnr, "ssim": ssim}
