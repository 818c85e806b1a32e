"""The short way of plain sends: from the bytes of a request to those of its answer, without header fields in between.

A send of code 310 with a binary header, of a client before 5.0, whose fields stand in the order in which Java writes them:

    head 29 │ a b c d e f │ g: 13 digits │ h = 0 │ i: properties │ j = 0, k, m = false │ body

What a producer says before its time and behind its properties is alike in all its sends to a queue. It is read and checked once
(`_Lane`), and found again by its bytes. Properties stay bytes. Whatever else a request has, is or needs (delays, transactions,
other flags, topics to be made, refusals of any kind) is left to `SendProcessor`, which knows all rules; a send that goes this
way is stored and answered with the same bytes there. It takes 10 µs of a processor, 20 there.

Source: spec remoting §1.3, §2.2.1, broker §2.8.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from time import perf_counter
from typing import Protocol

from broker_core.broker import names
from broker_core.broker.durable_answers import DurableAnswers
from broker_core.broker.peer import Peer
from broker_core.broker.send_processor import OWN_BITS, REWRITE_MARKS, SendProcessor
from broker_core.broker.state import BrokerState
from broker_core.errors import FrameError, RequestRefusedError
from broker_core.message.model import MessageToStore
from broker_core.message.sys_flag import TRANSACTION_MASK
from broker_core.nameserver.registration import TopicConfig
from broker_core.remoting.codes import VERSION_TOPIC_MAPPING, LanguageCode, RequestCode, SerializeType
from broker_core.remoting.fields import INT32_MAX
from broker_core.remoting.frame import LANGUAGES_BY_NUMBER, RemotingCommand, binary_fields, decode_frame, encode_command
from broker_core.store.results import PutResult, PutStatus

_HEAD = Struct(">IIhbhiiii")
"""Frame length, kind and header length; code, language, version, opaque, flag, remark length, fields length."""
_LENGTH = Struct(">I")
_OPAQUE_POSITION, _OPAQUE_BYTES = 13, 4
_BINARY = int(SerializeType.ROCKETMQ)
_SEND = int(RequestCode.SEND_MESSAGE_V2)
_TIME = b"\0\1g\0\0\0\x0d"
_TIME_DIGITS = 13
_FLAG = b"\0\1h\0\0\0\x010\0\1i"
"""Between the time and the length of the properties: a flag of 0."""
assert _HEAD.size == 29

_BEFORE_TIME = frozenset("abcdef")
_KNOWN_MAX = 4096
_ALIKE_BYTES_MAX = 1024

_WAIT_INSIDE, _WAIT_AT_END = b"\x02WAIT\x01true\x02", b"\x02WAIT\x01true"
_UNUSUAL = (*(mark.encode() for mark in REWRITE_MARKS), b"WAIT\x01", b"CLUSTER\x01")
_PUT_OK = PutStatus.PUT_OK
_SAMPLE = 0x7EDCBA9876543210
"""A physical offset whose digits are found again in an answer."""
_UNUSUAL_TOPICS = (names.RETRY_PREFIX, names.LMQ_PREFIX, names.SYSTEM_PREFIX)


class ExpressPeer(Peer, Protocol):
    """A connection that takes answers as bytes."""

    def send_frame(self, frame: bytes) -> bool:
        """Send the bytes of one whole frame; False when the connection has ended."""


class _Lane:
    """What sends of one producer to one queue have in common.

    Attributes:
        topic: The topic as it was when the lane was made.
        template: Answers to sends whose queue offset has as many digits as the last, for ``%``.
        template_from, template_to: Queue offsets that it is for.
    """

    __slots__ = ("queue_id", "sys_flag", "template", "template_from", "template_to", "topic")

    def __init__(self, topic: TopicConfig, queue_id: int, sys_flag: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.sys_flag = sys_flag
        self.template = b""
        self.template_from = self.template_to = 0


class SendExpress:
    """Serves plain sends from their bytes. For the loop's thread.

    Args:
        state: What processors share.
        durable: As for `SendProcessor`.
        send: Serves all other sends; the rules are its.
    """

    def __init__(self, state: BrokerState, durable: DurableAnswers | None, send: SendProcessor) -> None:
        self._topics = state.topics
        self._counters = state.counters
        self._store = state.store
        self._store_host = state.store_host
        self._durable = durable
        self._send = send
        self._lanes: dict[bytes, _Lane | None] = {}
        """By the fields before the time; None for what does not go this way."""
        self._ends: dict[bytes, bool] = {}
        """Fields behind the properties, and whether such sends go this way."""

    def serve(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:  # noqa: C901  the hot path spares calls
        """Serve the request in a frame, if it goes this way; else nothing has happened.

        Args:
            peer: Who sent it, and takes the answer.
            source: Holds the frame.
            position: Where its length stands.
            total: That length.
        """
        # One function, as each call takes 0.1 µs.
        if total < _HEAD.size:
            return False
        started = perf_counter()
        _, word, code, language, version, _, flag, remark, size = _HEAD.unpack_from(source, position)
        if code != _SEND or flag or remark or word >> 24 != _BINARY or version >= VERSION_TOPIC_MAPPING:
            return False
        first = position + _HEAD.size
        end = position + 8 + (word & 0xFFFFFF)
        frame_end = position + 4 + total
        time_at = source.find(_TIME, first, end)
        if end != first + size or end >= frame_end or time_at < 0:
            return False
        flag_at = time_at + len(_TIME) + _TIME_DIGITS
        properties_at = flag_at + len(_FLAG) + _LENGTH.size
        if properties_at > end or not source.startswith(_FLAG, flag_at):
            return False
        properties_end = properties_at + _LENGTH.unpack_from(source, properties_at - _LENGTH.size)[0]
        if properties_end > end:
            return False
        alike, behind = source[first:time_at], source[properties_end:end]
        lane = self._lanes.get(alike) or self._lane(alike)
        if lane is None or not (self._ends.get(behind) or self._is_plain_end(behind)):
            return False
        topic = lane.topic
        if self._topics.get(topic.name) is not topic or not self._send.is_writable:
            del self._lanes[alike]
            return False
        properties = self._stored_properties(source[properties_at:properties_end])
        if properties is None:
            return False
        try:
            born_ms = int(source[time_at + len(_TIME) : flag_at])
            self._send.flow.check(started)
        except (ValueError, RequestRefusedError):
            return False
        result = self._store.put(
            MessageToStore(
                topic.name, lane.queue_id, 0, lane.sys_flag, born_ms, self._send.born_host(peer), self._store_host, 0, 0,
                source[end:frame_end], properties,
            )
        )  # fmt: skip
        if result.status is not _PUT_OK:
            return False  # nothing was stored
        self._counters.put(topic.name, 1, result.wrote_bytes)
        peer.version, peer.serialize_type = version, SerializeType.ROCKETMQ
        peer.language = LANGUAGES_BY_NUMBER.get(language, LanguageCode.OTHER)
        offset = result.queue_offset
        if not lane.template_from <= offset < lane.template_to:
            self._make_template(lane, offset)
        opaque = source[position + _OPAQUE_POSITION : position + _OPAQUE_POSITION + _OPAQUE_BYTES]
        answer = lane.template % (opaque, result.physical_offset, offset)
        if self._durable is not None:
            self._durable.wait(result.physical_offset + result.wrote_bytes, partial(self._answer, peer, answer, started))
            return True
        peer.send_frame(answer)
        now = perf_counter()
        self._counters.put_took(now - started, now)
        return True

    def _answer(self, peer: ExpressPeer, answer: bytes, started: float, durable: bool) -> None:
        now = perf_counter()
        self._counters.put_took(now - started, now)
        if durable:
            peer.send_frame(answer)
        else:
            peer.send(self._send.not_durable(decode_frame(answer, 0, len(answer) - 4)))

    def _stored_properties(self, text: bytes) -> bytes | None:
        """As `SendProcessor` makes them; None where more is to be done than to leave out the usual WAIT."""
        text = text.replace(_WAIT_INSIDE, b"\x02").removesuffix(_WAIT_AT_END)
        for mark in _UNUSUAL:
            if mark in text:
                return None
        if not text.isascii():
            return None
        text = text.removesuffix(b"\x02")
        own = self._send.own_properties_bytes
        return b"%b\x02%b" % (text, own) if text else own

    def _lane(self, alike: bytes) -> _Lane | None:
        """Lane of a send that starts with fields which are met for the first time, or do not go this way."""
        if alike in self._lanes or len(alike) > _ALIKE_BYTES_MAX:
            return None
        if len(self._lanes) >= _KNOWN_MAX:
            self._lanes.clear()
        fields = _fields(alike)
        if fields is None or fields.keys() != _BEFORE_TIME or not _are_plain(fields):
            self._lanes[alike] = None
            return None
        name, queue_id = fields["b"], int(fields["e"])
        topic = self._topics.get(name)
        if topic is None or queue_id >= max(topic.read_queues, topic.write_queues):
            return None  # not kept: topics come, and grow
        if name in names.NOT_SENDABLE_TOPICS or name.startswith(_UNUSUAL_TOPICS):
            return None
        lane = self._lanes[alike] = _Lane(topic, queue_id, int(fields["f"]))
        return lane

    def _is_plain_end(self, behind: bytes) -> bool:
        if behind in self._ends:
            return False
        fields = _fields(behind)
        is_plain = (
            fields is not None
            and fields.keys() <= {"j", "k", "m"}
            and fields.get("j", "0") == "0"
            and fields.get("m", "false") == "false"
        )
        if len(behind) <= _ALIKE_BYTES_MAX:
            if len(self._ends) >= _KNOWN_MAX:
                self._ends.clear()
            self._ends[behind] = is_plain
        return is_plain

    def _make_template(self, lane: _Lane, offset: int) -> None:
        """Write an answer, and cut out what differs from that to another send with as many digits in its queue offset."""
        digits = len(str(offset))
        lane.template_from, lane.template_to = 10 ** (digits - 1) if digits > 1 else 0, 10**digits
        sample = PutResult(_PUT_OK, _SAMPLE, 0, lane.template_from, 0, 1, (_SAMPLE,))
        request = RemotingCommand(_SEND, serialize_type=SerializeType.ROCKETMQ)
        frame = encode_command(request.reply(ext_fields=self._send.stored_fields(sample, lane.queue_id)))
        place_at = frame.index(b"%016X" % _SAMPLE)
        offset_at = frame.index(b"queueOffset", place_at) + len(b"queueOffset") + _LENGTH.size
        parts = (
            frame[:_OPAQUE_POSITION],
            frame[_OPAQUE_POSITION + _OPAQUE_BYTES : place_at],
            frame[place_at + 16 : offset_at],
            frame[offset_at + digits :],
        )
        first, second, third, last = (part.replace(b"%", b"%%") for part in parts)
        lane.template = b"".join((first, b"%b", second, b"%016X", third, b"%d", last))


def _are_plain(fields: dict[str, str]) -> bool:
    try:
        queues, queue_id, sys_flag = int(fields["d"]), int(fields["e"]), int(fields["f"])
    except ValueError:
        return False
    is_usual = 0 <= queues <= INT32_MAX and 0 <= queue_id <= INT32_MAX and 0 <= sys_flag <= INT32_MAX
    return is_usual and not sys_flag & (TRANSACTION_MASK | OWN_BITS)


def _fields(part: bytes) -> dict[str, str] | None:
    try:
        return binary_fields(part)
    except FrameError:
        return None
