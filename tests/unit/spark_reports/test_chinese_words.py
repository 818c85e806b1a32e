import json
import re

import pytest

from spark_reports.chinese_words import CATALOGUE, in_chinese, label_in_chinese
from spark_reports.reports.wording import duration_text, number, part, say


@pytest.mark.parametrize(
    ("sentence", "chinese"),
    [
        (
            f"{part(3, 4)} messages come from 10.0.0.1, one of {number(2, 'host')}.",
            "消息的 3/4（75.0 %） 来自 10.0.0.1，共 2 台主机。",
        ),
        (f"{number(1, 'offset')} of {number(1_200, 'queue')} is missing.", "1,200 个队列中缺少 1 个位点。"),
        ("8 bodies on trial grew from 8 to 9 bytes (1.0 % more).", "试压缩的 8 个消息体从 8 字节增到 9 字节（增加 1.0 %）。"),
        ("2 offsets of 3 queues are missing, in a queue 1.", "3 个队列中缺少 2 个位点，在 a 的队列 1。"),
        (
            say("{group} was late for {late} of {sampled}; its lag was {lag:,} messages at most.", group="billing",
                late=duration_text(900_000), sampled=duration_text(7_200_000), lag=5_000),
            "billing 在采样的 2.0 小时 中有 15.0 分钟 滞后；堆积最多 5,000 条消息。",
        ),
        (
            f"{part(60, 100)} of lanes have the business key hot, in {number(1, 'queue')}.",
            "lanes 的 60/100（60.0 %） 使用业务 Key hot，在 1 个队列中。",
        ),
        (
            f"{part(60, 100)} uses in lanes are of the business key hot, in {number(1, 'queue')}.",
            "lanes 中使用的 60/100（60.0 %） 是业务 Key hot，在 1 个队列中。",
        ),
        (
            say("{n} from {host} is the slowest: 99 % took at most {time}.", n=number(1, "message"), host="a", time="3 ms"),
            "来自 a 的 1 条消息最慢：99 % 不超过 3 毫秒。",
        ),
        (
            "1 message is in retry topic %RETRY%g_a_t, which fits several pairs of group and topic: g+a_t, g_a+t.",
            "1 条消息位于重试主题 %RETRY%g_a_t，其名称对应多个消费组与主题组合：g+a_t, g_a+t。",
        ),
        ("2 messages from a are the slowest: 99 % took at most 3 ms.", "来自 a 的 2 条消息最慢：99 % 不超过 3 毫秒。"),
        (
            "First: delivered again, attempt 2, in %RETRY%a. Last: dead letter after 3 attempts, in %DLQ%a.",
            "首条：重新投递，第 2 次，在 %RETRY%a。末条：3 次后成为死信，在 %DLQ%a。",
        ),
        ("3 of 4 things nobody knows.", "3 of 4 things nobody knows."),
        ("The query: select 1\nfrom messages", "查询：select 1\nfrom messages"),
        ("A sentence that nobody knows.", "A sentence that nobody knows."),
    ],
)  # fmt: skip
def test_a_finding_is_recognised_by_its_words(sentence, chinese):
    assert in_chinese(sentence) == chinese


def test_the_catalogue_uses_the_names_it_has():
    texts = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    assert {english: chinese for english, chinese in texts.items() if names(english) != names(chinese)} == {}


def names(text):
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize(
    ("label", "words", "chinese"),
    [
        ("orders · (no tag)", False, "orders · （无 Tag）"), ("(other topics)", False, "（其他主题）"),
        ("orders · (same body)", False, "orders · （相同消息体）"), ("median", True, "中位数"), ("level 3", True, "级别 3"),
        ("timer", True, "定时"), ("1 (1s)", True, "1 (1s)"), ("messages · body", False, "messages · body"),
        ("dead", False, "dead"),
        ("orders · (mine)", False, "orders · (mine)"),
    ],
)  # fmt: skip
def test_labels_keep_the_names_in_them(label, words, chinese):
    assert label_in_chinese(label, words) == chinese
