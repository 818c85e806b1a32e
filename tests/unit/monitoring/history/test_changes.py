import dataclasses

import numpy as np

from monitoring.history.alert_judging import OffsetWatch
from tests.unit.monitoring.history.conftest import state_of


def at(offset: int, topics=("orders",)):
    return dataclasses.replace(state_of(5_000, topics=topics), position_offset=np.array([offset]))


def kinds(*states) -> list[list[str]]:
    watch = OffsetWatch()
    return [[event.text for event in watch.look(state)] for state in states]


def test_offsets_that_fall_are_told_with_their_sum():
    assert kinds(at(100), at(120), at(70)) == [[], [], ["Group billing was moved back in 1 queue: 50 messages come again"]]


def test_unknown_offsets_and_another_catalog_tell_nothing():
    assert kinds(at(100), at(-1), at(50)) == [[], [], []]
    assert kinds(at(100), at(50, topics=("orders", "payments"))) == [[], []]
