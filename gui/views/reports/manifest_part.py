"""`ManifestPart`: the manifest of a run: what was read, what was left out, and where the result lies."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from gui.models.reports import PastRun
from gui.views.reports.columns import RUN_STATES, range_text
from gui.views.reports.words import report_text, report_texts
from gui.widgets.basic import column, label
from gui.widgets.key_values import KeyValueList
from gui.words.text import TimeZoneChoice, bytes_text, count_text, duration_text, tr


class ManifestPart(QScrollArea):
    """Facts with their values, and the remarks of the report below them."""

    def __init__(self, times: TimeZoneChoice) -> None:
        super().__init__()
        self._times = times
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.facts = KeyValueList()
        self.notes = label(role="caption", wrap=True, selectable=True)
        body = QWidget()
        body.setLayout(column(self.facts, self.notes, 1, spacing=10, margins=(14, 10, 14, 10)))
        self.setWidget(body)

    def show_run(self, run: PastRun | None) -> None:
        self.setAccessibleName(tr("Manifest"))
        self.facts.set_pairs(manifest_pairs(run, self._times) if run is not None else [])
        self.notes.setText("\n".join(report_texts(run.notes)) if run is not None else "")


def manifest_pairs(run: PastRun, times: TimeZoneChoice) -> list[tuple[str, str]]:
    """The facts of a manifest, in the order of its file."""
    word, _state = RUN_STATES[run.state]
    pairs = [
        (tr("Report"), run.report),
        (tr("State"), tr(word)),
        (tr("Run at"), times.full(run.created_ms).partition(".")[0]),
        (tr("Took"), duration_text(run.seconds * 1_000)),
        (tr("Range asked"), _asked_text(run, times)),
        (tr("Range found"), range_text(run.found_from_ms, run.found_to_ms, times)),
        (tr("Samples read") if run.is_sampled else tr("Messages read"), count_text(run.rows_read)),
        (tr("Skipped"), count_text(run.rows_skipped)),
        *((report_text(reason), count_text(rows)) for reason, rows in run.skipped if rows),
    ]
    if run.byte_count >= 0:
        pairs.append((tr("Bytes read"), bytes_text(run.byte_count)))
    return [*pairs, *_places(run)]


def _asked_text(run: PastRun, times: TimeZoneChoice) -> str:
    """The requested range, which may have no begin or no end."""
    if run.asked_from_ms < 0 and run.asked_to_ms < 0:
        return tr("everything")
    if run.asked_to_ms < 0:
        return tr("from {time} on", time=times.minutes(run.asked_from_ms))
    if run.asked_from_ms < 0:
        return tr("until {time}", time=times.minutes(run.asked_to_ms))
    return range_text(run.asked_from_ms, run.asked_to_ms, times)


def _places(run: PastRun) -> Sequence[tuple[str, str]]:
    sources = [(tr("Source"), store) for store in run.stores]
    topics = [(tr("Topics"), ", ".join(run.topics))] if run.topics else []
    files = [*(file for _title, file in run.tables), *([run.charts] if run.charts else [])]
    return [*sources, *topics, (tr("Folder"), str(run.folder)), (tr("Files"), ", ".join([run.page, *files]))]
