"""Chinese texts of reports.

A finding is an English sentence with figures in it. The catalogue has the sentences with ``{names}`` in place of figures and
names; a sentence is recognised by its words, so findings of old results can be translated too. Imports neither Spark nor the
reports.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

from resources import RESOURCE_FOLDER

CATALOGUE = RESOURCE_FOLDER / "report_templates" / "findings_zh.json"
WORDS = RESOURCE_FOLDER / "report_templates" / "words_zh.json"
"""Headings, labels, notes and the words of pages, in the same form as the findings."""
TITLES = RESOURCE_FOLDER / "translations" / "zh"
"""Titles of reports, tables and columns: the window's own."""

_SHARE = re.compile(r"([\d,]+) of ([\d,]+) \(([\d.]+ %|—)\)")
_DURATION = re.compile(r"(-?[\d.,]+) (ms|s|min|h|days)")
_COUNT = re.compile(r"([\d,]+) [a-z][a-z -]*")
_GAP = re.compile(r"\{\w+\}")
_SHAPES = {"share": r"(?:[\d,]+ of [\d,]+ \([^)]*\)|[^ ]+(?: %)?)", "rows": r"[\d,]+ rows?"}
"""Patterns of some names' gaps: with any text there, one sentence could match another."""
_SENTENCES = ("first", "last")
_OWN_WORDS = re.compile(r"(?:^|(?<= ))\((?:no tag|other topics|same unique key|same business key|same body)\)$")
_NAME = re.compile(r"\\\{(\w+)\\\}")
UNIT_WORDS = {"ms": "毫秒", "s": "秒", "min": "分钟", "h": "小时", "days": "天"}
_WORDS = {"unknown": "未知", "Monday": "星期一", "Tuesday": "星期二", "Wednesday": "星期三", "Thursday": "星期四",
          "Friday": "星期五", "Saturday": "星期六", "Sunday": "星期日", "unique key": "唯一 Key", "business key": "业务 Key",
          "body": "消息体", "timer": "定时"}  # fmt: skip


def in_chinese(sentence: str) -> str:
    """A finding in Chinese; unchanged if the catalogue does not have it."""
    for pattern, chinese in _catalogue():
        found = pattern.fullmatch(sentence)
        if found:
            return chinese.format(**{name: _gap(name, text) for name, text in found.groupdict().items()})
    return sentence


def word_in_chinese(text: str) -> str:
    """A title, heading, label, note or reason in Chinese; unchanged if neither catalogue has it."""
    return _titles().get(text) or in_chinese(text)


@functools.cache
def _titles() -> dict[str, str]:
    return _texts(*sorted(TITLES.glob("*.json")), WORDS)


def _texts(*paths: Path) -> dict[str, str]:
    return {english: chinese for path in paths for english, chinese in json.loads(path.read_text(encoding="utf-8")).items()}


def label_in_chinese(text: str, words: bool) -> str:
    """A label of a bar or a line in Chinese.

    Unless it is one of the report's own ``words``, it is a name, which the report may have followed by a word in brackets.
    """
    return word_in_chinese(text) if words else _OWN_WORDS.sub(lambda found: word_in_chinese(found[0]), text)


@functools.cache
def _catalogue() -> list[tuple[re.Pattern[str], str]]:
    """Patterns with their translations; those with the most words first, so that the closest one matches."""
    ordered = sorted(_texts(WORDS, CATALOGUE).items(), key=lambda item: -len(_GAP.sub("", item[0])))
    return [(_pattern(english), chinese) for english, chinese in ordered]


def _pattern(english: str) -> re.Pattern[str]:
    """Pattern of a sentence; words in square brackets with bars between them are alternatives."""
    text = re.escape(english)
    text = re.sub(r"\\\[([^\]]*?)\\\]", lambda found: "(?:" + found[1].replace("\\|", "|") + ")", text)
    return re.compile(_NAME.sub(lambda found: f"(?P<{found[1]}>{_SHAPES.get(found[1], '.+?')})", text), re.DOTALL)


def _gap(name: str, text: str) -> str:
    """The text of a gap, which may be a sentence of its own."""
    whole = in_chinese(text) if name in _SENTENCES else text
    return figure_in_chinese(text) if whole == text else whole


def figure_in_chinese(text: str) -> str:
    """A figure or a duration in Chinese: without the English noun."""
    if found := _SHARE.fullmatch(text):
        return f"{found[1]}/{found[2]}（{found[3]}）"
    if found := _DURATION.fullmatch(text):
        return f"{found[1]} {UNIT_WORDS[found[2]]}"
    if found := _COUNT.fullmatch(text):
        return found[1]
    return _WORDS.get(text, text)
