"""Cells of a list of hits as conditions of the filter language. Pure."""

from __future__ import annotations

from gui.models.filter_text import quoted
from gui.models.messages import MessageRow
from monitoring.payload.judging import MASK


def cell_conditions(hit: MessageRow, column: str, field_value: str | None) -> list[tuple[str, str]]:
    """Menu title and condition for and against the value of a cell; none where part of it is masked.

    ``field_value`` is the value of a field of the language; None: the column is none.
    """
    value = (column, "=", quoted(field_value)) if field_value is not None else _value(hit, column)
    if value is None:
        return []
    field, operator, text = value
    if MASK in text:
        return []  # the condition would name what is hidden, or nothing
    against = "<" if operator == ">=" else "!="
    return [
        ("Filter for {condition}", f"{field} {operator} {text}"),
        ("Filter against {condition}", f"{field} {against} {text}"),
    ]


def _value(hit: MessageRow, column: str) -> tuple[str, str, str] | None:
    match column:
        case "topic":
            return "topic", "=", quoted(hit.topic)
        case "tag" if hit.tag:
            return "tag", "=", quoted(hit.tag)
        case "keys" if hit.keys:
            return "key", "=", quoted(hit.keys.split(" ")[0])
        case "queue_id":
            return "queue", "=", str(hit.queue_id)
        case "queue_offset":
            return "offset", "=", str(hit.queue_offset)
        case "store_ms":
            return "stored", ">=", str(hit.store_ms)
        case "body_bytes":
            return "body_bytes", "=", str(hit.body_bytes)
    return None
