"""Tests of busy polling: it is used where it makes the bytes arrive sooner, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker_core.transport.busy_poll import POLL_SECONDS, ROUND_READS, SLEPT_ROUNDS_MAX, BusyPoll

TURN_SECONDS = 2e-6
"""What a turn of the loop without work takes."""


class Machine:
    """A machine with one client, whose next request comes some time after its answer, and one loop.

    Args:
        client_seconds: From an answer to the next request.
        wake_seconds: How long a sleeping loop takes to wake, most of it in processor time of its own.
        paced: Whether requests come at their times, whenever the answer came.
    """

    def __init__(self, client_seconds: float, wake_seconds: float, *, paced: bool = False) -> None:
        self.now = self.processor = 0.0
        self.client_seconds, self.wake_seconds, self.paced = client_seconds, wake_seconds, paced
        self.sleeps = 0
        self._due = 0.0
        self._planned: list[Callable[[], None]] = []
        self.poll = BusyPoll(lambda: self.now, lambda: self.processor, self._planned.append)

    def serve(self, reads: int) -> int:
        """Serve so many reads; returns how many of them the loop was asleep for."""
        slept_before = self.sleeps
        for _ in range(reads):
            self._wait_for_request()
            self._work(10e-6)
            self._due = (self._due if self.paced else self.now) + self.client_seconds
            self.poll.served(200)
        return self.sleeps - slept_before

    def _wait_for_request(self) -> None:
        while self.now < self._due and self._planned:
            self.turn()
        if self.now < self._due:
            self.now = self._due + self.wake_seconds
            self.processor += 0.75 * self.wake_seconds
            self.sleeps += 1

    def turn(self) -> None:
        planned, self._planned[:] = list(self._planned), []
        self._work(TURN_SECONDS)
        for call in planned:
            call()

    def _work(self, seconds: float) -> None:
        self.now += seconds
        self.processor += seconds

    def turns_until_asleep(self) -> int:
        turns = 0
        while self._planned:
            self.turn()
            turns += 1
        return turns


def test_polls_where_a_sleeping_loop_wakes_slowly() -> None:
    machine = Machine(client_seconds=20e-6, wake_seconds=40e-6)
    machine.serve(2 * ROUND_READS + 1)

    assert machine.serve(10_000) < 400  # all but the rounds that are compared


def test_sleeps_where_a_sleeping_loop_wakes_at_once() -> None:
    machine = Machine(client_seconds=20e-6, wake_seconds=1e-6)
    machine.serve(50_000)

    assert machine.serve(100_000) > 97_000


def test_sleeps_where_requests_come_at_their_own_times() -> None:
    machine = Machine(client_seconds=50e-6, wake_seconds=30e-6, paced=True)
    machine.serve(50_000)

    assert machine.serve(100_000) > 97_000


def test_never_polls_for_requests_that_are_rare() -> None:
    machine = Machine(client_seconds=500e-6, wake_seconds=100e-6)

    assert machine.serve(10_000) == 10_000 - 1  # the first is there at once


def test_sleeps_soon_after_the_last_request() -> None:
    machine = Machine(client_seconds=20e-6, wake_seconds=40e-6)
    machine.serve(3 * ROUND_READS)

    assert 0 < machine.turns_until_asleep() <= POLL_SECONDS / TURN_SECONDS + 2


def test_notes_that_polling_no_longer_pays() -> None:
    machine = Machine(client_seconds=20e-6, wake_seconds=40e-6)
    machine.serve(3 * ROUND_READS)
    machine.wake_seconds = 1e-6
    machine.serve((SLEPT_ROUNDS_MAX + 100) * ROUND_READS)

    assert machine.serve(100_000) > 97_000


def test_finds_out_that_polling_pays_now() -> None:
    machine = Machine(client_seconds=20e-6, wake_seconds=1e-6)
    machine.serve(100_000)
    machine.wake_seconds = 40e-6
    machine.serve((SLEPT_ROUNDS_MAX + 10) * ROUND_READS)

    assert machine.serve(10_000) < 500


@pytest.mark.parametrize("cost", [2.0, 3.0])
def test_sleeps_where_polling_takes_too_much_of_the_processor(cost: float) -> None:
    """A slow client: its requests come a little sooner, for several times the processor time."""
    machine = Machine(client_seconds=cost * 20e-6, wake_seconds=8e-6)
    machine.serve(50_000)

    assert machine.serve(100_000) > 97_000
