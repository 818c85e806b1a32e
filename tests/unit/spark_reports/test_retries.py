"""What the report on retries says of retry topics that several pairs of group and topic share; without Spark."""

import pyarrow as pa

from spark_reports.chinese_words import in_chinese
from spark_reports.reports.retries import SHARED_TOLD, _shared


def shared(**columns):
    return pa.table({"shared": ["%RETRY%g_a_t"], "pairs": ["g+a_t, g_a+t"], **columns})


def test_a_shared_retry_topic_is_named_with_its_pairs():
    for messages, words in ((1, "1 message is"), (1_200, "1,200 messages are")):
        (sentence,) = _shared(shared(messages=[messages]))
        assert sentence == (f"{words} in retry topic %RETRY%g_a_t, which fits several pairs of group and topic: g+a_t, g_a+t.")
        assert "重试主题 %RETRY%g_a_t" in in_chinese(sentence)


def test_the_largest_are_named_and_none_where_there_is_none():
    many = pa.table({"shared": list("abcde"), "pairs": list("abcde"), "messages": [1, 2, 3, 4, 5]})
    assert [sentence[:2] for sentence in _shared(many)] == ["5 ", "4 ", "3 "]
    assert len(_shared(many)) == SHARED_TOLD
    assert _shared(many.slice(0, 0)) == []
