"""`repaint_with`: repaints a widget when the theme or the format of times changes."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from gui.theme.manager import ThemeManager
from gui.words.text import TimeZoneChoice


def repaint_with(widget: QWidget, *sources: ThemeManager | TimeZoneChoice) -> None:
    """Repaint ``widget`` at each change of ``sources``, for as long as it lives.

    ``source.changed.connect(widget.update)`` would leak 60 bytes of PySide's for each deleted widget, as any connection to a
    method of Qt's own (PySide 6.11); a page has dozens of such widgets.
    """
    repaint = _Repaint(widget)
    for source in sources:
        source.changed.connect(repaint.paint)


class _Repaint(QObject):
    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget

    def paint(self) -> None:
        self._widget.update()
