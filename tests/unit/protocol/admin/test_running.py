import math

import pytest

from broker_core.protocol.admin.running import ConsumeOutcome, read_consume_result, read_running_info
from broker_core.protocol.json_body import JsonBodyError, emit
from tests.support.fake_broker import JSTACK, running_info


def test_what_a_java_client_tells_is_read():
    told = read_running_info("c1", emit(running_info("c1", stacks=True)))
    assert (told.version, told.threads, told.is_orderly) == ("V4_9_8", 20, False)
    assert (told.consumed_rate, told.failed_rate, told.consume_ms, told.held_messages) == (190.0, 2.2, 20.8, 12)
    assert told.subscriptions == (("payments", "*"),)
    assert (told.queues[0].topic, told.queues[0].queue_id, told.queues[0].commit_offset) == ("payments", 0, 5)
    assert told.stacks == JSTACK


def test_what_a_client_leaves_out_is_unknown():
    told = read_running_info("c", b"{}")
    assert (told.threads, told.start_ms, told.queues, told.stacks) == (-1, -1, (), "")
    assert math.isnan(told.consumed_rate)
    assert math.isnan(told.consume_ms)


def test_what_is_no_object_is_refused():
    with pytest.raises(JsonBodyError):
        read_running_info("c", b"[]")


def test_results_are_read_as_clients_write_them():
    body = b'{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"remark":"\xe5\xa5\xbd","spentTimeMills":2}'
    found = read_consume_result(body)
    assert (found.outcome, found.remark, found.spent_ms, found.is_orderly) == (ConsumeOutcome.SUCCESS, "好", 2, False)
    assert found.outcome.is_consumed
    found = read_consume_result(b'{"consumeResult":"CR_THROW_EXCEPTION","order":true}')
    assert (found.outcome, found.remark, found.spent_ms, found.is_orderly) == (ConsumeOutcome.THREW, "", -1, True)
    assert not found.outcome.is_consumed
    found = read_consume_result(b'{"consumeResult":"CR_NEW"}')
    assert (found.outcome, found.name) == (ConsumeOutcome.UNKNOWN, "CR_NEW")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"consumeResult":7}', b"\xff"])
def test_what_is_no_result_is_refused(body: bytes):
    with pytest.raises(JsonBodyError):
        read_consume_result(body)
