"""Two messages side by side: differences of their records, properties and bodies. Pure but for the language."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.message_properties import property_rows
from gui.models.message_words import record_facts
from gui.words.text import TimeZoneChoice, count_text, tr
from monitoring.payload.content import BodyKind
from monitoring.payload.shown import ShownBody

LINES_MAX = 4_000
"""Further lines of a body are not compared; the result says so."""
HEX_LINE_BYTES = 16


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One value of both messages; empty where one has none."""

    name: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """Matching lines of the bodies; None where one has none. Numbers count from 1."""

    left: str | None
    right: str | None
    left_number: int
    right_number: int

    @property
    def differs(self) -> bool:
        return self.left != self.right


def compared_records(left: MessageDetail, right: MessageDetail, times: TimeZoneChoice) -> list[ComparedRow]:
    facts, others = dict(record_facts(left, times)), dict(record_facts(right, times))
    return [ComparedRow(name, facts.get(name, ""), others.get(name, "")) for name in dict.fromkeys((*facts, *others))]


def compared_properties(left: MessageDetail, right: MessageDetail, one: ShownBody, other: ShownBody) -> list[ComparedRow]:
    """Properties of both, in the order of the table of properties."""
    names = [row.name for row in property_rows({**right.properties, **left.properties})]
    return [
        ComparedRow(
            name,
            one.mask.mask_text(left.properties.get(name, "")),
            other.mask.mask_text(right.properties.get(name, "")),
        )
        for name in names
    ]


def compared_bodies(left: ShownBody, right: ShownBody) -> tuple[list[ComparedLine], str]:
    """Bodies line by line, laid out, bytes in hexadecimal; with a remark, empty where everything was compared."""
    one, other = _lines(left), _lines(right)
    remark = ""
    if max(len(one), len(other)) > LINES_MAX:
        remark = tr("The first {count} lines are compared.", count=count_text(LINES_MAX))
    return _matched(one[:LINES_MAX], other[:LINES_MAX]), remark


def _lines(body: ShownBody) -> list[str]:
    if body.content.kind is BodyKind.BYTES and not body.is_masked:
        data = body.content.data[: (LINES_MAX + 1) * HEX_LINE_BYTES]
        return [data[start : start + HEX_LINE_BYTES].hex(" ") for start in range(0, len(data), HEX_LINE_BYTES)]
    return body.content.text.splitlines()


def _matched(one: Sequence[str], other: Sequence[str]) -> list[ComparedLine]:
    made = []
    for _tag, start, end, other_start, other_end in difflib.SequenceMatcher(None, one, other).get_opcodes():
        pairs = zip_longest(range(start, end), range(other_start, other_end))
        made += [
            ComparedLine(
                None if i is None else one[i],
                None if j is None else other[j],
                -1 if i is None else i + 1,
                -1 if j is None else j + 1,
            )
            for i, j in pairs
        ]
    return made
