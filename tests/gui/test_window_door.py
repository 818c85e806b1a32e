"""One window for a store: a second start hands its link over."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from broker_core.platform import local_sockets
from gui.app.window_door import WindowDoor, reach_window, socket_path


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch):
    # A path of a socket has at most 107 bytes, which the temporary folders of tests in several processes can exceed.
    with tempfile.TemporaryDirectory(prefix="orbit-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "orbit"


@pytest.fixture
def door(qapp, tmp_path, request):
    if "both_platforms" in request.fixturenames:
        request.getfixturevalue("both_platforms")  # before the door listens
    made = WindowDoor(str(tmp_path / "store"), qapp)
    yield made
    made.close()
    made.deleteLater()


def reach(store, link) -> tuple[threading.Thread, list[bool]]:
    """A second start, as another process would: not on the thread of the window."""
    reached: list[bool] = []
    thread = threading.Thread(target=lambda: reached.append(reach_window(store, link)))
    thread.start()
    return thread, reached


@pytest.mark.usefixtures("both_platforms")
@pytest.mark.parametrize("link", ["orbit://topic/orders", ""])
def test_a_second_start_reaches_the_window(door, qtbot, tmp_path, link):
    with qtbot.waitSignal(door.asked) as asked:
        thread, reached = reach(str(tmp_path / "store"), link)
    thread.join()
    assert reached == [True]
    assert asked.args == [link]


@pytest.mark.usefixtures("both_platforms")
def test_a_start_on_another_store_opens_its_own_window(door, tmp_path):
    assert not reach_window(str(tmp_path / "other"), "")


@pytest.mark.usefixtures("both_platforms")
def test_a_closed_window_is_not_reached(door, tmp_path):
    door.close()
    assert not socket_path(str(tmp_path / "store")).exists()
    assert not reach_window(str(tmp_path / "store"), "")


@pytest.mark.usefixtures("both_platforms")
def test_what_a_killed_window_left_behind_is_taken_over(qapp, qtbot, tmp_path, runtime_folder):
    runtime_folder.mkdir(mode=0o700)
    local_sockets.listen_local(socket_path(str(tmp_path / "store"))).socket.close()
    assert not reach_window(str(tmp_path / "store"), "")
    door = WindowDoor(str(tmp_path / "store"), qapp)
    with qtbot.waitSignal(door.asked):
        thread, _ = reach(str(tmp_path / "store"), "orbit://overview")
    thread.join()
    door.close()


def test_a_folder_that_others_may_write_is_not_trusted(door, qtbot, tmp_path, runtime_folder, monkeypatch):
    door.close()
    runtime_folder.chmod(0o777)
    # Another place among temporary files: of this test, because windows of others may be there.
    monkeypatch.setattr(tempfile, "tempdir", str(runtime_folder.parent))
    second = WindowDoor(str(tmp_path / "store"), door.parent())
    assert socket_path(str(tmp_path / "store")).parent != runtime_folder
    assert list(runtime_folder.iterdir()) == []
    with qtbot.waitSignal(second.asked):
        thread, reached = reach(str(tmp_path / "store"), "orbit://overview")
    thread.join()
    assert reached == [True]
    second.close()


def test_without_a_safe_place_every_start_opens_a_window(qapp, tmp_path, monkeypatch):
    monkeypatch.setattr("gui.app.window_door.runtime_folder", lambda _name_bytes: None)
    door = WindowDoor(str(tmp_path / "store"), qapp)
    assert not reach_window(str(tmp_path / "store"), "")
    door.close()
