import pytest

from broker_core.cluster.link import Budget


class Time:
    now = 100.0

    def __call__(self):
        return self.now


def budget(time, requests=10, size=1_000):
    return Budget(requests_per_second=requests, bytes_per_second=size, monotonic=time)


def test_a_second_of_requests_may_be_sent_at_once_then_each_waits_its_turn():
    time = Time()
    allowed = budget(time)
    for _ in range(10):
        assert allowed.wait_seconds() == 0
        allowed.spend_request()
    assert allowed.wait_seconds() == pytest.approx(0.1)
    time.now += 0.1
    assert allowed.wait_seconds() == pytest.approx(0)


def test_a_large_answer_is_paid_for_with_time():
    time = Time()
    allowed = budget(time)
    allowed.spend_bytes(3_000)
    assert allowed.wait_seconds() == pytest.approx(2)
    time.now += 2
    assert allowed.wait_seconds() == pytest.approx(0)


def test_no_more_than_a_second_is_saved_up_and_a_clock_that_goes_back_gives_nothing():
    time = Time()
    allowed = budget(time)
    time.now += 3_600
    for _ in range(10):
        allowed.spend_request()
    time.now -= 3_600
    assert allowed.wait_seconds() == pytest.approx(0.1)
