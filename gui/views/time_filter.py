"""`TimeFilter`: bounds a table by the time that is selected in the charts above it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gui.plots.chart_link import ChartLink, Span, span_ms
from gui.plots.chart_overlay import span_words
from gui.views.page import PageContext
from gui.widgets.said import on_language, said_button
from gui.words.text import tr


class TimeFilter(QObject):
    """Follows the selection of a link.

    Signals:
        changed: Another time is selected, or none; filter again.
    """

    changed = Signal()

    def __init__(self, link: ChartLink, context: PageContext, parent: QObject) -> None:
        super().__init__(parent)
        self._times = context.times
        self._span: Span | None = None
        self.chip = said_button(
            context.theme,
            "x",
            role="chosen",
            on_click=link.unselect,
            tip="The table shows the selected time only. Show all of it",
        )
        """Says that rows are left out, and shows them again."""
        self.chip.hide()
        link.selected.connect(self._selected)
        link.unselected.connect(self._unselected)
        context.times.changed.connect(self._write)
        on_language(self.chip, self._write)

    @property
    def is_active(self) -> bool:
        return self._span is not None

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """First and last ms of the selected time; None: all times are shown."""
        return span_ms(self._span) if self._span is not None else None

    def accepts(self, at_ms: float) -> bool:
        """Whether a moment is within the selected time, or none is selected."""
        return self._span is None or self._span[0] <= at_ms / 1_000 <= self._span[1]

    def _selected(self, from_s: float, to_s: float) -> None:
        self._use((from_s, to_s))

    def _unselected(self) -> None:
        self._use(None)

    def _use(self, span: Span | None) -> None:
        if span != self._span:
            self._span = span
            self._write()
            self.changed.emit()

    def _write(self) -> None:
        if self._span is not None:
            self.chip.setText(tr("Only {span}", span=span_words(self._times, self._span)))
            self.chip.setAccessibleName(self.chip.text())
        self.chip.setVisible(self._span is not None)
