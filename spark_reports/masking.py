"""Masks results of reports by the masking rules.

Reports compute with stored values: a key is counted as itself, a duplicate is found as itself. Masked values are replaced in
the rows of the queries before a table, a chart or a sentence is made of them, so that no form of a result has them. Different
values with equal masks are numbered consistently in all tables: ``•••``, ``••• 2``.

A user's own query could reveal masked text by its conditions alone (``WHERE keys[0] LIKE '4111%'``), so it sees masked messages
only; a module of such a report has ``MASKS_MESSAGES``.

Not masked: names of topics, groups, hosts and properties, places, times, sizes. Prepared messages stay as stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa

from broker_core.errors import UsageError
from broker_core.protocol.retry_names import ALTERNATIVES
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules, united
from monitoring.payload.rules import DecoderRule, read_rules, rule_at
from monitoring.payload.shown import Schemas, read_shown
from spark_reports.parameters import ReportParameters
from spark_reports.reports.wording import number, say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


ORIGINS = ("topic", "real_topic", "retry_topic")
"""Columns with the topics of a row: where it is stored, and its origins."""
_KEYS, _BODY, _PROPERTIES = "keys", "body", "properties"
_TEXTS = ("tag", "key", "unique_key", "member_key", "ordering_key", "transaction_id", "cancelled_key", "example", "cause")
_DIGEST, _BODY_CRC = "digest", "body_crc"
"""Checksums of a body, which could reveal its text."""
_TYPED = ("key", "query")
"""Parameters that may contain message content."""
ORIGINALS: dict[str, object] = {"rules": "", "values": {}, "columns": [], "parameters": []}
"""The manifest's entry if originals were requested."""
NOTHING_MASKED = "Nothing is masked: originals were asked for."

Place = tuple[str | None, ...]


class ReportMask:
    """The mask of one result, by the decoder rules of the window; raises `UsageError` if their file cannot be read."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise UsageError(f"there are no masking rules at {path}. Name the window's decoder-rules.json.", path=str(path))
        self.path = path
        self.rules = read_rules(path)
        self._topics: tuple[str, ...] = ()
        self._masks: dict[Place, MaskRules] = {}
        self._known: dict[tuple[str, Place, str], str] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._hidden: dict[str, set[str]] = {}
        self._columns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(rule.mask for rule in self.rules)

    # ---- results -------------------------------------------------------------------------------------------------------

    def tables(
        self, tables: Mapping[str, pa.Table], parameters: ReportParameters, report: ModuleType
    ) -> Mapping[str, pa.Table]:
        """The rows of a report's queries, masked; a report that masks messages itself (``MASKS_MESSAGES``) keeps its rows."""
        self._topics = parameters.topics
        if hasattr(report, "MASKS_MESSAGES"):
            return tables
        return {name: self._table(rows) for name, rows in tables.items()}

    def text(self, text: str) -> str:
        """A text that the user typed, masked by the rules of all topics."""
        return united(rule.mask for rule in self.rules).mask_text(text)

    def parameters(self, parameters: ReportParameters) -> ReportParameters:
        shown = {name: self.text(parameters.text(name)) for name in _TYPED if name in parameters.values}
        return replace(parameters, values={**parameters.values, **shown})

    def facts(self, parameters: ReportParameters) -> dict[str, object]:
        """The masked values, for the manifest."""
        shown = self.parameters(parameters).values
        return {
            "rules": str(self.path),
            "values": {name: len(values) for name, values in sorted(self._hidden.items())},
            "columns": list(self._columns),
            "parameters": [name for name, value in parameters.values.items() if shown[name] != value],
        }

    def note(self) -> str:
        """A note on the masks for the reader."""
        if self._columns:
            return say(
                "Masked by the rules in {rules} before the query saw messages: conditions and groups know masked text only.",
                rules=self.path,
            )
        return say(
            "Masked by the rules in {rules}: {values} hidden; a number behind a mask tells different ones apart.",
            rules=self.path,
            values=number(sum(map(len, self._hidden.values())), "value"),
        )

    def _table(self, rows: pa.Table) -> pa.Table:
        origins = [rows[name].to_pylist() for name in ORIGINS if name in rows.column_names]
        places = list(zip(*origins, strict=True)) if origins else [()] * rows.num_rows
        for name in (*_TEXTS, _KEYS, _DIGEST):
            if name in rows.column_names and pa.types.is_string(rows.schema.field(name).type):
                pairs = zip(places, rows[name].to_pylist(), strict=True)
                shown = [None if value is None else self._shown(name, place, value) for place, value in pairs]
                rows = rows.set_column(rows.column_names.index(name), name, pa.array(shown, pa.string()))
        return rows

    def _shown(self, name: str, place: Place, value: str) -> str:
        known = self._known.get((name, place, value))
        if known is None:
            mask = self._mask_at(place)
            if name == _DIGEST:
                text = MASK if mask else value
            else:
                text = _mask_keys(mask, value) if name == _KEYS else mask.mask_text(value)
            known = self._known[name, place, value] = value if text == value else self._numbered(name, value, text)
        return known

    def _numbered(self, name: str, value: str, text: str) -> str:
        self._hidden.setdefault(name, set()).add(value)
        alike = self._numbers.setdefault(text, {})
        place = alike.setdefault(value, len(alike) + 1)
        return text if place == 1 else f"{text} {place}"

    def _mask_at(self, place: Place) -> MaskRules:
        """The mask of a row's topics; without any, that of all topics of the report.

        A row with several possible topics has all masks.
        """
        known = self._masks.get(place)
        if known is None:
            topics = [topic for topic in place if topic]
            if any(ALTERNATIVES in topic for topic in topics):
                known = united(rule.mask for rule in self.rules)
            elif topics or not self._topics:
                known = _mask_of(rule_at(self.rules, topics)) if topics else united(rule.mask for rule in self.rules)
            else:
                known = united(_mask_of(rule_at(self.rules, (topic,))) for topic in self._topics)
            self._masks[place] = known
        return known

    # ---- messages that a query sees --------------------------------------------------------------------------------------

    def messages(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        """Messages with masked columns ``names``; the rows also have the columns `ORIGINS`."""
        from spark_reports.datasource.schema import columns

        if not self:
            return rows.select(*names)
        self._columns = tuple(name for name in names if name in _MESSAGE_COLUMNS)
        masked = partial(_masked_batches, rules=self.rules, names=tuple(names))
        return rows.select(*dict.fromkeys((*names, *ORIGINS))).mapInArrow(masked, columns(*names))


@dataclass(frozen=True, slots=True)
class _MessageMask:
    rule: DecoderRule | None
    schemas: Schemas

    def value(self, name: str, value: object) -> object:
        mask = _mask_of(self.rule)
        if value is None or not mask:
            return value
        match name:
            case "body_crc":
                return None
            case "body":
                assert isinstance(value, bytes)
                shown = read_shown(value, self.rule, self.schemas)
                return (shown.content.text or MASK).encode("utf-8", "surrogatepass") if shown.hides else value
            case "keys":
                assert isinstance(value, list)
                return [mask.mask_text(key) for key in value]
            case "properties":
                assert isinstance(value, list)
                return [(one, _mask_keys(mask, text) if one == "KEYS" else mask.mask_text(text)) for one, text in value]
        assert isinstance(value, str)
        return mask.mask_text(value)


_MESSAGE_COLUMNS = frozenset((*_TEXTS, _KEYS, _BODY, _PROPERTIES, _BODY_CRC))


def _masked_batches(
    batches: Iterator[pa.RecordBatch], *, rules: Sequence[DecoderRule], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    schemas = Schemas()
    known: dict[Place, _MessageMask] = {}
    for batch in batches:
        masks = []
        for place in zip(*(batch.column(name).to_pylist() for name in ORIGINS), strict=True):
            if place not in known:
                known[place] = _MessageMask(rule_at(rules, [topic for topic in place if topic]), schemas)
            masks.append(known[place])
        arrays = []
        for name in names:
            column = batch.column(name)
            if name in _MESSAGE_COLUMNS:
                values = zip(masks, column.to_pylist(), strict=True)
                column = pa.array([mask.value(name, value) for mask, value in values], column.type)
            arrays.append(column)
        yield pa.RecordBatch.from_arrays(arrays, list(names))


def _mask_of(rule: DecoderRule | None) -> MaskRules:
    return MaskRules() if rule is None else rule.mask


def _mask_keys(mask: MaskRules, keys: str) -> str:
    """Mask keys separated by spaces: each alone, and all of them together."""
    return mask.mask_text(" ".join(mask.mask_text(key) for key in keys.split(" ")))
