"""`repaint_with`: a widget that paints itself is painted again when the theme, or how times are written, changes."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from gui.theme.manager import ThemeManager
from gui.words.text import TimeZoneChoice


def repaint_with(widget: QWidget, *sources: ThemeManager | TimeZoneChoice) -> None:
    """Paint ``widget`` again with each change of ``sources``, for as long as it lives.

    ``source.changed.connect(widget.update)`` would leave 60 bytes of PySide's with each widget that goes, as any connection
    to a method of Qt's own (PySide 6.11); a page has dozens of such widgets.
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
