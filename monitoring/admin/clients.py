"""What a consumer tells of itself when it is asked (ConsumerRunningInfo), and where members of a group disagree. Pure.

Source: docs/spec/remoting.md §4.8 (203, 307), docs/spec/broker.md §10.3, §10.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.api import RequestCode, as_message_queue, parse_object
from broker_core.worker.questions.administration import AskBroker

BLOCKED_AFTER_MS = 60_000
"""Messages held without any consumption for so long may be stuck in a listener."""


@dataclass(frozen=True, slots=True)
class HeldQueue:
    """A queue as its owner sees it. Times in ms since the epoch, 0: never."""

    topic: str
    broker_name: str
    queue_id: int
    held_messages: int
    held_mib: int
    commit_offset: int
    last_pull_ms: int
    last_consume_ms: int
    is_locked: bool
    is_dropped: bool


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """What one client of a group tells. Rates in messages/s, times in ms; NaN and -1 are unknown."""

    client_id: str
    version: str
    is_push: bool
    is_orderly: bool
    start_ms: int
    threads: int
    subscriptions: tuple[tuple[str, str], ...]
    """Topic and filter expression, by topic."""
    queues: tuple[HeldQueue, ...]
    consumed_rate: float
    failed_rate: float
    consume_ms: float
    stacks: str
    properties: tuple[tuple[str, str], ...]

    @property
    def held_messages(self) -> int:
        return sum(queue.held_messages for queue in self.queues)


class FindingKind(Enum):
    """What is wrong with a group's members."""

    TOPICS_DIFFER = "topics differ"
    FILTERS_DIFFER = "filters differ"
    NOTHING_SUBSCRIBED = "nothing subscribed"
    MAY_BE_BLOCKED = "may be blocked"
    NOT_LOCKED = "not locked"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: on which topic, and who says what."""

    kind: FindingKind
    topic: str
    clients: tuple[tuple[str, str], ...]
    """Client id and its filter, or its figure; an empty text: it has none."""


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """Threads that stand at the same place."""

    names: tuple[str, ...]
    state: str
    frames: tuple[str, ...]


def ask_running_info(group: str, client_id: str, *, stacks: bool = False) -> AskBroker:
    """Ask a client of a group what it does. Answer: `read_running_info`."""
    fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": str(stacks).lower()}
    return AskBroker(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)


def read_running_info(client_id: str, body: bytes) -> RunningInfo:
    """Read a ConsumerRunningInfo; what a client leaves out is unknown.

    Raises:
        JsonBodyError: It is no JSON object.
    """
    value = parse_object(body)
    properties = {str(key): str(text) for key, text in _object(value.get("properties")).items()}
    statuses = [_object(status) for status in _object(value.get("statusTable")).values()]
    return RunningInfo(
        client_id=client_id,
        version=properties.get("PROP_CLIENT_VERSION", ""),
        is_push=properties.get("PROP_CONSUME_TYPE", "CONSUME_PASSIVELY") == "CONSUME_PASSIVELY",
        is_orderly=properties.get("PROP_CONSUMEORDERLY", "false").lower() == "true",
        start_ms=_whole(properties.get("PROP_CONSUMER_START_TIMESTAMP"), -1),
        threads=_whole(properties.get("PROP_THREADPOOL_CORE_SIZE"), -1),
        subscriptions=tuple(sorted(_subscription(item) for item in _list(value.get("subscriptionSet")))),
        queues=tuple(sorted(_queues(_object(value.get("mqTable"))), key=lambda queue: (queue.topic, queue.queue_id))),
        consumed_rate=_sum(statuses, "consumeOKTPS"),
        failed_rate=_sum(statuses, "consumeFailedTPS"),
        consume_ms=max(
            (_number(status.get("consumeRT")) for status in statuses if "consumeRT" in status), default=float("nan")
        ),
        stacks=str(value.get("jstack") or ""),
        properties=tuple(sorted(properties.items())),
    )


def _queues(table: Mapping[object, object]) -> list[HeldQueue]:
    found = []
    for key, value in table.items():
        queue, held = as_message_queue(key), _object(value)
        if queue is None:
            continue
        found.append(
            HeldQueue(
                topic=queue.topic,
                broker_name=queue.broker_name,
                queue_id=queue.queue_id,
                held_messages=_whole(held.get("cachedMsgCount"), 0),
                held_mib=_whole(held.get("cachedMsgSizeInMiB"), 0),
                commit_offset=_whole(held.get("commitOffset"), -1),
                last_pull_ms=_whole(held.get("lastPullTimestamp"), 0),
                last_consume_ms=_whole(held.get("lastConsumeTimestamp"), 0),
                is_locked=bool(held.get("locked")),
                is_dropped=bool(held.get("droped")),
            )
        )
    return found


# ---- findings ----------------------------------------------------------------------------------------------------------


def findings(infos: Sequence[RunningInfo], now_ms: int) -> list[Finding]:
    """Where the members of a group disagree, and which of them look stuck; worst first."""
    made = _subscription_findings(infos)
    for info in infos:
        waiting = [queue for queue in info.queues if queue.held_messages > 0 and not queue.is_dropped]
        stuck = [queue for queue in waiting if 0 < queue.last_consume_ms < now_ms - BLOCKED_AFTER_MS]
        if info.is_orderly:
            stuck = []
        unlocked = [queue for queue in info.queues if info.is_orderly and not queue.is_locked and not queue.is_dropped]
        made += [
            Finding(kind, topic, ((info.client_id, ", ".join(str(q.queue_id) for q in queues if q.topic == topic)),))
            for kind, queues in (
                (FindingKind.MAY_BE_BLOCKED, [] if info.is_orderly else stuck),
                (FindingKind.NOT_LOCKED, unlocked),
            )
            for topic in sorted({queue.topic for queue in queues})
        ]
    return made


def _subscription_findings(infos: Sequence[RunningInfo]) -> list[Finding]:
    made: list[Finding] = []
    empty = [info for info in infos if not info.subscriptions]
    if empty and len(infos) > 1:
        made.append(Finding(FindingKind.NOTHING_SUBSCRIBED, "", tuple((info.client_id, "") for info in empty)))
    telling = [info for info in infos if info.subscriptions]
    for topic in sorted({topic for info in telling for topic, _ in info.subscriptions}):
        said = tuple((info.client_id, dict(info.subscriptions).get(topic, "")) for info in telling)
        if any(not expression for _, expression in said):
            made.append(Finding(FindingKind.TOPICS_DIFFER, topic, said))
        elif len({same_filter(expression) for _, expression in said}) > 1:
            made.append(Finding(FindingKind.FILTERS_DIFFER, topic, said))
    return made


def same_filter(expression: str) -> str:
    """A filter with its tags in one order: ``b || a`` takes the same messages as ``a || b``."""
    if "||" not in expression:
        return expression.strip()
    return " || ".join(sorted({tag.strip() for tag in expression.split("||")}))


# ---- stacks ------------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"^(?P<name>.*?)\s*TID: (?P<id>\S+)(?: STATE: (?P<state>\S+))?\s*$")


def read_stacks(text: str) -> list[ThreadStack]:
    """Threads of a stack dump, equal stacks put together, the most frequent first.

    A thread begins with a line ``name TID: 42 STATE: WAITING``; each line after it is a frame, with the name before it. Blocks
    without such a line are kept under their first line.
    """
    by_stack: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        lines = [line.rstrip() for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        head = _HEAD.match(lines[0])
        name = (head["name"] if head else lines[0]).strip()
        state = (head["state"] or "") if head else ""
        frames = tuple(_frame(line, name) for line in lines[1:])
        by_stack.setdefault((state, frames), []).append(name)
    stacks = [ThreadStack(tuple(sorted(names)), state, frames) for (state, frames), names in by_stack.items()]
    return sorted(stacks, key=lambda stack: (-len(stack.names), stack.names))


def _frame(line: str, name: str) -> str:
    stripped = line.strip()
    return stripped.removeprefix(name).strip() if name and stripped.startswith(name) else stripped


def _subscription(item: object) -> tuple[str, str]:
    found = _object(item)
    return str(found.get("topic", "")), str(found.get("subString", ""))


def _object(value: object) -> dict[object, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def _whole(value: object, unknown: int) -> int:
    number = _number(value)
    return round(number) if abs(number) < 1 << 62 else unknown


def _sum(statuses: Sequence[Mapping[object, object]], key: str) -> float:
    known = [_number(status[key]) for status in statuses if key in status]
    return sum(known) if known else math.nan
