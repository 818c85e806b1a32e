"""Headers of pulls: what is alike in all of a consumer is read once."""

import pytest

from broker_core.engine.processors import pull_request
from broker_core.engine.processors.pull_request import PULL_MESSAGES_MAX, SUSPEND_MS_MAX, TermsReader
from broker_core.errors import RequestRefusedError
from tests.support.broker_bench import pull_fields


def fields(**more):
    return {name: str(value) for name, value in pull_fields(**more).items()}


def test_terms_are_read_once_for_all_offsets():
    reader = TermsReader()
    first = reader.read(fields(offset=1))
    assert reader.read(fields(offset=2)) is first
    assert reader.read(fields(queue_id=1)) is not first
    assert (first.group, first.topic, first.queue_id, first.count_max, first.suspend_ms) == ("CG", "T", 0, 32, 15_000)


@pytest.mark.parametrize(
    ("change", "takes_all"),
    [
        ({}, True),
        ({"subscription": ""}, True),
        ({"expressionType": "TAG"}, True),
        ({"subscription": "a"}, False),
        ({"expressionType": "SQL92"}, False),
        ({"sysFlag": 0}, False),
    ],
)
def test_only_an_own_subscription_to_everything_takes_all(change, takes_all):
    assert TermsReader().read(fields(**change)).takes_all is takes_all


def test_counts_and_times_are_bounded():
    terms = TermsReader().read(fields(maxMsgNums=10**9, suspendTimeoutMillis=10**12))
    assert (terms.count_max, terms.suspend_ms) == (PULL_MESSAGES_MAX, SUSPEND_MS_MAX)
    terms = TermsReader().read(fields(maxMsgNums=-5, suspendTimeoutMillis=-5))
    assert (terms.count_max, terms.suspend_ms) == (1, 0)


@pytest.mark.parametrize("name", ["consumerGroup", "topic", "queueId", "maxMsgNums"])
def test_a_field_that_is_missing_is_named_each_time(name):
    reader, incomplete = TermsReader(), fields()
    del incomplete[name]
    for _ in range(2):
        with pytest.raises(RequestRefusedError, match=name):
            reader.read(incomplete)


def test_memory_for_terms_is_bounded(monkeypatch):
    monkeypatch.setattr(pull_request, "TERMS_KNOWN_MAX", 3)
    reader = TermsReader()
    for number in range(10):
        assert reader.read(fields(queue_id=number)).queue_id == number
    assert len(reader._known) <= 3
    long = fields(subscription="a" * pull_request.TERMS_CHARS_MAX)
    assert reader.read(long) == reader.read(long)
    assert all("subscription" not in texts and len(texts[6]) == 1 for texts in reader._known)


def test_what_nobody_reads_is_not_kept():
    terms = TermsReader().read(fields(sysFlag=0, subscription="a" * 60_000, expressionType="b" * 60_000))
    assert (terms.expression, terms.expression_type, terms.filter_bytes) == (None, None, 0)


def test_a_filter_that_comes_with_a_pull_is_charged_by_its_length():
    tags = TermsReader().read(fields(subscription="a||b"))
    longer = TermsReader().read(fields(subscription="a||b" * 10))
    condition = TermsReader().read(fields(subscription="a||b", expressionType="SQL92"))
    assert 0 < tags.filter_bytes < longer.filter_bytes
    assert tags.filter_bytes < condition.filter_bytes
    assert TermsReader().read(fields()).filter_bytes == 0
