"""`HandDialog`: gives stored messages to one consumer and shows its listener's results; `Hand` opens it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from broker_core.api import (
    ConsumeOutcome,
    DirectConsumeResult,
    OrbitError,
    Rejection,
    Wanted,
    read_consume_result,
    rejection,
    retry_names,
)
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ListMembers, Members
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage
from gui.models.queue_window import place_text, queue_text
from gui.operations.queries import LatestQuery
from gui.operations.requests import InTurn, ReadAnswer
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, IconButton, fill, form_layout, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.inputs import NameBox
from gui.widgets.notice import Notice
from gui.widgets.popups import opened
from gui.widgets.production_bar import ProductionField
from gui.widgets.said import push_button
from gui.words.broker_words import broker_text
from gui.words.error_words import error_text, kept_line
from gui.words.plain_text import tip_text, title_text
from gui.words.text import count_text, milliseconds_text, tr
from monitoring.admin.clients import consume_request
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

WIDTH = 560
HANDED_MAX = 100
RESULTS_SHOWN = 12
_LINE_END = "\n"
Given = DirectConsumeResult | OrbitError
"""The result of a message."""
OUTCOMES = {
    ConsumeOutcome.SUCCESS: "The consumer took the message.",
    ConsumeOutcome.COMMIT: "The consumer took the message.",
    ConsumeOutcome.LATER: "The consumer gave the message back, to be tried later.",
    ConsumeOutcome.ROLLBACK: "The consumer rolled the message back.",
    ConsumeOutcome.THREW: "The consumer's listener failed.",
    ConsumeOutcome.RETURNED_NULL: "The consumer's listener returned nothing.",
    ConsumeOutcome.UNKNOWN: "The consumer gave an answer that is not known here.",
}
REJECTIONS = {
    Rejection.TOPIC: "The group does not subscribe to {topic}: by itself it would never get this message.",
    Rejection.TAG: "The group's filter {filter} rejects the tag of this message: by itself it would never get it.",
    Rejection.PROPERTIES: "The group's filter {filter} does not hold for this message: by itself it would never get it.",
    Rejection.UNKNOWN: "Whether the group's filter {filter} takes this message could not be tried here.",
}


class HandDialog(FittedDialog):
    """Stays open with the result, so that the message can be given again or to another consumer."""

    def __init__(
        self,
        source: ClusterSource,
        theme: ThemeManager,
        state: ClusterState | None,
        details: Sequence[MessageDetail],
        parent: QWidget | None = None,
    ) -> None:
        """Create the dialog for at least one message; they are given one after another."""
        super().__init__(parent)
        self._source = source
        self._details = details
        self._members_query: LatestQuery[Members] = LatestQuery(self)
        self._query: LatestQuery[list[Given]] = LatestQuery(self)
        self.group = NameBox()
        self.client = NameBox()
        self.warning = Notice(theme)
        self.outcome = Notice(theme)
        self.production = ProductionField(parent)
        self.go = IconButton(theme, "paper-plane-tilt", tr("Give to this consumer"), role="primary", on_click=self._start)
        self._close = push_button("Close", self.reject)
        several = tr("Give {count} messages to one consumer", count=count_text(len(details)))
        self.setWindowTitle(tr("Give 1 message to one consumer") if len(details) == 1 else title_text(several))
        self.setMinimumWidth(WIDTH)
        for field, name in ((self.group, "Group"), (self.client, "Consumer")):
            field.setAccessibleName(tr(name))
            field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        form = form_layout(across=16, down=10, grow="expanding")
        form.addRow(label(tr("Message"), "secondary"), ElidedLabel(self._places(), mode=Qt.TextElideMode.ElideMiddle))
        form.addRow(label(tr("Group"), "secondary"), self.group)
        form.addRow(label(tr("Consumer"), "secondary"), self.client)
        effect = tr("Its listener runs once with each stored message. No offset moves, and nothing is stored.")
        lines = self.lay_out()
        fill(lines, label(self.windowTitle(), "card-title"), form, label(effect, "secondary", wrap=True))
        fill(lines, self.warning, self.outcome, self.production)
        self.production.changed.connect(self._check)
        lines.addStretch(1)
        self.set_foot(row(1, self._close, self.go))
        self.go.setAutoDefault(False)
        self.group.addItems(self._groups(state))
        self.group.currentIndexChanged.connect(self._group_chosen)
        self.client.currentIndexChanged.connect(self._check)
        self._group_chosen()

    def _places(self) -> str:
        if len(self._details) == 1:
            return self._place(self._details[0])
        topics = ", ".join(sorted({detail.topic for detail in self._details}))
        return tr("{count} of {topics}", count=count_text(len(self._details)), topics=topics)

    def _place(self, detail: MessageDetail) -> str:
        return place_text(detail.topic, queue_text(self._source.state, detail.queue_id), detail.queue_offset)

    @staticmethod
    def _groups(state: ClusterState | None) -> list[str]:
        """Groups with members first, because only their consumers can answer."""
        if state is None:
            return []
        members = state.group_members
        pairs = [(bool(members[row] <= 0), name) for row, name in enumerate(state.catalog.groups)]
        return [name for _, name in sorted(pairs)]

    # ---- group and consumer --------------------------------------------------------------------------------------------

    def _group_chosen(self) -> None:
        self.client.clear()
        self.warning.set("")
        group = self.group.currentText()
        if group:
            self._members_query.ask(self._source.ask(ListMembers(group)), self._show_members, self._members_failed)
        self._check()

    def _show_members(self, members: Members) -> None:
        self.client.clear()
        for client_id, address in zip(members.client_id, members.address, strict=True):
            self.client.addItem(f"{client_id}  {address}", client_id)
        if not members.client_id:
            self.warning.set(
                tr("No consumer of this group is connected"),
                broker_text(members.notice) if members.notice else "",
                State.WARNING,
            )
        else:
            self._show_rejection(members.wanted(0))
        self._check()

    def _members_failed(self, error: OrbitError) -> None:
        words = partial(tr, "The consumers of the group are not known")
        self.warning.set(words, partial(error_text, error), State.WARNING)
        self._check()

    def _show_rejection(self, wanted: dict[str, Wanted]) -> None:
        found = []
        for detail in self._details:
            # The subscription of the group is to the first topic of a dead letter.
            topic = retry_names.first_topic(detail.topic, detail.properties) or detail.topic
            verdict = rejection(wanted, topic, detail.properties.get("TAGS", ""), detail.properties)
            if verdict is not Rejection.NONE:
                found.append((topic, verdict))
        if not found:
            return
        topic, verdict = found[0]
        words = tr(REJECTIONS[verdict], topic=topic, filter=wanted[topic].expression if topic in wanted else "")
        if len(self._details) > 1:
            count, total = count_text(len(found)), count_text(len(self._details))
            words = tr("So with {count} of {total}: {reason}", count=count, total=total, reason=words)
        state = State.INFO if {verdict for _topic, verdict in found} == {Rejection.UNKNOWN} else State.WARNING
        self._say(self.warning, tr("Subscription"), words, state)

    def _check(self) -> None:
        refusal = read_only_reason(self._source) or self.production.fault
        self.go.setEnabled(self.client.currentData() is not None and not refusal and not self._query.waiting)
        self.go.setToolTip(tip_text(refusal))

    # ---- the listener --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.outcome.set("")
        group, client = self.group.currentText(), str(self.client.currentData())
        asks = [partial(self._give, consume_request(group, client, detail)) for detail in self._details]
        self._query.ask(InTurn(asks, self._show_progress), self._show_results, self._failed)
        self._check()

    def _give(self, request: AskBroker) -> _Giving:
        return _Giving(self._source.ask(request), lambda answer: read_consume_result(answer.body))

    def _show_progress(self, number: int, _given: Given) -> None:
        done, total = count_text(number + 1), count_text(len(self._details))
        self.outcome.set(tr("{done} of {total} given", done=done, total=total), state=State.INFO)

    def _show_results(self, results: list[Given]) -> None:
        if len(results) == 1:
            self._show_result(results[0])
        else:
            self._show_several(results)
        self._check()

    def _show_result(self, result: Given) -> None:
        if isinstance(result, OrbitError):
            self._failed(result)
            return
        self._say(self.outcome, tr(OUTCOMES[result.outcome]), "\n".join(_facts(result)), _state_of(result))

    def _show_several(self, results: Sequence[Given]) -> None:
        """All results, a line each, refused ones first."""
        lines = sorted(
            (_state_of(result) is State.INFO, number, f"{place}: {', '.join(_facts(result)).partition(_LINE_END)[0]}")
            for number, (place, result) in enumerate(zip(map(self._place, self._details), results, strict=True))
        )
        taken = sum(is_taken for is_taken, _number, _line in lines)
        texts = [line for _is_taken, _number, line in lines[:RESULTS_SHOWN]]
        if len(lines) > RESULTS_SHOWN:
            texts.append(tr("and {count} more", count=count_text(len(lines) - RESULTS_SHOWN)))
        title = tr("The consumer took {taken} of {total}", taken=count_text(taken), total=count_text(len(results)))
        self._say(self.outcome, title, "\n".join(texts), State.INFO if taken == len(results) else State.WARNING)

    def _failed(self, error: OrbitError) -> None:
        self._say(self.outcome, tr("The consumer gave no result"), error_text(error), State.CRITICAL)
        self._check()

    def _say(self, notice: Notice, title: str, text: str, state: State) -> None:
        """Show a text with room for all its lines."""
        notice.set(title, text, state)
        self.adjustSize()


class _Giving(ReadAnswer[BrokerAnswer, Given]):
    """The result of one message; a failure is a result too, so that the next message is given."""

    def then(self, done: Callable[[Given], None], _failed: Callable[[OrbitError], None]) -> None:
        super().then(done, done)


class Hand(QObject):
    """Reads messages and opens the dialog for them."""

    def __init__(self, context: PageContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self._parent = parent
        self._query: LatestQuery[list[MessageDetail]] = LatestQuery(self)

    def ask(self, physical_offsets: Sequence[int]) -> None:
        """Give the messages at these places, at most `HANDED_MAX`."""
        if len(physical_offsets) > HANDED_MAX:
            self._context.notify(lambda: tr("No more than {count} messages are given at once", count=count_text(HANDED_MAX)))
        elif physical_offsets:
            asks = [partial(self._context.source.ask, ReadMessage(position)) for position in physical_offsets]
            self._query.ask(InTurn(asks), self._read, self._failed)

    def open(self, details: Sequence[MessageDetail]) -> HandDialog:
        """Open the dialog."""
        source, theme = self._context.source, self._context.theme
        dialog = HandDialog(source, theme, source.state, details, self._parent)
        return opened(dialog)

    def _read(self, details: list[MessageDetail]) -> None:
        self.open(details)

    def _failed(self, error: OrbitError) -> None:
        reason = kept_line(error)
        self._context.notify(lambda: tr("The messages were not read: {reason}", reason=reason()))


def _facts(result: Given) -> list[str]:
    if isinstance(result, OrbitError):
        return [result.message]
    spent = milliseconds_text(result.spent_ms) if result.spent_ms >= 0 else ""
    return [fact for fact in (result.name, spent, result.remark) if fact]


def _state_of(result: Given) -> State:
    is_taken = not isinstance(result, OrbitError) and result.outcome.is_consumed
    return State.INFO if is_taken else State.WARNING
