"""Lanes of the life line: the lane, place and words of each event."""

from __future__ import annotations

from collections.abc import Sequence

from gui.models.lifeline import ATTEMPT, RETRY, RETRY_WAITS, LifeEvent
from gui.plots.life_line import LifeBar, LifeDot, LifeLane
from gui.theme.tokens import State
from gui.words.text import count_text, duration_text, milliseconds_text, tr

LANES_MAX = 60


def life_lanes(events: Sequence[LifeEvent], now_ms: int) -> list[LifeLane]:
    """Lanes of events in the order of time, from top to bottom, those of a branch together; at most `LANES_MAX`."""
    lanes: list[LifeLane] = []
    for branch in sorted({event.branch for event in events}):
        timed = [event for event in events if event.at_ms >= 0 and event.branch == branch]
        drawing = _Drawing(timed, now_ms)
        for event in timed:
            drawing.take(event)
        lanes += drawing.lanes()
    return lanes[:LANES_MAX]


class _Drawing:
    """Sorts events into lanes: one for the half message, one for each retry, one for every other record and attempt."""

    def __init__(self, events: Sequence[LifeEvent], now_ms: int) -> None:
        self._events = events
        self._now_ms = now_ms
        self._lanes: dict[tuple[str, str, int], LifeLane] = {}

    def lanes(self) -> list[LifeLane]:
        return list(self._lanes.values())

    def take(self, event: LifeEvent) -> None:
        match event.kind:
            case "half" | "checked" | "postponed" | "given up":
                self._take_half(event)
            case "committed" | "rolled back":
                self._record(event, tr("Op"), event.title)
            case "delayed" | "timed":
                self._wait(event, "delivered", tr("Delayed"))
            case "retry waits":
                self._wait(event, RETRY, tr("Retry {number}", number=event.number))
            case "retry":
                self._retry(event)
            case "attempt":
                self._attempt(event)
            case "stored" | "stored again" | "delivered":
                is_transaction = any(one.kind in ("half", "checked") for one in self._events)
                self._record(event, tr("Real") if is_transaction else tr("Stored"), "")
            case "dead":
                self._record(event, tr("Dead"), tr("dead letter"))
            case "passed":
                self._record(event, tr("Passed"), event.group)
            case "resent" | "resent from":
                self._record(event, _resent_name(event), event.title)

    def _add(self, key: tuple[str, str, int], lane: LifeLane) -> None:
        self._lanes[key] = lane

    def _record(self, event: LifeEvent, title: str, text: str) -> None:
        lane = LifeLane(title, *_lines(event), event.state, dots=(LifeDot(event.at_ms, event.state, text),), key=event.index)
        self._add((event.kind, event.group, event.index), lane)

    def _take_half(self, event: LifeEvent) -> None:
        key = ("half", "", 0)
        known = self._lanes.get(key)
        dot = LifeDot(event.at_ms, event.state, event.title if event.kind != "half" else "")
        if known is not None:
            self._add(key, known.with_dot(dot))
            return
        decided = ("committed", "rolled back", "given up")
        end = next((one.at_ms for one in self._events if one.kind in decided), None)
        bar = LifeBar(event.at_ms, self._now_ms if end is None else end, State.PENDING, tr("waits for a decision"))
        self._add(key, LifeLane(tr("Half"), *_lines(event), State.PENDING, (bar,), (dot,), key=event.index))

    def _wait(self, event: LifeEvent, ended_by: str, title: str) -> None:
        after = [
            one.at_ms
            for one in self._events
            if one.index > event.index
            and one.kind == ended_by
            and (ended_by != RETRY or (one.group, one.number) == _who(event))
        ]
        end = after[0] if after else max(self._now_ms, event.at_ms) if event.until_ms < 0 else event.until_ms
        wait_ms = event.until_ms - event.at_ms
        text = tr("waits {delay} in {topic}", delay=duration_text(wait_ms), topic=event.topic) if wait_ms >= 0 else event.title
        bar = LifeBar(event.at_ms, end, event.state, text)
        dot = LifeDot(event.at_ms, event.state, "")
        key = (event.kind, event.group, event.number if ended_by == RETRY else event.index)
        self._add(key, LifeLane(title, *_lines(event), event.state, (bar,), (dot,), key=event.index))

    def _retry(self, event: LifeEvent) -> None:
        known = self._lanes.get((RETRY_WAITS, *_who(event)))
        title = tr("Retry {number}", number=event.number)
        if known is None:
            self._record(event, title, "")
        else:
            key = (RETRY_WAITS, *_who(event))
            self._add(key, LifeLane(title, *_lines(event), event.state, known.bars, known.dots, key=event.index))

    def _attempt(self, event: LifeEvent) -> None:
        title, first = tr("Attempt {number}", number=event.number), event.group
        second = tr("read from {topic}", topic=event.topic) if event.topic else ""
        if event.until_ms >= event.at_ms:
            took = milliseconds_text(event.until_ms - event.at_ms)
            word = {"success": tr("consumed"), "failed": tr("failed")}.get(event.outcome, tr("outcome unknown"))
            bar = LifeBar(event.at_ms, event.until_ms, event.state, f"{word}, {took}", is_beside=True)
            lane = LifeLane(title, first, second, event.state, bars=(bar,), key=event.index)
        else:
            text = event.title if event.evidence != "inferred" else tr("failed, inferred")
            lane = LifeLane(title, first, second, event.state, dots=(LifeDot(event.at_ms, event.state, text),), key=event.index)
        self._add((ATTEMPT, event.group, event.index), lane)


def _resent_name(event: LifeEvent) -> str:
    if event.kind == "resent from":
        return tr("Before")
    return tr("Branch {number}", number=event.branch + 1) if event.number >= 0 else tr("Resent")


def _who(event: LifeEvent) -> tuple[str, int]:
    return event.group, event.number


def _lines(event: LifeEvent) -> tuple[str, str]:
    """The two small lines of a lane's head: topic, then queue and offset."""
    return event.topic, f"q{event.queue} · {count_text(event.queue_offset)}"
