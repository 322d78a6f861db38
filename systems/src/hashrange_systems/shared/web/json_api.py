"""Creates the FastAPI application of a JSON API that is mounted under /api."""

from __future__ import annotations

from fastapi import FastAPI

from hashrange import __version__


def make_json_api(title: str, description: str, base_url: str) -> FastAPI:
    """Return an application with an OpenAPI document, and without the pages that show it."""
    return FastAPI(
        title=title,
        version=__version__,
        description=description,
        docs_url=None,  # its pages load scripts from other sites
        redoc_url=None,
        servers=[{"url": f"{base_url}/api"}],
        root_path_in_servers=False,
    )
