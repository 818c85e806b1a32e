"""Arrow columns of a run of records, each computed only on demand.

Maps the names of the row schema to record heads, topics and properties; knows no files and no Spark.

Source: docs/spec/store.md §2.1, §2.4, §2.7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from broker_core.engine.store.layout import RecordHeads
from broker_core.protocol.addresses import address_of, ip_text
from broker_core.protocol.message.record import BORN_HOST_POSITION, STORE_HOST_POSITION_V4, V6_EXTRA_BYTES
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6, TRANSACTION_MASK, TransactionType
from spark_reports.datasource.arrays import array_of
from spark_reports.datasource.properties import PropertyColumns, parts_of
from spark_reports.datasource.texts import Numbered, cut, numbered, text_array

_OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
_KIND_OF_TOPIC = {
    "SCHEDULE_TOPIC_XXXX": "delay",
    "rmq_sys_wheel_timer": "delay",
    "RMQ_SYS_TRANS_HALF_TOPIC": "half",
    _OP_TOPIC: "op",
    "TRANS_CHECK_MAX_TIME_TOPIC": "given_up",
    "RMQ_SYS_TRACE_TOPIC": "trace",
}
TIME_MS_MIN, TIME_MS_MAX = -62_135_510_400_000, 253_402_214_399_999
"""From 0001-01-02 to 9999-12-30: times that every program can show as a date in any time zone."""


class RecordColumns:
    """Columns of the records of one scan, optionally only of some of them.

    Args:
        buffer: The commit log file of the heads.
        heads: Heads of consecutive records.
        store: Value of the column of that name.
    """

    def __init__(self, buffer: Any, heads: RecordHeads, store: str) -> None:  # noqa: ANN401  mmap has no buffer type
        self.data: npt.NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)
        self._heads = heads
        self.store = store
        self._chosen: npt.NDArray[Any] = np.arange(len(heads))

    def __len__(self) -> int:
        return len(self._chosen)

    @property
    def store_bytes(self) -> int:
        return int(self.head("size").sum())

    def choose(self, wanted: npt.NDArray[np.bool_]) -> RecordColumns:
        """The columns of those chosen records for which ``wanted`` is true."""
        chosen = RecordColumns(self.data, self._heads, self.store)
        chosen._chosen = self._chosen[wanted]
        return chosen

    def stored_between(self, from_ms: int | None, to_ms: int | None) -> npt.NDArray[np.bool_]:
        """Whether each record was stored at or after ``from_ms`` and before ``to_ms``."""
        stored = self.head("store_ms")
        wanted = np.ones(len(stored), dtype=bool)
        if from_ms is not None:
            wanted &= stored >= from_ms
        if to_ms is not None:
            wanted &= stored < to_ms
        return wanted

    def topic_among(self, topics: Sequence[str], *, meant: bool = False) -> npt.NDArray[np.bool_]:
        """Whether each record's topic is one of ``topics``: the stored one, or with ``meant`` the original one."""
        of_record = pc.coalesce(self._properties.column("RETRY_TOPIC"), self._real_topic()) if meant else self._topic
        found: npt.NDArray[np.bool_] = pc.is_in(of_record, value_set=pa.array(topics, pa.string())).to_numpy(
            zero_copy_only=False
        )
        return found

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """The columns of an Arrow schema, in its order; an unknown column is null."""
        return pa.RecordBatch.from_arrays([self.named(field) for field in schema], schema=schema)

    def named(self, field: pa.Field) -> pa.Array:
        """One column, see `batch`."""
        make = self._MAKERS.get(field.name)
        if make is None:
            return pa.nulls(len(self), field.type)
        made = make(self)
        return made if made.type == field.type else made.cast(field.type)

    def head(self, name: str) -> npt.NDArray[Any]:
        """A column of the heads, see `RecordHeads`."""
        column = array_of(getattr(self._heads, name))
        return column if len(self._chosen) == len(self._heads) else column[self._chosen]

    def _cut(self, position: str, length: str) -> pa.Array:
        starts = self.head(position)
        return cut(self.data, starts, starts + self.head(length))

    @cached_property
    def _topic(self) -> pa.Array:
        found = numbered(self.data, self.head("topic_position"), self.head("topic_bytes"))
        return Numbered(found.numbers, text_array(found.values)).rows()

    @cached_property
    def _properties(self) -> PropertyColumns:
        return PropertyColumns(*parts_of(self._cut("properties_position", "properties_bytes")))

    def _real_topic(self) -> pa.Array:
        return pc.coalesce(self._properties.column("REAL_TOPIC"), self._topic)

    def _real_queue_id(self) -> pa.Array:
        chosen = pc.if_else(self._properties.column("REAL_TOPIC").is_valid(), self._whole("REAL_QID", 9, pa.int32()), None)
        return pc.coalesce(chosen, pa.array(self.head("queue_id"), pa.int32()))

    def _member_key(self) -> pa.Array:
        """A 5.x broker appends the key of a whole batch to the properties of each member (Source: docs/spec/store.md §2.9)."""
        own, counting = (self._properties.column("UNIQ_KEY", first=first) for first in (True, False))
        return pc.if_else(pc.not_equal(own, counting), own, pa.scalar(None, pa.string()))

    def _keys(self) -> pa.Array:
        joined = pc.fill_null(pc.utf8_trim(self._properties.column("KEYS"), " "), "")
        if pc.any(pc.match_substring(joined, "  ")).as_py():
            joined = pc.replace_substring_regex(joined, " +", " ")  # between two spaces is no key
        parts = pc.split_pattern(joined, " ")
        return pc.if_else(pc.equal(joined, ""), pa.array([[]], parts.type)[0], parts)

    def _whole(self, name: str, digits: int, data_type: pa.DataType) -> pa.Array:
        text = self._properties.column(name)
        fits = pc.match_substring_regex(text, rf"^-?\d{{1,{digits}}}$")
        return pc.if_else(fits, text, pa.scalar(None, pa.string())).cast(data_type)

    def _delay_level(self) -> pa.Array:
        return self._whole("DELAY", 9, pa.int32())

    def _deliver_time(self) -> pa.Array:
        due_ms = pc.coalesce(self._whole("TIMER_OUT_MS", 15, pa.int64()), self._whole("TIMER_DELIVER_MS", 15, pa.int64()))
        shown_ms = pc.max_element_wise(
            pc.min_element_wise(due_ms, TIME_MS_MAX, skip_nulls=False), TIME_MS_MIN, skip_nulls=False
        )
        return shown_ms.cast(pa.timestamp("ms", tz="UTC"))

    def _decided_offsets(self) -> pa.Array:
        decisions = pc.equal(self._topic, _OP_TOPIC).to_numpy(zero_copy_only=False)
        starts = self.head("body_position")[decisions]
        bodies = text_array(cut(self.data, starts, starts + self.head("body_bytes")[decisions]))
        where = np.cumsum(decisions) - 1
        return bodies.take(pa.array(where, mask=~decisions))

    def _kind(self) -> pa.Array:
        return kinds(
            self._topic,
            committed=pa.array((self.head("sys_flag") & TRANSACTION_MASK) == TransactionType.COMMIT),
            ordered=self._properties.column("__SHARDINGKEY").is_valid(),
            delivered=self._properties.column("REAL_TOPIC").is_valid(),
        )

    def _born_host(self) -> pa.Array:
        return self._hosts(self.head("position") + BORN_HOST_POSITION, BORN_HOST_V6)

    def _store_host(self) -> pa.Array:
        extra = np.where(self.head("sys_flag") & BORN_HOST_V6, V6_EXTRA_BYTES, 0)
        return self._hosts(self.head("position") + STORE_HOST_POSITION_V4 + extra, STORE_HOST_V6)

    def _hosts(self, positions: npt.NDArray[np.int64], v6_flag: int) -> pa.Array:
        wide = (self.head("sys_flag") & v6_flag) != 0
        codes = np.zeros(len(positions), dtype=np.int64)
        names: list[str] = []
        for family, ip_bytes in ((~wide, 4), (wide, 16)):
            item = np.dtype((np.void, ip_bytes + 4))
            where = positions[family]
            rows = self.data[where[:, None] + np.arange(item.itemsize)]
            hosts, inverse = np.unique(np.ascontiguousarray(rows).view(item).ravel(), return_inverse=True)
            codes[family] = inverse + len(names)
            names += [_host_text(host.tobytes()) for host in hosts]
        return pa.array(names, pa.string()).take(pa.array(codes))

    def _store_name(self) -> pa.Array:
        return pa.repeat(self.store, len(self))

    _MAKERS: ClassVar[dict[str, Callable[[RecordColumns], pa.Array]]] = {
        "store": _store_name,
        "topic": lambda self: self._topic,
        "real_topic": _real_topic,
        "queue_id": lambda self: pa.array(self.head("queue_id")),
        "queue_offset": lambda self: pa.array(self.head("queue_offset")),
        "physical_offset": lambda self: pa.array(self.head("physical_offset")),
        "store_time": lambda self: times_of(self.head("store_ms")),
        "born_time": lambda self: times_of(self.head("born_ms")),
        "born_host": _born_host,
        "store_host": _store_host,
        "body_bytes": lambda self: pa.array(self.head("body_bytes")),
        "store_bytes": lambda self: pa.array(self.head("size")),
        "body_crc": lambda self: pa.array(self.head("body_crc")),
        "keys": _keys,
        "tag": lambda self: self._properties.column("TAGS"),
        "unique_key": lambda self: self._properties.column("UNIQ_KEY"),
        "properties": lambda self: self._properties.maps(),
        "sys_flag": lambda self: pa.array(self.head("sys_flag")),
        "flag": lambda self: pa.array(self.head("flag")),
        "delay_level": _delay_level,
        "reconsume_times": lambda self: pa.array(self.head("reconsume")),
        "prepared_offset": lambda self: pa.array(self.head("prepared_offset")),
        "kind": _kind,
        "retry_topic": lambda self: self._properties.column("RETRY_TOPIC"),
        "origin_id": lambda self: self._properties.column("ORIGIN_MESSAGE_ID"),
        "producer_group": lambda self: self._properties.column("PGROUP"),
        "transaction_id": lambda self: self._properties.column("__transactionId__"),
        "check_times": lambda self: self._whole("TRANSACTION_CHECK_TIMES", 9, pa.int32()),
        "deliver_time": _deliver_time,
        "ordering_key": lambda self: self._properties.column("__SHARDINGKEY"),
        "cancelled_key": lambda self: self._properties.column("TIMER_DEL_UNIQKEY"),
        "decided_offsets": _decided_offsets,
        "member_key": _member_key,
        "real_queue_id": _real_queue_id,
        "roll_times": lambda self: self._whole("TIMER_ROLL_TIMES", 9, pa.int32()),
        "body": lambda self: self._cut("body_position", "body_bytes"),
    }


def times_of(milliseconds: npt.NDArray[np.int64]) -> pa.Array:
    """A column of times from epoch milliseconds; values out of bounds, by damage or a client's error, are clipped."""
    return pa.array(np.clip(milliseconds, TIME_MS_MIN, TIME_MS_MAX) * 1000).cast(pa.timestamp("us", tz="UTC"))


def kinds(topic: pa.Array, *, committed: pa.Array, ordered: pa.Array, delivered: pa.Array) -> pa.Array:
    """Kinds of records, see `spark_reports.datasource.schema`.

    Args:
        topic: As stored.
        committed: Whether its flags mark a committed message.
        ordered: Whether it has an ordering key.
        delivered: Whether it names its original topic.
    """
    coded = topic.dictionary_encode()
    by_topic = pa.array([_kind_of(name) for name in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)
    plain = pc.if_else(ordered, "fifo", "normal")
    plain = pc.if_else(committed, "committed", pc.if_else(delivered, "delivered", plain))
    return pc.coalesce(by_topic, plain)


def _kind_of(topic: str) -> str | None:
    if topic.startswith("%RETRY%"):
        return "retry"
    if topic.startswith("%DLQ%"):
        return "dead_letter"
    return _KIND_OF_TOPIC.get(topic)


def _host_text(host: bytes) -> str:
    return address_of(ip_text(host[:-4]), int.from_bytes(host[-4:], "big"))
