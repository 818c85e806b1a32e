"""Rows that nobody stored, for practice: as many and as various as those of a small log.

Java compiles a loop for good once it has gone round 40,000 times, so a row or two would leave the first real report to the
interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 50_000
BEGIN_MS = 1_700_000_000_000
STEP_MS = 40
END_MS = BEGIN_MS + ROWS * STEP_MS
FEW, MANY = 8, 1_000
"""Different values of a column of names, and of one of numbers; of keys and offsets each row has its own."""
_KINDS = ("normal",) * 9 + ("delay", "delivered", "half", "op", "committed", "retry", "dead_letter")
_OWN = frozenset({"queue_offset", "physical_offset", "prepared_offset", "unique_key", "ordering_key", "transaction_id"})
_SMALL = frozenset({"queue_id", "real_queue_id", "delay_level", "reconsume_times", "check_times"})
_RARE = frozenset({
    "retry_topic", "origin_id", "check_times", "deliver_time", "cancelled_key", "decided_offsets", "member_key", "roll_times",
})  # fmt: skip
"""Columns that most messages leave empty."""
_ACCOUNTED = "skipped_"
"""Columns of accounting rows, which an ordinary row leaves empty."""
_NUMBERS = np.arange(ROWS)


def practice_rows(schema: pa.Schema) -> pa.Table:
    """`ROWS` rows of messages, samples or events, stored from `BEGIN_MS` to before `END_MS`."""
    return pa.table([_values(field) for field in schema], schema=schema)


def _values(field: pa.Field) -> pa.Array:
    if field.name.startswith(_ACCOUNTED):
        return pa.nulls(ROWS, field.type)
    values = _texts(field.name) if _is_text(field.type) else _others(field)
    if field.name in _RARE:
        values = pc.if_else(pa.array(_NUMBERS % FEW == 0), values, pa.scalar(None, values.type))
    return values.cast(field.type)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _texts(name: str) -> pa.Array:
    if name == "kind":
        return _repeated(_KINDS)
    if name == "born_host":
        return _repeated([f"10.0.0.{number}:40000" for number in range(FEW)])
    if name == "decided_offsets":
        return pa.array(_NUMBERS).cast(pa.string())
    return _numbered(name, ROWS if name in _OWN else FEW)


def _repeated(texts: Sequence[str]) -> pa.Array:
    return pa.array(texts).take(pa.array(_NUMBERS % len(texts)))


def _numbered(word: str, different: int) -> pa.Array:
    return pc.binary_join_element_wise(word, pa.array(_NUMBERS % different).cast(pa.string()), "-")


def _others(field: pa.Field) -> pa.Array:
    kind, numbers = field.type, _NUMBERS
    offsets = pa.array(np.arange(ROWS + 1, dtype=np.int32))
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(offsets, _texts("name"), _texts("value"))
    if pa.types.is_list(kind):
        both = pa.concat_arrays([_numbered("customer", MANY), _numbered("order", ROWS)])
        in_turn = both.take(pa.array(np.stack([_NUMBERS, _NUMBERS + ROWS], axis=1).ravel()))
        return pa.ListArray.from_arrays(pa.array(np.arange(ROWS + 1, dtype=np.int32) * 2), in_turn)
    if pa.types.is_timestamp(kind):
        later_ms = STEP_MS if field.name == "to_time" else 0
        return pa.array((BEGIN_MS + numbers * STEP_MS + later_ms) * 1_000).cast(pa.timestamp("us", "UTC"))
    if pa.types.is_boolean(kind):
        return pa.array(numbers % 2 == 0)
    if field.name in _OWN:
        return pa.array(numbers)
    if field.name in _SMALL:
        return pa.array(numbers % FEW)
    return pa.array(numbers % MANY + 1)  # something is divided by it
