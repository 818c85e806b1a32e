"""The short way of plain pulls: from the bytes of a request to those of its answer, without header fields in between.

A pull of code 11 or 361 that finds messages in the quick way (`MessageStore.read_run`), of a consumer that wants and may have
everything. What it says beside its offsets is alike in all its pulls from a queue: it is read once, when it comes a second
time, and found again by its bytes (`broker_core.engine.processors.pull_lanes`). Which pulls are plain is decided by
`PullProcessor`, again when a setting, a topic, a group or a subscription has changed. All other pulls are left to it, and
nothing has happened then; a pull that goes this way is counted, noted and answered with the same bytes there. It takes a third
of the time.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3, docs/spec/broker.md §5.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from broker_core.engine.processors.binary_head import HEAD, OPAQUE_BYTES, OPAQUE_POSITION
from broker_core.engine.processors.pull_answers import binary_found, json_found
from broker_core.engine.processors.pull_lanes import COMMIT, OFFSET, PullLane, lane_of_binary, lane_of_json
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.processors.pull_request import FLAG_COMMIT_OFFSET, FLAG_SUBSCRIPTION
from broker_core.engine.store.results import Run
from broker_core.engine.tables.peer import ExpressPeer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.frame import LANGUAGES_BY_NUMBER

_PREFIX = Struct(">II")

_OFFSET, _COMMIT = (b"\0%c%b\0\0\0" % (len(name), name.encode()) for name in (OFFSET, COMMIT))
"""What stands before the length of an offset, which is one byte then."""
_JSON_OFFSET, _JSON_COMMIT, _JSON_OPAQUE = b'"%b":"' % OFFSET.encode(), b'"%b":"' % COMMIT.encode(), b'"opaque":'
_DIGITS_MAX = 18
_OPAQUE_DIGITS_MAX = 10

_KNOWN_MAX = 4096
"""Lanes remembered, of each encoding; when there are more all are forgotten."""
_SEEN_MAX = 1024
"""Beginnings of lanes that were met once; likewise."""
_ALIKE_BYTES_MAX = 1024

_Key = tuple[Any, ...]


class PullExpress:
    """Serves plain pulls from their bytes. For the loop's thread.

    Args:
        state: What processors share.
        pull: Serves all other pulls; the rules are its.
    """

    def __init__(self, state: BrokerState, pull: PullProcessor) -> None:
        self._state = state
        self._store = state.store
        self._pull = pull
        self._lanes: dict[_Key, PullLane | None] = {}
        """By what their pulls have in common; None for what does not go this way."""
        self._json_lanes: dict[_Key, PullLane | None] = {}
        self._seen: set[int] = set()
        """Hashes of such keys that came once. Who waits at the end of many queues comes again too late to be learnt, and costs
        no memory here."""

    def serve_binary(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        """Serve the pull in a frame with a binary header, if it goes this way; else nothing has happened.

        Args:
            peer: Who sent it, and takes the answer.
            source: Holds the frame.
            position: Where its length stands.
            total: That length.
        """
        if total < HEAD.size:
            return False
        _, word, code, language, version, _, flag, remark, size = HEAD.unpack_from(source, position)
        first, end = position + HEAD.size, position + 4 + total
        if flag or remark or end != first + size or end != position + 8 + (word & 0xFFFFFF):
            return False
        offset_at = source.find(_OFFSET, first, end) + len(_OFFSET)
        commit_at = source.find(_COMMIT, offset_at, end) + len(_COMMIT)
        if offset_at < first + len(_OFFSET) or not offset_at < commit_at < end:
            return False
        offset_end, commit_end = offset_at + 1 + source[offset_at], commit_at + 1 + source[commit_at]
        if commit_end > end:
            return False
        offset, commit = source[offset_at + 1 : offset_end], source[commit_at + 1 : commit_end]
        if not _are_offsets(offset, commit):
            return False
        between = source[offset_end : commit_at - len(_COMMIT)]
        key = source[first : offset_at - len(_OFFSET)], between, source[commit_end:end], code
        lane = self._lanes.get(key)
        if lane is None:
            if not self._is_to_be_learnt(self._lanes, key, size):
                return False
            lane = self._lanes[key] = lane_of_binary(code, key[:3], self._pull.terms)
            if lane is None:
                return False
        run = self._read(peer, lane, offset, commit)
        if run is None:
            return False
        peer.version, peer.serialize_type = version, SerializeType.ROCKETMQ
        peer.language = LANGUAGES_BY_NUMBER.get(language, LanguageCode.OTHER)
        opaque = source[position + OPAQUE_POSITION : position + OPAQUE_POSITION + OPAQUE_BYTES]
        head = binary_found(opaque, lane.broker_id, run.next_offset, run.min_offset, run.max_offset, run.total_bytes)
        peer.send_parts([head, *run.slices], len(head) + run.total_bytes)
        return True

    def serve_json(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        """The same for a header in JSON."""
        first, end = position + _PREFIX.size, position + 4 + total
        header = source[first:end]
        if _PREFIX.unpack_from(source, position)[1] != len(header):
            return False
        offset_at, commit_at = header.find(_JSON_OFFSET) + len(_JSON_OFFSET), header.find(_JSON_COMMIT) + len(_JSON_COMMIT)
        opaque_at = header.find(_JSON_OPAQUE) + len(_JSON_OPAQUE)
        if offset_at < len(_JSON_OFFSET) or commit_at < len(_JSON_COMMIT) or opaque_at < len(_JSON_OPAQUE):
            return False
        offset_end, commit_end, opaque_end = (
            header.find(b'"', offset_at),
            header.find(b'"', commit_at),
            header.find(b",", opaque_at),
        )
        offset, commit, opaque = header[offset_at:offset_end], header[commit_at:commit_end], header[opaque_at:opaque_end]
        if not _are_offsets(offset, commit) or not _is_opaque(opaque):
            return False
        cuts = sorted(((offset_at, offset_end, 0), (commit_at, commit_end, 1), (opaque_at, opaque_end, 2)))
        (cut, end_of_cut, _), (second, end_of_second, _), (third, end_of_third, _) = cuts
        key = header[:cut], header[end_of_cut:second], header[end_of_second:third], header[end_of_third:]
        lane = self._json_lanes.get(key)
        if lane is None:
            if not self._is_to_be_learnt(self._json_lanes, key, len(header)):
                return False
            lane = self._json_lanes[key] = lane_of_json(key, [number for _, _, number in cuts], self._pull.terms)
            if lane is None:
                return False
        run = self._read(peer, lane, offset, commit)
        if run is None:
            return False
        peer.version, peer.serialize_type, peer.language = lane.version, SerializeType.JSON, lane.language
        head = json_found(int(opaque), lane.broker_id, run.next_offset, run.min_offset, run.max_offset, run.total_bytes)
        peer.send_parts([head, *run.slices], len(head) + run.total_bytes)
        return True

    def _is_to_be_learnt(self, lanes: dict[_Key, PullLane | None], key: _Key, size: int) -> bool:
        if key in lanes or size > _ALIKE_BYTES_MAX:
            return False
        number = hash(key)
        if number not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(number)
            return False
        if len(lanes) >= _KNOWN_MAX:
            lanes.clear()
        return True

    def _read(self, peer: ExpressPeer, lane: PullLane, offset: bytes, commit: bytes) -> Run | None:
        """Read for a pull, and note that it was served; None where that is not to be done here."""
        if not self._is_plain(lane):
            return None
        terms, state = lane.terms, self._state
        run = self._pull.read_run(terms, int(offset))
        if run is not None:
            state.consumers.pulled(peer, terms.group, terms.topic, terms.queue_id)
            if terms.flags & FLAG_COMMIT_OFFSET:
                state.offsets.commit(terms.group, terms.topic, terms.queue_id, int(commit))
            state.counters.got(terms.topic, terms.group, run.record_count, run.total_bytes)
        return run

    def _is_plain(self, lane: PullLane) -> bool:
        """Whether its pulls may have what they ask for, and that is everything."""
        terms, state = lane.terms, self._state
        subscription, is_broadcasting = None, False
        if not terms.flags & FLAG_SUBSCRIPTION and (group := state.consumers.group(terms.group)) is not None:
            subscription, is_broadcasting = group.subscriptions.get(terms.topic), group.broadcasting
        seen = state.config, state.groups.version, state.topics.version, subscription, is_broadcasting
        if lane.seen != seen:
            try:
                self._pull.check(terms, lite=lane.is_lite)
                lane.is_plain = self._pull.wanted(terms).takes_all
                lane.broker_id = self._pull.suggested_broker(terms.group, slow=False)
            except RequestRefusedError:
                lane.is_plain = False
            # As it was before: a check that made a group is made once more.
            lane.seen = seen
        return lane.is_plain


def _are_offsets(offset: bytes, commit: bytes) -> bool:
    return offset.isdigit() and commit.isdigit() and len(offset) <= _DIGITS_MAX and len(commit) <= _DIGITS_MAX


def _is_opaque(text: bytes) -> bool:
    """Whether JSON takes it for a number that an opaque can be."""
    if not text.isdigit() or len(text) > _OPAQUE_DIGITS_MAX or (len(text) > 1 and text.startswith(b"0")):
        return False
    return int(text) <= INT32_MAX
