"""The key id and the secret that signatures are verified with: from two options, or a file of NAME=value lines."""

from __future__ import annotations

from pathlib import Path

import typer

KEY_ID, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"


def choose_credentials(access_key: str | None, secret_key: str | None, file: Path | None) -> tuple[str, str] | None:
    """Return the key id and the secret, if any were given."""
    if bool(access_key) != bool(secret_key):
        raise typer.BadParameter("--access-key and --secret-key go together")
    if access_key and secret_key:
        return access_key, secret_key
    return read_credentials(file) if file else None


def read_credentials(file: Path) -> tuple[str, str]:
    """Read the key id and the secret from a file."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines)
    found = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    if not found.get(KEY_ID) or not found.get(SECRET):
        raise typer.BadParameter(f"{file} must have a line {KEY_ID}=... and a line {SECRET}=...")
    return found[KEY_ID], found[SECRET]
