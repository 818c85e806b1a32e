"""Dead letters and retries, combined from figures, stored messages and users' notes. Pure.

A group's dead letters are in ``%DLQ%group``; its retries wait in delay levels for ``%RETRY%group``, and those of popped
messages are in a retry topic of group and topic, which several groups may share.

Source: docs/spec/broker.md §6.7, §8.1.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from broker_core.api import ORIGIN_LINK, retry_names
from broker_core.api import names as reserved
from broker_core.worker.questions.delays import DelayedMessages
from broker_core.worker.questions.stored_messages import MessageDetail
from monitoring.letter_notes import LetterNote
from monitoring.payload.listed import ListMask, MaskOf
from monitoring.state import ClusterState

FIRST_RETRY_LEVEL = 3
"""Delay level of a group's first retry; each further one takes the next."""
BODY_CHARACTERS_MAX = 8_000
"""Characters of a dead letter's body in the list; the message has all of it."""
RUNGS_MAX = 200
RETRIES_DEFAULT = 16
"""Retries of a message by default (Source: docs/spec/broker.md §8.1)."""

WAITING, CONSUMED, RETRYING, DIED_AGAIN, UNKNOWN = "waiting", "consumed", "retrying", "died again", "unknown"


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Dead letters of one group.

    Attributes:
        dead: Messages in its dead letter topic that the store still has; -1 unknown.
        ends: Shown number and end of each queue of its dead letter topic; there is one on each broker.
        last_died_ms: Store time of the newest one; -1 unknown.
        unread_retries: Messages in its retry topics that it has not read, 0 if these are empty; -1 unknown.
        members: Its online consumers; -1 none.
        shared: Its retry topics with messages whose names fit other groups too, each with those groups.
    """

    group: str
    dead: int
    ends: tuple[tuple[int, int], ...]
    last_died_ms: int
    unread_retries: int
    members: int
    shared: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DeadLetter:
    physical_offset: int
    offset_message_id: str
    queue_offset: int
    died_ms: int
    group: str
    origins: tuple[str, ...]
    """Topics of which one is that it was first sent to: several where pairs of group and topic share a retry topic."""
    keys: str
    tag: str
    host: str
    tries: int
    body: str
    """The beginning of the body, masked."""
    made_from: str
    """Id of the dead letter that was sent again as this message; empty for none."""
    properties: Mapping[str, str] = field(repr=False, compare=False)
    """Unmasked, to evaluate the filters of subscriptions; never shown."""
    is_whole: bool = False
    """Whether ``body`` is the whole body: UTF-8 text, neither cut nor masked."""

    @property
    def origin_topic(self) -> str:
        """The topic it was first sent to; empty if that is not certain."""
        return self.origins[0] if len(self.origins) == 1 else ""

    @property
    def origin_text(self) -> str:
        """That topic, or all topics of which one is meant; empty if no property names any."""
        return retry_names.names_text(self.origins)


@dataclass(frozen=True, slots=True)
class WaitingRetry:
    """A message that is pending for its next attempt."""

    physical_offset: int
    group: str
    attempt: int
    """The first retry is 1; -1 where its record counts none."""
    due_ms: int
    keys: str
    tag: str
    unique_key: str = ""


def known_names(state: ClusterState | None) -> retry_names.KnownNames:
    """Groups and topics of the cluster, to tell retry topics apart; none before its first figures."""
    if state is None:
        return retry_names.NOTHING_KNOWN
    return retry_names.KnownNames(frozenset(state.catalog.groups), frozenset(state.catalog.topics))


def group_figures(state: ClusterState) -> list[GroupFigures]:
    """Every group with a dead letter topic or a retry topic, sorted by dead letters, most first."""
    topics = {name: row for row, name in enumerate(state.catalog.topics)}
    groups = {name: row for row, name in enumerate(state.catalog.groups)}
    retries, shared = _retry_topics(state)
    named = {name.removeprefix(reserved.DLQ_PREFIX) for name in topics if name.startswith(reserved.DLQ_PREFIX)} | retries.keys()
    ends, unread = _dead_ends(state), _unread_retries(state)
    found = []
    for group in named:
        dead, row = topics.get(reserved.DLQ_PREFIX + group), groups.get(group)
        kept = state.topic_kept_messages
        # Of a topic of which a part is unknown, the other part says less.
        lags = [unread.get((row, topic), -1) if kept[topic] > 0 else int(kept[topic]) for topic in retries[group]]
        found.append(
            GroupFigures(
                group=group,
                dead=0 if dead is None else int(state.topic_kept_messages[dead]),
                ends=() if dead is None else tuple(ends[dead]),
                last_died_ms=-1 if dead is None else int(state.topic_last_store_ms[dead]),
                unread_retries=-1 if -1 in lags else sum(lags),
                members=-1 if row is None else int(state.group_members[row]),
                shared=tuple(shared[group]),
            )
        )
    return sorted(found, key=lambda figures: (-figures.dead, figures.group))


def _retry_topics(state: ClusterState) -> tuple[dict[str, list[int]], dict[str, list[tuple[str, str]]]]:
    """Group → rows of its retry topics, and group → its shared retry topics with messages, each with the other groups.

    A topic that fits several groups of which none is known is listed under all their names together.
    """
    known = known_names(state)
    topics: dict[str, list[int]] = defaultdict(list)
    shared: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row, name in enumerate(state.catalog.topics):
        groups = retry_names.groups_of(retry_names.owners_of(name, known))
        if len(groups) > 1 and known.groups.isdisjoint(groups):
            groups = (retry_names.names_text(groups),)
        for group in groups:
            topics[group].append(row)
            others = [one for one in groups if one != group]
            if others and state.topic_kept_messages[row]:
                shared[group].append((name, retry_names.names_text(others)))
    return topics, shared


def may_have_any(figures: GroupFigures, waiting: int) -> bool:
    """Whether a group has dead letters or retries, or may have some; ``waiting`` is its retries in delay levels, -1 unknown."""
    return figures.dead != 0 or figures.unread_retries != 0 or waiting != 0


def _dead_ends(state: ClusterState) -> dict[int, list[tuple[int, int]]]:
    """Row of a dead letter topic → its queues and their ends."""
    catalog = state.catalog
    is_dead = [name.startswith(reserved.DLQ_PREFIX) for name in catalog.topics]
    places = zip(catalog.queue_topic, catalog.queue_id, state.queue_max_offset.tolist(), strict=True)
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for topic, queue, end in places:
        # RocketMQ writes to the first queue of a broker alone.
        if is_dead[topic] and end > 0:
            found[topic].append((queue, end))
    return found


def _unread_retries(state: ClusterState) -> dict[tuple[int | None, int], int]:
    """Lag of the positions in retry topics, by group and topic; unknown ones are left out."""
    catalog = state.catalog
    is_retry = [name.startswith(reserved.RETRY_PREFIX) for name in catalog.topics]
    sums: dict[tuple[int | None, int], float] = {}
    positions = zip(catalog.position_group, catalog.position_queue, state.position_lag_messages.tolist(), strict=True)
    for group, queue, lag in positions:
        topic = catalog.queue_topic[queue]
        if is_retry[topic] and not math.isnan(lag):
            sums[group, topic] = sums.get((group, topic), 0.0) + lag
    return {key: int(lag) for key, lag in sums.items()}


def dead_letter(detail: MessageDetail, mask: ListMask, known: retry_names.KnownNames = retry_names.NOTHING_KNOWN) -> DeadLetter:
    """A stored dead letter, masked; ``known`` has the groups and topics that may share a retry topic."""
    properties, group = detail.properties, detail.topic.removeprefix(reserved.DLQ_PREFIX)
    body = mask.beginning(detail.body, BODY_CHARACTERS_MAX)
    return DeadLetter(
        physical_offset=detail.physical_offset,
        offset_message_id=detail.offset_message_id,
        queue_offset=detail.queue_offset,
        died_ms=detail.store_ms,
        group=group,
        origins=retry_names.origins_of(properties, group, known),
        keys=mask.text(properties.get("KEYS", "")),
        tag=mask.text(properties.get("TAGS", "")),
        host=detail.born_host,
        tries=detail.reconsume_times,
        body=body,
        made_from=properties.get(ORIGIN_LINK, ""),
        properties=properties,
        is_whole=body.encode("utf-8", "surrogatepass") == detail.body,
    )


def top_origins(letters: Iterable[DeadLetter], count: int = 3) -> list[tuple[str, int]]:
    """The topics to which most dead letters were first sent."""
    return Counter(letter.origin_text for letter in letters if letter.origins).most_common(count)


def waiting_retries(page: DelayedMessages, mask_of: MaskOf) -> list[WaitingRetry]:
    """Retries among the messages of a delay level; ``mask_of`` returns the mask of a topic."""
    columns = zip(
        page.physical_offset,
        page.topic,
        page.reconsume_times,
        page.due_ms,
        page.keys,
        page.tag,
        page.unique_key,
        strict=True,
    )
    return [
        WaitingRetry(
            position,
            _sent_back_by(topic),
            attempt or -1,
            due_ms,
            mask_of(topic).text(keys),
            mask_of(topic).text(tag),
            unique_key,
        )
        for position, topic, attempt, due_ms, keys, tag, unique_key in columns
        if topic.startswith(reserved.RETRY_PREFIX)
    ]


def _sent_back_by(topic: str) -> str:
    """The group of a retry topic for which a message waits; popped messages do not wait in delay levels."""
    return retry_names.names_text(retry_names.groups_of(retry_names.owners_of(topic, popped=False)))


@dataclass(frozen=True, slots=True)
class Rung:
    """One attempt to deliver a message that consumers fail on.

    Attributes:
        attempt: The first delivery is 0, the first retry 1.
        wait_ms: Delay of the message before the attempt.
        due_ms: Earliest time, if every attempt fails at once; -1: it is over.
    """

    attempt: int
    wait_ms: int
    due_ms: int


def retry_ladder(attempt_now: int, due_ms: int, delays_ms: Sequence[int], *, retries: int) -> list[Rung]:
    """The failed and future attempts of a pending message until it becomes a dead letter; at most `RUNGS_MAX`.

    ``attempt_now`` is the next attempt, ``due_ms`` its time; ``delays_ms`` begins with level 1.
    """
    rungs, first_due_ms, due_ms = [], due_ms, -1
    last = max(retries, attempt_now)
    first = max(1, min(attempt_now - RUNGS_MAX // 2, last - RUNGS_MAX + 1))
    for attempt in range(first, min(last, first + RUNGS_MAX - 1) + 1):
        level = min(FIRST_RETRY_LEVEL + attempt - 1, len(delays_ms))
        wait_ms = int(delays_ms[level - 1]) if level else 0
        if attempt == attempt_now:
            due_ms = first_due_ms
        elif attempt > attempt_now:
            due_ms += wait_ms
        rungs.append(Rung(attempt, wait_ms, due_ms))
    return rungs


def proof(
    note: LetterNote,
    letter: DeadLetter,
    letters: Sequence[DeadLetter],
    positions: Mapping[tuple[str, int], int],
    retrying: Collection[str] = (),
) -> str:
    """What happened to the message that a dead letter was sent again as.

    Args:
        note: On the dead letter.
        letter: The dead letter.
        letters: Known dead letters of the group.
        positions: The group's offsets by topic and queue.
        retrying: Unique keys of the group's messages that are pending for a retry. A resend keeps its origin's key.

    Returns:
        Empty if it was not sent again; ``died again``; ``retrying``: the group failed on it and will try again;
        ``consumed``: the group's offset is past it; ``waiting``; ``unknown``: the group has no offset there.
    """
    if note.queue_offset < 0:
        return ""
    if any(other.made_from == letter.offset_message_id for other in letters):
        return DIED_AGAIN
    position = positions.get((note.topic, note.queue_id), -1)
    if position < 0:
        return UNKNOWN
    if position <= note.queue_offset:
        return WAITING
    return RETRYING if letter.properties.get("UNIQ_KEY") in retrying else CONSUMED


def group_positions(state: ClusterState, group: str) -> dict[tuple[str, int], int]:
    catalog = state.catalog
    if group not in catalog.groups:
        return {}
    wanted = catalog.groups.index(group)
    return {
        (catalog.topics[catalog.queue_topic[queue]], catalog.queue_id[queue]): int(offset)
        for owner, queue, offset in zip(catalog.position_group, catalog.position_queue, state.position_offset, strict=True)
        if owner == wanted
    }
