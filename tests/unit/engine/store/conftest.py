from __future__ import annotations

import pytest

from tests.support.store_bench import StoreBench


@pytest.fixture
def bench(tmp_path):
    made = StoreBench(tmp_path / "store")
    yield made
    for store in made.opened:
        store.close()
