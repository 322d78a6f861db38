"""A posted form: its values as they were typed, and the contents of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from hashrange_systems.shared.web.same_origin import refuse_cross_site

MAX_FIELDS = 500
MAX_PART_BYTES = 256 * 1024  # of a value; files may be longer


@dataclass(frozen=True, slots=True)
class PostedForm:
    """A posted form."""

    form: FormData
    files: Mapping[str, bytes] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the value of a field as it was typed."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def line(self, name: str) -> str:
        """Return the value of a field without spaces around it."""
        return self.text(name).strip()

    def texts(self, name: str) -> list[str]:
        """Return the values of all fields of a name."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]

    def file(self, name: str) -> bytes | None:
        """Return the content of an uploaded file; None if none was chosen."""
        return self.files.get(name)

    def file_text(self, name: str) -> str:
        """Return an uploaded file as text; empty if none was chosen."""
        return (self.file(name) or b"").decode("utf-8-sig", "replace")


async def read_posted_form(request: Request, max_files: int = 0) -> PostedForm:
    """Return the form of a request; raise FormRejected if a page of another site sent it."""
    refuse_cross_site(request)
    async with request.form(max_files=max_files, max_fields=MAX_FIELDS, max_part_size=MAX_PART_BYTES) as form:
        files = [(name, file) for name, file in form.multi_items() if isinstance(file, UploadFile)]
        return PostedForm(form, {name: await file.read() for name, file in files if file.filename})
