"""`NewTopicDialog`: name, queues, permission and message type of a new topic."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.lifecycle import Done
from gui.models.topics import NAME_LENGTH_MAX, topic_name_fault
from gui.operations.queries import LatestQuery
from gui.theme.style import mark_fault, set_role
from gui.views.action_dialog import read_only_reason
from gui.views.topics.settings import TYPES
from gui.widgets.basic import fill, form_layout, label, row, show_text
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.inputs import TEXT_PADDING, number_box
from gui.widgets.production_bar import ProductionField
from gui.widgets.said import push_button
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.sources.base import ClusterSource

QUEUES_DEFAULT = 8
QUEUES_MAX = 1_024
PERMISSIONS = ((6, "Read and write (6)"), (4, "Read only (4)"), (2, "Write only (2)"))

NAME_FAULTS = {
    "empty": "Letters, digits, _ - % and |, at most {limit} characters",
    "long": "{length} characters; a name has at most {limit}",
    "character": "A name has only letters, digits, _ - % and |",
    "reserved": "The broker uses this name itself",
    "exists": "There is a topic of this name already",
}
"""English words of `topic_name_fault`."""


class NewTopicDialog(FittedDialog):
    """Asks for a topic and creates it. The window stays usable while the broker answers.

    Signals:
        created: The broker created the topic; carries its name.
    """

    created = Signal(str)

    def __init__(self, source: ClusterSource, existing: Callable[[], list[str]], parent: QWidget | None = None) -> None:
        """Create the dialog; ``existing`` returns the names of topics."""
        super().__init__(parent)
        self._source = source
        self._existing = existing
        self._query: LatestQuery[Done] = LatestQuery(self)
        self.setWindowTitle(tr("New topic"))
        self.setMinimumWidth(460)
        self.name = QLineEdit()
        self.name.setAccessibleName(tr("Name"))
        self.rule = label(role="caption")
        self.write_queues = number_box(1, QUEUES_MAX, QUEUES_DEFAULT, padding=TEXT_PADDING)
        self.read_queues = number_box(1, QUEUES_MAX, QUEUES_DEFAULT, padding=TEXT_PADDING)
        self.write_queues.valueChanged.connect(self.read_queues.setValue)
        self.permission = QComboBox()
        for value, text in PERMISSIONS:
            self.permission.addItem(tr(text), value)
        self.message_type = QComboBox()
        for type_name, text in TYPES:
            self.message_type.addItem(tr(text), type_name)
        self.message_type.setToolTip(tr("What 5.x proxies and clients check messages against."))
        self.error = label(role="critical", wrap=True, selectable=True)
        self.error.hide()
        self.create_button = push_button("Create topic", self._create, role="primary")
        self.create_button.setDefault(True)
        self.name.textChanged.connect(self._check)
        self.production = ProductionField(parent)
        self.production.changed.connect(self._check)
        self._refusal = read_only_reason(source)
        show_text(self.error, self._refusal)
        self._build()
        self._check()

    @property
    def fault(self) -> str:
        """The broken name rule, as in `topic_name_fault`."""
        return topic_name_fault(self.name.text(), self._existing())

    def _build(self) -> None:
        cancel = push_button("Cancel", self.reject)
        cancel.setAutoDefault(False)
        form = form_layout(across=16, down=10)
        form.addRow(label(tr("Name"), "secondary"), self.name)
        form.addRow("", self.rule)
        for name, field in (
            (tr("Write queues"), self.write_queues),
            (tr("Read queues"), self.read_queues),
            (tr("Permission"), self.permission),
            (tr("Message type"), self.message_type),
        ):
            field.setAccessibleName(name)
            form.addRow(label(name, "secondary"), field)
        fill(self.lay_out(spacing=14), label(tr("New topic"), "card-title"), form, self.production)
        self.set_foot(self.error, row(1, cancel, self.create_button))

    def _check(self) -> None:
        fault = self.fault
        text = NAME_FAULTS.get(fault or "empty", "")
        self.rule.setText(tr(text, limit=NAME_LENGTH_MAX, length=len(self.name.text())))
        wrong = fault not in ("", "empty")
        set_role(self.rule, "critical" if wrong else "caption")
        mark_fault(self.name, wrong)
        is_held_back = fault or self._refusal or self.production.fault or self._query.waiting
        self.create_button.setEnabled(not is_held_back)

    def _create(self) -> None:
        if self.fault or self._refusal or self.production.fault or self._query.waiting:
            return
        topic = CreateTopic(
            topic=self.name.text(),
            read_queues=self.read_queues.value(),
            write_queues=self.write_queues.value(),
            permission=int(self.permission.currentData()),
            message_type=str(self.message_type.currentData()),
        )
        self.error.hide()
        self.create_button.setEnabled(False)
        self._query.ask(self._source.ask(topic), lambda _done: self._created(topic.topic), self._refused)

    def _created(self, name: str) -> None:
        self.created.emit(name)
        self.accept()

    def _refused(self, error: OrbitError) -> None:
        self.error.setText(tr("The topic was not created: {reason}", reason=error_text(error)))
        self.error.show()
        self._check()
