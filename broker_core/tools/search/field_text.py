"""Values of fields as a table shows them: any property, any place in a body's JSON."""

from __future__ import annotations

from broker_core.json_document import json_text, without_half_pairs
from broker_core.tools.search.expression import Field
from broker_core.tools.search.facts import MessageFacts

TEXT_CHARACTERS_MAX = 1_000
"""Of one value; a longer one is cut, with an ellipsis."""


def field_text(facts: MessageFacts, field: Field) -> str:
    """All values of a field in one text, separated by commas; empty without one."""
    text = ", ".join(_text(value) for value in facts.values(field))
    return text if len(text) <= TEXT_CHARACTERS_MAX else text[: TEXT_CHARACTERS_MAX - 1] + "…"


def _text(value: object) -> str:
    return without_half_pairs(value) if isinstance(value, str) else json_text(value)
