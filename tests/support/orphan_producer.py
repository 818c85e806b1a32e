"""A producer process that dies in mid-transaction: ``python -m tests.support.orphan_producer NAME_SERVER WHEN BODY DONE_FILE``.

WHEN is ``before`` (the half message is stored, the local transaction not begun) or ``after`` (the local transaction is done,
the end not sent). It says ``ready`` then and waits to be killed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from broker_core.client.message import Message
from broker_core.client.transaction import LocalState, TransactionProducer


async def main(name_server: str, when: str, body: str, done_file: str) -> None:
    """Send a half message and never end it."""

    def execute(_message: Message) -> LocalState:
        if when == "after":
            Path(done_file).write_text("committed")
        print("ready", flush=True)
        while True:
            time.sleep(60)

    async with TransactionProducer(name_server, "PG", lambda _message: None) as producer:
        await producer.send_in_transaction(Message("T", body.encode()), execute)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
