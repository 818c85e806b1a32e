"""The folder of sockets is this user's own, whatever others have put in its place."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from pathlib import Path

import pytest

from gui.app import runtime_folder as module
from gui.app.runtime_folder import PATH_BYTES_MAX, is_own_folder, runtime_folder


@pytest.fixture
def shared(monkeypatch):
    """A folder for temporary files that all users share, and no runtime folder of the session."""
    with tempfile.TemporaryDirectory(prefix="o-") as folder:
        place = Path(folder) / "tmp"
        place.mkdir()
        place.chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(Path(folder) / "cache"))
        monkeypatch.setattr(module, "_SESSIONS", Path(folder) / "run")
        yield place


def of_cache() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "orbit" / "runtime"


def taken(shared: Path) -> Path:
    return shared / f"orbit-{os.geteuid()}"


def test_the_folder_of_the_session_is_used(shared, monkeypatch):
    session = shared.parent / "session"
    session.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert runtime_folder() == session / "orbit"
    assert stat.S_IMODE((session / "orbit").stat().st_mode) == 0o700


def test_the_session_is_found_without_the_variable(shared):
    session = shared.parent / "run" / str(os.geteuid())
    session.mkdir(parents=True, mode=0o700)
    assert runtime_folder() == session / "orbit"


def test_without_a_session_it_is_among_temporary_files_and_nothing_is_printed(shared, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert runtime_folder() == taken(shared)
    assert stat.S_IMODE(taken(shared).stat().st_mode) == 0o700
    assert runtime_folder() == taken(shared), "the second start meets the first"
    assert capfd.readouterr() == ("", "")


def test_a_link_in_its_place_is_not_followed(shared):
    elsewhere = shared.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    taken(shared).symlink_to(elsewhere)
    assert runtime_folder() == of_cache()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("left", ["a file", "a link to nothing", "writable by all", "a pipe"])
def test_what_is_no_folder_of_this_user_alone_is_passed_over(shared, left):
    place = taken(shared)
    if left == "a file":
        place.write_text("")
    elif left == "a link to nothing":
        place.symlink_to(shared / "nothing")
    elif left == "a pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
        place.chmod(0o777)
    assert runtime_folder() == of_cache()


def test_a_folder_of_another_user_is_passed_over(shared, monkeypatch):
    folder = shared / "folder"
    folder.mkdir(mode=0o700)
    assert is_own_folder(folder)
    another = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: another)
    assert not is_own_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="a folder of another user is made by root")
def test_whoever_makes_the_folder_first_does_not_keep_others_out(shared):
    taken(shared).mkdir(mode=0o700)
    os.chown(taken(shared), 12_345, 12_345)
    assert runtime_folder() == of_cache()


def test_a_shared_folder_where_others_may_rename_is_passed_over(shared):
    shared.chmod(0o777)
    assert runtime_folder() == of_cache()


def test_no_safe_place_is_none(shared):
    taken(shared).write_text("")
    Path(os.environ["XDG_CACHE_HOME"]).write_text("")
    assert runtime_folder() is None


def test_a_place_with_too_long_a_path_is_passed_over(shared, monkeypatch):
    session = shared.parent / ("s" * PATH_BYTES_MAX)
    session.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert runtime_folder(28) == taken(shared)
