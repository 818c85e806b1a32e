"""Golden stores with files damaged at random: whatever is in them, they are inspected, or refused in words."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import OrbitError
from broker_core.tools.commands.store import main
from tests.support.golden import contents, golden_store

pytestmark = pytest.mark.timeout(600)  # twelve copies of a store each, on whatever machine
SEED = int(os.environ.get("ORBIT_FUZZ_SEED", "7"))


def damage(root: Path, randomness: random.Random) -> str:
    path = randomness.choice(sorted(path for path in root.rglob("*") if path.is_file() and path.name != "lock"))
    data = bytearray(path.read_bytes())
    kind = randomness.choice(("flip", "noise", "zeros", "cut", "longer", "gone", "repeat"))
    at = randomness.randrange(len(data) or 1)
    size = randomness.choice((1, 8, 100, 5_000))
    if kind == "gone":
        path.unlink()
        return f"{path} {kind}"
    if kind == "flip" and data:
        data[at] ^= 1 << randomness.randrange(8)
    elif kind == "noise":
        data[at : at + size] = randomness.randbytes(len(data[at : at + size]))
    elif kind == "zeros":
        data[at : at + size] = bytes(len(data[at : at + size]))
    elif kind == "cut":
        del data[at:]
    elif kind == "longer":
        data += randomness.randbytes(size)
    elif kind == "repeat":
        data[at : at + size] = data[: len(data[at : at + size])]
    path.write_bytes(data)
    return f"{path} {kind} {at} {size}"


@pytest.mark.parametrize("name", ["normal", "normal-5", "filter", "lmq", "delay", "torn"])
def test_damaged_stores_are_inspected_or_refused_in_words(name, tmp_path, capsys):
    whole = golden_store(name).unpack(tmp_path)
    for number in range(12):
        randomness = random.Random(f"{SEED} {name} {number}")
        root = tmp_path / str(number)
        shutil.copytree(whole, root)
        print([damage(root, randomness) for _ in range(randomness.randrange(1, 4))])
        before = contents(root)
        assert main(["verify", str(root)]) in (0, 1, 3)
        for kind in ("messages", "queues", "index", "config"):
            assert main(["dump", str(root), "--kind", kind]) in (0, 1, 3)
        try:
            MessageStore.open(StoreConfig(root=root), read_only=True).close()
        except OrbitError as error:
            print(error)
        assert contents(root) == before
        shutil.rmtree(root)
        capsys.readouterr()
