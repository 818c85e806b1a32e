"""`Drawn`: a widget that paints itself; `repaint_with`: repaints a widget when the theme or the format of times changes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.theme.manager import ThemeManager
from gui.words.plain_text import tip_text
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


class Drawn(QWidget):
    """Paints itself in the colours of the theme, with a tip for each part that `tip_at` knows."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None, *, times: TimeZoneChoice | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        repaint_with(self, theme, *([] if times is None else [times]))

    def tip_at(self, at: QPointF) -> str:  # noqa: ARG002  for subclasses
        """Words for what is drawn at a place; empty: no tip."""
        return ""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and (words := self.tip_at(QPointF(event.pos()))):
            QToolTip.showText(event.globalPos(), tip_text(words), self)
            return True
        return super().event(event)
