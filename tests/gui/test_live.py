from __future__ import annotations

from dataclasses import replace

import pytest

from broker_core.worker.questions.figures import NO_ANSWER
from gui.main_window.live import LiveFeed
from tests.support.fake_source import fake_state


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def feed(qapp, clock):
    made = LiveFeed(cadence_ms=30_000, monotonic=clock)
    yield made
    made.stop()


def test_the_first_figures_are_shown_at_once_the_next_at_the_cadence(feed):
    shown: list[int] = []
    feed.due.connect(lambda state: shown.append(state.taken_ms))
    feed.take(fake_state(1_000))
    feed.take(fake_state(2_000))
    feed.take(fake_state(3_000))
    assert shown == [1_000]
    feed.once()
    assert shown == [1_000, 3_000]


def test_the_age_is_that_of_the_newest_figures(feed, clock):
    assert feed.age_ms is None
    feed.take(fake_state())
    clock.now_s += 2.5
    assert feed.age_ms == 2_500


def test_figures_without_an_answer_do_not_make_what_is_shown_younger(feed, clock):
    state = fake_state()
    silent = replace(
        state, catalog=replace(state.catalog, brokers=["a"]), faults={"a": f"{NO_ANSWER} since 3 s: Connection refused"}
    )
    feed.take(state)
    clock.now_s += 8
    feed.take(silent)
    assert feed.age_ms == 8_000
    feed.take(state)
    assert feed.age_ms == 0


def test_a_pause_holds_and_the_end_of_it_shows_the_newest(feed):
    shown: list[int] = []
    feed.due.connect(lambda state: shown.append(state.taken_ms))
    feed.pause()
    feed.take(fake_state(1_000))
    feed.take(fake_state(2_000))
    assert shown == []
    feed.toggle()
    assert shown == [2_000]
    assert not feed.paused


def test_another_cadence_ends_a_pause(feed, qtbot):
    feed.pause()
    with qtbot.waitSignal(feed.changed):
        feed.set_cadence(5_000)
    assert (feed.paused, feed.cadence_ms) == (False, 5_000)


def test_a_cadence_that_is_not_offered_is_not_taken(qapp):
    feed = LiveFeed(cadence_ms=7)
    assert feed.cadence_ms == 1_000
    feed.stop()
