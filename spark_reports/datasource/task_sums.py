"""Sums that the reader computes: a task's records, grouped before a row of it is sent to Spark.

Most of the cost of a grouping in Spark is sending each record there. Here a kernel adds each record to the sums of its
group (`broker_core.native.sums`), and Spark adds up the sums of the tasks. Sums, counts, least and largest values do
not depend on how a log was split.

Records are grouped by bytes in them: minute, queue, topic and some properties. The wanted columns are computed from these
groups, some hundred of a task, and equal groups are then added up again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from broker_core.native import sums
from broker_core.native.calls import call
from broker_core.native.heads import NO_BASE
from broker_core.native.records import FULL
from broker_core.protocol.addresses import ip_text
from spark_reports.datasource import kernels
from spark_reports.datasource.arrays import Bytes, Int64s
from spark_reports.datasource.columns import TIME_MS_MAX, TIME_MS_MIN, RecordColumns, kinds, times_of
from spark_reports.datasource.options import Selection
from spark_reports.datasource.schema import HOST, MINUTE
from spark_reports.datasource.skipped import OTHER_TOPIC, OUTSIDE_RANGE, SkippedRows
from spark_reports.datasource.texts import cut, text_array

GROUPS_MAX = 1 << 14
"""Groups of one table, which stays small; more are added up in parts."""
_POOL_BYTES = 1 << 20
"""Of their texts; those of one record are less than 128 KiB."""
_NO_PLACES: Int64s = np.zeros(0, dtype=np.int64)
_EARLIEST_MS, _LATEST_MS = -(1 << 63), (1 << 63) - 1

_PARTS = {
    MINUTE: sums.BY_MINUTE, "queue_id": sums.BY_QUEUE, "topic": sums.BY_TOPIC,
    "real_topic": sums.BY_TOPIC, "kind": sums.BY_TOPIC | sums.BY_COMMITTED,
    HOST: sums.BY_HOST,
}  # fmt: skip
"""Parts of the group key besides properties."""
_PROPERTIES = {
    "tag": ("TAGS",), "real_topic": ("REAL_TOPIC",), "producer_group": ("PGROUP",), "kind": ("REAL_TOPIC", "__SHARDINGKEY"),
}  # fmt: skip
_MEANT_BY = ("RETRY_TOPIC", "REAL_TOPIC")
_ONLY_WHETHER = frozenset({"__SHARDINGKEY"})
"""Properties of which only the presence counts: each message may have its own value."""
_COLUMNS = {
    "messages": sums.MESSAGES, "body_bytes": sums.BODY, "store_bytes": sums.STORED, "body_bytes_max": sums.BODY_MAX,
    "store_bytes_max": sums.STORED_MAX, "first_time": sums.FIRST, "last_time": sums.LAST,
}  # fmt: skip
_OF_SUMS = {
    "messages": "sum", "body_bytes": "sum", "store_bytes": "sum", "body_bytes_max": "max", "store_bytes_max": "max",
    "first_time": "min", "last_time": "max",
}  # fmt: skip
"""How the sums of several parts are combined."""
_PARTS_ROWS_MAX = 1 << 18
"""Rows of batches before they are summed again: they are many if nearly every record has a group of its own."""


class TaskSums:
    """The sums of one task.

    Args:
        keys: Of `SUM_KEYS`.
        wanted: Names of the columns to compute.
        selection: The records of `add_log` that count; without comparisons, which Spark evaluates on sums.
        skipped: Counts the others.
    """

    def __init__(self, keys: Sequence[str], wanted: Collection[str], selection: Selection, skipped: SkippedRows) -> None:
        assert not selection.comparisons
        self._keys = list(keys)
        self._measures = [name for name in _OF_SUMS if name in wanted]
        self._selection = selection
        self._skipped = skipped
        self._store = ""
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._rows_max = _PARTS_ROWS_MAX
        of_topics = _MEANT_BY if selection.topics and selection.meant else ()
        self._properties = list(dict.fromkeys([*(name for key in keys for name in _PROPERTIES.get(key, ())), *of_topics]))
        self._by = sums.BY_TOPIC if selection.topics else 0
        for key in keys:
            self._by |= _PARTS.get(key, 0)
        self._names, self._sought = _sought(self._properties)
        texts = sums.PROPERTY_TEXT + len(self._properties)
        self._state: Int64s = np.zeros(sums.STATE_COLUMNS, dtype=np.int64)
        self._slots: Int64s = np.zeros(2 * GROUPS_MAX, dtype=np.int64)
        self._groups: Int64s = np.empty((GROUPS_MAX, sums.TEXTS + 2 * texts), dtype=np.int64)
        self._pool: Bytes = np.empty(_POOL_BYTES, dtype=np.uint8)
        self._record: Int64s = np.zeros(sums.KEYS + 2 * texts, dtype=np.int64)
        self._describe()

    def _describe(self) -> None:
        """What the kernel is told once."""
        state, selection = self._state, self._selection
        state[sums.FIRST_MS] = _EARLIEST_MS if selection.from_ms is None else selection.from_ms
        state[sums.LAST_MS] = _LATEST_MS if selection.to_ms is None else selection.to_ms - 1
        state[sums.PARTS], state[sums.PROPERTIES] = self._by, len(self._properties)
        state[sums.SLOT_MASK], state[sums.GROUPS_MAX] = len(self._slots) - 1, len(self._groups)
        state[sums.POOL_MAX] = len(self._pool)

    def add_log(self, data: Bytes, base_offset: int, start: int, stop: int, store: str) -> int:
        """Add consecutive records.

        Args:
            data: The file up to the greatest end of a record.
            base_offset: Physical offset of its first byte.
            start: Start of the first record.
            stop: Records that begin from here on are left out.
            store: Of the file.

        Returns:
            End of the last record; ``start`` if there is none.
        """
        return self._add(data, base_offset, start, stop, None, store)

    def add(self, records: RecordColumns) -> None:
        """Add some records that all count."""
        places = np.ascontiguousarray(records.head("position"))
        added = self._add(records.data, NO_BASE, 0, len(places), places, records.store)
        assert added == len(places)  # heads are made of whole records only

    def _add(self, data: Bytes, base_offset: int, start: int, stop: int, places: Int64s | None, store: str) -> int:  # noqa: PLR0917
        if store != self._store:
            self._close_part()
            self._store = store
        state = self._state
        state[sums.AT], state[sums.BASE], state[sums.LIMIT] = start, base_offset, len(data)
        state[sums.STOP], state[sums.BY_PLACES] = stop, places is not None
        buffers = (
            data, state, _NO_PLACES if places is None else places, self._names, self._sought, self._slots,
            self._groups.reshape(-1), self._pool, self._record,
        )  # fmt: skip
        while call(kernels.library(), sums.add_up, *buffers) == FULL:
            self._close_part()
        return int(state[sums.AT])

    def _close_part(self) -> None:
        state, groups = self._state, self._groups[: self._state[sums.GROUPS]]
        self._skipped.add(OUTSIDE_RANGE, int(state[sums.OUTSIDE_ROWS]), int(state[sums.OUTSIDE_BYTES]))
        if len(groups):
            groups = self._of_topics(groups)
        if len(groups):
            measures = [_measure(name, groups) for name in self._measures]
            self._keep(pa.table([*(self._key(key, groups) for key in self._keys), *measures], [*self._keys, *self._measures]))
        self._slots.fill(0)
        state[[sums.GROUPS, sums.POOL_BYTES, sums.OUTSIDE_ROWS, sums.OUTSIDE_BYTES]] = 0

    def _of_topics(self, groups: Int64s) -> Int64s:
        """The groups of the wanted topics; the records of others are counted."""
        if not self._selection.topics:
            return groups
        topic = self._topic(groups)
        if self._selection.meant:
            topic = pc.coalesce(*(self._property(name, groups) for name in _MEANT_BY), topic)
        among = pc.is_in(topic, value_set=pa.array(self._selection.topics, pa.string())).to_numpy(zero_copy_only=False)
        others = groups[~among]
        self._skipped.add(OTHER_TOPIC, int(others[:, sums.MESSAGES].sum()), int(others[:, sums.STORED].sum()))
        kept: Int64s = groups[among]
        return kept

    def _topic(self, groups: Int64s) -> pa.Array:
        return text_array(self._bytes(groups, sums.TOPIC_TEXT))

    def _property(self, name: str, groups: Int64s) -> pa.Array:
        return text_array(self._bytes(groups, sums.PROPERTY_TEXT + self._properties.index(name)))

    def _hosts(self, groups: Int64s) -> pa.Array:
        coded = self._bytes(groups, sums.HOST_TEXT).dictionary_encode()
        return pa.array([ip_text(one) for one in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)

    def _bytes(self, groups: Int64s, text: int) -> pa.Array:
        starts, lengths = groups[:, sums.TEXTS + 2 * text], groups[:, sums.TEXTS + 2 * text + 1]
        found = cut(self._pool, starts, starts + np.maximum(lengths, 0))
        return pc.if_else(pa.array(lengths >= 0), found, pa.scalar(None, pa.binary()))

    def _key(self, key: str, groups: Int64s) -> pa.Array:
        if key == MINUTE:
            # The first minute of all begins before the first millisecond.
            first, last = TIME_MS_MIN // sums.MINUTE_MS, TIME_MS_MAX // sums.MINUTE_MS
            return times_of(np.clip(groups[:, sums.MINUTE], first, last) * sums.MINUTE_MS)
        if key == "store":
            return pa.repeat(self._store, len(groups))
        if key == "queue_id":
            return pa.array(groups[:, sums.QUEUE].astype(np.int32))
        if key == "topic":
            return self._topic(groups)
        if key == HOST:
            return self._hosts(groups)
        if key == "real_topic":
            return pc.coalesce(self._property("REAL_TOPIC", groups), self._topic(groups))
        if key == "kind":
            committed = pa.array(groups[:, sums.COMMITTED] != 0)
            ordered, delivered = (self._property(name, groups).is_valid() for name in ("__SHARDINGKEY", "REAL_TOPIC"))
            return kinds(self._topic(groups), committed=committed, ordered=ordered, delivered=delivered)
        return self._property(_PROPERTIES[key][0], groups)

    def _keep(self, part: pa.Table) -> None:
        self._parts.append(part)
        self._rows += part.num_rows
        if self._rows > self._rows_max:
            self._parts = [self._added_up()]
            self._rows = self._parts[0].num_rows
            self._rows_max = max(_PARTS_ROWS_MAX, 2 * self._rows)

    def batch(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """The sums in the columns of a schema, called once; None if there are none. Accounting columns are null."""
        self._close_part()
        if not self._parts:
            return None
        whole = self._added_up().combine_chunks()
        made = [
            whole[field.name].combine_chunks().cast(field.type) if field.name in whole.column_names else
            pa.nulls(whole.num_rows, field.type)
            for field in schema
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(made, schema=schema)

    def _added_up(self) -> pa.Table:
        how = [(name, _OF_SUMS[name]) for name in self._measures]
        grouped = pa.concat_tables(self._parts).group_by(self._keys, use_threads=False).aggregate(how)
        return grouped.rename_columns([*self._keys, *self._measures])


def _measure(name: str, groups: Int64s) -> pa.Array:
    values = groups[:, _COLUMNS[name]]
    return times_of(values) if name in ("first_time", "last_time") else pa.array(values)


def _sought(properties: Sequence[str]) -> tuple[Bytes, Int64s]:
    names = [name.encode() + b"\x01" for name in properties]
    stops = np.cumsum([len(name) for name in names], dtype=np.int64)
    starts = stops - [len(name) for name in names]
    is_value_kept = [name not in _ONLY_WHETHER for name in properties]
    rows = np.stack([starts, stops, np.array(is_value_kept, dtype=np.int64)], axis=1).astype(np.int64)
    return np.frombuffer(b"".join(names) or b"\0", dtype=np.uint8), np.ascontiguousarray(rows.reshape(-1))
