"""What every request has in common: unknown codes, faults that become answers."""

import asyncio

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer

SERVED = {
    10, 310, 320, 36, 11, 361, 12, 34, 35, 38, 46, 41, 42, 14, 15, 43, 30, 31, 29, 32, 33, 17, 215, 21, 351, 305, 202, 300, 200,
    50, 51, 52, 53, 54,
    207, 201, 352, 203, 204, 328, 208, 28, 26, 307, 309, 25, 18, 225, 222, 223, 314, 308, 315, 317, 303, 321, 343, 345, 353,
    306, 316, 329, 324, 325, 301, 400, 401, 402, 907, 908,
}  # fmt: skip


def test_exactly_these_codes_are_served(bench):
    async def ask_all():
        found = {code for code in range(1, 1024) if _supported(bench, code)}
        await bench.dispatcher.maintenance.stop()
        return found

    assert asyncio.run(ask_all()) == SERVED


def _supported(bench, code):
    response = bench.ask(RecordingPeer(), code)
    return response is None or response.code != R.REQUEST_CODE_NOT_SUPPORTED


def test_a_body_that_cannot_be_read_is_answered_with_its_fault(bench):
    response = bench.answer(RecordingPeer(), Q.LOCK_BATCH_MQ, body=b"{")
    assert (response.code, "not JSON" in response.remark) == (R.SYSTEM_ERROR, True)


def test_a_missing_header_field_is_named(bench):
    response = bench.answer(RecordingPeer(), Q.GET_MAX_OFFSET, {"topic": "T"})
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, "the header field queueId is missing")
