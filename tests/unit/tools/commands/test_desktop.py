"""The entry of a Linux desktop: what is written, where, and what is left after it is removed."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.children import program_command
from broker_core.errors import OrbitError, UsageError
from broker_core.platform import programs
from broker_core.tools.commands.desktop import entry_text, exec_word, main, user_data_folder

ICON = b"<svg/>"
PATHS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("shutil.which", lambda _name: None)
    return tmp_path / "data"


def entry_of(path: Path) -> configparser.SectionProxy:
    reader = configparser.RawConfigParser(strict=True)
    reader.optionxform = str  # type: ignore[assignment,method-assign]  # keys are case-sensitive
    reader.read_string(path.read_text(encoding="utf-8"))
    return reader["Desktop Entry"]


def read_exec(text: str) -> list[str]:
    """The words that a desktop runs (Source: Desktop Entry Specification 1.5, "The Exec key")."""
    string = re.sub(r"\\(.)", lambda found: {"s": " ", "n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), text)
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', string, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL).replace("%%", "%") if quoted else plain for quoted, plain in words]


def test_the_entry_starts_orbit_with_the_link_and_is_removed_again(data_folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--install"], lambda: ICON) == 0
    path = data_folder / "applications" / "orbit.desktop"
    entry = entry_of(path)
    assert read_exec(entry["Exec"]) == [*program_command(), "%u"]
    assert (entry["Type"], entry["MimeType"], entry["Icon"]) == ("Application", "x-scheme-handler/orbit;", "orbit")
    icon = data_folder / "icons" / "hicolor" / "scalable" / "apps" / "orbit.svg"
    assert icon.read_bytes() == ICON
    assert {path.stat().st_mode & 0o777, icon.stat().st_mode & 0o777} == {0o644}
    assert capsys.readouterr().out == f"installed {path}\ninstalled {icon}\n"
    assert main(["--remove"], lambda: ICON) == 0
    assert not [path for path in data_folder.rglob("*") if path.is_file()]
    assert main(["--remove"], lambda: ICON) == 0
    assert capsys.readouterr().out.endswith("nothing was installed\n")


def test_an_entry_of_before_is_replaced(data_folder: Path):
    path = data_folder / "applications" / "orbit.desktop"
    path.parent.mkdir(parents=True)
    path.write_text("[Desktop Entry]\nExec=/gone/orbit\n", encoding="utf-8")
    main(["--install"], lambda: ICON)
    assert "/gone" not in path.read_text(encoding="utf-8")


@given(PATHS)
def test_any_path_is_started_as_it_is(path: str):
    line = next(line for line in entry_text([path]).split("\n") if line.startswith("Exec="))
    assert read_exec(line.removeprefix("Exec=")) == [path, "%u"]


def test_a_path_with_a_line_end_is_refused():
    with pytest.raises(UsageError, match="line end"):
        exec_word("/opt/a\nb")


def test_a_folder_that_cannot_be_written_is_told(data_folder: Path):
    data_folder.write_text("a file", encoding="utf-8")
    with pytest.raises(OrbitError, match="data"):
        main(["--install"], lambda: ICON)


def test_a_relative_data_folder_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_data_folder() == tmp_path / ".local" / "share"


def test_other_systems_have_no_such_entry(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(programs, "HAS_DESKTOP_ENTRIES", False)
    with pytest.raises(UsageError, match="Linux"):
        main(["--install"], lambda: ICON)
