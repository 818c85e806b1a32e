"""`Audience`: which groups would reject a message, by the subscriptions of their consumers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError, Rejection, Wanted, rejection
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.stored_messages import SendMessage
from gui.operations.queries import LatestQuery
from gui.operations.requests import InTurn
from gui.words.error_words import kept_line
from gui.words.text import count_text, tr
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

GROUPS_ASKED_MAX = 20
"""Groups of one topic that are asked."""
GROUPS_NAMED_MAX = 3
_REASONS = {
    Rejection.TOPIC: "{group} does not subscribe to {topic}.",
    Rejection.TAG: "The filter {filter} of {group} rejects its tag.",
    Rejection.PROPERTIES: "The filter {filter} of {group} does not hold for its properties.",
    Rejection.UNKNOWN: "Whether the filter {filter} of {group} takes it could not be tried.",
}


class Audience(QObject):
    """Knows the subscriptions of the groups that read a topic.

    Signals:
        changed: The subscriptions of another topic's groups were read, or were not.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._topic = ""
        self._groups: list[str] = []
        self._wanted: list[tuple[str, dict[str, Wanted]]] = []
        self._fault: Callable[[], str] | None = None
        self._query: LatestQuery[list[Members]] = LatestQuery(self)

    def look(self, topic: str, state: ClusterState | None) -> None:
        """Ask for the groups of a topic, unless they were asked for last."""
        groups = groups_of_topic(state, topic)
        if (topic, groups) == (self._topic, self._groups):
            return
        self._topic, self._groups = topic, groups
        self._wanted, self._fault = [], None
        asks = [partial(self._source.ask, ListMembers(group)) for group in groups[:GROUPS_ASKED_MAX]]
        self._query.ask(InTurn(asks), self._known, self._failed)

    def words(self, message: SendMessage) -> str:
        """Which groups would not receive the message, and why; empty where all connected ones would."""
        found = []
        for group, wanted in self._wanted:
            verdict = rejection(wanted, message.topic, message.properties.get("TAGS", ""), message.properties)
            if verdict is not Rejection.NONE:
                expression = wanted[message.topic].expression if message.topic in wanted else ""
                found.append(tr(_REASONS[verdict], group=group, topic=message.topic, filter=expression))
        more = len(found) - GROUPS_NAMED_MAX
        parts = found[:GROUPS_NAMED_MAX]
        if more > 0:
            parts.append(tr("{count} more groups reject it, too.", count=count_text(more)))
        unasked = len(self._groups) - GROUPS_ASKED_MAX
        if unasked > 0:
            parts.append(tr("Not asked: {count} further groups.", count=count_text(unasked)))
        if self._fault:
            parts.append(tr("What groups would reject is not known: {reason}", reason=self._fault()))
        return " ".join(parts)

    def _known(self, answers: Sequence[Members]) -> None:
        # The subscriptions of a group without members are unknown.
        asked = zip(self._groups, answers, strict=False)
        self._wanted = [(group, members.wanted(0)) for group, members in asked if members.client_id]
        self.changed.emit()

    def _failed(self, error: OrbitError) -> None:
        self._fault = kept_line(error)
        self.changed.emit()


def groups_of_topic(state: ClusterState | None, topic: str) -> list[str]:
    if state is None or topic not in state.catalog.topics:
        return []
    catalog = state.catalog
    wanted = catalog.topics.index(topic)
    pairs = zip(catalog.position_group, catalog.position_queue, strict=True)
    return sorted({catalog.groups[group] for group, queue in pairs if catalog.queue_topic[queue] == wanted})
