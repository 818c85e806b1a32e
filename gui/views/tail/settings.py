"""Colour rules in the settings."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QSettings

from gui.models.tail import ColourRule
from gui.models.tail_rows import MARKS
from gui.theme.tokens import State

RULES_KEY = "tail/rules"


def load_rules(settings: QSettings) -> list[ColourRule]:
    """The rules used last; none where the setting is unreadable."""
    try:
        kept = json.loads(str(settings.value(RULES_KEY, "[]")))
    except json.JSONDecodeError:
        return []
    marks = {mark.value: mark for mark in MARKS}
    pairs = [pair for pair in kept if isinstance(pair, list) and len(pair) == 2] if isinstance(kept, list) else []
    return [ColourRule(str(text), marks.get(str(mark), State.WARNING)) for text, mark in pairs]


def save_rules(settings: QSettings, rules: Sequence[ColourRule]) -> None:
    """Store the rules."""
    settings.setValue(RULES_KEY, json.dumps([[rule.filter, rule.mark.value] for rule in rules], ensure_ascii=False))
