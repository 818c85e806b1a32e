"""What reports say in sentences, in the language of the window. Reports themselves are written in English."""

from __future__ import annotations

from collections.abc import Sequence

from gui.text import tr
from spark_reports.chinese import in_chinese


def report_text(text: str) -> str:
    """A finding, a heading, a reason or a note of a report."""
    return in_chinese(text) if is_chinese() else text


def report_texts(texts: Sequence[str]) -> list[str]:
    """Several of them."""
    return [report_text(text) for text in texts]


def is_chinese() -> bool:
    """Whether the window speaks Chinese."""
    return tr("Reports") != "Reports"
