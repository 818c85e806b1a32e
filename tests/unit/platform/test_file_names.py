"""Names of files that are made of names from outside, as each system takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.platform import file_names
from broker_core.platform.file_names import decoded, encoded, plain_is_reserved, wide_text


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(file_names, "is_reserved", plain_is_reserved)


@pytest.mark.parametrize("name", ["Orders", "%RETRY%group", "%DLQ%a-b_c", "a.b", "console", "com", "com10", "a+b"])
def test_most_names_are_their_own_on_every_system(name, windows):
    assert encoded(name) == name
    assert decoded(name) == name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a|b", "a~7Cb"),
        ("a:b*c?", "a~3Ab~2Ac~3F"),
        ("end.", "end~2E"),
        ("...", "..~2E"),
        ("CON", "~43ON"),
        ("nul.x", "~6Eul.x"),
        ("lpt1", "~6Cpt1"),
        ("~", "~7E"),
    ],
)
def test_what_windows_reserves_is_encoded(name, file, windows):
    assert encoded(name) == file
    assert not plain_is_reserved(file)
    assert decoded(file) == name


def test_linux_reserves_only_the_separator():
    assert encoded("a|b:CON.") == "a|b:CON."


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=40), st.integers(0, 5))
def test_every_name_is_found_again_and_every_file_is_possible(name, letters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_names, "is_reserved", plain_is_reserved)
        file = encoded(name, letters)
        assert decoded(file) == name
        assert not plain_is_reserved(file)


@pytest.mark.parametrize("file", ["~", "a~7", "~FF", "~7c", "~zz"])
def test_a_name_that_was_not_encoded_stays(file):
    assert decoded(file) == file


def test_letters_are_encoded_from_the_first_on():
    assert encoded("%a1b", 1) == "%~611b"
    assert encoded("%a1b", 2) == "%~611~62"
    assert encoded("ab", 9) == "~61~62"


def test_two_spellings_of_a_name_are_two_files_here(tmp_path):
    (tmp_path / "lock").touch()
    assert not file_names.ignores_case(tmp_path / "lock")
    (tmp_path / "LOCK").touch()
    assert not file_names.ignores_case(tmp_path / "lock")


def test_two_spellings_of_a_name_may_be_one_file(tmp_path, monkeypatch):
    """As on a disk of Windows or macOS: the other spelling finds the same file."""
    (tmp_path / "lock").touch()
    (tmp_path / "LOCK").hardlink_to(tmp_path / "lock")
    assert file_names.ignores_case(tmp_path / "lock")


def test_where_nothing_can_be_tried_case_counts_as_ignored(tmp_path):
    assert file_names.plain_ignores_case(tmp_path / "lock")


@pytest.mark.parametrize(
    ("path", "wide"),
    [
        (r"C:\orbit\store", r"\\?\C:\orbit\store"),
        ("C:/orbit/store", r"\\?\C:\orbit\store"),
        (r"\\server\share\store", r"\\?\UNC\server\share\store"),
        (r"\\?\C:\orbit", r"\\?\C:\orbit"),
        (r"orbit\store", r"orbit\store"),
        (r"\orbit", r"\orbit"),
    ],
)
def test_an_absolute_path_of_windows_may_be_long(path, wide):
    assert wide_text(path) == wide


def test_paths_are_long_here_anyway():
    assert file_names.wide(Path("store")) == Path("store")
    assert file_names.wide_path("a/b") == Path("a/b")
    assert file_names.plain_wide(Path("store")) == Path("store").absolute()
