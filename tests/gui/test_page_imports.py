"""Pages are imported before they are opened, on the GUI thread, in small turns."""

from __future__ import annotations

import threading

import pytest

from gui.app import page_imports
from gui.app.page_imports import PageImports, page_modules
from gui.views.registry import PAGES
from tests.support.shown_parts import elapse


@pytest.fixture
def imported(monkeypatch) -> list[tuple[str, threading.Thread]]:
    """What is imported, and where; one module in a turn."""
    made: list[tuple[str, threading.Thread]] = []
    monkeypatch.setattr(page_imports, "page_modules", lambda: iter(("one", "two", "three")))
    monkeypatch.setattr(page_imports, "TURN_S", 0.0)
    monkeypatch.setattr(page_imports.importlib, "import_module", lambda name: made.append((name, threading.current_thread())))
    return made


def test_the_modules_of_all_pages_are_among_them_in_the_order_of_the_rooms():
    names = list(page_modules())
    assert {entry.module for entry in PAGES} <= set(names)
    assert len(names) == len(set(names)) > 200
    assert names.index("gui.models.table") < names.index("gui.widgets.panel") < names.index("gui.views.overview.view")


def test_modules_are_imported_on_the_gui_thread_in_turns(qtbot, qapp, imported):
    imports = PageImports(qapp)
    with qtbot.waitSignal(imports.done):
        imports.start()
    assert imported == [(name, threading.main_thread()) for name in ("one", "two", "three")]


@pytest.mark.parametrize("turns", [0, 1])
def test_the_rest_is_left_to_the_pages_when_the_window_closes(qapp, imported, turns):
    imports = PageImports(qapp)
    imports.start()
    for _ in range(turns):
        elapse(imports)
    imports.stop()
    assert not imports.is_running
    assert [name for name, _thread in imported] == ["one", "two"][:turns]
