from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from broker_core.engine.processors.client_commits import commit_of_client
from broker_core.engine.processors.message_filter import MessageFilter
from broker_core.engine.processors.moved_offsets import MovedOffsets
from broker_core.engine.processors.plain.pull_answers import answer_fields
from broker_core.engine.processors.plain.requests import PlainPull
from broker_core.engine.processors.pull_admission import PullAdmission
from broker_core.engine.processors.pull_holds import HeldPull, PullHolds
from broker_core.engine.processors.pull_request import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUSPEND,
    PullTerms,
    TermsReader,
)
from broker_core.engine.store.results import Arrival, GetResult, GetStatus, LogPlace
from broker_core.engine.tables.consumer_filters import ConsumerFilters
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import RequestCode, ResponseCode, SerializeType
from broker_core.protocol.fields import long_field, refuse_empty
from broker_core.protocol.frame import RemotingCommand, reply_to

logger = logging.getLogger(__name__)

BEHIND_TICK_MS = 5_000
"""How often held pulls are checked for messages that their filter rejects (Source: docs/spec/broker.md §5.4)."""

COLD_READS_MAX = 16
"""Reads of old messages by threads at a time; the loop itself waits for further pulls."""

_CODES = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}
_EMPTY_QUEUE = (GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.NO_MESSAGE_IN_QUEUE)


class _Pull(NamedTuple):
    """A pull that passed all checks, with the values for its answer; the request itself is not kept, because many are held."""

    opaque: int
    serialize_type: SerializeType
    terms: PullTerms
    offset: int
    wanted: MessageFilter


class PullProcessor:
    """Serves PULL_MESSAGE and LITE_PULL_MESSAGE (Source: docs/spec/broker.md §5, docs/spec/remoting.md §2.2.3).

    Register `arrived` as arrival listener of the store: it runs inside of the put, so a held pull is answered in the same turn
    of the loop in which its message was stored. Call `tick` once a second.
    """

    def __init__(self, state: BrokerState, filters: ConsumerFilters) -> None:
        self._state = state
        self._store = state.store
        self._counters = state.counters
        self._moved = MovedOffsets(state)
        self._next_behind_ms = 0
        self._cold_reads = 0
        self.terms = TermsReader()
        self.admission = PullAdmission(state, filters)
        self.holds = PullHolds()

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve a pull on its first arrival; None when it is held."""
        fields = command.ext_fields
        try:
            terms = self.terms.read(fields)
            offset = long_field(fields, "queueOffset")
            refuse_empty(fields, "commitOffset")
            given = long_field(fields, "commitOffset", 0)
            committed = given if terms.flags & FLAG_COMMIT_OFFSET else 0
            wanted = self.admission.admit(terms, lite=command.code == RequestCode.LITE_PULL_MESSAGE)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message)
        return self._begin(peer, _Pull(command.opaque, command.serialize_type, terms, offset, wanted), committed)

    def handle_plain(self, peer: Peer, pull: PlainPull) -> RemotingCommand | None:
        """Serve a pull that the kernel knows and leaves: `handle` without fields. None when it is held.

        Raises `RequestRefusedError`.
        """
        terms = pull.terms
        wanted = self.admission.admit_plain(pull)
        return self._begin(peer, _Pull(pull.opaque_number, pull.serialize_type, terms, pull.offset, wanted), pull.committed)

    def _begin(self, peer: Peer, pull: _Pull, committed: int) -> RemotingCommand | None:
        """Note a pull that passed all checks, and serve it.

        A commit that the queue cannot have does not fail the pull, because its answer is what corrects the consumer.
        """
        terms = pull.terms
        self._state.consumers.pulled(peer, terms.group, terms.topic, terms.queue_id)
        if terms.flags & FLAG_COMMIT_OFFSET:
            commit_of_client(self._state, terms.group, terms.topic, terms.queue_id, committed)
        return self._serve(peer, pull)

    def _serve(self, peer: Peer, pull: _Pull) -> RemotingCommand | None:
        result = self._read(pull)
        code = _code(result.status, pull.offset)
        if code == ResponseCode.PULL_NOT_FOUND and pull.terms.flags & FLAG_SUSPEND:
            if self._hold(peer, pull):
                return None
            # Answered at once it would return at once, for ever: more queues than can be held are asked in turn instead.
            peer.slow_down()
        if result.far_back and self._cold_reads < COLD_READS_MAX:
            if not self._store.is_in_memory(result.far_back):
                # Answered when a thread has read the records: the loop, and so the producers, do not wait for the disk.
                self._read_in_thread(self._store.bring_to_memory, result.far_back, lambda: self._answer_again(peer, pull))
                return None
            if not self._store.is_ahead_in_memory(result.far_back):
                self._read_in_thread(self._store.read_ahead, result.far_back, lambda: None)
        return self._answer(pull, result, code)

    def _answer_again(self, peer: Peer, pull: _Pull) -> None:
        """Read again from memory, because only there the units can be followed to their records."""
        result = self._read(pull)
        peer.send(self._answer(pull, result, _code(result.status, pull.offset)))

    def read_ahead(self, place: LogPlace) -> None:
        """Have a thread read the bytes after a place of the log, unless it does enough."""
        if self._cold_reads < COLD_READS_MAX:
            self._read_in_thread(self._store.read_ahead, [place], lambda: None)

    def _read_in_thread(
        self, read: Callable[[Sequence[LogPlace]], None], places: Sequence[LogPlace], then: Callable[[], object]
    ) -> None:
        def done(reading: asyncio.Future[None]) -> None:
            self._cold_reads -= 1
            if reading.cancelled():
                return
            if (error := reading.exception()) is not None:
                logger.warning("old messages could not be read ahead: %s", error)
            then()

        self._cold_reads += 1
        asyncio.get_running_loop().run_in_executor(None, read, places).add_done_callback(done)

    # ---- reading ----

    def _read(self, pull: _Pull) -> GetResult:
        terms, wanted = pull.terms, pull.wanted
        started = perf_counter()
        result = self._store.get_messages(
            terms.topic, terms.queue_id, pull.offset, terms.count_max, accepts=wanted.accepts, matches=wanted.matches
        )
        self._counters.get_took(perf_counter() - started)
        return result

    def _answer(self, pull: _Pull, result: GetResult, code: ResponseCode) -> RemotingCommand:
        terms = pull.terms
        if code == ResponseCode.SUCCESS:
            self._counters.got(terms.topic, terms.group, len(result.records), result.total_bytes)
        else:
            self._counters.get_missed += 1
            if code == ResponseCode.PULL_OFFSET_MOVED:
                moved_to = result.next_offset
                self._moved.note(terms.group, terms.topic, terms.queue_id, asked=pull.offset, moved_to=moved_to)
        broker_id = self.admission.suggested_broker(terms.group, slow=result.suggest_slave)
        fields = answer_fields(broker_id, result.next_offset, result.min_offset, result.max_offset)
        return reply_to(pull.opaque, pull.serialize_type, code, result.status.value, fields, body_slices=result.records)

    # ---- holding ----

    def _hold(self, peer: Peer, pull: _Pull) -> bool:
        terms, config = pull.terms, self._state.config
        hold_ms = terms.suspend_ms if config.long_polling else config.short_polling_ms
        deadline_ms = self._state.clock() + hold_ms
        wanted = pull.wanted
        held = HeldPull(
            peer,
            terms.topic,
            terms.queue_id,
            pull.offset,
            deadline_ms,
            wanted.accepts,
            pull,
            matches=wanted.matches,
            filter_bytes=terms.filter_bytes,
        )
        return self.holds.hold(held)

    def arrived(self, arrival: Arrival) -> None:
        """Answer the pulls that wait for this message, unless they may not see it yet.

        With long polling off they wait for their deadline or the next check.
        """
        if not len(self.holds) or not self._state.config.long_polling:
            return
        visibility = self._store.visibility
        if visibility is not None:
            end = visibility.end(arrival.topic, arrival.queue_id)
            if end is not None and arrival.queue_offset >= end:
                return
        woken = self.holds.arrived(
            arrival.topic,
            arrival.queue_id,
            arrival.queue_offset,
            arrival.tags_code,
            lambda: self._store.record_at(arrival.physical_offset),
        )
        for held in woken:
            self._answer_held(held, held.peer.send_now)

    def tick(self) -> None:
        """Answer the pulls past their deadline, and sometimes those whose queue grew without a message for them."""
        now_ms = self._state.clock()
        for held in self.holds.due(now_ms):
            self._answer_held(held)
        if now_ms >= self._next_behind_ms:
            config = self._state.config
            self._next_behind_ms = now_ms + (BEHIND_TICK_MS if config.long_polling else config.short_polling_ms)
            for held in self.holds.behind(self._store.max_offset):
                self._answer_held(held)

    def became_visible(self) -> None:
        """Answer the pulls that wait for messages that were hidden so far."""
        for held in self.holds.behind(self._store.max_offset):
            self._answer_held(held)

    def forget(self, peer: Peer) -> None:
        """Drop the pulls of a closed connection."""
        self.holds.drop_peer(peer)

    def answer_all(self) -> None:
        """Answer every held pull, because the broker stops."""
        for held in self.holds.release_all():
            self._answer_held(held)

    def _answer_held(self, held: HeldPull, send: Callable[[RemotingCommand], object] | None = None) -> None:
        pull: _Pull = held.request
        result = self._read(pull)
        (send or held.peer.send)(self._answer(pull, result, _code(result.status, pull.offset)))


def _code(status: GetStatus, asked_offset: int) -> ResponseCode:
    if status in _EMPTY_QUEUE:
        return ResponseCode.PULL_OFFSET_MOVED if asked_offset else ResponseCode.PULL_NOT_FOUND
    return _CODES[status]
