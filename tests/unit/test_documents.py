"""The documents: their sizes, their links, and the paths that ARCHITECTURE.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
MODULE_PATH = re.compile(r"`((?:broker_core|gui|monitoring|spark_reports|resources|tests|docs)/[\w/.-]+)`")
PLACEHOLDER = re.compile(r"<\w+>")
FOLDERS = ("docs", "tests", "benchmarks", "resources")
LINE_MAX = 120
DECISION_LINES_MAX = 25
DECISION_HEADINGS = ["Context", "Choice", "Figure", "Consequence"]


def documents() -> list[Path]:
    """Every Markdown file but those of the environment."""
    return sorted([*ROOT.glob("*.md"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*.md"))])


def decisions() -> list[Path]:
    return sorted(path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def first_release(changelog: str) -> str:
    """The section of the oldest release."""
    return "## " + changelog.rsplit("\n## ", maxsplit=1)[-1]


def test_the_architecture_is_short():
    assert len(text_of("ARCHITECTURE.md").encode()) <= 12_288


def test_the_readme_is_short():
    assert len(text_of("README.md").splitlines()) <= 120


def test_contributing_is_short():
    assert len(text_of("CONTRIBUTING.md").encode()) <= 5 * 1_024


def test_the_first_release_is_short():
    section = first_release(text_of("CHANGELOG.md"))
    assert section.startswith("## 0.1.0 — ")
    assert len(section.splitlines()) <= 60


def test_a_new_change_has_its_place():
    headings = [line for line in text_of("CHANGELOG.md").splitlines() if line.startswith("## ")]
    assert headings[0] == "## Unreleased"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "README.md", "CHANGELOG.md"])
def test_lines_fit_an_editor(name: str):
    # A table row cannot be broken.
    long = [line for line in text_of(name).splitlines() if len(line) > LINE_MAX and not line.startswith("| ")]
    assert long == []


def test_there_are_documents():
    assert {"README.md", "ARCHITECTURE.md", "docs/index.md"} <= {path.relative_to(ROOT).as_posix() for path in documents()}


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_resolves(path: Path):
    links = LINK.findall(CODE.sub("", path.read_text(encoding="utf-8")))
    relative = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in relative if not (path.parent / link).exists()] == []


def test_every_path_that_the_architecture_names_exists():
    named = set(MODULE_PATH.findall(text_of("ARCHITECTURE.md")))
    assert len(named) > 20
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_a_placeholder_of_the_architecture_stands_in_a_folder_that_exists():
    named = re.findall(r"`((?:gui|tests|spark_reports)/[\w/.<>-]*<\w+>[\w/.<>-]*)`", text_of("ARCHITECTURE.md"))
    assert named
    folders = [PLACEHOLDER.split(name)[0].rpartition("/")[0] for name in named]
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_table_of_conformance_names_tests_that_exist():
    named = re.findall(r"(u )?`([a-z0-9_/]+/test_\w+\.py)`([^`;|\n]*)", text_of("tests/README.md"))
    assert len(named) > 40
    for is_unit, path, tests in named:
        source = text_of(f"tests/{'unit/' if is_unit else ''}{path}")
        assert [test for test in re.findall(r"\w+_\w+", tests) if f"def test_{test}" not in source] == [], path


def test_the_index_of_documents_lists_every_document():
    index = text_of("docs/index.md")
    listed = {(ROOT / "docs" / link).resolve() for link in LINK.findall(index) if "://" not in link}
    missing = [path for path in (ROOT / "docs").glob("*.md") if path.name != "index.md" and path not in listed]
    assert missing == []


def test_the_index_of_decisions_lists_each_once_under_its_title():
    listed = re.findall(r"- \[(\d+)\]\((\S+?)\) (.+)", text_of("docs/decisions/README.md"))
    files = {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in decisions()}
    assert sorted(name for _, name, _ in listed) == sorted(files)
    assert [name for number, name, title in listed if files[name] != f"# {number} {title}" or name[:3] != number] == []


@pytest.mark.parametrize("path", decisions(), ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_its_headings(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings == [heading for heading in DECISION_HEADINGS if heading in headings or heading != "Figure"]
    assert len(lines) <= DECISION_LINES_MAX
    assert max(map(len, lines)) <= LINE_MAX
