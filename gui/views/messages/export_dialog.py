"""`ExportDialog`: writes found messages to a file: JSON Lines, CSV or Parquet, with progress; can be cancelled."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QWidget

from gui.operations.message_job import Chosen, JobState, MessageJob, details_arguments, place_arguments
from gui.operations.reports import open_in_desktop
from gui.views.messages.job_view import JobDialog, filter_view, found_words
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, fill, label, row
from gui.widgets.inputs import SegmentedControl
from gui.widgets.popups import ask_to_save
from gui.widgets.said import push_button
from gui.words.broker_words import broker_text
from gui.words.text import tr

FORMATS = (("jsonl", "JSON Lines"), ("csv", "CSV"), ("parquet", "Parquet"))
WIDTH = 600


class ExportDialog(JobDialog):
    """Closing it cancels a running export and removes its file."""

    def __init__(
        self, context: PageContext, chosen: Chosen, parent: QWidget | None = None, *, job: MessageJob | None = None
    ) -> None:
        super().__init__(context.theme, job or MessageJob(context.tasks, lambda: tr("Export")), parent)
        self._source = context.source
        self._book = context.decoders
        self._chosen = chosen
        self._path: Path | None = None
        self.format = SegmentedControl([(key, title) for key, title in FORMATS])
        self.originals = QCheckBox(tr("With the originals of what is masked"))
        self.filter = filter_view(context.theme, chosen)
        self.show_button = IconButton(context.theme, "folder-open", tr("Show folder"), on_click=self._show_folder)
        self.go = push_button("Export to…", self._ask_path, role="primary")
        self.setWindowTitle(tr("Export messages"))
        self.setMinimumWidth(WIDTH)
        words = tr("The search is run once more, beside the broker, and every message written with all its fields.")
        lines = self.lay_out()
        fill(
            lines,
            label(self.windowTitle(), "card-title"),
            label(f"{found_words(chosen)} {words}".strip(), "secondary", wrap=True),
            self.filter,
            row(label(tr("Format"), "secondary"), self.format, 1),
        )
        if self._book.masks:
            fill(lines, self.originals, label(self._mask_words(), "caption", wrap=True))
        self.set_foot(self.view, row(self.show_button, 1, self.close_button, self.go))
        self.job.changed.connect(self._show)
        self._show()

    def export(self, path: Path) -> None:
        """Write the messages to a file, which gets its name when it is complete."""
        where = place_arguments(self._source)
        if where is None or self.job.is_running:
            return
        self._path = path
        now = ["--now", str(self._chosen.now_ms)] if self._chosen.now_ms else []
        words = [
            "search", *where, *details_arguments(self._source), "--format", self.format.current, "--out", str(path), *now,
            *self._taken(), "--parent-pipe", "--", self._chosen.filter,
        ]  # fmt: skip
        self.job.start(words, self._source.connect_details)

    def _taken(self) -> list[str]:
        """Options of the masking. Unreadable rules hide everything, so then only originals can be exported."""
        if not self._book.masks:
            return []
        return ["--originals"] if self.originals.isChecked() else ["--mask", str(self._book.path)]

    def _mask_words(self) -> str:
        if self._book.fault:
            return tr(
                "The decoder rules cannot be used, so only originals can be taken: {reason}",
                reason=broker_text(self._book.fault),
            )
        return tr("Else what the masking rules hide is not in the file, and such messages cannot be sent from it again.")

    def _ask_path(self) -> None:
        ask_to_save(self, tr("Export messages"), f"messages.{self.format.current}", self.export)

    def _show(self) -> None:
        running = self.job.is_running
        self.go.setEnabled(not running and place_arguments(self._source) is not None)
        for choice in (self.format, self.originals):
            choice.setEnabled(not running)
        self.write_buttons(can_pause=False)
        self.show_button.setVisible(self.job.state in (JobState.COMPLETE, JobState.PARTIAL))

    def _show_folder(self) -> None:
        if self._path is not None:
            open_in_desktop(self._path.parent)
