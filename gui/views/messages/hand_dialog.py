"""`HandDialog`: give one stored message to one chosen consumer, and see what its listener makes of it."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QPushButton, QVBoxLayout, QWidget

from broker_core.api import BrokerAnswer, JsonBodyError, Members, MessageDetail, OrbitError, Rejection, Wanted, rejection
from gui.operations.queries import LatestQuery
from gui.text import count_text, milliseconds_text, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.widgets.basic import IconButton, label, row
from gui.widgets.notice import Notice
from monitoring.admin.consume import ConsumeResult, Outcome, consume_request, read_consume_result
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

WIDTH = 560
OUTCOMES = {
    Outcome.SUCCESS: "The consumer took the message.",
    Outcome.COMMIT: "The consumer took the message.",
    Outcome.LATER: "The consumer gave the message back, to be tried later.",
    Outcome.ROLLBACK: "The consumer rolled the message back.",
    Outcome.THREW: "The consumer's listener failed.",
    Outcome.RETURNED_NULL: "The consumer's listener returned nothing.",
    Outcome.UNKNOWN: "The consumer gave an answer that is not known here.",
}
REJECTIONS = {
    Rejection.TOPIC: "The group does not subscribe to {topic}: by itself it would never get this message.",
    Rejection.TAG: "The group's filter {filter} rejects the tag of this message: by itself it would never get it.",
    Rejection.PROPERTIES: "The group's filter {filter} does not hold for this message: by itself it would never get it.",
    Rejection.UNKNOWN: "Whether the group's filter {filter} takes this message could not be tried here.",
}


class HandDialog(QDialog):
    """Stays open with the result, so that the message can be given again or to another one."""

    def __init__(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        detail: MessageDetail,
        parent: QWidget | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            source: Whose consumers are asked.
            theme: Colours.
            state: Groups to choose from.
            detail: The message.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._source = source
        self._detail = detail
        self._members: Members | None = None
        self._members_query: LatestQuery[Members] = LatestQuery(self)
        self._query: LatestQuery[BrokerAnswer] = LatestQuery(self)
        self.group = QComboBox()
        self.client = QComboBox()
        self.warning = Notice(theme)
        self.outcome = Notice(theme)
        self.go = IconButton(theme, "paper-plane-tilt", tr("Give to this consumer"), role="primary", on_click=self._start)
        self._close = QPushButton(tr("Close"))
        self.setWindowTitle(tr("Give 1 message to one consumer"))
        self.setMinimumWidth(WIDTH)
        self._build()
        self.group.addItems(self._groups(state))
        self.group.currentIndexChanged.connect(self._group_chosen)
        self.client.currentIndexChanged.connect(self._check)
        self._group_chosen()

    def _build(self) -> None:
        for field, name in ((self.group, "Group"), (self.client, "Consumer")):
            field.setAccessibleName(tr(name))
        place = {
            "topic": self._detail.topic,
            "queue": self._detail.queue_id,
            "offset": count_text(self._detail.queue_offset),
        }
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(label(tr("Message"), "secondary"), label(tr("{topic}, queue {queue}, offset {offset}", **place)))
        form.addRow(label(tr("Group"), "secondary"), self.group)
        form.addRow(label(tr("Consumer"), "secondary"), self.client)
        effect = tr("Its listener runs once with the stored message. No offset moves, and nothing is stored.")
        lines = QVBoxLayout(self)
        lines.setContentsMargins(20, 18, 20, 16)
        lines.setSpacing(12)
        lines.addWidget(label(self.windowTitle(), "card-title"))
        lines.addLayout(form)
        lines.addWidget(label(effect, "secondary", wrap=True))
        for notice in (self.warning, self.outcome):
            notice.set("")
            lines.addWidget(notice)
        lines.addStretch(1)
        lines.addLayout(row(1, self._close, self.go))
        self._close.clicked.connect(self.reject)
        self.go.setAutoDefault(False)

    @staticmethod
    def _groups(state: ClusterState | None) -> list[str]:
        """Groups with members first, as only these can be chosen with success."""
        if state is None:
            return []
        members = state.group_members
        pairs = [(bool(members[row] <= 0), name) for row, name in enumerate(state.catalog.groups)]
        return [name for _, name in sorted(pairs)]

    # ---- group and consumer --------------------------------------------------------------------------------------------

    def _group_chosen(self) -> None:
        self._members = None
        self.client.clear()
        self.warning.set("")
        group = self.group.currentText()
        if group:
            self._members_query.ask(self._source.list_members(group), self._show_members, self._members_failed)
        self._check()

    def _show_members(self, members: Members) -> None:
        self._members = members
        self.client.clear()
        for client_id, address in zip(members.client_id, members.address, strict=True):
            self.client.addItem(f"{client_id}  {address}", client_id)
        if not members.client_id:
            self.warning.set(tr("No consumer of this group is connected"))
        else:
            self._show_rejection(members.wanted(0))
        self._check()

    def _members_failed(self, error: OrbitError) -> None:
        self.warning.set(tr("The consumers of the group are not known"), error.message)
        self._check()

    def _show_rejection(self, wanted: dict[str, Wanted]) -> None:
        topic, tag = self._detail.topic, self._detail.properties.get("TAGS", "")
        found = rejection(wanted, topic, tag, self._detail.properties)
        if found is not Rejection.NONE:
            words = tr(REJECTIONS[found], topic=topic, filter=wanted[topic].expression if topic in wanted else "")
            state = State.INFO if found is Rejection.UNKNOWN else State.WARNING
            self.warning.set(tr("Subscription"), words, state)

    def _check(self) -> None:
        refusal = read_only_reason(self._source)
        self.go.setEnabled(self.client.currentData() is not None and not refusal and not self._query.waiting)
        self.go.setToolTip(refusal)

    # ---- the listener --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.outcome.set("")
        request = consume_request(self.group.currentText(), str(self.client.currentData()), self._detail)
        self._query.ask(self._source.ask_broker(request), self._answered, self._failed)
        self._check()

    def _answered(self, answer: BrokerAnswer) -> None:
        try:
            self._show_result(read_consume_result(answer.body))
        except JsonBodyError as error:
            self._failed(error)
        self._check()

    def _show_result(self, result: ConsumeResult) -> None:
        facts = [result.name, milliseconds_text(result.spent_ms if result.spent_ms >= 0 else None), result.remark]
        state = State.INFO if result.outcome.is_consumed else State.WARNING
        self.outcome.set(tr(OUTCOMES[result.outcome]), "\n".join(fact for fact in facts if fact), state)

    def _failed(self, error: OrbitError) -> None:
        self.outcome.set(tr("The consumer gave no result"), error.message, State.CRITICAL)
        self._check()
