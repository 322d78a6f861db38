"""Untrusted images: which become a logo, and which are refused."""

import io
import struct
import zipfile
import zlib

import pytest
from PIL import Image, PngImagePlugin

from hashrange_systems.kelifax.logos.image import LOGO_SIDE, MAX_BYTES, convert_logo


def draw(kind="PNG", size=(64, 48), mode="RGB", **more):
    """A picture as a file."""
    output = io.BytesIO()
    colour = (200, 30, 60, 128)[: len(mode)] if len(mode) > 1 else 1
    Image.new(mode, size, colour).save(output, kind, **more)
    return output.getvalue()


def open_logo(content):
    return Image.open(io.BytesIO(content), formats=["PNG"])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_becomes_a_png(kind):
    converted = convert_logo(draw(kind))
    assert converted.problem == ""
    assert open_logo(converted.content).size == (64, 48)


def test_equal_pixels_are_equal_logos_whatever_surrounds_them():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script> %PDF-1.7")
    noted = draw(pnginfo=notes)
    assert b"script" in noted
    assert convert_logo(noted) == convert_logo(draw())
    assert b"script" not in convert_logo(noted).content


def test_transparency_stays_and_large_pictures_are_made_small():
    logo = open_logo(convert_logo(draw(size=(2000, 500), mode="RGBA")).content)
    assert logo.mode == "RGBA"
    assert logo.size == (LOGO_SIDE, LOGO_SIDE // 4)


def test_the_orientation_of_a_photograph_is_applied_and_its_metadata_left_out():
    photograph = Image.new("RGB", (80, 40), (1, 2, 3))
    exif = photograph.getexif()
    exif[0x0112] = 6  # to be turned by a quarter
    exif[0x010F] = "secret camera"
    output = io.BytesIO()
    photograph.save(output, "JPEG", exif=exif)
    converted = convert_logo(output.getvalue())
    assert open_logo(converted.content).size == (40, 80)
    assert b"secret" not in converted.content


def make_archive():
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr("index.html", "<script>alert(1)</script>")
    return output.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("rest", [make_archive(), b"<html><script>alert(1)</script>", b"%PDF-1.7", b"MZ\x90"])
def test_a_file_that_is_a_picture_and_something_else_is_refused(kind, rest):
    assert "picture" in convert_logo(draw(kind) + rest).problem


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def make_bomb(width, height):
    """A few kilobytes that say they are that large."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1_000_000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a" + bytes(100),
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<?xml version='1.0'?><svg/>",
        b"\x89PNG\r\n\x1a\n",
        draw()[:-20],  # cut off
        b"\xff\xd8\xff" + bytes(50),
        b"RIFF\xff\xff\xff\xffWEBP",
        b"\0" * 10 + draw(),  # something before it
        make_bomb(60_000, 60_000),
        make_bomb(4097, 20),
        draw(size=(8, 8)),
        draw() + bytes(MAX_BYTES),
        draw("BMP"),
        draw("TIFF"),
        draw("ICO"),
    ],
    ids=range(16),
)
def test_what_is_no_small_picture_is_refused_with_a_rule(content):
    converted = convert_logo(content)
    assert converted.problem.startswith(("must be", "must contain"))
    assert converted.content == b""


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_a_moving_picture_becomes_its_first_frame(form):
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue", "lime")]
    output = io.BytesIO()
    frames[0].save(output, form, save_all=True, append_images=frames[1:], lossless=True)
    shown = Image.open(io.BytesIO(convert_logo(output.getvalue()).content))
    assert (getattr(shown, "n_frames", 1), shown.getpixel((5, 5))) == (1, (255, 0, 0))
