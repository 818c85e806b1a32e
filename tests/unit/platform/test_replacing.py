"""Renames and removals where a file is in use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from broker_core.platform import replacing


@pytest.fixture
def in_use(monkeypatch):
    """Files that another program has open, as on Windows, for so many tries."""
    tries = {"left": 0}
    rename, unlink = os.replace, Path.unlink

    def refused(call):
        def tried(*arguments, **named):
            if tries["left"]:
                tries["left"] -= 1
                raise PermissionError(13, "the process cannot access the file because it is being used by another process")
            return call(*arguments, **named)

        return tried

    monkeypatch.setattr(os, "replace", refused(rename))
    monkeypatch.setattr(Path, "unlink", refused(unlink))
    monkeypatch.setattr(replacing, "PAUSE_S", 0)
    return tries


@pytest.fixture
def both(tmp_path):
    source, target = tmp_path / "new", tmp_path / "file"
    source.write_bytes(b"new")
    target.write_bytes(b"old")
    return source, target


def test_a_file_takes_the_name_of_another(both, both_platforms):
    source, target = both
    replacing.replace(source, target)
    assert target.read_bytes() == b"new"
    assert not source.exists()


def test_a_removed_file_is_gone_and_a_missing_one_counts_as_removed(both, both_platforms):
    assert replacing.remove(both[0])
    assert not both[0].exists()
    assert replacing.remove(both[0])


def test_what_is_in_use_for_a_moment_is_tried_again(both, in_use):
    in_use["left"] = replacing.TRIES - 1
    replacing.plain_replace(*both)
    assert both[1].read_bytes() == b"new"
    in_use["left"] = replacing.TRIES - 1
    assert replacing.plain_remove(both[1])
    assert not both[1].exists()


def test_what_stays_in_use_is_left_as_it_is(both, in_use):
    in_use["left"] = replacing.TRIES
    with pytest.raises(PermissionError):
        replacing.plain_replace(*both)
    assert [path.read_bytes() for path in both] == [b"new", b"old"]
    in_use["left"] = replacing.TRIES
    assert not replacing.plain_remove(both[1])
    assert both[1].read_bytes() == b"old"
