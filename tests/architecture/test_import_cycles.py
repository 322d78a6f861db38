"""No module imports itself in a circle; imports for type checkers and imports inside functions count."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {"hashrange": ROOT / "src", "hashrange_systems": ROOT / "systems" / "src"}


def find_modules(source: Path) -> dict[str, Path]:
    return {name_module(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}


def name_module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def find_imported(node: ast.Import | ast.ImportFrom, modules: set[str]) -> Iterator[str]:
    """Yield the modules that a statement imports: a submodule where the imported name is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert not node.level, "imports are absolute"
    for alias in node.names:
        submodule = f"{node.module}.{alias.name}"
        yield submodule if submodule in modules else str(node.module)


def read_graph(modules: dict[str, str]) -> dict[str, set[str]]:
    """Return which modules each module imports, given their source texts."""
    names = set(modules)
    return {
        name: {imported for node in find_imports(ast.parse(text)) for imported in find_imported(node, names)} & names
        for name, text in modules.items()
    }


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
    sources = {name: path.read_text("utf-8") for name, path in modules.items()}
    assert find_cycle(read_graph(sources)) == []


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
    modules = {"pond": "", "pond.duck": "import pond.egg", "pond.egg": statement}
    assert set(find_cycle(read_graph(modules))) == {"pond.duck", "pond.egg"}
