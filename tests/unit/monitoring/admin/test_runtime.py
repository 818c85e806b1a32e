"""The broker's runtime figures."""

import math

from broker_core.api import RequestCode
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import BrokerAnswer
from monitoring.admin.runtime_figures import PutBucket, runtime_of, runtime_request
from tests.support.fake_operations import fake_broker_answers


def answer(**table: str) -> BrokerAnswer:
    return BrokerAnswer({}, emit({"table": table}))


def test_put_times_are_read_bucket_by_bucket():
    runtime = runtime_of(fake_broker_answers()[RequestCode.GET_BROKER_RUNTIME_INFO])

    assert runtime_request().code == RequestCode.GET_BROKER_RUNTIME_INFO
    assert len(runtime.put_times) == 13
    assert runtime.put_times[0] == PutBucket("<=0ms", 73_412)
    assert runtime.put_times[-1] == PutBucket("10s~", 0)
    assert runtime.number("putMessageEntireTimeMax") == 212


def test_before_the_first_minute_there_are_no_put_times():
    assert runtime_of(answer(putMessageDistributeTime="null")).put_times == ()


def test_put_times_of_a_hostile_broker_are_left_out():
    """A search for the end of each bracket would take hours."""
    given = "[" * 1_000_000 + "a]:5 [b]:" + "9" * 5_000 + " [c]:٣"
    assert runtime_of(answer(putMessageDistributeTime=given)).put_times == (PutBucket("a", 5),)


def test_a_figure_that_is_missing_or_none_is_unknown():
    runtime = runtime_of(answer(a="x"))
    assert math.isnan(runtime.number("a"))
    assert math.isnan(runtime.number("b"))
