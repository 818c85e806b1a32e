"""No module imports, directly or by others, a module that imports it: at the top, for types only, or in a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOTS = ("broker_core", "gui", "main", "monitoring", "spark_reports")
ROOT = Path(__file__).resolve().parents[2]


def modules_of(root: Path, having: str = "") -> dict[str, ast.Module]:
    """Every module of the product whose source has what the pattern ``having`` finds, by its full name."""
    files = (path for name in ROOTS for path in (root / f"{name}.py", *sorted((root / name).rglob("*.py"))) if path.is_file())
    sources = {_name(path.relative_to(root)): path.read_text(encoding="utf-8") for path in files}
    return {name: ast.parse(source) for name, source in sources.items() if re.search(having, source)}


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module) -> Iterator[str]:
    """Names of what a module imports anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def circle(modules: Mapping[str, ast.Module]) -> list[str]:
    """One circle of imports, its first module again at the end; empty where there is none."""
    graph = {name: {other for other in imported(tree) if other in modules and other != name} for name, tree in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_circle_is_found_however_it_is_imported():
    late = "def f():\n    from gui.a import x"
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import gui.a"
    for source in ("import gui.a", "from gui import a", late, for_types):
        modules = {"gui.a": ast.parse("from gui.b import y"), "gui.b": ast.parse(source)}
        assert set(circle(modules)) == {"gui.a", "gui.b"}, source
    assert circle({"gui.a": ast.parse("import gui.b"), "gui.b": ast.parse("import os")}) == []


def test_the_product_has_no_import_circle():
    modules = modules_of(ROOT)
    assert {name.partition(".")[0] for name in modules} == set(ROOTS)
    assert circle(modules) == []
