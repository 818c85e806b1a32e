from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock import ManualClock
from tests.support.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "store", ManualClock())
    yield made
    made.close()
