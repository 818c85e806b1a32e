import pytest

from tests.support.transaction_bench import transaction_bench


@pytest.fixture
def bench(tmp_path):
    with transaction_bench(tmp_path / "store") as made:
        yield made
