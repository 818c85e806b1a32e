"""Pages are imported before they are opened: what is of Qt on the GUI thread, in small turns."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from gui.app import page_imports
from gui.app.page_imports import PageImports, import_order, prepare
from gui.views.registry import PAGES
from tests.support.broker_process import CHECKOUT

MODULES = [entry.module for entry in PAGES]


def test_what_a_module_needs_comes_before_it():
    order, others = import_order(MODULES)
    assert set(MODULES) <= set(order)
    assert len(order) == len(set(order)) > 200
    places = {name: place for place, name in enumerate(order)}
    assert places["gui.widgets.panel"] < places["gui.views.overview.view"] < places["gui.views.topics.view"]
    assert {"numpy", "pyqtgraph", "PySide6.QtWidgets"} <= set(others)
    assert not [name for name in others if name.startswith("gui")]


def test_what_has_nothing_to_do_with_qt_is_all_that_a_thread_imports():
    program = f"""
import sys, threading
from gui.app.page_imports import prepare
before = {{name for name in sys.modules if name.partition(".")[0] in ("gui", "PySide6", "pyqtgraph", "shiboken6")}}
order = prepare({MODULES!r})
after = {{name for name in sys.modules if name.partition(".")[0] in ("gui", "PySide6", "pyqtgraph", "shiboken6")}}
assert before == after, after - before
assert "numpy" in sys.modules and len(order) > 200
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_line_of_a_text_that_looks_like_an_import_is_left_alone(monkeypatch):
    monkeypatch.setattr(page_imports, "_imported_by", lambda _name: ["org.apache.nothing"])
    assert prepare(["gui.views.nothing"]) == ["gui.views.nothing"]


def test_modules_are_imported_on_the_gui_thread_in_turns(qtbot, qapp, monkeypatch):
    told: list[tuple[str, threading.Thread]] = []
    monkeypatch.setattr(page_imports, "prepare", lambda modules: [f"{name}.needed" for name in modules])
    monkeypatch.setattr(page_imports, "TURN_S", 0.0)
    monkeypatch.setattr(page_imports.importlib, "import_module", lambda name: told.append((name, threading.current_thread())))
    imports = PageImports(["one", "two", "three"], qapp)
    with qtbot.waitSignal(imports.done):
        imports.start()
    assert told == [(f"{name}.needed", threading.main_thread()) for name in ("one", "two", "three")]


@pytest.mark.parametrize("turns", [0, 1])
def test_the_rest_is_left_to_the_pages_when_the_window_closes(qtbot, qapp, monkeypatch, turns):
    told: list[str] = []
    monkeypatch.setattr(page_imports, "TURN_S", 0.0)
    monkeypatch.setattr(page_imports.importlib, "import_module", told.append)
    imports = PageImports([], qapp)
    imports._begin(["one", "two"])
    for _ in range(turns):
        imports._take_turn()
    imports.stop()
    assert not imports._timer.isActive()
    assert told == ["one", "two"][:turns]


def test_a_window_that_closes_before_the_order_is_known_imports_nothing(qapp):
    imports = PageImports([], qapp)
    imports.stop()
    imports._begin(["one"])
    assert not imports._timer.isActive()
