"""The systems use only the public API of hashrange: what they cannot do with it, others cannot do either."""

import ast
from pathlib import Path

import hashrange
from hashrange import provision

PUBLIC = {
    "hashrange": {*hashrange.__all__, "open", "dump_item", "load_item", "__version__"},  # type: ignore[attr-defined]
    "hashrange.provision": set(provision.__all__),
}
SOURCE = Path(__file__).parents[1] / "src" / "hashrange_systems"


def find_imports(path):
    """Yield what a file imports of hashrange: a module, and a name in it or None."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "hashrange":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.partition(".")[0] == "hashrange")


def test_the_systems_import_only_public_names_of_hashrange():
    imports = {(str(path.relative_to(SOURCE)), *found) for path in SOURCE.rglob("*.py") for found in find_imports(path)}
    assert len(imports) > 50, "the sources are not where this test looks"
    assert [each for each in imports if each[1] not in PUBLIC] == []
    for module, exported in PUBLIC.items():
        assert {name for _, imported, name in imports if imported == module and name is not None} - exported == set()
