"""Names that Qt would take for HTML, for shortcuts and for forms, in all that the shop says."""

from __future__ import annotations

from pathlib import Path

WORDS = (
    "payments", "orders", "payment-settle", "stock-worker", "PAID", "CREATED", "SO-20261121", "李雨桐", "hangzhou", "region",
    "@10.23", "broker-a", "DefaultCluster",
)  # fmt: skip
"""Topics, groups, tags, keys, values, a property, clients, a broker and its cluster."""


def hostile_tag(path: Path) -> str:
    """What stands before each name: it draws a file, names a shortcut, the mark of a changed window and a field."""
    return f"<img src='file://{path}'>&amp;[*]{{0}}"


def hostile_names(path: Path) -> dict[str, str]:
    """Word of the shop → the hostile name that stands for it."""
    return {word: f"{hostile_tag(path)}{word}" for word in WORDS}
