"""Exported messages without what the masking rules hide.

What a rule hides is replaced, sums and hashes by which it could be guessed are left out, and the row says in ``masked`` where
something was. Such a row is not the message that was stored: an import refuses it. Rows in which nothing is hidden stay whole.
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
    """Masks the rows of one export by the rules of a file.

    Args:
        path: The decoder rules of the window.

    Raises:
        UsageError: The rules cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules = read_rules(path)
        self._schemas = Schemas()
        self._rows = self._masked = 0

    @property
    def words(self) -> str:
        """How much was hidden, for the receipt."""
        return (
            f"masked: something is hidden in {self._masked:,} of {self._rows:,} messages, by the rules in {self._path}; "
            "those cannot be sent again from this file"
        )

    def masked(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row as it may be taken along; ``masked`` names what is not in it, and is empty where nothing is missing."""
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
