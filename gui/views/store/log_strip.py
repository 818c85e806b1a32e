"""`LogStrip`: the files of the commit log side by side, filled as far as they are written, with the positions marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen

from gui.models.store import LogFileShape
from gui.theme.fonts import mono_font, text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens, mix
from gui.widgets.repaint import Drawn
from gui.words.text import TimeZoneChoice, count_text, percent_text, tr

TOP, BAR, GAP = 22, 32, 6
FILE_WIDTH_MIN = 84
FILE_WIDTH_MAX = 150
OLDEST_TINT, NEWEST_TINT = 34, 72
"""Share of the series colour in the ground of the oldest and of the newest file, percent."""


class LogStrip(Drawn):
    """Old files for which there is no room share one box with their count. A tip describes a file."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__(theme, times=times)
        self._times = times
        self._files: Sequence[LogFileShape] = ()
        self._min = self._end = -1
        self._empty_text = ""
        self.setFixedHeight(TOP + BAR + 38)

    def sizeHint(self) -> QSize:
        return QSize(600, TOP + BAR + 38)

    def show_files(self, files: Sequence[LogFileShape], log_min: int, log_end: int) -> None:
        """Show these files, oldest first, and the first and last offset kept."""
        self._files, self._min, self._end = files, log_min, log_end
        self.setAccessibleDescription(tr("{count} files from {first} to {last}", count=len(files), first=log_min, last=log_end))
        self.update()

    def set_empty(self, text: str) -> None:
        """Set the text that is shown while there is no file."""
        self._empty_text = text
        self.update()

    def shown(self) -> tuple[int, Sequence[LogFileShape]]:
        """How many old files share a box, and the files with a box of their own."""
        room = max(1, (self.width() + GAP) // (FILE_WIDTH_MIN + GAP))
        if len(self._files) <= room:
            return 0, self._files
        alone = max(1, room - 1)
        return len(self._files) - alone, self._files[-alone:]

    def text_of(self, file: LogFileShape) -> str:
        """The tip of a file."""
        return tr(
            "{offset}: written {written}, on disk {flushed}, first record {time}",
            offset=f"{file.base:020d}",
            written=percent_text(file.written),
            flushed=percent_text(file.flushed),
            time=self._times.full(file.first_ms),
        )

    def _boxes(self) -> list[tuple[QRectF, LogFileShape | None]]:
        hidden, files = self.shown()
        count = len(files) + bool(hidden)
        if not count:
            return []
        width = min(FILE_WIDTH_MAX, (self.width() - GAP * (count - 1)) / count)
        boxes = [QRectF(place * (width + GAP), TOP, width, BAR) for place in range(count)]
        return list(zip(boxes, [None, *files] if hidden else files, strict=True))

    def tip_at(self, at: QPointF) -> str:
        return next((self.text_of(file) for box, file in self._boxes() if file is not None and box.contains(at)), "")

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens, boxes = self._theme.tokens, self._boxes()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place, (box, file) in enumerate(boxes):
            share = OLDEST_TINT + (NEWEST_TINT - OLDEST_TINT) * (place + 1) // len(boxes)
            if file is None:
                self._paint_older(painter, box, tokens)
            else:
                self._paint_file(painter, box, file, mix(tokens.series[0], tokens.inset, share), tokens)
        if boxes:
            self._paint_marks(painter, boxes, tokens)
        else:
            painter.setPen(QColor(tokens.text_2))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._empty_text)
        painter.end()

    def _paint_older(self, painter: QPainter, box: QRectF, tokens: Tokens) -> None:
        painter.setPen(QPen(QColor(tokens.border_strong), 1, Qt.PenStyle.DashLine))
        painter.setBrush(QColor(mix(tokens.series[0], tokens.inset, OLDEST_TINT)))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setPen(QColor(tokens.text_1))
        painter.setFont(text_font(Size.CAPTION))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, tr("{count} older", count=count_text(self.shown()[0])))

    def _paint_file(self, painter: QPainter, box: QRectF, file: LogFileShape, colour: str, tokens: Tokens) -> None:
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.inset))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        inner = box.adjusted(1, 1, -1, -1)
        painter.fillRect(QRectF(inner.left(), inner.top(), inner.width() * file.written, inner.height()), QColor(colour))
        if file.flushed < file.written:
            left = inner.left() + inner.width() * file.flushed
            right = inner.left() + inner.width() * file.written
            painter.fillRect(QRectF(left, inner.top(), max(2.0, right - left), inner.height()), QColor(tokens.pending))
        painter.setFont(mono_font(Size.CAPTION))
        painter.setPen(QColor(tokens.text_3))
        metrics = QFontMetrics(painter.font())
        name = metrics.elidedText(str(file.base), Qt.TextElideMode.ElideLeft, int(box.width()))
        painter.drawText(QPointF(box.left(), box.bottom() + 15), name)
        time = self._times.seconds(file.first_ms)[:5]
        painter.drawText(QPointF(box.left(), box.bottom() + 30), time)

    def _paint_marks(self, painter: QPainter, boxes: list[tuple[QRectF, LogFileShape | None]], tokens: Tokens) -> None:
        painter.setFont(text_font(Size.CAPTION))
        metrics = QFontMetrics(painter.font())
        first, (last, file) = boxes[0][0], boxes[-1]
        oldest = tr("oldest kept {offset}", offset=count_text(self._min))
        written = tr("written {offset}", offset=count_text(self._end))
        painter.setPen(QColor(tokens.healthy))
        painter.drawText(QPointF(first.left(), TOP - 8), oldest)
        painter.fillRect(QRectF(first.left(), TOP - 3, 2, BAR + 6), QColor(tokens.healthy))
        at = last.left() + last.width() * (file.written if file is not None else 0.0)
        painter.fillRect(QRectF(min(at, self.width() - 2.0), TOP - 3, 2, BAR + 6), QColor(tokens.accent))
        width = metrics.horizontalAdvance(written)
        left = min(max(at - width / 2, metrics.horizontalAdvance(oldest) + 16), self.width() - width)
        painter.setPen(QColor(tokens.accent))
        painter.drawText(QPointF(left, TOP - 8), written)
