"""PDF documents with numbered pages, text and tables. Needs the extra `pdf`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from fpdf import FPDF, FontFace
from fpdf.enums import XPos, YPos

from hashrange_systems.shared.reports.fonts import Fonts, LoadedFont, find_fonts, load_fonts

BLUE, SOFT, LINE = (36, 87, 214), (88, 97, 114), (224, 228, 234)

Cells = tuple[str, ...]


class PdfDocument(FPDF):
    """An A4 document; `texts` are what it will contain, to choose the fonts by."""

    def __init__(
        self,
        *,
        title: str,
        creator: str,
        page_label: str,
        created_at: datetime,
        texts: Iterable[str],
        fonts: Fonts | None = None,
    ) -> None:
        super().__init__(format="A4")
        self.page_label = page_label
        self.set_margins(10, 14)
        self.set_auto_page_break(auto=True, margin=18)
        self.set_title(title)
        self.set_creator(creator)
        self.set_lang("en")
        self.set_creation_date(created_at)
        self.font: LoadedFont = load_fonts(self, fonts if fonts is not None else find_fonts(), texts)

    def footer(self) -> None:
        """Write the page number."""
        self.set_y(-13)
        self.set_style(8, colour=SOFT)
        self.cell(0, 6, f"{self.page_label} · page {self.page_no()} of {{nb}}", align="C")

    def set_style(self, size: float, style: str = "", colour: tuple[int, int, int] = (21, 24, 30)) -> None:
        """Set font size, style and colour."""
        self.set_font(self.font.family, style, size)
        self.set_text_color(*colour)

    def write_line(self, text: str, height: float) -> None:
        """Write a text with line breaks."""
        self.multi_cell(0, height, self.font.replace_missing(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def write_table(self, headings: Cells, widths: Sequence[int], rows: Sequence[Cells], numbers: int = 0) -> None:
        """Write a table; the last `numbers` columns are right-aligned, and headings repeat on each page."""
        self.set_style(9)
        self.set_draw_color(*LINE)
        self.set_fill_color(255)  # resets the previous fill colour
        aligned = ["LEFT"] * (len(headings) - numbers) + ["RIGHT"] * numbers
        heading = FontFace(emphasis="BOLD", color=SOFT, fill_color=(245, 246, 248))
        with self.table(
            col_widths=tuple(widths),
            text_align=tuple(aligned),
            headings_style=heading,
            borders_layout="HORIZONTAL_LINES",
            line_height=5,
            padding=(1.2, 1.5),
        ) as table:
            for cells in (headings, *rows):
                row = table.row()
                for cell in cells:
                    row.cell(self.font.replace_missing(cell))
