"""`DiskPanel`: the disk against its three limits, when they are reached, and when old files go."""

from __future__ import annotations

import math
from datetime import datetime

from broker_core.worker.questions.administration import StorePicture
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.store.disk_bar import DiskBar
from gui.widgets.basic import ElidedLabel, label, row
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.words.text import UNKNOWN, TimeZoneChoice, bytes_text, duration_text, percent_text, tr
from monitoring.disk import next_cleaning, reached_in_ms
from monitoring.lag import Forecast

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
        line = row(self.share, self._of, spacing=6)
        line.setStretch(1, 1)
        self.content.addLayout(line)
        self.content.addWidget(self.bar)
        self.content.addWidget(self.facts, 1)

    def show_picture(self, picture: StorePicture, growth: Forecast) -> None:
        """Show how full the disk is now and what follows from its growth."""
        total, used = picture.disk_total_bytes, picture.disk_used_bytes
        self.share.setText(percent_text(used / total if total > 0 else None))
        self._of.setText(tr("of {size} used", size=bytes_text(total or None)))
        self.set_subtitle(tr("this store {store}", store=bytes_text(picture.store_bytes)))
        limits = (
            (picture.max_used_percent, State.WARNING),
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
        now = datetime.fromtimestamp(picture.taken_ms / 1_000).astimezone()
        at = next_cleaning(picture.delete_when, now)
        if at is None:
            return UNKNOWN
        files = tr("{count} files", count=picture.overdue_files)
        # Without its day, which there is no room for: it is within the next 24 hours.
        return f"{self._times.moment(at.timestamp() * 1_000):%H:%M}, {files}"


def reached_text(in_ms: float) -> str:
    """When a limit is reached, in words."""
    if math.isnan(in_ms):
        return tr("unknown")
    if math.isinf(in_ms):
        return tr("not in sight")
    return tr("reached") if in_ms <= 0 else f"≈ {duration_text(in_ms)}"
