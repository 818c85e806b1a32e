"""Figures of a replay, for the dry run, and before a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from broker_core.counted import counted
from broker_core.protocol.message import properties as props
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.receiving_groups import Kinds
from broker_core.tools.replay.rewrite import ReplayTarget, Skipped, outgoing, shared_origin
from broker_core.tools.search.fields import state_of_topic

ROUTES_SHOWN = 20
_MORE_THAN_MESSAGES = {
    "half": "half messages: their transactions may have been rolled back; they are sent as plain messages",
    "delayed": "messages that still wait for their time: they will come a second time",
    "timer": "messages that still wait for their time: they will come a second time",
    "trace": "trace records",
}


class ReplaySurvey:
    def __init__(self, target: ReplayTarget, pace: Pace) -> None:
        self.count = 0
        self.topics: set[str] = set()
        """Topics that messages are sent to."""
        self.kinds = Kinds()
        """The messages by what subscriptions filter."""
        self.target = target
        self.pace = pace
        self._body_bytes = 0
        self._first_ms = self._last_ms = 0
        self._routes: Counter[tuple[str, str]] = Counter()
        self._skipped: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._shared: Counter[str] = Counter()

    def add(self, item: ReplayItem) -> None:
        self._first_ms = min(self._first_ms, item.store_timestamp_ms) if self.count else item.store_timestamp_ms
        self._last_ms = max(self._last_ms, item.store_timestamp_ms) if self.count else item.store_timestamp_ms
        self.count += 1
        message = outgoing(item, self.target)
        if isinstance(message, Skipped):
            self._skipped[message.reason] += 1
            return
        self.topics.add(message.topic)
        seen_as = message.properties.get(props.RETRY_TOPIC, "") if self.target.group else message.topic
        self.kinds.add(seen_as, message.properties.get(props.TAGS, ""), message.properties)
        self._body_bytes += len(message.body)
        self._routes[item.topic, message.topic] += 1
        self._states[state_of_topic(item.topic)] += 1
        if self.target.to_origin and (note := shared_origin(item)):
            self._shared[note] += 1

    def lines(self) -> Iterator[str]:
        """The plan, a line for each fact."""
        sent = self._routes.total()
        size = counted(self._body_bytes, "byte of body", "bytes of bodies")
        yield f"plan: {counted(sent, 'message')} with {size}, {self._time_taken(sent)}"
        for (source, topic), count in self._routes.most_common(ROUTES_SHOWN):
            yield f"  {count:,} from {source} to {topic}"
        if len(self._routes) > ROUTES_SHOWN:
            yield f"  and {counted(len(self._routes) - ROUTES_SHOWN, 'more pair', 'more pairs')} of topics"
        for state, words in _MORE_THAN_MESSAGES.items():
            if self._states[state]:
                yield f"  note: {counted(self._states[state], 'of them is', 'of them are')} {words}"
        for note, count in self._shared.most_common(ROUTES_SHOWN):
            yield f"  note: {counted(count, 'of them is', 'of them are')} {note}"
        for reason, count in self._skipped.most_common():
            yield f"  {count:,} left out: {reason}"

    def _time_taken(self, sent: int) -> str:
        if not self.pace.is_limited:
            return "as fast as they are taken"
        seconds = self.pace.due_s(max(sent - 1, 0), self._last_ms - self._first_ms)
        hours, rest = divmod(round(seconds), 3600)
        return f"in {hours}:{rest // 60:02}:{rest % 60:02} h or more"
