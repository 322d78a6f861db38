"""Converts an untrusted image to a logo: decoded, made small, and encoded again as PNG.

Runs in the sandbox: a decoder is the part of a web application that is attacked first. What is refused is returned
as a text, because it is a rule for the user and no failure. Metadata, colour profiles and further frames are left out.
"""

from __future__ import annotations

import io
import struct
import warnings
from dataclasses import dataclass

from PIL import Image, ImageOps

MAX_BYTES = 2 * 1024 * 1024
MAX_SIDE = 4096
MIN_SIDE = 16
LOGO_SIDE = 256  # pixels of the stored logo: the site shows it at 64, with up to four device pixels each
FORMATS = ("PNG", "JPEG", "WEBP")
NOT_A_PICTURE = "must be a PNG, JPEG or WebP picture"
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


@dataclass(frozen=True, slots=True)
class LogoConversion:
    """The PNG of a logo; or the rule that the picture breaks."""

    content: bytes = b""
    problem: str = ""


def convert_logo(content: bytes) -> LogoConversion:
    """Decode a picture and encode it again, or say which rule it breaks."""
    if problem := check_container(content):
        return LogoConversion(problem=problem)
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            problem = check_size(*picture.size)
            return LogoConversion(problem=problem) if problem else LogoConversion(content=encode_logo(picture))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - decoders raise anything for damaged data
        return LogoConversion(problem=f"{NOT_A_PICTURE}, and this one cannot be read")


def check_container(content: bytes) -> str:
    """Return the rule that the file breaks: its size, its type, and that nothing follows the picture."""
    if len(content) > MAX_BYTES:
        return f"must be at most {MAX_BYTES // 1024 // 1024} MB"
    end = find_end(content)
    if end is None:
        return NOT_A_PICTURE
    if content[end:].strip(b"\0\r\n"):
        return "must contain nothing but the picture: other data follows it"
    return ""


def find_end(content: bytes) -> int | None:
    """Return where the picture ends by its own account; None if it is of no known type or has no end."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return find_png_end(content)
    if content.startswith(b"\xff\xd8\xff"):
        end = content.rfind(b"\xff\xd9")
        return end + 2 if end > 0 else None
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        size = struct.unpack("<I", content[4:8])[0] + 8
        return int(size) if size <= len(content) else None
    return None


def find_png_end(content: bytes) -> int | None:
    """Return where the last chunk of a PNG ends; None if the chunks do not lead to one."""
    at = 8
    while at + 12 <= len(content):
        length = struct.unpack(">I", content[at : at + 4])[0]
        if content[at : at + 12] == PNG_END:
            return at + 12
        at += 12 + length
    return None


def check_size(width: int, height: int) -> str:
    """Return the rule that the size in pixels breaks."""
    if max(width, height) > MAX_SIDE:
        return f"must be at most {MAX_SIDE} pixels wide and high, not {width} x {height}"
    if min(width, height) < MIN_SIDE:
        return f"must be at least {MIN_SIDE} pixels wide and high, not {width} x {height}"
    return ""


def encode_logo(picture: Image.Image) -> bytes:
    """Return the pixels as a small PNG: upright, in RGB or with transparency."""
    upright = ImageOps.exif_transpose(picture)
    has_alpha = "A" in upright.getbands() or "transparency" in upright.info
    small = upright.convert("RGBA" if has_alpha else "RGB")
    small.thumbnail((LOGO_SIDE, LOGO_SIDE), Image.Resampling.LANCZOS)
    plain = Image.new(small.mode, small.size)
    plain.paste(small)
    output = io.BytesIO()
    plain.save(output, "PNG", optimize=True)
    return output.getvalue()
