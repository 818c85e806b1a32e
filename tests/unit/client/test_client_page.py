"""The examples of docs/client.md run as they are shown, one after the other, against a real broker."""

import ast
import asyncio
import re
from pathlib import Path

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker

PAGE = Path(__file__).resolve().parents[3] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


async def run(example, name_server):
    printed = []
    code = compile(example, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    scope = {"NAME_SERVER": name_server, "print": lambda *words: printed.append(words)}
    awaitable = eval(code, scope)
    if awaitable is not None:
        await awaitable
    return printed


@pytest.mark.timeout(120)
def test_every_example_runs_and_prints_something(tmp_path):
    async def scenario():
        store = StoreConfig(root=tmp_path, commit_log_file_bytes=1 << 22, disk_warning_percent=100)
        broker = EmbeddedBroker(BrokerConfig(name_server_port=0, listen_port=0, store=store, atomic_transactions=True))
        await broker.start()
        try:
            async with Producer(broker.name_server_address) as producer:
                await producer.send(Message("orders", b"zero", tags="new"))
            return [len(await in_its_own_way(example, broker.name_server_address)) for example in EXAMPLES]
        finally:
            await broker.stop()

    async def in_its_own_way(example, name_server):
        if "await" in example:
            return await run(example, name_server)
        return await asyncio.to_thread(asyncio.run, run(example, name_server))

    counts = asyncio.run(scenario())
    assert len(counts) >= 6
    assert all(counts)
