"""Renders templates: escaped, aware of the mount path, with URLs of static files that browsers can cache."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.text import format_duration, format_iso_time, format_time

SHARED_STATIC = Path(__file__).with_name("static")
A_YEAR = "public, max-age=31536000, immutable"


def make_environment(package: str) -> Environment:
    """Return the templates of a package, and the shared ones: values are escaped, and an undefined name is an error."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"moment": lambda at: format_time(to_ms(at)), "duration": format_duration}
    environment.filters |= {"iso_time": format_iso_time, "plain_time": format_time}  # of milliseconds
    return environment


class CachedStaticFiles(StaticFiles):
    """Static files that browsers may cache for a year: their URLs contain a hash of the content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with a header that allows caching."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = A_YEAR
        return response


def make_static_files(folder: Path) -> CachedStaticFiles:
    """Return the static files of a folder, and those that all systems share: look.css and live.js."""
    return CachedStaticFiles(directory=folder, packages=[(__package__, "static")])


def find_mount_path(request: Request) -> str:
    """Return the path that the system is mounted at; empty when it is not mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def redirect_to(request: Request, path: str, note: str = "") -> RedirectResponse:
    """Redirect to a page of the system; `note` is the name of a message to show there."""
    return RedirectResponse(f"{find_mount_path(request)}{quote(path)}{f'?note={note}' if note else ''}", 303)


def hash_static_files(folder: Path) -> Mapping[str, str]:
    """Return a hash of each static file by its name, the shared ones too, for URLs that change with the content."""
    files = [path for each in (SHARED_STATIC, folder) for path in each.iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in files}
