"""Docstrings and comments cite the specifications as `docs/spec/NAME.md §N`; each file and section exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("broker_core", "monitoring", "spark_reports", "gui", "benchmarks", "tests")
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)*)\b", re.MULTILINE)
PIECES = re.compile(r'(?P<end>"""|\n\s*\n)|docs/spec/(?P<name>\w+\.md)|§(?P<section>\d+(?:\.\d+)*)?')
"""A section belongs to the file named last before it in the same docstring or paragraph."""


def sections_of(path: Path) -> set[str]:
    return set(HEADING.findall(path.read_text("utf-8")))


SPECIFICATIONS = {path.name: sections_of(path) for path in (ROOT / "docs" / "spec").glob("*.md")}


def faults(text: str) -> Iterator[str]:
    """What is wrong with the citations in a text."""
    name = None
    for piece in PIECES.finditer(text):
        section = piece["section"]
        if piece["end"]:
            name = None
        elif piece["name"]:
            name = piece["name"]
            if name not in SPECIFICATIONS:
                yield f"there is no docs/spec/{name}"
        elif name is None:
            yield f"§{section} names no file"
        elif section not in SPECIFICATIONS.get(name, ()):
            yield f"docs/spec/{name} has no §{section}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_citation_names_a_file_and_a_section_that_exist(folder):
    texts = {path: path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)}
    assert {str(path.relative_to(ROOT)): list(faults(text)) for path, text in texts.items() if any(faults(text))} == {}
    assert any("docs/spec/" in text for text in texts.values())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("docs/spec/store.md §4.1 to §4.9", "docs/spec/store.md has no §4.9"),
        ("docs/spec/stores.md", "there is no docs/spec/stores.md"),
        ("docs/spec/store.md §4.1.\n\nSee §4.2.", "§4.2 names no file"),
        ('"""docs/spec/store.md §4.1."""\n"""§4.2"""', "§4.2 names no file"),
        ("docs/spec/store.md § 4", "docs/spec/store.md has no §None"),
    ],
)
def test_a_citation_that_leads_nowhere_is_a_fault(text, fault):
    assert list(faults(text)) == [fault]
