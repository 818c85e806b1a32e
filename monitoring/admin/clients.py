"""Members of a group compared by their `RunningInfo`, and delivery of one message to one of them. Pure.

Source: docs/spec/remoting.md §2.4 (309), §4.8 (307), docs/spec/broker.md §10.3, §10.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.api import RequestCode, RunningInfo
from broker_core.api import names as reserved
from broker_core.worker.questions.administration import GRPC, REMOTING, AskBroker
from broker_core.worker.questions.stored_messages import MessageDetail

BLOCKED_AFTER_MS = 60_000
"""Held messages without any consumption for longer than this may be stuck in a listener."""


class FindingKind(Enum):
    """What is wrong with a group's members."""

    TOPICS_DIFFER = "topics differ"
    FILTERS_DIFFER = "filters differ"
    NOTHING_SUBSCRIBED = "nothing subscribed"
    TWO_PROTOCOLS = "two protocols"
    MAY_BE_BLOCKED = "may be blocked"
    NOT_LOCKED = "not locked"


@dataclass(frozen=True, slots=True)
class MemberFinding:
    kind: FindingKind
    topic: str
    clients: tuple[tuple[str, str], ...]
    """Client id and its filter or figure; the text is empty where it has none."""


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """Threads with equal stacks."""

    names: tuple[str, ...]
    state: str
    frames: tuple[str, ...]


def ask_running_info(group: str, client_id: str, *, stacks: bool = False) -> AskBroker:
    """Request the running info of a group's client. Answer: `read_running_info`."""
    fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": str(stacks).lower()}
    return AskBroker(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)


# ---- findings ----------------------------------------------------------------------------------------------------------


def findings(infos: Sequence[RunningInfo], now_ms: int, queue_text: Callable[[int], str] = str) -> list[MemberFinding]:
    """Disagreements of a group's members, and members that look stuck; worst first. ``queue_text`` names a queue."""
    made = _subscription_findings(infos) + _protocol_findings(infos)
    for info in infos:
        waiting = [queue for queue in info.queues if queue.held_messages > 0 and not queue.is_dropped]
        stuck = [queue for queue in waiting if 0 < queue.last_consume_ms < now_ms - BLOCKED_AFTER_MS]
        if info.is_orderly:
            stuck = []
        unlocked = [queue for queue in info.queues if info.is_orderly and not queue.is_locked and not queue.is_dropped]
        made += [
            MemberFinding(
                kind, topic, ((info.client_id, ", ".join(queue_text(q.queue_id) for q in queues if q.topic == topic)),)
            )
            for kind, queues in (
                (FindingKind.MAY_BE_BLOCKED, [] if info.is_orderly else stuck),
                (FindingKind.NOT_LOCKED, unlocked),
            )
            for topic in sorted({queue.topic for queue in queues})
        ]
    return made


def _subscription_findings(infos: Sequence[RunningInfo]) -> list[MemberFinding]:
    made: list[MemberFinding] = []
    empty = [info for info in infos if not info.subscriptions]
    if empty and len(infos) > 1:
        made.append(MemberFinding(FindingKind.NOTHING_SUBSCRIBED, "", tuple((info.client_id, "") for info in empty)))
    telling = [info for info in infos if info.subscriptions]
    # Clients of remoting subscribe their retry topic by themselves, clients of gRPC need not.
    own = {topic for info in telling for topic, _ in info.subscriptions if not topic.startswith(reserved.RETRY_PREFIX)}
    for topic in sorted(own):
        said = tuple((info.client_id, dict(info.subscriptions).get(topic, "")) for info in telling)
        if any(not expression for _, expression in said):
            made.append(MemberFinding(FindingKind.TOPICS_DIFFER, topic, said))
        elif len({same_filter(expression) for _, expression in said}) > 1:
            made.append(MemberFinding(FindingKind.FILTERS_DIFFER, topic, said))
    return made


def _protocol_findings(infos: Sequence[RunningInfo]) -> list[MemberFinding]:
    """Clients of gRPC pop, and only clients of remoting that pull own queues (Source: docs/spec/grpc.md §7.3)."""
    popping = {info.client_id for info in infos if ("PROTOCOL", GRPC) in info.properties}
    pulling = {info.client_id for info in infos if info.queues}
    if not popping or not pulling:
        return []
    said = tuple((client, GRPC if client in popping else REMOTING) for client in sorted(popping | pulling))
    return [MemberFinding(FindingKind.TWO_PROTOCOLS, "", said)]


def same_filter(expression: str) -> str:
    """A filter with its tags in one order: ``b || a`` takes the same messages as ``a || b``."""
    if "||" not in expression:
        return expression.strip()
    return " || ".join(sorted({tag.strip() for tag in expression.split("||")}))


# ---- stacks ------------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"^(?P<name>.*?)TID: (?P<id>\S+)(?: STATE: (?P<state>\S+))?\s*$")


def read_stacks(text: str) -> list[ThreadStack]:
    """Threads of a stack dump, grouped by equal stack, the largest group first.

    A thread begins with a line ``name TID: 42 STATE: WAITING``; each further line is a frame, prefixed with the name. Blocks
    without such a line keep their first line as the name.
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


def consume_request(group: str, client_id: str, detail: MessageDetail) -> AskBroker:
    """Send a stored message to one client's listener. No offset changes, but the listener's side effects are real.

    Answer: `read_consume_result`.
    """
    fields = {
        "consumerGroup": group,
        "clientId": client_id,
        "msgId": detail.offset_message_id,
        "topic": detail.topic,
    }
    return AskBroker(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
