"""Sending dead letters again: the dialog, and the sends one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtWidgets import QWidget

from broker_core.api import Members, MessageDetail, OrbitError, Rejection, SendReceipt, Wanted, rejection, resent_properties
from gui.operations.in_turn import InTurn
from gui.operations.queries import LatestQuery
from gui.text import count_text, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.widgets.inputs import SegmentedControl
from gui.widgets.notice import Notice
from monitoring.dead_letters import DeadLetter, resend_of
from monitoring.sources.base import ClusterSource, Pending

TO_GROUP, TO_TOPIC = "group", "topic"

Sent = Callable[[DeadLetter, str, SendReceipt], None]
"""Told after each send: the dead letter, the topic it went to, the receipt."""


class _Resend:
    """A `Pending` of one dead letter: read whole, then sent."""

    def __init__(self, source: ClusterSource, letter: DeadLetter, sent: Sent, *, to_group: bool) -> None:
        self._source = source
        self._letter = letter
        self._sent = sent
        self._to_group = to_group
        self._read: Pending[MessageDetail] | None = None

    def then(self, done: Callable[[SendReceipt], None], failed: Callable[[OrbitError], None]) -> None:
        def read(detail: MessageDetail) -> None:
            message = resend_of(detail, to_group=self._to_group)

            def sent(receipt: SendReceipt) -> None:
                self._sent(self._letter, message.topic, receipt)
                done(receipt)

            self._source.send_message(message).then(sent, failed)

        self._read = self._source.read_message(self._letter.physical_offset)
        self._read.then(read, failed)

    def cancel(self) -> None:
        """Nothing: a send that has begun is noted whatever becomes of the dialog."""


def resend_dialog(
    source: ClusterSource, theme: ThemeManager, letters: Sequence[DeadLetter], sent: Sent, parent: QWidget
) -> ActionDialog:
    """Ask where to send dead letters again.

    Args:
        source: Carries it out.
        theme: Of the dialog.
        letters: At least one, all of one group.
        sent: Told after each send, so that what was sent is noted also when a later one fails.
        parent: Of the dialog.
    """
    target = SegmentedControl([(TO_GROUP, tr("Only to {group}", group=letters[0].group)), (TO_TOPIC, tr("Original topic"))])
    without_origin = sum(not letter.origin_topic for letter in letters)

    def start() -> InTurn[SendReceipt]:
        to_group = target.current == TO_GROUP
        return InTurn([partial(_Resend, source, letter, sent, to_group=to_group) for letter in letters])

    title = (
        tr("Resend 1 dead letter") if len(letters) == 1 else tr("Resend {count} dead letters", count=count_text(len(letters)))
    )
    plan = ActionPlan(
        title=title,
        effects=[
            tr("New copies are sent; the dead letters stay as proof. Each copy carries the id of its dead letter."),
            tr("In the original topic all its groups get them again; otherwise this group alone."),
        ],
        verb=title,
        start=start,
        facts=[(tr("Group"), letters[0].group), (tr("Original topics"), _origins(letters))],
        warning=tr("{count} do not say where they came from", count=count_text(without_origin)) if without_origin else "",
        refusal=read_only_reason(source),
    )
    dialog = ActionDialog(plan, theme, parent)
    dialog.extra.addWidget(target)
    target.choose(TO_GROUP)

    def check(_chosen: str = "") -> None:
        blocked = target.current == TO_TOPIC and without_origin
        dialog.set_blocked(tr("Without an original topic they can only go to the group") if blocked else "")

    target.chosen.connect(check)
    check()
    notice = Notice(theme)
    notice.set("")
    dialog.extra.addWidget(notice)
    query: LatestQuery[Members] = LatestQuery(dialog)

    def not_known(error: OrbitError) -> None:
        notice.set(tr("The consumers of the group are not known"), error.message, State.INFO)

    query.ask(source.list_members(letters[0].group), partial(_show_rejected, notice, letters), not_known)
    return dialog


def _show_rejected(notice: Notice, letters: Sequence[DeadLetter], members: Members) -> None:
    """Say what the group's subscription of now would reject; it may be another than when they died."""
    group = letters[0].group
    if not members.client_id:
        notice.set(tr("No consumer of {group} is connected: nobody takes them for now.", group=group), state=State.INFO)
        return
    wanted = members.wanted(0)
    found = Counter(_verdict(wanted, one) for one in letters)
    count = found[Rejection.TOPIC] + found[Rejection.TAG] + found[Rejection.PROPERTIES]
    if count:
        words = tr(
            "Their topics, tags or properties are none that its consumers ask for. "
            "Sent to the group alone they arrive all the same."
        )
        if found[Rejection.PROPERTIES]:
            words += " " + tr("Not those that its SQL92 filter rejects, if its broker has filterSupportRetry=true.")
        notice.set(
            tr("The subscription of {group} rejects {count} of {total}", group=group, count=count_text(count),
               total=count_text(len(letters))),
            words,
        )  # fmt: skip


def _verdict(wanted: Mapping[str, Wanted], letter: DeadLetter) -> Rejection:
    properties = resent_properties(letter.properties, letter.offset_message_id, without_delay=True)
    return rejection(wanted, letter.origin_topic, properties.get("TAGS", ""), properties)


def _origins(letters: Sequence[DeadLetter]) -> str:
    return ", ".join(sorted({letter.origin_topic for letter in letters if letter.origin_topic})) or "—"
