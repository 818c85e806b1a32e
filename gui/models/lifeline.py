"""The life of a message: its events in words, and its state. Pure but for the language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker_core.worker.questions.stored_messages import Lifeline
from gui.models.queue_window import place_text
from gui.theme.tokens import State
from gui.words.text import KnownTexts, QueueText, count_text, duration_text, milliseconds_text, tr

ATTEMPT, RETRY, RETRY_WAITS, DEAD = "attempt", "retry", "retry waits", "dead"
POP = "POP"
"""Received by this request, which remoting and gRPC both make."""

_TITLES = {
    "produced": "Produced",
    "sent": "Sent by the producer",
    "half": "Half stored",
    "checked": "Check {number}: producer asked",
    "postponed": "Half copied, check put off",
    "answered": "Producer answered",
    "committed": "Committed",
    "rolled back": "Rolled back",
    "given up": "Given up after its checks",
    "delayed": "Waits at delay level {number}",
    "timed": "Waits for its time",
    "stored": "Stored for consumers",
    "stored again": "Stored once more",
    "delivered": "Delivered to its topic",
    "passed": "Passed by {group}",
    "ahead": "Not yet read by {group}",
    "retry waits": "Retry {number} waits",
    "retry": "Retry {number} stored",
    "dead": "Dead letter",
    "resent": "Resent as a new message",
    "resent from": "Same message sent before",
}
_ATTEMPTS = {
    "success": "Attempt {number} consumed",
    "failed": "Attempt {number} failed",
    "unknown": "Attempt {number} begun",
}
_STATES = {
    "half": State.PENDING,
    "checked": State.CHECKING,
    "postponed": State.PENDING,
    "committed": State.COMMITTED,
    "rolled back": State.IDLE,
    "given up": State.CRITICAL,
    "delayed": State.DELAYED,
    "timed": State.DELAYED,
    "stored": State.COMMITTED,
    "stored again": State.INFO,
    "delivered": State.COMMITTED,
    "passed": State.HEALTHY,
    "retry waits": State.RETRY,
    "retry": State.RETRY,
    "dead": State.CRITICAL,
    "resent": State.INFO,
    "resent from": State.INFO,
}
_OUTCOMES = {"success": State.HEALTHY, "failed": State.CRITICAL, "unknown": State.PENDING}

MISSING = KnownTexts(
    "No trace records were found: tracing is off in its clients or in the broker.",
    "The message has no unique key: copies and traces of it cannot be looked up.",
    "{count} other messages have the same unique key, as in a batch; they are left out.",
    "More than {count} messages have the same key and body; the nearest are told.",
    "There are {count} retry and dead letter topics; {shown} were looked into.",
    "The index does not hold this message: copies of it may not have been found.",
    "Only the first {count} op records behind the half message were looked at.",
    "The first half message is no longer stored; a copy made for a check is.",
    "The half message of its transaction is no longer stored.",
    "The op record of the transaction was not found.",
    "A wait was over before the last record was stored, and what was delivered was not found.",
    "What {group} read at attempt {number} is no longer stored.",
    "No consumer group has an offset in its queue.",
    "No history of offsets is kept by this process: when groups came past it is not known.",
    "The history of offsets cannot be read: {reason}",
    "More than {count} groups have offsets in its queues; the others are left out.",
    "The message that it was made of is not in this store, or no longer.",
    "There are {count} topics; resends were looked for in {most} of them.",
    "More than {count} messages were made of one another; those made last have life lines of their own.",
    "The brokers were asked {count} times for this life line; what more would tell is missing.",
    "Not all brokers answered, and what they hold is missing here. {reasons}",
    "Retry topic {topic} fits several pairs of group and topic: {pairs}.",
)
"""Sentences of the worker about missing facts."""


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One row of the table of events; the fields are those of `broker_core.worker.lifeline.model.Event`."""

    index: int
    at_ms: int
    kind: str
    evidence: str
    source: str
    until_ms: int
    group: str
    number: int
    topic: str
    queue: str
    """As it is shown."""
    queue_offset: int
    physical_offset: int
    outcome: str
    host: str
    branch: int = 0
    """Number of the life in this line; the first is 0."""
    protocol: str = ""
    """By which a client sent or received it; empty where that is unknown."""

    @property
    def title(self) -> str:
        title = (
            _ATTEMPTS[self.outcome] if self.kind == ATTEMPT and self.outcome in _ATTEMPTS else _TITLES.get(self.kind, self.kind)
        )
        return tr(title, number=count_text(self.number), group=self.group)

    @property
    def is_other_life(self) -> bool:
        """Whether its record is another message whose life is not in this line."""
        return self.kind in ("resent", "resent from") and self.physical_offset >= 0 and self.number < 0

    @property
    def state(self) -> State:
        return _OUTCOMES.get(self.outcome, State.PLAIN) if self.kind == ATTEMPT else _STATES.get(self.kind, State.PLAIN)

    @property
    def place(self) -> str:
        """Topic, queue and offset of the record."""
        if not self.topic:
            return ""
        return place_text(self.topic, self.queue, self.queue_offset)

    @property
    def detail(self) -> str:
        """Group, host, waits and lateness, then the place."""
        parts = [tr("branch {number}", number=self.branch + 1)] if self.branch else []
        parts.append(self._protocol_words())
        parts += [self.group if self.kind not in ("passed", "ahead") else "", self.host]
        if self.kind == ATTEMPT:
            parts.append(milliseconds_text(self.until_ms - self.at_ms) if self.until_ms >= 0 else "")
        elif self.kind == "answered":
            parts += [self.outcome, tr("to a check") if self.number == 1 else ""]
        elif self.kind == "sent" and self.outcome == "failed":
            parts.append(tr("failed"))
        elif self.kind == "resent" and self.number >= 0:
            parts.append(tr("made of branch {number}", number=self.number + 1))
        elif self.kind == "ahead":
            parts.append(tr("{count} messages are before it", count=count_text(self.number)))
        elif self.until_ms >= 0:
            parts.append(self._wait_words())
        if self.kind != "produced":
            parts.append(self.place)
        return " · ".join(part for part in parts if part)

    def _protocol_words(self) -> str:
        if not self.protocol:
            return ""
        if self.kind == "passed":
            return tr("its members use {protocol} now", protocol=tr(self.protocol))
        return tr("received by POP") if self.protocol == POP else tr("over {protocol}", protocol=tr(self.protocol))

    def _wait_words(self) -> str:
        if self.kind in (RETRY, "delivered"):
            late_ms = self.at_ms - self.until_ms
            return tr("{delay} late", delay=milliseconds_text(late_ms)) if late_ms > 0 else tr("on time")
        return tr("waits {delay}", delay=duration_text(self.until_ms - self.at_ms))

    @property
    def evidence_words(self) -> str:
        words = f"{tr(self.evidence)}: {tr(self.source)}"
        if self.is_other_life:
            words += "\n" + tr("Enter opens the life line of that message, with its own retries")
        if self.physical_offset >= 0:
            words += "\n" + tr("Record at {position} of the commit log", position=count_text(self.physical_offset))
        return words if not self.topic else f"{words}\n{self.place}"


def life_events(line: Lifeline, queue_text: QueueText) -> list[LifeEvent]:
    branches = line.branch or [0] * len(line.at_ms)
    protocols = line.protocol or [""] * len(line.at_ms)
    columns = zip(
        line.at_ms, line.kind, line.evidence, line.source, line.until_ms, line.group, line.number, line.topic,
        map(queue_text, line.queue_id), line.queue_offset, line.physical_offset, line.outcome, line.host, branches,
        protocols, strict=True,
    )  # fmt: skip
    return [LifeEvent(index, *values) for index, values in enumerate(columns)]


def life_chips(events: Sequence[LifeEvent]) -> list[tuple[str, State]]:
    """Short labels: the outcome of the transaction, and the state in each group."""
    chips: list[tuple[str, State]] = []
    kinds = {event.kind for event in events}
    decided = next((kind for kind in ("committed", "rolled back", "given up") if kind in kinds), "")
    if decided:
        chips.append((tr(decided.capitalize()), _STATES[decided]))
    elif "half" in kinds or "checked" in kinds:
        chips.append((tr("Undecided"), State.PENDING))
    last = {event.group: event for event in events if event.kind in (ATTEMPT, DEAD, RETRY_WAITS)}
    for group, event in list(last.items())[:3]:
        if event.kind == DEAD:
            chips.append((tr("Dead in {group}", group=group), State.CRITICAL))
        elif event.kind == RETRY_WAITS:
            chips.append((tr("Waits for retry {number}", number=event.number), State.RETRY))
        elif event.outcome == "success":
            chips.append((tr("Consumed at attempt {number}", number=event.number), State.HEALTHY))
        elif any(one.kind == DEAD and one.group == group for one in events):
            chips.append((tr("Dead in {group}", group=group), State.CRITICAL))
        elif event.outcome == "failed":
            chips.append((tr("Failed at attempt {number}", number=event.number), State.CRITICAL))
    return chips
