#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Normalise a photograph as a training loader does.

    photo.py [FILE]

Reads the photograph, and for both of two variants (as it is; mirrored with
lifted shadows) takes every colour channel to mean 0 and deviation 1, then
back to 8 bits with two deviations on either side.  Prints one line: the size,
the mean brightness of each variant and a checksum of both.  The line is the
same with quire and without.

Written the way such code is usually written: every step makes a new array of
the picture's size (73 MB of float32 at 6 megapixels), and drops the last one.

Without FILE it takes a 6.3 megapixel photograph of mount Aizkorri by Aitzol
Berasategi (CC-BY-4.0), from Debian's package lomiri-wallpapers-16.04.  A
larger photograph is cut to its middle 3088 by 2056 pixels.
"""
import os
import sys
import zlib

PHOTO = "/usr/share/backgrounds/aitzgorri_by_Aitzol_Berasategi.jpg"
NEEDED = "apt-get install python3-numpy python3-pil lomiri-wallpapers-16.04"
WIDTH, HEIGHT = 3088, 2056


def fail(text):
    sys.exit("photo.py: " + text)


try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    fail(f"{error}; {NEEDED}")


def load(path):
    """The photograph as three planes of bytes: channel, height, width."""
    with Image.open(path) as image:
        if image.width > WIDTH or image.height > HEIGHT:
            left = max(0, (image.width - WIDTH) // 2)
            top = max(0, (image.height - HEIGHT) // 2)
            image = image.crop((left, top, min(left + WIDTH, image.width),
                                min(top + HEIGHT, image.height)))
        return np.asarray(image.convert("RGB")).transpose(2, 0, 1)


def normalise(pixels):
    """Each channel with mean 0 and deviation 1."""
    centred = pixels - pixels.mean(axis=(1, 2), keepdims=True)
    deviation = np.sqrt((centred ** 2).mean(axis=(1, 2), keepdims=True))
    return centred / np.maximum(deviation, 1e-6)


def to_bytes(normal):
    """Two deviations on either side of grey."""
    return np.clip(normal * 64 + 128, 0, 255).astype(np.uint8)


def variants(photo):
    pixels = np.ascontiguousarray(photo).astype(np.float32) / 255
    yield pixels
    yield np.sqrt(pixels[:, :, ::-1])


def main(arguments):
    if len(arguments) > 1:
        fail("usage: photo.py [FILE]")
    path = arguments[0] if arguments else PHOTO
    if not os.path.exists(path):
        fail(f"{path}: no such file" + ("" if arguments else f"; {NEEDED}"))
    try:
        photo = load(path)
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    checksum, means = 0, []
    for pixels in variants(photo):
        out = to_bytes(normalise(pixels))
        means.append(f"{out.mean():.1f}")
        checksum = zlib.crc32(out.tobytes(), checksum)
    height, width = photo.shape[1:]
    print(f"{width}x{height} means {' '.join(means)} checksum {checksum:08x}")


if __name__ == "__main__":
    main(sys.argv[1:])
