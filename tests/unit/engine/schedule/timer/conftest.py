import pytest

from tests.support.timer_bench import TimerBench


@pytest.fixture
def open_bench(tmp_path):
    """Opens benches with settings of their own, and closes all of their stores."""
    made = []

    def opened(**settings):
        made.append(TimerBench(tmp_path / f"store{len(made) or ''}", **settings).open())
        return made[-1]

    yield opened
    for bench in made:
        for store in bench.stores.opened:
            store.close()


@pytest.fixture
def bench(open_bench):
    return open_bench()
