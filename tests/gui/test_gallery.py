"""Overlays of the gallery: what closes by itself costs its own picture and no other."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QMenu

from gui.gallery import pictures
from gui.gallery.stage import Look


def test_a_menu_that_closes_before_its_picture_ends_nothing(qtbot, monkeypatch, capsys):
    gallery = object.__new__(pictures._Gallery)
    gallery._looks = [Look("dark", "en"), Look("light", "zh")]
    monkeypatch.setattr(gallery, "_show_in", lambda _look: None)
    opened: list[QMenu] = []
    monkeypatch.setattr(pictures, "pause", lambda _seconds: shiboken6.delete(opened[-1]))

    def open_it() -> QMenu:
        opened.append(QMenu())
        return opened[-1]

    gallery._over("tasks", open_it)
    assert capsys.readouterr().err.splitlines() == ["orbit: there is nothing to show tasks for"] * 2
