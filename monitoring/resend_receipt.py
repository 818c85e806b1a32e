"""Reads the receipt of a replay that sends dead letters again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.api import CodecError
from broker_core.outside import read_json
from monitoring.resending import ResendOutcome

UNANSWERED = "the resend ended before the answer came"


@dataclass(frozen=True, slots=True)
class Copy:
    """A dead letter that a broker stored again, and its place. ``message_id`` is the offset message id of the dead letter."""

    message_id: str
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ResendReceipt:
    """State of a resend of dead letters.

    Attributes:
        outcome: Those not handed on yet count as left, those without an answer as in doubt.
        copies: In the order of their answers.
        failures: Consecutive failures up to the last answer.
        last_reason: Of the last failure; empty: none failed.
    """

    outcome: ResendOutcome
    copies: tuple[Copy, ...] = ()
    failures: int = 0
    last_reason: str = ""


def replay_order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Offset message ids of a file's rows in the order in which a replay numbers and sends them.

    Rows of one queue keep their order in the file, even if the clock of their broker was set back.
    """
    last_ms: dict[tuple[str, int], int] = {}
    order_ms = []
    for row in rows:
        queue = (row["topic"], row["queueId"])
        last_ms[queue] = max(row["storeTimestamp"], last_ms.get(queue, row["storeTimestamp"]))
        order_ms.append(last_ms[queue])
    return [rows[number]["offsetMsgId"] for number in sorted(range(len(rows)), key=order_ms.__getitem__)]


def read_receipt(lines: Iterable[str], message_ids: Sequence[str]) -> ResendReceipt:
    """Read the receipt of one run, which sent ``message_ids`` in `replay_order`; an incomplete last line is ignored.

    Raises:
        CodecError: A line is damaged.
    """
    try:
        return _read(lines, message_ids)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CodecError(f"the receipt has a damaged line: {error!r}") from error


def _read(lines: Iterable[str], message_ids: Sequence[str]) -> ResendReceipt:
    handed, held, results = 0, set[int](), dict[int, Mapping[str, Any]]()
    for line in lines:
        values = _values(line)
        handed = max(handed, values.get("handed", 0))
        held.update(values.get("held", ()))
        if "number" in values:
            results[values["number"]] = values
    if handed > len(message_ids):
        raise ValueError(f"{handed} messages of {len(message_ids)}")
    waiting = set(range(handed)) - held - results.keys()
    sent = {number: _copy(message_ids[number], one) for number, one in results.items() if one["status"] == "sent"}
    unknown = {number: str(one["reason"]) for number, one in results.items() if one["status"] == "unknown"}
    refused = {number: str(one["reason"]) for number, one in results.items() if number not in sent and number not in unknown}
    doubtful = {**unknown, **dict.fromkeys(sorted(waiting), UNANSWERED)}
    known = sent.keys() | doubtful.keys() | refused.keys()
    outcome = ResendOutcome(
        tuple(message_ids[number] for number in sent),
        tuple((message_ids[number], reason) for number, reason in refused.items()),
        tuple((message_ids[number], reason) for number, reason in doubtful.items()),
        tuple(one for number, one in enumerate(message_ids) if number not in known),
    )
    failures = _last_failures([one["status"] for one in results.values()])
    reason = next((str(one["reason"]) for one in reversed(results.values()) if one["status"] != "sent"), "")
    return ResendReceipt(outcome, tuple(sent.values()), failures, reason)


def _values(line: str) -> Mapping[str, Any]:
    if not line.endswith("\n"):
        return {}
    values: Mapping[str, Any] = read_json(line)
    return values


def _copy(message_id: str, line: Mapping[str, Any]) -> Copy:
    return Copy(message_id, line["topic"], line["broker"], line["queueId"], line["queueOffset"], line["sentAt"])


def _last_failures(statuses: Sequence[str]) -> int:
    count = 0
    for status in reversed(statuses):
        if status not in ("failed", "unknown"):
            break
        count += 1
    return count
