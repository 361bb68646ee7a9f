#!/usr/bin/env python3
"""Makes the images of tests/unit/libraries/jpeg: JPEG streams by Pillow, which
has libjpeg-turbo, and what that reads in them.

usage: make_jpegs.py FOLDER

NAME.jpg is the stream, NAME.raw its pixels as Pillow decodes them (red, green and
blue, or gray).
"""
import io
import sys

from PIL import Image


def picture(width, height):
    """Soft waves, an edge, and something of each color."""
    image = Image.new("RGB", (width, height))
    for y in range(height):
        for x in range(width):
            image.putpixel((x, y), (
                (x * 255) // (width - 1),
                (y * 255) // (height - 1),
                200 if (x - width // 2) ** 2 + (y - height // 2) ** 2 < 40
                else 40 + (x * y) % 60))
    return image


def main():
    folder = sys.argv[1]
    color = picture(37, 29)
    images = {
        "gray": (color.convert("L"), {"quality": 90}),
        "ycc444": (color, {"quality": 95, "subsampling": 0}),
        "ycc422": (color, {"quality": 90, "subsampling": 1}),
        "ycc420": (color, {"quality": 75, "subsampling": 2}),
        "progressive": (color, {"quality": 85, "subsampling": 2,
                                "progressive": True}),
        "progressive444": (color, {"quality": 50, "subsampling": 0,
                                   "progressive": True}),
        "restart": (color, {"quality": 85, "subsampling": 2,
                            "restart_marker_blocks": 2}),
        "optimized": (color, {"quality": 85, "subsampling": 0,
                              "optimize": True}),
        "rgb": (color, {"quality": 90, "keep_rgb": True}),
        "cmyk": (color.convert("CMYK"), {"quality": 90}),
        "turned": (color, {"quality": 90, "subsampling": 0,
                           "exif": Image.Exif()}),
    }
    images["turned"][1]["exif"][0x112] = 6
    for name, (image, options) in images.items():
        stream = io.BytesIO()
        image.save(stream, "JPEG", **options)
        with open("%s/%s.jpg" % (folder, name), "wb") as file:
            file.write(stream.getvalue())
        read = Image.open(io.BytesIO(stream.getvalue()))
        if read.mode == "CMYK":
            read = read.convert("RGB")
        with open("%s/%s.raw" % (folder, name), "wb") as file:
            file.write(read.tobytes())


if __name__ == "__main__":
    main()
