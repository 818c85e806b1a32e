"""A consumer with the C++ client of RocketMQ (PyPI ``rocketmq``) that lives until its standard input ends.

    cpp_consumer.py NAME_SERVER TOPIC GROUP

Prints the body of each message as one JSON string a line. It is left running until the broker has its offsets: the client
reports them every few seconds, and a shutdown in the middle of a batch reports the offset before that batch.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any


def consume(name_server: str, topic: str, group: str) -> None:
    """Consume until standard input ends."""
    from rocketmq.client import PushConsumer

    writing = threading.Lock()

    def take(message: Any) -> None:
        with writing:
            sys.stdout.write(json.dumps(message.body.decode()) + "\n")
            sys.stdout.flush()

    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(name_server)
    consumer.subscribe(topic, take)
    consumer.start()
    sys.stdin.read()
    consumer.shutdown()


if __name__ == "__main__":
    consume(*sys.argv[1:])
