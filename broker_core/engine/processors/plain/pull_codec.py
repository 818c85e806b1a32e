"""Codec of plain pulls: from the bytes of a request to a typed pull, without header fields in between.

A plain pull has code 11 or 361 and names both offsets. The rest is equal in all pulls of a consumer from a queue: it is read
once, at its second arrival, and then found by its bytes (`broker_core.engine.processors.plain.pull_teacher`). The general
decoding reads all other pulls.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3.
"""

from __future__ import annotations

from operator import itemgetter
from struct import Struct
from typing import Any

from broker_core.engine.processors.plain import learnt
from broker_core.engine.processors.plain.pull_answers import binary_found, json_found
from broker_core.engine.processors.plain.pull_teacher import COMMIT, OFFSET, Places, PullLane, lane_of
from broker_core.engine.processors.plain.requests import HEAD, OPAQUE_BYTES, OPAQUE_POSITION, PlainPull
from broker_core.engine.processors.pull_request import TermsReader
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.frame import LANGUAGES_BY_NUMBER

_PREFIX = Struct(">II")
_KIND_AT = 4
_BINARY = int(SerializeType.ROCKETMQ)

_OFFSET, _COMMIT = (b"\0%c%b\0\0\0" % (len(name), name.encode()) for name in (OFFSET, COMMIT))
"""The bytes before the length of an offset, which is one byte then."""
_JSON_OFFSET, _JSON_COMMIT, _JSON_OPAQUE = b'"%b":"' % OFFSET.encode(), b'"%b":"' % COMMIT.encode(), b'"opaque":'
_DIGITS_MAX = 18
_OPAQUE_DIGITS_MAX = 10

_SEEN_MAX = 1024
"""Beginnings of lanes that arrived once; the next one empties the set."""

_Key = tuple[Any, ...]

_new_tuple = tuple.__new__
"""Makes a named tuple without a call into Python."""


class PullCodec:
    """Reads plain pulls; ``terms`` reads their terms. For the loop's thread."""

    def __init__(self, terms: TermsReader) -> None:
        self._terms = terms
        self._lanes: dict[_Key, PullLane | None] = {}
        """By the common bytes of their pulls; None for bytes that are no plain pull's."""
        self._json_lanes: dict[_Key, PullLane | None] = {}
        self._seen: set[int] = set()
        """Hashes of keys that arrived once. A consumer that is held at the end of many queues returns too late to be learnt,
        and costs no memory here.
        """

    def read(self, source: bytes, position: int, total: int) -> PlainPull | None:
        """The pull in a frame with its length ``total`` at ``position``; None if it is not plain, or arrives the first time."""
        if source[position + _KIND_AT] == _BINARY:
            return self._read_binary(source, position, total)
        return self._read_json(source, position, total)

    def _read_binary(self, source: bytes, position: int, total: int) -> PlainPull | None:
        if total < HEAD.size:
            return None
        _, word, code, language, version, _, flag, remark, size = HEAD.unpack_from(source, position)
        first, end = position + HEAD.size, position + 4 + total
        if flag or remark or end != first + size or end != position + 8 + (word & 0xFFFFFF):
            return None
        offset_at = source.find(_OFFSET, first, end) + len(_OFFSET)
        commit_at = source.find(_COMMIT, offset_at, end) + len(_COMMIT)
        if offset_at < first + len(_OFFSET) or not offset_at < commit_at < end:
            return None
        offset_end, commit_end = offset_at + 1 + source[offset_at], commit_at + 1 + source[commit_at]
        if commit_end > end:
            return None
        offset, commit = source[offset_at + 1 : offset_end], source[commit_at + 1 : commit_end]
        if not _are_offsets(offset, commit):
            return None
        between = source[offset_end : commit_at - len(_COMMIT)]
        key = source[first : offset_at - len(_OFFSET)], between, source[commit_end:end], code
        lane = self._lanes.get(key)
        if lane is None:
            if not self._is_to_be_learnt(self._lanes, key, size):
                return None
            frame, opaque_place = source[position : position + 4 + total], (OPAQUE_POSITION, OPAQUE_BYTES)
            places = Places((offset_at + 1 - position, len(offset)), (commit_at + 1 - position, len(commit)), opaque_place)
            lane = self._lanes[key] = lane_of(frame, places, self._terms)
            if lane is None:
                return None
        opaque = source[position + OPAQUE_POSITION : position + OPAQUE_POSITION + OPAQUE_BYTES]
        known = LANGUAGES_BY_NUMBER.get(language, LanguageCode.OTHER)
        numbers = int(offset), int(commit), opaque
        pull = (lane.terms, lane.is_lite, *numbers, lane.grant, binary_found, SerializeType.ROCKETMQ, version, known)
        return _new_tuple(PlainPull, pull)

    def _read_json(self, source: bytes, position: int, total: int) -> PlainPull | None:
        first, end = position + _PREFIX.size, position + 4 + total
        header = source[first:end]
        if _PREFIX.unpack_from(source, position)[1] != len(header):
            return None
        offset_at, commit_at = header.find(_JSON_OFFSET) + len(_JSON_OFFSET), header.find(_JSON_COMMIT) + len(_JSON_COMMIT)
        opaque_at = header.find(_JSON_OPAQUE) + len(_JSON_OPAQUE)
        if offset_at < len(_JSON_OFFSET) or commit_at < len(_JSON_COMMIT) or opaque_at < len(_JSON_OPAQUE):
            return None
        offset_end, commit_end, opaque_end = (
            header.find(b'"', offset_at),
            header.find(b'"', commit_at),
            header.find(b",", opaque_at),
        )
        offset, commit, opaque = header[offset_at:offset_end], header[commit_at:commit_end], header[opaque_at:opaque_end]
        if not _are_offsets(offset, commit) or not _is_opaque(opaque):
            return None
        cuts = sorted(((offset_at, offset_end, 0), (commit_at, commit_end, 1), (opaque_at, opaque_end, 2)))
        (cut, end_of_cut, _), (second, end_of_second, _), (third, end_of_third, _) = cuts
        key = header[:cut], header[end_of_cut:second], header[end_of_second:third], header[end_of_third:]
        lane = self._json_lanes.get(key)
        if lane is None:
            if not self._is_to_be_learnt(self._json_lanes, key, len(header)):
                return None
            numbers_at = [(_PREFIX.size + start, stop - start) for start, stop, _ in sorted(cuts, key=itemgetter(2))]
            lane = self._json_lanes[key] = lane_of(source[position : position + 4 + total], Places(*numbers_at), self._terms)
            if lane is None:
                return None
        numbers = int(offset), int(commit), opaque
        pull = (lane.terms, lane.is_lite, *numbers, lane.grant, json_found, SerializeType.JSON, lane.version, lane.language)
        return _new_tuple(PlainPull, pull)

    def _is_to_be_learnt(self, lanes: dict[_Key, PullLane | None], key: _Key, size: int) -> bool:
        if key in lanes or size > learnt.ALIKE_BYTES_MAX:
            return False
        number = hash(key)
        if number not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(number)
            return False
        if len(lanes) >= learnt.KNOWN_MAX:
            lanes.clear()
        return True


def _are_offsets(offset: bytes, commit: bytes) -> bool:
    return offset.isdigit() and commit.isdigit() and len(offset) <= _DIGITS_MAX and len(commit) <= _DIGITS_MAX


def _is_opaque(text: bytes) -> bool:
    if not text.isdigit() or len(text) > _OPAQUE_DIGITS_MAX or (len(text) > 1 and text.startswith(b"0")):
        return False
    return int(text) <= INT32_MAX
