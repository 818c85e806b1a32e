"""The C++ client of RocketMQ (PyPI ``rocketmq``), one job per process: a fault in native code must not end the tests.

    cpp_client.py send     NAME_SERVER TOPIC COUNT
    cpp_client.py consume  NAME_SERVER TOPIC GROUP EXPRESSION COUNT

Prints one JSON object. Body ``i`` is ``body-i 中文``, its tag TagA or TagB in turn, its key ``key-i``.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

CONSUME_SECONDS = 60.0
FIRST_SECONDS = 10.0
"""How long a message is tried while the client has no connection to the broker."""
TAGS = ("TagA", "TagB")


def send(name_server: str, topic: str, count: int) -> dict[str, Any]:
    """Send ``count`` messages, one after another; one in ten is long enough to be compressed."""
    from rocketmq.client import Message, Producer

    producer = Producer("PG-CPP")
    producer.set_namesrv_addr(name_server)
    producer.start()
    results = []
    for number in range(count):
        message = Message(topic)
        message.set_keys(f"key-{number}")
        message.set_tags(TAGS[number % 2])
        message.set_body(body(number))
        result = producer.send_sync(message) if number else send_once_connected(partial(producer.send_sync, message))
        results.append([int(result.status), result.msg_id, result.offset])
    producer.shutdown()
    return {"results": results}


def send_once_connected(send: Callable[[], Any]) -> Any:
    """The result of a send, which is repeated while the client has no connection to the broker.

    It says then that there is no route, whatever the route says, and has stored nothing.
    """
    end = time.monotonic() + FIRST_SECONDS
    while True:
        try:
            return send()
        except Exception as error:
            if "No route info" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.05)


def body(number: int) -> str:
    """Body of the message of that number."""
    return f"body-{number} 中文" + ("." * 8000 if number % 10 == 9 else "")


def consume(name_server: str, topic: str, group: str, expression: str, count: int) -> dict[str, Any]:
    """Consume until ``count`` messages have come."""
    from rocketmq.client import PushConsumer

    got: list[list[Any]] = []
    complete = threading.Event()

    def take(message: Any) -> None:
        got.append(
            [message.body.decode(), message.tags.decode(), message.keys.decode(), message.queue_id, message.queue_offset]
        )
        if len(got) >= count:
            complete.set()

    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(name_server)
    consumer.set_thread_count(2)
    consumer.subscribe(topic, take, expression)
    consumer.start()
    complete.wait(CONSUME_SECONDS)
    consumer.shutdown()
    return {"messages": got}


if __name__ == "__main__":
    job, *words, last = sys.argv[1:]
    if job == "send":
        answer = send(words[0], words[1], int(last))
    else:
        answer = consume(words[0], words[1], words[2], words[3], int(last))
    print(json.dumps(answer), flush=True)
