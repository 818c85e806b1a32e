"""Exported messages, masked by the rules.

Masked values are replaced, and checksums and hashes that could reveal them are left out. The column ``masked`` names the
masked parts; an import refuses such a row, because it is not the stored message. Rows without masked parts stay complete.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

from monitoring.payload.judging import MASK, Patience
from monitoring.payload.listed import ListMask
from monitoring.payload.rules import read_rules, rule_of_message
from monitoring.payload.shown import Schemas, read_shown

BODY, TAG = "body", "TAGS"
_GUESSABLE = ("bodyCrc", "bodySha256", "recordCrc32")


class RowMask:
    """Masks the rows of one export by the window's decoder rules, read from a file; a `UsageError` if they cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules = read_rules(path)
        self._schemas = Schemas()
        self._rows = self._masked = 0

    @property
    def words(self) -> str:
        """Summary for the receipt."""
        return (
            f"masked: something is hidden in {self._masked:,} of {self._rows:,} messages, by the rules in {self._path}; "
            "those cannot be sent again from this file"
        )

    def masked(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with its masked parts replaced; ``masked`` names them, and is empty if there are none."""
        self._rows += 1
        rule = rule_of_message(self._rules, row["topic"], row["properties"])
        if rule is not None and rule.mask.expressions:
            rule = replace(rule, mask=rule.mask.judged_by(Patience()))
        mask = ListMask(rule)
        if not mask:
            return {**row, "masked": ""}
        properties = mask.properties(row["properties"])
        hidden = [name for name, value in properties.items() if value != row["properties"][name]]
        made = {**row, "properties": properties}
        shown = read_shown(base64.b64decode(row["body"]), rule, self._schemas)
        if shown.hides:
            hidden.insert(0, BODY)
            text = shown.content.text or MASK
            made[BODY] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        if hidden:
            self._masked += 1
            made |= dict.fromkeys(_GUESSABLE)
        if TAG in hidden:
            made["tagsCode"] = None  # a sum of the tag
        return {**made, "masked": ", ".join(hidden)}
