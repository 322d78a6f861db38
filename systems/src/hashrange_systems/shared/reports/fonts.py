"""Finds fonts for PDFs on this machine, with fallbacks for missing characters.

If there are none, the built-in fonts are used: they support Latin-1 only, and other characters become `?`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fpdf import FPDF
from fpdf.fonts import TTFFont

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts", "/System/Library/Fonts", "C:/Windows/Fonts")
FAMILIES = (
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("Arial.ttf", "Arial Bold.ttf"),
    ("arial.ttf", "arialbd.ttf"),
)
MORE_CHARACTERS = (
    *("NotoSansCJK-Regular.ttc", "DroidSansFallbackFull.ttf", "wqy-zenhei.ttc", "Arial Unicode.ttf", "msgothic.ttc"),
    *("NotoSansArabic-Regular.ttf", "NotoSansHebrew-Regular.ttf", "NotoSansDevanagari-Regular.ttf"),
    *("NotoEmoji-Regular.ttf", "Symbola.ttf", "seguisym.ttf", "unifont.ttf"),
)
BODY = "body"
BUILT_IN = "helvetica"


@dataclass(frozen=True, slots=True)
class Fonts:
    """Font files: a family and fallbacks; each may be missing."""

    regular: Path | None = None
    bold: Path | None = None
    more: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedFont:
    """A font family that is loaded into a document, and its characters; None for Latin-1."""

    family: str
    characters: frozenset[int] | None

    def replace_missing(self, text: str) -> str:
        """Return the text with `?` for each character that the fonts lack."""
        if self.characters is None:
            return text.replace("…", "...").encode("latin-1", "replace").decode("latin-1")
        return "".join(sign if ord(sign) in self.characters or sign.isspace() else "?" for sign in text)


@cache
def find_fonts() -> Fonts:
    """Return the fonts of this machine."""
    files = {name: Path(folder, name) for root in FOLDERS for folder, _, names in os.walk(root) for name in names}
    more = tuple(files[name] for name in MORE_CHARACTERS if name in files)
    family = next((family for family in FAMILIES if family[0] in files), None)
    if family is None:
        return Fonts(more=more)
    return Fonts(files[family[0]], files.get(family[1], files[family[0]]), more)


def load_fonts(pdf: FPDF, fonts: Fonts, texts: Iterable[str]) -> LoadedFont:
    """Load the fonts that the texts need into a document; no more, because some are large."""
    if fonts.regular is None or fonts.bold is None:
        return LoadedFont(BUILT_IN, None)
    pdf.add_font(BODY, "", fonts.regular)
    pdf.add_font(BODY, "B", fonts.bold)
    known = read_characters(pdf, BODY) & read_characters(pdf, f"{BODY}B")
    wanted = {ord(sign) for text in texts for sign in text if not sign.isspace()}
    fallbacks = []
    for number, path in enumerate(fonts.more):
        if wanted <= known:
            break
        pdf.add_font(f"more{number}", "", path)
        fallbacks.append(f"more{number}")
        known |= read_characters(pdf, f"more{number}")
    pdf.set_fallback_fonts(fallbacks, exact_match=False)
    return LoadedFont(BODY, known)


def read_characters(pdf: FPDF, key: str) -> frozenset[int]:
    """Return the characters of a loaded font."""
    font = pdf.fonts[key]
    assert isinstance(font, TTFFont)
    return frozenset(font.cmap)
