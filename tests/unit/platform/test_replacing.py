"""Renames and removals where a file is in use."""

from __future__ import annotations

import errno
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


def test_what_stays_in_use_is_left_as_it_is(both, in_use):
    in_use["left"] = replacing.TRIES
    with pytest.raises(PermissionError):
        replacing.plain_replace(*both)
    assert [path.read_bytes() for path in both] == [b"new", b"old"]
    in_use["left"] = 1
    assert not replacing.plain_remove(both[1])
    assert both[1].read_bytes() == b"old"
    assert replacing.plain_remove(both[1])
    assert not both[1].exists()


def test_a_second_name_keeps_the_content(both, both_platforms):
    source, target = both
    target.chmod(0o600)
    second = target.with_name("second")
    replacing.second_name(target, second)
    replacing.replace(source, target)
    assert (second.read_bytes(), target.read_bytes()) == (b"old", b"new")
    assert second.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError):
        replacing.second_name(source, source.with_name("third"))


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_disk_without_links_gets_a_copy(both, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    second = both[1].with_name("second")
    replacing.second_name(both[1], second)
    assert second.read_bytes() == b"old"
    assert second.stat().st_ino != both[1].stat().st_ino


def test_another_fault_of_a_link_is_reported(both, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        replacing.second_name(both[1], both[1].with_name("second"))
