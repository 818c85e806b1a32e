"""`DiskPanel`: the disk against its three limits, when they are reached, and when old files are deleted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent

from broker_core.api import MACHINE_ZONE
from broker_core.worker.questions.administration import StorePicture
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, mix
from gui.widgets.basic import ElidedLabel, fill, label, row
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.widgets.repaint import Drawn
from gui.words.text import UNKNOWN, TimeZoneChoice, bytes_text, duration_text, percent_text, tr
from monitoring.disk import next_cleaning, reached_in_ms
from monitoring.lag import Forecast

HEIGHT, BAR_TOP, BAR = 44, 6, 12


class DiskBar(Drawn):
    """Shares from 0 to 1 of the disk."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self._used = self._store = 0.0
        self._limits: Sequence[tuple[int, State]] = ()
        self.setFixedHeight(HEIGHT)

    def set_shares(self, used: float, store: float, limits: Sequence[tuple[int, State]]) -> None:
        """Show the use of the disk, the store's part of it, and limits in percent with their colours."""
        self._used, self._store, self._limits = used, min(store, used), limits
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0, BAR_TOP, self.width(), BAR)
        shape = QPainterPath()
        shape.addRoundedRect(box, 3, 3)
        painter.setClipPath(shape)
        painter.fillRect(box, QColor(mix(tokens.text_3, tokens.panel, 16)))
        painter.fillRect(QRectF(0, BAR_TOP, self.width() * (self._used - self._store), BAR), QColor(tokens.series[0]))
        left = self.width() * (self._used - self._store)
        painter.fillRect(QRectF(left, BAR_TOP, self.width() * self._store, BAR), QColor(tokens.committed))
        painter.setClipping(False)
        painter.setFont(text_font(Size.CAPTION))
        metrics = QFontMetrics(painter.font())
        free_from = 0.0
        for percent, state in self._limits:
            x = self.width() * percent / 100
            painter.fillRect(QRectF(x - 1, BAR_TOP - 4, 2, BAR + 8), QColor(tokens.state(state)))
            width = metrics.horizontalAdvance(str(percent))
            text_left = min(max(x - width / 2, free_from), self.width() - width)
            painter.setPen(QColor(tokens.state(state)))
            painter.drawText(QPointF(text_left, HEIGHT - 8), str(percent))
            free_from = text_left + width + 4
        painter.setPen(Qt.PenStyle.NoPen)
        painter.end()


FACTS_SIZE_MIN = (236, 148)
"""Room for five lines, px: where the window has less, the page is scrolled."""


class DiskPanel(Panel):
    """Shows a picture of the store and the growth of the disk."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__(" ")
        self._times = times
        self.share = label(UNKNOWN, "headline")
        self._of = ElidedLabel(role="caption")
        self.bar = DiskBar(theme)
        self.facts = KeyValueList()
        self.facts.setMinimumSize(*FACTS_SIZE_MIN)
        self.content.setSpacing(2)
        fill(self.content, row(self.share, (self._of, 1), spacing=6), self.bar, (self.facts, 1))

    def show_picture(self, picture: StorePicture, growth: Forecast) -> None:
        """Show the use of the disk and the consequences of its growth."""
        total, used = picture.disk_total_bytes, picture.disk_used_bytes
        self.share.setText(percent_text(used / total if total > 0 else None))
        self._of.setText(tr("of {size} used", size=bytes_text(total or None)))
        self.set_subtitle(tr("this store {store}", store=bytes_text(picture.store_bytes)))
        limits = (
            (picture.max_used_percent, State.PENDING),
            (picture.clean_forcibly_percent, State.RETRY),
            (picture.refuse_percent, State.CRITICAL),
        )
        if total > 0:
            self.bar.set_shares(used / total, picture.store_bytes / total, limits)
        self.bar.setAccessibleName(tr("Disk use and its limits"))
        forced = tr("oldest files go") if picture.clean_forcibly else tr("nothing (cleanFileForciblyEnable is off)")
        what = (tr("expired files go"), forced, tr("puts are refused"))
        facts = [
            (
                tr("{percent} %: {what}", percent=percent, what=text),
                reached_text(reached_in_ms(total * percent / 100 if total > 0 else math.nan, growth)),
            )
            for (percent, _state), text in zip(limits, what, strict=True)
        ]
        hours = duration_text(picture.file_reserved_hours * 3_600_000)
        facts += [(tr("Kept for"), hours), (tr("Next cleaning"), self._cleaning_text(picture))]
        self.facts.set_pairs(facts)

    def _cleaning_text(self, picture: StorePicture) -> str:
        # deleteWhen is in the local time of the broker, which runs on this machine.
        now = datetime.fromtimestamp(picture.taken_ms / 1_000, MACHINE_ZONE)
        at = next_cleaning(picture.delete_when, now)
        if at is None:
            return UNKNOWN
        files = tr("{count} files", count=picture.overdue_files)
        # Without the day, for which there is no room; it is within the next 24 hours.
        return f"{self._times.moment(at.timestamp() * 1_000):%H:%M}, {files}"


def reached_text(in_ms: float) -> str:
    """Time until a limit is reached, in words."""
    if math.isnan(in_ms):
        return tr("unknown")
    if math.isinf(in_ms):
        return tr("not in sight")
    return tr("reached") if in_ms <= 0 else f"≈ {duration_text(in_ms)}"
