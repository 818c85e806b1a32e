"""Every need of the system has one module, its own way and a plain one, and nothing else asks which system it is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.platform import ways
from tests.support.plain_ways import HIDDEN, plain_names, platform_modules, take_plain_ways

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("broker_core", "gui", "main.py", "monitoring", "spark_reports")
PLATFORM = ROOT / "broker_core" / "platform"
SYSTEMS = {("sys", "platform"), ("os", "name"), ("platform", "system")}
ONLY_SOME_HAVE = {
    "fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "uvloop",
}  # fmt: skip
POSIX = {(module.__name__, name) for module, names in HIDDEN.items() for name in names} | {
    ("os", "statvfs"),
    ("os", "kill"),
    ("os", "getuid"),
    ("os", "geteuid"),
    ("os", "O_CLOEXEC"),
}

PLAIN_IN_A_CHILD = """
from tests.support.plain_ways import plain_names, platform_modules
exempt = {"locks", "owners"}
for module in platform_modules():
    short = module.__name__.rpartition(".")[2]
    for name in plain_names(module):
        if short not in exempt and getattr(module, name) is not getattr(module, "plain_" + name):
            print(short, name)
"""


def sources(*wanted: str):
    """Modules outside that have one of the wanted names."""
    has_one = re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\b")
    for name in PRODUCT:
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if PLATFORM not in path.parents and has_one.search(source):
                yield path.relative_to(ROOT), ast.parse(source)


def asked(tree: ast.Module, names: set[tuple[str, str]]):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in names:
            yield f"{node.value.id}.{node.attr}", node.lineno


def test_no_module_outside_asks_which_system_it_is():
    found = [(str(path), *one) for path, tree in sources(*map(".".join, SYSTEMS)) for one in asked(tree, SYSTEMS)]
    assert found == []


def test_no_module_outside_calls_what_only_some_systems_have():
    found = [(str(path), *one) for path, tree in sources(*map(".".join, POSIX)) for one in asked(tree, POSIX)]
    found += [
        (str(path), name, node.lineno)
        for path, tree in sources(*ONLY_SOME_HAVE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if name in ONLY_SOME_HAVE
    ]
    assert found == []


@pytest.mark.parametrize("module", platform_modules(), ids=lambda module: module.__name__.rpartition(".")[2])
def test_each_plain_way_has_a_name_that_callers_use(module):
    names = plain_names(module)
    assert all(callable(getattr(module, name)) for name in names)
    assert all(getattr(module, f"plain_{name}").__doc__ for name in names)
    if names:
        assert "lain way" in (module.__doc__ or "")


def test_the_document_has_a_row_for_each_module_and_names_tests_that_exist():
    rows = [line.split(" | ") for line in (ROOT / "docs" / "platform.md").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[0].startswith("| `")]
    modules = {module.__name__.rpartition(".")[2] for module in platform_modules()}
    assert {row[0].strip("| `") for row in rows} == modules - {"ways", "io_uring"}
    named = {name for row in rows for name in re.findall(r"`(test_\w+\.py)`", row[4])}
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert named <= there
    assert all("test" in row[4] for row in rows)


def test_the_switch_makes_a_process_take_every_plain_way_but_those_that_guard_secrets_and_stores():
    environment = {**os.environ, ways.SWITCH: "plain", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_IN_A_CHILD], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert done.stdout == ""


def test_a_test_with_plain_ways_finds_none_of_the_others():
    with pytest.MonkeyPatch.context() as patch:
        take_plain_ways(patch)
        assert not [name for module, names in HIDDEN.items() for name in names if hasattr(module, name)]
    assert hasattr(os, "preadv")
