import pytest

from tests.support.schedule_bench import ScheduleBench


@pytest.fixture
def bench(tmp_path):
    made = ScheduleBench(tmp_path / "store")
    yield made
    made.close()
