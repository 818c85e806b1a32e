"""The Python SDK of RocketMQ 5 in one case of a list of conformance: ``ENDPOINT CASE``; prints "case NAME RESULT"."""

import os
import sys
import threading
import time
from typing import Any

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
)

CONFIGURATION = ClientConfiguration(sys.argv[1], Credentials())
WAIT_SECONDS = 60


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def consumer(group: str, topic: str) -> Any:
    made = SimpleConsumer(CONFIGURATION, group, {topic: FilterExpression()}, await_duration=5)
    made.startup()
    return made


def receive(source: Any, count: int) -> list[str]:
    found: list[str] = []
    end = time.monotonic() + WAIT_SECONDS
    while len(found) < count and time.monotonic() < end:
        try:
            for view in source.receive(16, 30) or ():
                found.append(view.body.decode())
                source.ack(view)
        except Exception:  # noqa: BLE001 - the SDK raises any of many while the broker is away
            time.sleep(0.2)
    return found


def send(producer: Any, topic: str, body: str) -> None:
    made = Message()
    made.topic, made.body = topic, body.encode()
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            producer.send(made)
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


def compressed() -> None:
    source = consumer("packed-python", "packed")
    say(f"case compressed {receive(source, 3).count('packed ' * 500)}")
    source.shutdown()


def again() -> None:
    producer = Producer(CONFIGURATION, ("again-python",))
    producer.startup()
    source = consumer("again-python", "again-python")
    for body in ("before", "after"):
        send(producer, "again-python", body)
        for found in receive(source, 1):
            say(f"case {body} {found}")
        say("waiting")
        sys.stdin.read(1)
    source.shutdown()
    producer.shutdown()


class Holds(MessageListener):  # type: ignore[misc]  # the SDK has no types
    """Works on each message until the test goes on."""

    def __init__(self, done: threading.Event) -> None:
        self.done = done

    def consume(self, view: Any) -> Any:
        say(f"case {view.body.decode()} taken")
        say("waiting")
        self.done.wait(WAIT_SECONDS)
        return ConsumeResult.SUCCESS


def member() -> None:
    done = threading.Event()
    source = PushConsumer(CONFIGURATION, "shared-group", Holds(done), {"shared": FilterExpression()})
    source.startup()
    say("waiting")
    sys.stdin.read(1)
    done.set()
    sys.stdin.read(1)
    source.shutdown()


class Fails(MessageListener):  # type: ignore[misc]  # the SDK has no types
    """Always fails on one message."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def consume(self, view: Any) -> Any:
        body = view.body.decode()
        self.found.append(f"{body}/{view.delivery_attempt}")
        return ConsumeResult.FAILURE if body == "bad" else ConsumeResult.SUCCESS


def order() -> None:
    producer = Producer(CONFIGURATION, ("order",))
    producer.startup()
    for body in ("0", "bad", "1", "2"):
        made = Message()
        made.topic, made.body, made.message_group = "order", body.encode(), "g"
        producer.send(made)
    listener = Fails()
    source = PushConsumer(CONFIGURATION, "order-python", listener, {"order": FilterExpression()})
    source.startup()
    end = time.monotonic() + WAIT_SECONDS
    while "2/1" not in listener.found and time.monotonic() < end:
        time.sleep(0.05)
    say(f"case order {','.join(listener.found)}")
    for body in receive(consumer("order-dead", "%DLQ%order-python"), 1):
        say(f"case dead {body}")
    os._exit(0)


{"compressed": compressed, "again": again, "member": member, "order": order}[sys.argv[2]]()
