"""Whatever the order of sends, ends, checks and crashes: nothing committed is lost, nothing rolled back is delivered."""

import os

import pytest

from tests.support.transaction_schedule import Schedule

SEED = int(os.environ.get("ORBIT_SCHEDULE_SEED", "7000"))


@pytest.mark.parametrize("part", range(6))
def test_three_hundred_schedules(part):
    run(range(SEED + 50 * part, SEED + 50 * (part + 1)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_schedules(part):
    run(range(SEED + 1_000 * part, SEED + 1_000 * (part + 1)))


def run(seeds):
    crashes = 0
    for seed in seeds:
        schedule = Schedule(seed)
        try:
            schedule.run()
        except BaseException:
            print(f"schedule of seed {seed}")
            raise
        crashes += schedule.crashes
    assert crashes > len(seeds) / 4
