import pytest

from tests.support.broker_bench import broker_bench


@pytest.fixture
def bench(tmp_path):
    with broker_bench(tmp_path / "store") as made:
        yield made
