"""`ReplayDialog`: sends found messages, or those of a file, again: dry run, pace, pause, stop, resume."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLineEdit,
    QWidget,
)

from broker_core.api import replays_folder
from gui.connections.cluster import Cluster
from gui.connections.saved_connections import saved_connections
from gui.models.messages import writable_topics
from gui.models.replay_order import Goal, ReplayOrder, Speed, resume_arguments
from gui.operations.message_job import Chosen, JobState, MessageJob, details_arguments, place_arguments
from gui.operations.reports import open_in_desktop
from gui.views.action_dialog import read_only_reason
from gui.views.messages.browse_bar import topic_choice
from gui.views.messages.job_view import JobDialog, filter_view, found_words
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, fill, form_layout, label, row, show_text
from gui.widgets.inputs import FIELD_PADDING, NameBox, SegmentedControl
from gui.widgets.popups import ask_file, ask_folder
from gui.widgets.production_bar import production_name
from gui.widgets.said import push_button
from gui.words.text import tr

WIDTH = 680
PACE_MAX = 1_000_000.0
PACE_AT_FIRST = 100.0
_GOALS = ((Goal.TOPIC, "One topic"), (Goal.GROUP, "One group only"), (Goal.ORIGIN, "Topics of origin"))
_SPEEDS = (
    (Speed.UNLIMITED, "As fast as they are taken", ""),
    (Speed.RATE, "At a rate of", " messages per second"),
    (Speed.ORIGINAL, "At their own pace, times", " times faster"),
)


class ReplayDialog(JobDialog):
    """Closing it stops a running replay; its journal stays, so that it can be resumed, also after a restart."""

    def __init__(
        self, context: PageContext, chosen: Chosen, parent: QWidget | None = None, *, job: MessageJob | None = None
    ) -> None:
        super().__init__(context.theme, job or MessageJob(context.tasks, lambda: tr("Replay")), parent)
        theme, self._source, self._chosen = context.theme, context.source, chosen
        self._decoders = context.decoders
        self._settings = context.settings
        self._file = ""
        self._is_dry = False
        self.filter = filter_view(theme, chosen)
        self.goal = SegmentedControl([(goal.value, tr(title)) for goal, title in _GOALS])
        self.topic_text = QLineEdit()
        self.topic = topic_choice(self.topic_text)
        self.group = NameBox()
        self.name_server = QLineEdit()
        self.speed = QComboBox()
        self.pace = QDoubleSpinBox()
        self.new_ids = QCheckBox(tr("New unique IDs"))
        self.born_now = QCheckBox(tr("Born when they are sent"))
        self.without_delay = QCheckBox(tr("Without their delays"))
        self.partial = QCheckBox(tr("Also if not all could be looked at"))
        self._own_production = production_name(parent)
        self.cluster_typed = QLineEdit()
        self.fault = label(role="warning", wrap=True)
        self.file_button = IconButton(theme, "folder-open", tr("From a file…"), on_click=self._ask_file)
        self.resume_button = IconButton(theme, "clock", tr("Go on with an earlier one…"), on_click=self._ask_folder)
        self.folder_button = IconButton(theme, "folder-open", tr("Receipt…"), on_click=self._show_folder)
        self.dry_button = push_button("Dry run", lambda: self.start(dry_run=True))
        self.go = push_button("Send them again", self._go_clicked, role="primary")
        self._build(context)
        self.goal.chosen.connect(lambda _goal: self._show())
        texts = (self.topic_text, self.name_server, self.cluster_typed)
        for changed in (*(field.textChanged for field in texts), self.speed.currentIndexChanged):
            changed.connect(lambda _value: self._show())
        self.job.changed.connect(self._show)
        self._show()

    @property
    def order(self) -> ReplayOrder:
        """The entered order."""
        goal = Goal(self.goal.current)
        name = {Goal.TOPIC: self.topic_text.text().strip(), Goal.GROUP: self.group.currentText(), Goal.ORIGIN: ""}[goal]
        name_server = self.name_server.text().strip()
        return ReplayOrder(
            details=details_arguments(self._source), saved=self._saved_goal is not None,
            place=place_arguments(self._source) or (), filter=self._chosen.filter, now_ms=self._chosen.now_ms, file=self._file,
            goal=goal, name=name, name_server=name_server,
            production=self.cluster_typed.text().strip(), speed=Speed(self.speed.currentData()),
            pace=self.pace.value(), new_ids=self.new_ids.isChecked(), born_now=self.born_now.isChecked(),
            without_delay=self.without_delay.isChecked(), partial=self.partial.isChecked(),
        )  # fmt: skip

    @property
    def _goes_home(self) -> bool:
        ready = self._source.ready
        return ready is not None and self.name_server.text().strip() == ready.name_server

    @property
    def _saved_goal(self) -> Cluster | None:
        """The saved target, by its name or its name servers; None for the shown cluster."""
        text = self.name_server.text().strip()
        saved = () if self._goes_home else saved_connections(self._settings)
        return next((cluster for cluster in saved if text in (cluster.title, cluster.address)), None)

    @property
    def production(self) -> str:
        """Name of the target if it is a production cluster; else empty."""
        goal = self._saved_goal
        if goal is not None:
            return goal.name if goal.production else ""
        return self._own_production if self._goes_home else ""

    def use_file(self, path: str) -> None:
        """Use the messages of an exported file instead of the found ones."""
        self._file = path
        self.filter.setPlainText(path)
        self._show()

    def start(self, *, dry_run: bool) -> None:
        """Begin, or only report what would be sent."""
        if not self._refusal(dry_run=dry_run) and not self.job.is_running:
            self._is_dry = dry_run
            self.job.start(self.order.arguments(dry_run=dry_run), self._source.connect_details, can_pause=not dry_run)

    def resume(self, folder: str) -> None:
        """Resume a replay that ended early."""
        if not self.job.is_running:
            self._is_dry = False
            arguments = [*resume_arguments(folder, self.cluster_typed.text().strip()), *details_arguments(self._source)]
            self.job.start(arguments, self._source.connect_details, can_pause=True)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self, context: PageContext) -> None:
        self.setWindowTitle(tr("Replay messages"))
        self.setMinimumWidth(WIDTH)
        state, ready = context.source.state, context.source.ready
        self.topic.addItems(writable_topics(state) if state is not None else [])
        self.topic.setCurrentIndex(-1)
        self.group.addItems(sorted(state.catalog.groups) if state is not None else [])
        self.name_server.setText(ready.name_server if ready is not None else "")
        for speed, title, _unit in _SPEEDS:
            self.speed.addItem(tr(title), speed.value)
        self.pace.setRange(0.001, PACE_MAX)
        self.pace.setDecimals(3)
        self.pace.setValue(PACE_AT_FIRST)
        self.pace.lineEdit().setTextMargins(FIELD_PADDING, 0, 0, 0)
        named = (
            (self.topic, "Topic"), (self.topic_text, "Topic"), (self.group, "Group"),
            (self.name_server, "Name server"),
            (self.speed, "Pace"), (self.pace, "Pace"), (self.cluster_typed, "Name of the production cluster"),
        )  # fmt: skip
        for widget, name in named:
            widget.setAccessibleName(tr(name))
        fill(
            self.lay_out(),
            label(self.windowTitle(), "card-title"),
            label(self._effect(), "secondary", wrap=True),
            self.filter,
            self._form(),
            self.fault,
            self.cluster_typed,
            self.view,
            row(self.file_button, self.resume_button, self.folder_button, 1),
        )
        self.set_foot(row(1, self.close_button, self.pause_button, self.dry_button, self.go))

    def _form(self) -> QFormLayout:
        form = form_layout(across=16, down=10, grow="expanding")
        form.addRow(label(tr("Send to"), "secondary"), row(self.goal, 1))
        where = row(self.topic, self.group)
        for part in (self.topic, self.group):
            where.setStretchFactor(part, 1)
        form.addRow("", where)
        form.addRow(label(tr("Name server"), "secondary"), self.name_server)
        form.addRow(label(tr("Pace"), "secondary"), row(self.speed, (self.pace, 1)))
        form.addRow("", row(self.new_ids, self.born_now, 1, spacing=16))
        form.addRow("", row(self.without_delay, self.partial, 1, spacing=16))
        return form

    def _effect(self) -> str:
        words = tr(
            "All are gathered first, then sent in the order in which they were stored. Each new message names its origin."
        )
        masks = self._decoders.masks
        originals = tr("Originals are sent, also what is masked.") if masks else ""
        return " ".join(filter(None, (found_words(self._chosen), words, originals)))

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _refusal(self, *, dry_run: bool) -> str:
        order = self.order
        if order.fault:
            return tr(order.fault)
        if dry_run:
            return ""
        return (read_only_reason(self._source) if self._goes_home else "") or self._unconfirmed

    @property
    def _unconfirmed(self) -> str:
        """The confirmation that a production cluster requires; empty where none is missing."""
        if self.cluster_typed.text().strip() == self.production or not self.production:
            return ""
        return tr("{name} is a production cluster: type its name to confirm", name=self.production)

    @property
    def _can_go_on(self) -> bool:
        """Whether the ended replay has messages left."""
        # A killed replay has written no last line.
        ended_early = self.job.state in (JobState.CANCELLED, JobState.FAILED)
        has_rest = self.job.state is JobState.PARTIAL and "go on with" in self.job.last
        return bool(self.job.folder) and (ended_early or has_rest)

    def _show(self) -> None:
        goal, running = Goal(self.goal.current), self.job.is_running
        self.topic.setVisible(goal is Goal.TOPIC)
        self.group.setVisible(goal is Goal.GROUP)
        speed = Speed(self.speed.currentData())
        self.pace.setEnabled(speed is not Speed.UNLIMITED)
        self.pace.setSuffix(tr(next(unit for one, _title, unit in _SPEEDS if one is speed)))
        self.cluster_typed.setVisible(bool(self.production))
        self.cluster_typed.setPlaceholderText(self.production)
        refusal = "" if running else self._refusal(dry_run=False)
        show_text(self.fault, refusal)
        self.go.setText(tr("Go on") if self._can_go_on else tr("Send them again"))
        self.go.setEnabled(not running and (self._can_go_on or not refusal))
        self.dry_button.setEnabled(not running and not self._refusal(dry_run=True))
        self.write_buttons(can_pause=not self._is_dry)
        self.folder_button.setVisible(bool(self.job.folder))
        self.file_button.setEnabled(not running)
        self.resume_button.setEnabled(not running and not self._unconfirmed)

    def _go_clicked(self) -> None:
        if self._can_go_on:
            self.resume(self.job.folder)
        else:
            self.start(dry_run=False)

    def _ask_file(self) -> None:
        ask_file(self, tr("From a file…"), self.use_file, kinds=[tr("Messages (*.jsonl *.csv *.parquet)")])

    def _ask_folder(self) -> None:
        ask_folder(self, tr("Journal of the replay"), self.resume, str(replays_folder()))

    def _show_folder(self) -> None:
        if self.job.folder:
            open_in_desktop(Path(self.job.folder))
