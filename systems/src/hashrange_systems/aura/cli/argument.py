"""Arguments and exit codes that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

FAILED = 1  # exit code

ShopName = Annotated[str, typer.Argument(metavar="SHOP", help="The domain of the shop, or its URL.")]
PageUrl = Annotated[str, typer.Argument(metavar="URL", help="The URL of the page.")]
Country = Annotated[str | None, typer.Option("--country", help="ISO code: DE, FR, GB ...")]
