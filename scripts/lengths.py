"""Prints the longest files and functions of some folders: examples for a reader to judge, no test limits a length.

python scripts/lengths.py src systems/src
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

SHOWN = 10


def main(folders: list[Path]) -> None:
    """Print how long files and functions usually are in each folder, and the longest ones with their places."""
    for folder in folders:
        files = {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
        print_longest(f"files of {folder}", [(len(text.splitlines()), str(path)) for path, text in files.items()])
        functions = [found for path, text in files.items() for found in find_functions(path, text)]
        print_longest(f"functions of {folder}", functions)


def find_functions(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines and the place of each function, nested ones and methods included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{path}:{node.lineno} {node.name}"


def print_longest(title: str, lengths: list[tuple[int, str]]) -> None:
    """Print the median, the 95th percentile and the longest."""
    if not lengths:
        sys.exit(f"there are no {title}")
    lines = sorted(length for length, _ in lengths)
    print(f"{len(lines):,} {title}: median {median(lines):.0f}, 95 % up to {lines[len(lines) * 95 // 100]} lines")
    for length, place in sorted(lengths, reverse=True)[:SHOWN]:
        print(f"{length:6,}  {place}")
    print()


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
