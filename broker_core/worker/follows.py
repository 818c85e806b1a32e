"""Live tails for the window: what arrives from now on and passes a filter, in bounded batches.

The window keeps one question open for each tail. It is answered when something has arrived, ten times a second at most, and
after a second in any case. A window that does not keep up therefore gets less, a producer pays nothing, and the log is read
only while a question is open. The log is read after the puts by columns, as a search reads it, on a thread that gives way to
the broker every millisecond.

Messages beyond what a window can show are counted and left out, never queued: `Followed` says how many messages, and how much
of the log where even counting would fall behind.

Messages are shown as they are stored: also those of an open atomic transaction, and of system topics that the filter takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from broker_core.errors import FilterError, RecordError, UsageError
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, FindKnown, KnownNames, nothing_known
from broker_core.worker.message_views import MessageHead, head_columns, head_of
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, Followed, FollowStarted, StartFollow

if TYPE_CHECKING:
    from broker_core.engine.store.inspection.log_reader import CheckedWindow
    from broker_core.engine.store.message_store import MessageStore
    from broker_core.tools.search.columns import TopicVerdicts
    from broker_core.tools.search.expression import Expression
    from broker_core.tools.search.scan import Breather

_T = TypeVar("_T")

FOLLOWS_MAX = 8
TOPICS_MAX = 100
RULES_MAX = 8
BATCH_MESSAGES_MAX = 500
BATCH_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of bodies after which a batch is full; a single larger one is sent nevertheless."""
PACE_SECONDS = 0.1
"""Between two looks: with `BATCH_MESSAGES_MAX` at most 5,000 messages a second reach the window."""
HOLD_SECONDS = 1.0
TURN_BYTES = 8 * 1024 * 1024
BEHIND_BYTES_MAX = 64 * 1024 * 1024
"""A tail that lags further continues at the end of the log."""
WINDOW_BYTES = 1024 * 1024
"""Small, because the broker waits while bytes are compared."""


@dataclass(slots=True)
class _StoreTail:
    """A tail. During a look, only its thread touches ``position`` and ``topics``."""

    expression: Expression | None
    """None: everything."""
    rules: tuple[Expression, ...]
    position: int
    topics: TopicVerdicts
    breathe: Breather
    compares_groups: bool = False
    known: KnownNames = NOTHING_KNOWN
    """To tell retry topics apart where groups are compared; as of the last look."""
    is_asked: bool = False
    is_ended: bool = False


@dataclass(slots=True)
class FollowBatch:
    """What looks have found."""

    heads: list[tuple[str, MessageHead, int]] = field(default_factory=list)
    """Topic, head, and the rule that it passes."""
    body_bytes: int = 0
    left_out: int = 0
    skipped_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether further messages are left out."""
        return len(self.heads) >= BATCH_MESSAGES_MAX or self.body_bytes >= BATCH_BYTES_MAX

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to answer."""
        return not (self.heads or self.left_out or self.skipped_bytes)

    def answer(self, follow_id: int, *, position: int, is_over: bool) -> Followed:
        """The answer to a question about a tail."""
        return Followed(
            follow_id=follow_id,
            topic=[topic for topic, _head, _rule in self.heads],
            **head_columns([head for _topic, head, _rule in self.heads]),
            rule=[rule for _topic, _head, rule in self.heads],
            left_out=self.left_out,
            skipped_bytes=self.skipped_bytes,
            position=position,
            is_over=is_over,
        )


class Tail(Protocol):
    """A tail that one question at a time asks about."""

    is_asked: bool
    is_ended: bool


_Tail = TypeVar("_Tail", bound=Tail)


class OpenTails(ABC, Generic[_Tail]):
    """The live tails that a window has open, by their numbers. On the loop.

    A question waits ``hold_seconds`` for an answer that is not empty; ``pace_seconds`` lie between two looks.
    """

    def __init__(self, *, pace_seconds: float, hold_seconds: float) -> None:
        self._pace_seconds = pace_seconds
        self._hold_looks = max(1, round(hold_seconds / pace_seconds))
        self._open: dict[int, _Tail] = {}
        self._numbers = itertools.count(1)

    def handlers(self) -> list[Handler]:
        """The handlers of live tails. They raise `FilterError` for a filter or a rule that cannot be read."""
        return [
            StartFollow.answered_by(self._start),
            ContinueFollow.answered_by(self._continue),
            EndFollow.answered_by(self._end),
        ]

    async def _start(self, query: StartFollow) -> FollowStarted:
        check_follow(query, open_already=len(self._open))
        opened = await self._prepare(query)
        number = next(self._numbers)
        self._open[number] = opened
        return FollowStarted(number, self._position(number, opened))

    async def _end(self, query: EndFollow) -> Done:
        self._end_tail(query.follow_id)
        return Done()

    def _end_tail(self, follow_id: int) -> _Tail | None:
        ended = self._open.pop(follow_id, None)
        if ended is not None:
            ended.is_ended = True
        return ended

    async def _continue(self, query: ContinueFollow) -> Followed:
        batch = FollowBatch()
        with self._asked_about(query.follow_id) as opened:
            for _ in range(self._hold_looks):
                await asyncio.sleep(self._pace_seconds)
                if opened.is_ended:
                    break
                batch = await self._look(opened)
                if not batch.is_empty:
                    break
        return batch.answer(query.follow_id, position=self._position(query.follow_id, opened), is_over=opened.is_ended)

    @contextlib.contextmanager
    def _asked_about(self, follow_id: int) -> Iterator[_Tail]:
        tail = self._open.get(follow_id)
        if tail is None:
            raise UsageError(f"there is no live tail {follow_id}: it was ended; start it again")
        if tail.is_asked:
            raise UsageError(f"a question about live tail {follow_id} is open already; wait for its answer")
        tail.is_asked = True
        try:
            yield tail
        finally:
            tail.is_asked = False

    @abstractmethod
    async def _prepare(self, query: StartFollow) -> _Tail: ...

    @abstractmethod
    async def _look(self, opened: _Tail) -> FollowBatch:
        """What has arrived since the last look that found something."""

    @abstractmethod
    def _position(self, follow_id: int, opened: _Tail) -> int:
        """Where a later tail can continue this one."""


class Follows(OpenTails[_StoreTail]):
    """The live tails of a store.

    ``clock`` returns ms since the epoch, for times like ``-15m``; ``known`` is called on the loop.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        clock: Callable[[], int],
        known: FindKnown = nothing_known,
        pace_seconds: float = PACE_SECONDS,
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        super().__init__(pace_seconds=pace_seconds, hold_seconds=hold_seconds)
        self._store = store
        self._clock = clock
        self._known = known
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="follow")

    def close(self) -> None:
        for follow_id in list(self._open):
            self._end_tail(follow_id)
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def _prepare(self, query: StartFollow) -> _StoreTail:
        return await self._run(partial(self._prepared, query))

    async def _look(self, opened: _StoreTail) -> FollowBatch:
        if self._store.commit_log_max_offset <= opened.position:
            return FollowBatch()
        opened.known = self._known() if opened.compares_groups else NOTHING_KNOWN
        return await self._run(partial(self._read, opened))

    def _position(self, _follow_id: int, opened: _StoreTail) -> int:
        return opened.position

    # ---- on the thread -------------------------------------------------------------------------------------------------

    def _prepared(self, query: StartFollow) -> _StoreTail:
        from broker_core.tools.search.columns import TopicVerdicts
        from broker_core.tools.search.scan import Breather

        now_ms = self._clock()
        end = self._store.commit_log_max_offset
        expression, rules = filter_of(query, now_ms), rules_of(query, now_ms)
        return _StoreTail(
            expression=expression,
            rules=rules,
            position=query.position if 0 <= query.position <= end else end,
            topics=TopicVerdicts(),
            breathe=Breather(),
            compares_groups=compares_groups(expression, rules),
        )

    def _read(self, opened: _StoreTail) -> FollowBatch:
        from broker_core.engine.store.inspection.log_reader import LogReader

        opened.breathe.begin()
        batch = FollowBatch()
        end = self._store.commit_log_max_offset
        if end - opened.position > BEHIND_BYTES_MAX:
            batch.skipped_bytes, opened.position = end - opened.position, end
            return batch
        stop = opened.position + TURN_BYTES
        with contextlib.closing(LogReader(self._store.config.root, WINDOW_BYTES)) as log:
            for window in log.windows(opened.position, end, check_bodies=False):
                self._take(opened, window, batch)
                opened.position = log.end
                if log.end >= stop or opened.is_ended:
                    break
            else:
                opened.position = end
            batch.left_out += len(log.findings)
        return batch

    def _take(self, opened: _StoreTail, window: CheckedWindow, batch: FollowBatch) -> None:
        """Add the messages of a window that pass; count those beyond the limit of the batch."""
        from broker_core.tools.search.columns import WindowFilter, rows_of

        heads, rows = window.heads, list(range(len(window.heads)))
        sure = b"\x01" * len(rows)
        opened.breathe()
        if opened.expression is not None:
            verdicts = WindowFilter(window.data, heads, opened.topics).verdicts(opened.expression)
            rows, sure = list(rows_of(verdicts.possible)), verdicts.sure
        for count, row in enumerate(rows):
            if batch.is_full:
                batch.left_out += len(rows) - count
                return
            opened.breathe()
            position, size = heads.position[row], heads.size[row]
            _add(opened, window.buffer[position : position + size], batch, is_sure=bool(sure[row]))

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _add(opened: _StoreTail, record: bytes, batch: FollowBatch, *, is_sure: bool) -> None:
    from broker_core.tools.search.facts import MessageFacts, matches

    try:
        message = decode_record(record)
    except RecordError:
        batch.left_out += 1
        return
    facts = MessageFacts(message, opened.known)
    if not is_sure and opened.expression is not None and not matches(opened.expression, facts):
        return
    rule = next((number for number, one in enumerate(opened.rules) if matches(one, facts)), -1)
    batch.heads.append((message.topic, head_of(message), rule))
    batch.body_bytes += len(message.body)


def check_follow(query: StartFollow, *, open_already: int) -> None:
    """Refuse a tail beyond the limits; raises `UsageError`."""
    if open_already >= FOLLOWS_MAX:
        raise UsageError(f"{FOLLOWS_MAX} live tails are open; end one of them, then try again")
    for what, given, most in (("topics", query.topics, TOPICS_MAX), ("rules", query.rules, RULES_MAX)):
        if len(given) > most:
            raise UsageError(f"a live tail takes {most} {what} at most, not {len(given):,}")


def rules_of(query: StartFollow, now_ms: int) -> tuple[Expression, ...]:
    """Its colour rules; raises `FilterError` with the number of an unreadable one."""
    return tuple(_rule_of(number, rule, now_ms) for number, rule in enumerate(query.rules))


def compares_groups(expression: Expression | None, rules: tuple[Expression, ...]) -> bool:
    """Whether a tail compares groups."""
    from broker_core.tools.search.shared_retries import is_about_groups

    return any(map(is_about_groups, (*rules, *(() if expression is None else (expression,)))))


def _rule_of(number: int, text: str, now_ms: int) -> Expression:
    from broker_core.tools.search.language import parse_filter

    try:
        return parse_filter(text, now_ms=now_ms)
    except FilterError as error:
        raise FilterError(f"rule {number + 1}: {error.message}", **(error.context | {"rule": number})) from error


def filter_of(query: StartFollow, now_ms: int) -> Expression | None:
    """Topics and filter as one expression; None for everything."""
    from broker_core.tools.search.expression import Comparison, EveryCondition, Field, FieldKind, Operator
    from broker_core.tools.search.language import parse_filter
    from broker_core.tools.search.light_topics import told_by_records

    of_topics = Comparison(Field("topic", FieldKind.TEXT), Operator.IN, tuple(query.topics)) if query.topics else None
    given = parse_filter(query.filter, now_ms=now_ms) if query.filter.strip() else None
    parts = tuple(told_by_records(part) for part in (of_topics, given) if part is not None)
    return EveryCondition(parts) if len(parts) > 1 else parts[0] if parts else None
