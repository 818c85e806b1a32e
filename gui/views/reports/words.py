"""Sentences of reports in the language of the window. Reports themselves are written in English."""

from __future__ import annotations

from collections.abc import Sequence

from gui.words.text import shown_language
from spark_reports.chinese_words import label_in_chinese, word_in_chinese
from spark_reports.vocabulary import word_in_english


def report_text(text: str) -> str:
    """A finding, a heading, a reason or a note of a report."""
    return word_in_chinese(text) if shown_language() == "zh" else word_in_english(text)


def report_label(text: str, *, words: bool) -> str:
    """A label of a bar or a line; ``words``: it is a text of the report, not data."""
    return label_in_chinese(text, words) if shown_language() == "zh" else text


def report_texts(texts: Sequence[str]) -> list[str]:
    return [report_text(text) for text in texts]
