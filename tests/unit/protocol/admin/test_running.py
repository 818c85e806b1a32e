import math

import pytest

from broker_core.protocol.admin.running import ConsumeOutcome, read_consume_result, read_running_info
from broker_core.protocol.json_body import JsonBodyError, emit
from tests.support.fake_broker import JSTACK, running_info


def test_what_a_java_client_tells_is_read():
    found = read_running_info("c1", emit(running_info("c1", stacks=True)))
    assert (found.version, found.threads, found.is_orderly) == ("V4_9_8", 20, False)
    assert (found.consumed_rate, found.failed_rate, found.consume_ms, found.held_messages) == (190.0, 2.2, 20.8, 12)
    assert found.subscriptions == (("payments", "*"),)
    assert (found.queues[0].topic, found.queues[0].queue_id, found.queues[0].commit_offset) == ("payments", 0, 5)
    assert found.stacks == JSTACK


def test_what_a_client_leaves_out_is_unknown():
    found = read_running_info("c", b"{}")
    assert (found.threads, found.start_ms, found.queues, found.stacks) == (-1, -1, (), "")
    assert math.isnan(found.consumed_rate)
    assert math.isnan(found.consume_ms)


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
