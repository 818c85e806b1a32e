"""Plain sends served by machine code: all that come in one read of a socket by one call.

What a processor does for each send is done once here: flow control, the look at topics and settings, counting, telling those
who wait, and the answer. The kernel takes only sends that have a lane, which
`broker_core.engine.processors.plain.send_teacher` makes, and a lane is closed when anything that decided it changes. All other
requests are served by the codecs and processors, as all are without machine code.
"""

from __future__ import annotations

import logging
from functools import partial
from time import perf_counter
from typing import Final

from broker_core.config import BrokerConfig
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.plain.send_codec import SendCodec
from broker_core.engine.processors.plain.send_lanes import SendLane
from broker_core.engine.processors.plain.send_teacher import LanePlace, SendTeacher
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.store.plain_puts import PlainPuts
from broker_core.engine.tables.counters import PutCount
from broker_core.engine.tables.peer import FramePeer, Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.native import lanes as k
from broker_core.native import send_columns as s
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.frame import LANGUAGES_BY_NUMBER, decode_frame

logger = logging.getLogger(__name__)

_HOST_BYTES: Final = 8
_NO_HOST: Final = 0
"""Of an address that is longer."""
_LENGTH_BYTES: Final = 4
_VAIN_MAX: Final = 8
"""After so many requests of a client in a row that were not plain, one of `_SELDOM` is tried: a try takes 6 µs."""
_SELDOM: Final = 16


class _Client:
    """What is kept of a connection: its address as records hold it, and how many tries in a row were in vain."""

    __slots__ = ("host", "vain")

    def __init__(self, host: int) -> None:
        self.host = host
        self.vain = 0

    def is_tried(self) -> bool:
        """Whether the kernel is to look at its next request."""
        if self.vain > _VAIN_MAX:
            self.vain += 1
            return self.vain % _SELDOM == 0
        return self.host != _NO_HOST


class SendReads:
    """Serves the plain sends of a read. For the loop's thread.

    Args:
        state: Of the broker.
        sends: The rules, and the words of answers.
        codec: Reads headers of sends.
        puts: Of the store.
        durable: Holds answers back until their messages are on disk; None answers at once.
    """

    def __init__(
        self, state: BrokerState, sends: SendProcessor, codec: SendCodec, puts: PlainPuts, durable: DurableAnswers | None
    ) -> None:
        self._topics = state.topics
        self._store = state.store
        self._counters = state.counters
        self._sends = sends
        self._puts = puts
        self._durable = durable
        self._teacher = SendTeacher(puts.lanes, codec, self._place)
        self._seen_version: object = None
        self._open: dict[str, TopicConfig] = {}
        """Topic with lanes → its settings when they were made."""
        self._clients: dict[Peer, _Client] = {}
        state.counters.count_by(self._counted)
        self.reconfigure(state.config)

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take over changed settings; all lanes are made again."""
        self._puts.configure(self._sends.store_host.packed, config.store.max_message_bytes)
        self._puts.lanes.forget()

    def forget(self, peer: Peer) -> None:
        self._clients.pop(peer, None)

    def serve(self, peer: FramePeer, source: bytes, position: int) -> int:
        """Serve plain sends from a position on; returns the bytes that they took, 0 where the first request is not one."""
        client, started = self._clients.get(peer) or self._client_of(peer), perf_counter()
        if not client.is_tried() or not self._sends.flow.allows(started):
            return 0
        if self._topics.version is not self._seen_version:
            self._close_changed()
        self._puts.begin(source, position, client.host)
        reason = self._run(peer, source, started)
        if self._puts.state[k.TAKEN]:
            self._settle(peer, started)
        served = self._puts.state[k.AT] - position
        if served:
            client.vain = 0
        elif reason == s.NOT_PLAIN:
            client.vain += 1
        return served

    def _run(self, peer: FramePeer, source: bytes, started: float) -> int:
        """Have the kernel serve what it can; returns why it stopped."""
        state, learnt_at = self._puts.state, -1
        while True:
            reason = self._puts.run()
            if reason == s.NO_LANE and state[k.AT] != learnt_at:
                learnt_at = state[k.AT]
                if self._teacher.learn(source):
                    continue
            if reason == s.OUT_FULL:
                self._settle(peer, started)
            elif reason != s.GO_ON:
                return reason

    def _client_of(self, peer: FramePeer) -> _Client:
        packed = host_of(peer).packed
        is_short = len(packed) == len(self._sends.store_host.packed) == _HOST_BYTES
        client = self._clients[peer] = _Client(int.from_bytes(packed, "big", signed=True) if is_short else _NO_HOST)
        return client

    # ---- once per read ----

    def _settle(self, peer: FramePeer, started: float) -> None:
        """Do what follows the storing: count, tell those who wait, answer."""
        state = self._puts.state
        taken, state[k.TAKEN] = state[k.TAKEN], 0
        peer.requests_in += taken
        peer.version, peer.serialize_type = state[k.VERSION], SerializeType(state[s.TAKEN_KIND])
        peer.language = LANGUAGES_BY_NUMBER.get(state[k.LANGUAGE], LanguageCode.OTHER)
        self._counters.counted_elsewhere = True
        self._sends.flow.served(taken)
        frames = self._puts.take_answers()
        try:
            self._store.tell_arrivals(self._puts)
        except Exception:
            logger.exception("messages of %s are stored, and those who wait were not told", peer.remote_address)
        self._puts.write_ahead()
        if self._durable is None:
            self._answer(peer, frames, started, taken, durable=True)
            return
        answer = partial(self._answer_durable, peer, frames, started, taken)
        self._durable.wait(self._store.commit_log_max_offset, answer, taken)

    def _answer_durable(self, peer: FramePeer, frames: bytes, started: float, taken: int, durable: bool) -> None:
        self._answer(peer, frames, started, taken, durable=durable)

    def _answer(self, peer: FramePeer, frames: bytes, started: float, taken: int, *, durable: bool) -> None:
        now = perf_counter()
        self._counters.put_took(now - started, now, taken)
        if durable:
            peer.send_frame(frames)
            return
        at = 0
        while at < len(frames):
            total = int.from_bytes(frames[at : at + _LENGTH_BYTES], "big")
            answer = decode_frame(frames, at, total)
            answer.code, answer.remark = self._sends.not_durable()
            peer.send(answer)
            at += _LENGTH_BYTES + total

    def _counted(self) -> list[PutCount]:
        return [PutCount(*one) for one in self._puts.take_counts()]

    # ---- lanes ----

    def _place(self, lane: SendLane) -> LanePlace | None:
        topic = self._topics.get(lane.topic)
        sys_flag = self._sends.admission.lasting_flags(lane.topic, lane.queue_id, lane.sys_flag)
        found = self._store.plain_queue(lane.topic, lane.queue_id)
        if topic is None or sys_flag is None or found is None:
            return None
        self._open[lane.topic] = topic
        return LanePlace(found.row, found.open_as, found.topic, sys_flag, self._sends.own_properties)

    def _close_changed(self) -> None:
        """Close the lanes of the topics that changed."""
        self._seen_version = self._topics.version
        for name, topic in list(self._open.items()):
            if self._topics.get(name) is not topic:
                del self._open[name]
                self._teacher.close(name)
