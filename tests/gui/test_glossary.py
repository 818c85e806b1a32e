"""One Chinese word for each thing, those of RocketMQ's own documentation, in all texts of the window and of reports."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

from resources import RESOURCE_FOLDER

TEXTS = {
    f"{path.parent.name}/{path.name}": json.loads(path.read_text(encoding="utf-8"))
    for path in [
        *sorted((RESOURCE_FOLDER / "translations" / "zh").glob("*.json")),
        *sorted((RESOURCE_FOLDER / "report_templates").glob("*_zh.json")),
    ]
}
WORDS = {
    r"\bname servers?\b": "NameServer",
    r"\bcommit logs?\b": "CommitLog",
    r"\bdead letters?\b": "死信",
    r"\bhalf messages?\b": "半消息",
    r"\bconsume queues?\b": "消费队列",
    r"\bindex files?\b": "索引文件",
    r"\bconsumer groups?\b": "消费组",
    r"\bconsumer lag\b": "堆积",
    r"\bdelay levels?\b": "延时级别",
    r"\brolled back\b": "回滚",
    r"\blife lines?\b": "生命线",
    r"\bproperties\b": "属性",
}
"""What an English text speaks of → how the Chinese one says it."""
OTHER_WORDS = (
    "名字服务器", "名称服务器", "Name Server", "提交日志", "消费者组", "消费者分组", "偏移", "积压", "筛选", "内嵌", "延迟级别",
    "延迟消息", "半事务消息", "重新发送", "再均衡", "落盘", "唯一键", "话题", "正文",
)  # fmt: skip
"""Other words for the same things, which stood beside those of the glossary."""


def texts():
    return [(file, english, chinese) for file, known in TEXTS.items() for english, chinese in known.items()]


def test_there_are_texts_of_window_and_reports():
    assert any(name.startswith("report_templates/") for name in TEXTS)
    assert len(texts()) > 2_000


@pytest.mark.parametrize("english", WORDS)
def test_a_thing_has_its_word(english):
    spoken = [(one, chinese) for _, one, chinese in texts() if re.search(english, one, re.IGNORECASE)]
    assert spoken, "the glossary has a thing that no text speaks of"
    assert [pair for pair in spoken if WORDS[english] not in pair[1]] == []


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_a_thing_has_no_second_word(word):
    assert [(file, chinese) for file, _, chinese in texts() if word in chinese] == []


def test_a_text_has_one_translation():
    known: dict[str, set[str]] = defaultdict(set)
    for file, english, chinese in texts():
        if file.startswith("zh/"):
            known[english].add(chinese)
    assert {english: ways for english, ways in known.items() if len(ways) > 1} == {}
