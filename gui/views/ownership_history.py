"""`OwnershipHistory`: owners of a group's queues over time, as a picture; on the pages of groups and of clients."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.history import EventPage, Ownership, ReadEvents, ReadOwnership
from gui.models.consumers import own_first
from gui.operations.history import goes_on
from gui.operations.queries import LatestQuery
from gui.plots.ownership_strip import OwnedStretch, OwnershipPicture, OwnershipStrip, rows_of
from gui.theme.tokens import State
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.widgets.basic import fill
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import said
from gui.words.text import tr
from monitoring.sources.base import SourceStatus

REBALANCE = "members_changed"
EVENTS_MAX = 200
REFRESH_MS = 5_000
NOTHING = Ownership([], [], [], [], [])


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A change of a group's members."""

    number: int
    at_ms: int
    text: str


class OwnershipHistory(Panel):
    """Reads while it is shown, when `show_group` is called with each state. Its owner writes the title.

    Signals:
        rebalanced: ``rebalances`` changed; carries their total, -1 while they are being read.
    """

    rebalanced = Signal(int)

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self.group = ""
        self.rebalances: list[Rebalance] = []
        self._asked: tuple[int, int] | None = None
        """Requested span of the group, ms since the epoch."""
        self._span = (0, 0)
        self._query: LatestQuery[Ownership] = LatestQuery(self)
        self._events_query: LatestQuery[EventPage] = LatestQuery(self)
        self._is_reported = True
        self._owned = NOTHING
        self.strip = said(OwnershipStrip(context.theme, context.times), name="Owners of the queues")
        self.fault = Notice(context.theme)
        fill(self.content, self.fault, (self.strip, 1))

    def show_group(self, group: str, from_ms: int, to_ms: int, *, is_reported: bool = True) -> None:
        """Show a group over a time, ms since the epoch; ``is_reported`` says whether brokers report the owners of queues."""
        self._is_reported = is_reported
        self.write_subtitle()
        if group != self.group:
            self.forget(group)
        if not group or self._is_fresh(from_ms, to_ms) or self._context.source.status is not SourceStatus.READY:
            return
        self._asked, self._span = (from_ms, to_ms), (max(0, from_ms), to_ms)
        self._read()

    def write_subtitle(self) -> None:
        self.set_subtitle(tr("recorded here once a second") if self._is_reported else "")

    def _is_fresh(self, from_ms: int, to_ms: int) -> bool:
        asked = self._asked
        return asked is not None and 0 <= to_ms - asked[1] < REFRESH_MS and goes_on(asked, from_ms, to_ms)

    def _read(self) -> None:
        source, (from_ms, to_ms) = self._context.source, self._span
        self._query.ask(source.ask(ReadOwnership(self.group, from_ms, to_ms + 1)), self._take, self._failed)
        events = ReadEvents(from_ms, to_ms + 1, EVENTS_MAX, [REBALANCE], self.group)
        self._events_query.ask(source.ask(events), self._take_events, self._failed)

    def forget(self, group: str = "") -> None:
        """Show nothing until another group is read."""
        self.group = group
        self._owned, self._asked = NOTHING, None
        self._query.cancel()
        self._events_query.cancel()
        self.rebalances = []
        self.fault.set("")
        self.rebalanced.emit(-1)
        self._draw()

    def _take(self, owned: Ownership) -> None:
        self._owned = owned
        if not self._is_reported:
            self.fault.set(
                lambda: tr(
                    "Owners are not recorded here: brokers do not report who owns a queue, clients do when they are asked."
                ),
                "",
                State.INFO,
            )
        elif owned.left_out:
            self.fault.set(lambda: tr("{count} more queues are not shown.", count=owned.left_out), "", State.INFO)
        else:
            self.fault.set("")
        self._draw()

    def _take_events(self, page: EventPage) -> None:
        changes = enumerate(zip(page.at_ms, page.text, strict=True))
        self.rebalances = [Rebalance(number, at_ms, text) for number, (at_ms, text) in changes]
        self.rebalanced.emit(page.total)
        self._draw()

    def _failed(self, error: OrbitError) -> None:
        self.rebalanced.emit(len(self.rebalances))
        say_not_read(self.fault, lambda: tr("The recorded owners were not read"), error, self._read)

    def _draw(self) -> None:
        owned = self._owned
        known = set(zip(owned.topic, owned.queue_id, strict=True))
        places = sorted(known, key=lambda place: (own_first(place[0]), place))
        number = {place: line for line, place in enumerate(places)}
        columns = zip(owned.topic, owned.queue_id, owned.from_ms, owned.to_ms, owned.client, strict=True)
        stretches = [OwnedStretch(number[topic, queue], first, last, client) for topic, queue, first, last, client in columns]
        marks = tuple(one.at_ms for one in self.rebalances)
        rows = rows_of(places, self._context.queue_text)
        self.strip.set_picture(OwnershipPicture(rows, tuple(stretches), *self._span, marks))
