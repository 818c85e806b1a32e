"""The dialog that sends dead letters again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex

from PySide6.QtWidgets import QVBoxLayout, QWidget

from broker_core.api import OrbitError, Rejection, Wanted, rejection, replays_folder, resent_properties
from broker_core.worker.questions.administration import ListMembers, Members
from gui.operations.message_job import MessageJob
from gui.operations.queries import LatestQuery
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.dead_letters.edit_side import PART_NAMES
from gui.views.dead_letters.replayed import RESEND_MARK, Done, ReplayedResend, Sent
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, column, label, row
from gui.widgets.inputs import SegmentedControl
from gui.widgets.notice import Notice
from gui.widgets.production_bar import production_name
from gui.widgets.progress_line import ProgressLine
from gui.words.error_words import error_text
from gui.words.text import count_text, tr
from monitoring.dead_letters import DeadLetter
from monitoring.resending import Part, ResendOrder, ResendOutcome, ResendTarget

AT_ONCE = ResendOrder()


def new_folder() -> Path:
    """A new name of a folder for the journal of a resend."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return replays_folder() / f"{stamp}{RESEND_MARK}{token_hex(4)}"


def _untold(_outcome: ResendOutcome) -> None:
    """Do nothing with the outcome."""


def resend_dialog(
    context: PageContext,
    letters: Sequence[DeadLetter],
    sent: Sent,
    parent: QWidget,
    *,
    order: ResendOrder = AT_ONCE,
    ended: Done = _untold,
) -> ActionDialog:
    """Ask where to send dead letters again, and say what that does.

    Args:
        context: Of the page.
        letters: At least one, all of one group.
        sent: Called with sent letters, so that they are noted also when a later one fails.
        parent: Of the dialog.
        order: Choices of the steps before.
        ended: Called with the total outcome.
    """
    source, theme = context.source, context.theme
    target = SegmentedControl(_targets(letters[0].group, order))
    without_origin = sum(not letter.origin_topic for letter in letters)
    progress = ResendProgress(theme)

    so_far = ResendOutcome(left=tuple(letter.offset_message_id for letter in letters))

    def start() -> ReplayedResend:
        asked, still = replace(order, target=ResendTarget(target.current)), _still_unsent(letters, so_far)
        job = MessageJob(context.tasks, partial(_title, len(still)), dialog)
        resend = ReplayedResend(
            source, job, new_folder(), still, asked, production=production_name(parent), sent=sent, ended=keep, owner=dialog
        )
        progress.follow(resend, len(still))
        return resend

    def keep(outcome: ResendOutcome) -> None:
        nonlocal so_far
        so_far = so_far.followed_by(outcome)
        ended(so_far)
        # Another attempt sends only letters that are surely unsent, because a duplicate is worse than another request.
        dialog.go.setText(_title(len(_still_unsent(letters, so_far))))
        check()

    dialog = ActionDialog(_plan(letters, order, start, without_origin, read_only_reason(source)), theme, parent)
    dialog.extra.addWidget(target)
    target.choose(order.target.value)

    def check(_chosen: str = "") -> None:
        blocked = target.current == ResendTarget.TOPIC.value and without_origin
        reason = tr("Without a certain original topic they can only go to the group") if blocked else ""
        dialog.set_blocked(reason if _still_unsent(letters, so_far) else tr("None is left that was surely not sent"))

    target.chosen.connect(check)
    check()
    dialog.extra.addWidget(_consumers_notice(context, letters, dialog))
    dialog.extra.addWidget(progress)
    return dialog


def _targets(group: str, order: ResendOrder) -> list[tuple[str, str]]:
    """Where letters can go, as keys and texts."""
    choices = [
        (ResendTarget.GROUP.value, tr("Only to {group}", group=group)),
        (ResendTarget.TOPIC.value, tr("Original topic")),
    ]
    return [*choices, (ResendTarget.OTHER.value, order.topic)] if order.target is ResendTarget.OTHER else choices


def _consumers_notice(context: PageContext, letters: Sequence[DeadLetter], owner: QWidget) -> Notice:
    """What the consumers of the group would not take, once they are known."""
    notice = Notice(context.theme)
    query: LatestQuery[Members] = LatestQuery(owner)

    def not_known(error: OrbitError) -> None:
        notice.set(lambda: tr("The consumers of the group are not known"), partial(error_text, error), State.INFO)

    def known(members: Members) -> None:
        show_rejected(notice, letters, members)

    query.ask(context.source.ask(ListMembers(letters[0].group)), known, not_known)
    return notice


def _plan(
    letters: Sequence[DeadLetter], order: ResendOrder, start: Callable[[], ReplayedResend], without_origin: int, refusal: str
) -> ActionPlan:
    title = _title(len(letters))
    return ActionPlan(
        title=title,
        effects=[
            tr("New copies are sent; the dead letters stay as proof. Each copy carries the id of its dead letter."),
            tr("In the original topic all its groups get them again; otherwise this group alone."),
        ],
        verb=title,
        start=start,
        facts=[(tr("Group"), letters[0].group), (tr("Original topics"), _origins(letters)), *_asked(letters, order)],
        warning=tr("{count} do not say where they came from", count=count_text(without_origin)) if without_origin else "",
        refusal=refusal,
    )


def _title(count: int) -> str:
    return tr("Resend 1 dead letter") if count == 1 else tr("Resend {count} dead letters", count=count_text(count))


def _still_unsent(letters: Sequence[DeadLetter], so_far: ResendOutcome) -> list[DeadLetter]:
    """Letters that were surely not sent again."""
    unsent = {*so_far.left, *(message_id for message_id, _reason in so_far.refused)}
    return [letter for letter in letters if letter.offset_message_id in unsent]


class ResendProgress(QWidget):
    """Progress of a resend with a Stop button; hidden until a resend is followed."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._resend: ReplayedResend | None = None
        self._count = 0
        self.line = ProgressLine(theme)
        self.words = label(role="secondary")
        self.stop_button = IconButton(theme, "stop", tr("Stop"), role="small", on_click=self._stop)
        self.setLayout(column(self.line, spacing=6))
        lines = self.layout()
        assert isinstance(lines, QVBoxLayout)
        lines.addLayout(row(self.words, 1, self.stop_button))
        self.hide()

    def follow(self, resend: ReplayedResend, count: int) -> None:
        """Follow a resend of ``count`` letters."""
        self._resend, self._count = resend, count
        resend.progressed.connect(self._show)
        self._show(0)
        self.setVisible(count > 1)

    def _show(self, sent: int) -> None:
        self.line.set_share(sent / self._count)
        self.words.setText(tr("{sent} of {count} sent", sent=count_text(sent), count=count_text(self._count)))

    def _stop(self) -> None:
        if self._resend is not None:
            self._resend.stop()


def _asked(letters: Sequence[DeadLetter], order: ResendOrder) -> list[tuple[str, str]]:
    """Choices of the steps before, as name and value."""
    facts = []
    if order.patch.is_any:
        changed = sum(map(order.patch.changes, letters))
        facts.append((tr("Bodies edited"), tr("{count} of {total}", count=count_text(changed), total=count_text(len(letters)))))
    left_out = [tr(PART_NAMES[part]) for part in Part if part not in order.keeps]
    if left_out:
        facts.append((tr("Left out"), ", ".join(left_out)))
    if len(letters) > 1:
        facts.append((tr("Pace"), tr("{rate} per second at most", rate=count_text(order.rate))))
    return facts


def show_rejected(notice: Notice, letters: Sequence[DeadLetter], members: Members, *, says_all_pass: bool = False) -> bool:
    """Report what the group's present subscription would reject, or that all pass; returns whether all pass."""
    group = letters[0].group
    if not members.client_id:
        notice.set(tr("No consumer of {group} is connected: nobody takes them for now.", group=group), state=State.INFO)
        return False
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
            State.WARNING,
        )  # fmt: skip
    elif says_all_pass:
        notice.set(tr("{group} takes all of them by its subscription", group=group), state=State.INFO)
    else:
        notice.set("")
    return not count


def _verdict(wanted: Mapping[str, Wanted], letter: DeadLetter) -> Rejection:
    properties = resent_properties(letter.properties, letter.offset_message_id, without_delay=True)
    return rejection(wanted, letter.origin_topic, properties.get("TAGS", ""), properties)


def _origins(letters: Sequence[DeadLetter]) -> str:
    return ", ".join(sorted({letter.origin_text for letter in letters if letter.origins})) or "—"
