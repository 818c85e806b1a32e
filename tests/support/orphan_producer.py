"""A producer process that dies in mid-transaction: ``python -m tests.support.orphan_producer NAME_SERVER WHEN BODY DONE_FILE``.

WHEN is ``before`` (the half message is stored, the local transaction not begun) or ``after`` (the local transaction is done,
the end not sent). It says ``ready`` then and waits to be killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from broker_core.client.message import Message
from broker_core.client.transaction import BlockingTransactionProducer, LocalState


def main(name_server: str, when: str, body: str, done_file: str) -> None:
    """Send a half message and never end it."""

    def execute(_message: Message) -> LocalState:
        if when == "after":
            Path(done_file).write_text("committed")
        print("ready", flush=True)
        while True:
            time.sleep(60)

    with BlockingTransactionProducer(name_server, "PG", lambda _message: None) as producer:
        producer.send_in_transaction(Message("T", body.encode()), execute)


if __name__ == "__main__":
    main(*sys.argv[1:])
