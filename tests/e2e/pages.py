"""The pages of the documentation and the code blocks in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "bench" / "README.md", ROOT / "systems" / "README.md"])
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCHEMA_PAGES = (
    "tutorial.md",
    "howto/adopt-a-table.md",
    "howto/backfill.md",
    "howto/change-a-table.md",
    "howto/change-items.md",
    "howto/create-tables.md",
    "howto/declare-a-table.md",
    "howto/make-sample-items.md",
    "howto/migrate.md",
    "howto/model-a-lifecycle.md",
    "howto/move-data.md",
    "howto/page-through-results.md",
    "howto/handle-changes.md",
    "howto/read-changes.md",
    "howto/explore-a-table.md",
    "howto/read-items.md",
    "howto/run-a-transaction.md",
    "howto/separate-tenants.md",
    "howto/test-a-schema.md",
    "howto/use-an-existing-table.md",
    "howto/use-one-declaration-for-several-tables.md",
    "howto/watch-calls.md",
    "reference/vocabulary.md",
)


def read(page: str) -> str:
    """Return the text of a page of `docs`."""
    return (DOCS / page).read_text("utf-8")


def find_blocks(text: str, *languages: str) -> list[str]:
    """Return the code blocks of a page in those languages."""
    return [code for language, code in BLOCK.findall(text) if language in languages]


def name_page(page: Path) -> str:
    """Return the path of a page from the root, as the id of a test."""
    return str(page.relative_to(ROOT))
