"""Moves the focus between the parts of the window, and hides the detail pane of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget

if TYPE_CHECKING:
    from gui.views.page import PageView


def next_pane(page: PageView | None, frame: Sequence[QWidget], by: int) -> QWidget | None:
    """Move the focus to the next part that can take it, around the end; returns the focused widget.

    Parts are those of the frame and the lists and panes of the page, in visual order.
    """
    parts = [part for part in [*frame[:-1], *_panes(page), *frame[-1:]] if _first_stop(part) is not None]
    if not parts:
        return None
    focused = QApplication.focusWidget()
    holds = [place for place, part in enumerate(parts) if focused is not None and _within(focused, part)]
    # The innermost part with the focus: a pane of the page rather than the page.
    place = holds[-1] if holds else -1 if by > 0 else 0
    stop = _first_stop(parts[(place + by) % len(parts)])
    assert stop is not None
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    return stop


def has_keyboard(page: PageView) -> bool:
    """Whether a page has the focus, or will have it when its window is active again."""
    # Qt returns None without a focus, despite its type stubs.
    focused: QWidget | None = page.window().focusWidget()
    return page.isVisible() and focused is not None and _within(focused, page)


def toggle_detail(page: PageView) -> bool:
    pane = page.detail_pane
    if pane is None:
        return False
    pane.setVisible(pane.isHidden())
    return True


def _panes(page: PageView | None) -> Iterator[QWidget]:
    if page is None:
        return
    views = [view for view in page.findChildren(QAbstractItemView) if view.isVisible()]
    detail = page.detail_pane
    yield page.header if _first_stop(page.header) is not None else page
    yield from (view for view in views if detail is None or not _within(view, detail))
    if detail is not None and detail.isVisible():
        yield detail


def _first_stop(part: QWidget) -> QWidget | None:
    for widget in (part, *part.findChildren(QWidget)):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and widget.isEnabled():
            return widget
    return None


def _within(widget: QWidget, part: QWidget) -> bool:
    return widget is part or part.isAncestorOf(widget)
