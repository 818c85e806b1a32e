"""Where tests keep their files."""

from __future__ import annotations

import os
import tempfile
from types import SimpleNamespace

import pytest

from tests.support import temporary_files
from tests.support.temporary_files import FREE_BYTES, is_fit, keep_in_memory


def file_system(monkeypatch, *, free=FREE_BYTES, total=FREE_BYTES, flags=0):
    found = SimpleNamespace(f_bavail=free, f_blocks=total, f_frsize=1, f_flag=flags)
    monkeypatch.setattr(os, "statvfs", lambda _folder: found)


@pytest.mark.parametrize(
    ("found", "fit"),
    [
        ({}, True),
        ({"free": FREE_BYTES - 1}, False),
        ({"total": 2 * FREE_BYTES}, True),
        ({"total": 2 * FREE_BYTES + 2}, False),
        ({"flags": os.ST_NOEXEC}, False),
    ],
)
def test_a_folder_has_room_and_its_programs_may_run(tmp_path, monkeypatch, found, fit):
    file_system(monkeypatch, **found)
    assert is_fit(tmp_path) is fit


def test_a_folder_that_is_not_there_is_not_fit(tmp_path):
    assert not is_fit(tmp_path / "none")


def test_children_take_the_folder_too_and_a_choice_stands(tmp_path, monkeypatch):
    file_system(monkeypatch)
    monkeypatch.setattr(temporary_files, "MEMORY", tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "chosen"))
    keep_in_memory()
    assert os.environ["TMPDIR"] == str(tmp_path / "chosen")
    monkeypatch.delenv("TMPDIR")
    keep_in_memory()
    assert (os.environ["TMPDIR"], tempfile.gettempdir()) == (str(tmp_path), str(tmp_path))
