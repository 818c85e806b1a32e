"""Garbage of any thread is freed on that of the window."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import main
from gui.app import console
from gui.event_loop import garbage
from gui.event_loop.garbage import GarbageTurns


class Cycle:
    """Refers to itself; tells on which thread it is freed."""

    def __init__(self, freed_on: set[int]) -> None:
        self.me = self
        weakref.finalize(self, lambda: freed_on.add(threading.get_ident()))


def test_what_another_thread_leaves_is_freed_on_this_one(qtbot):
    freed_on: set[int] = set()
    with GarbageTurns():
        maker = threading.Thread(target=lambda: [Cycle(freed_on) for _ in range(20_000)] and None)
        maker.start()
        maker.join()
        assert not freed_on
        qtbot.waitUntil(lambda: bool(freed_on))
    assert freed_on == {threading.get_ident()}


@pytest.mark.parametrize("before", [gc.enable, gc.disable])
def test_garbage_is_freed_as_before_afterwards(qapp, before):
    before()
    was = gc.isenabled()
    try:
        with GarbageTurns():
            assert not gc.isenabled()
        assert gc.isenabled() == was
    finally:
        gc.disable()  # as all tests of the window


@pytest.mark.parametrize(
    ("counts", "old", "generation"),
    [
        ((10, 99, 99), 99, None),
        ((10**6, 0, 99), 99, 0),
        ((10**6, 99, 0), 99, 1),
        ((10**6, 99, 99), 0, 1),
        ((10**6, 99, 99), 99, 2),
    ],
    ids=["little is new", "new ones", "young ones", "old ones have not become more", "all"],
)
def test_as_many_are_looked_at_as_python_would_look_at(qapp, monkeypatch, counts, old, generation):
    looked: list[int] = []
    monkeypatch.setattr(garbage, "_old_objects", lambda: old)
    monkeypatch.setattr(gc, "get_count", lambda: counts)
    monkeypatch.setattr(gc, "collect", lambda generation=2: looked.append(generation))
    GarbageTurns()._take_turn()
    assert looked == ([] if generation is None else [generation])


def test_in_the_program_of_the_window_python_never_looks_by_itself(monkeypatch):
    """Also behind the loop: what is freed while Qt lets go of its objects can stop the thread for ever."""
    looks: list[bool] = []
    monkeypatch.setattr(console, "run_window", lambda _options: looks.append(gc.isenabled()) or 7)
    gc.enable()
    try:
        assert main.main([]) == 7
        looks.append(gc.isenabled())
    finally:
        gc.disable()  # as all tests of the window
    assert looks == [False, False]
