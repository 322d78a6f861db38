"""No module imports itself in a circle; imports for type checkers and imports inside functions count."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.syntax import ROOT, find_statements, select_statements

DISTRIBUTIONS = {"hashrange": ROOT / "src", "hashrange_systems": ROOT / "systems" / "src"}


def find_modules(source: Path) -> dict[str, Path]:
    return {name_module(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}


def name_module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find_imported(node: ast.Import | ast.ImportFrom, modules: set[str]) -> Iterator[str]:
    """Yield the modules that a statement imports: a submodule where the imported name is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert not node.level, "imports are absolute"
    for alias in node.names:
        submodule = f"{node.module}.{alias.name}"
        yield submodule if submodule in modules else str(node.module)


def read_graph(modules: dict[str, list[ast.stmt]]) -> dict[str, set[str]]:
    """Return which modules each module imports, given their statements."""
    names = set(modules)
    graph: dict[str, set[str]] = {}
    for name, statements in modules.items():
        imports = [node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
        graph[name] = names & {found for node in imports for found in find_imported(node, names)}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_no_module_imports_itself_in_a_circle(distribution):
    modules = find_modules(DISTRIBUTIONS[distribution])
    assert distribution in modules
    assert find_cycle(read_graph({name: find_statements(path) for name, path in modules.items()})) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from pond.duck import Duck",
        "from pond import duck",
        "import pond.duck",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pond.duck import Duck",
        "try:\n    from pond.duck import Duck\nexcept ImportError:\n    pass",
        "def hatch():\n    import pond.duck",
    ],
)
def test_every_import_counts(statement):
    sources = {"pond": "", "pond.duck": "import pond.egg", "pond.egg": statement}
    modules = {name: select_statements(ast.parse(text)) for name, text in sources.items()}
    assert set(find_cycle(read_graph(modules))) == {"pond.duck", "pond.egg"}
