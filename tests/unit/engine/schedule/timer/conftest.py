import pytest

from tests.support.timer_bench import TimerBench


@pytest.fixture
def bench(tmp_path):
    made = TimerBench(tmp_path / "store").open()
    yield made
    for store in made.stores.opened:
        store.close()
