"""The Python SDK of RocketMQ 5 in its default settings (plain text): prints "case NAME RESULT" for each thing it tries."""

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
    TransactionChecker,
    TransactionResolution,
)

CONFIGURATION = ClientConfiguration(sys.argv[1], Credentials())


def result(name: str, found: object) -> None:
    sys.stdout.write(f"case {name} {found}\n")
    sys.stdout.flush()


def message(topic: str, body: str, **more: Any) -> Any:
    made = Message()
    made.topic, made.body = topic, body.encode()
    for name, value in more.items():
        setattr(made, name, value)
    return made


def consumer(group: str, topic: str) -> Any:
    made = SimpleConsumer(CONFIGURATION, group, {topic: FilterExpression()}, await_duration=5)
    made.startup()
    return made


def receive(source: Any, count: int) -> list[Any]:
    found: list[Any] = []
    end = time.monotonic() + 100
    while len(found) < count and time.monotonic() < end:
        for view in source.receive(16, 30) or ():
            found.append(view)
            source.ack(view)
    return found


def bodies(views: list[Any]) -> list[str]:
    return [view.body.decode() for view in views]


def simple(producer: Any) -> None:
    source = consumer("sdk-python-simple", "sdk-python")
    one = message("sdk-python", "one", tag="T", keys="k1")
    one.add_property("color", "red")
    producer.send(one)
    producer.send(message("sdk-python", "two"))
    views = receive(source, 2)
    result("simple", ",".join(sorted(bodies(views))))
    found = next(view for view in views if view.body == b"one")
    result("fields", f"{found.tag} {len(found.keys)} {found.properties['color']}")
    source.shutdown()


def delay(producer: Any) -> None:
    source = consumer("sdk-python-delayed", "sdk-python-delay")
    due = time.time() + 3
    producer.send(message("sdk-python-delay", "late", delivery_timestamp=int(due) + 1))
    result("delay", f"{','.join(bodies(receive(source, 1)))} {time.time() >= due - 0.1}")
    source.shutdown()


def fifo(producer: Any) -> None:
    source = consumer("sdk-python-ordered", "sdk-python-fifo")
    for number in range(8):
        producer.send(message("sdk-python-fifo", str(number), message_group="g"))
    result("fifo", ",".join(bodies(receive(source, 8))))
    source.shutdown()


class Twice(MessageListener):  # type: ignore[misc]  # the SDK has no types
    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.done = threading.Event()

    def consume(self, view: Any) -> Any:
        self.attempts.append(view.delivery_attempt)
        if view.delivery_attempt == 1:
            return ConsumeResult.FAILURE
        self.done.set()
        return ConsumeResult.SUCCESS


def push(producer: Any) -> None:
    listener = Twice()
    source = PushConsumer(CONFIGURATION, "sdk-python-pushers", listener, {"sdk-python-push": FilterExpression()})
    source.startup()
    producer.send(message("sdk-python-push", "push"))
    listener.done.wait(100)
    result("push", str(listener.attempts).replace(" ", ""))
    source.shutdown()


class Fails(MessageListener):  # type: ignore[misc]  # the SDK has no types
    def __init__(self) -> None:
        self.attempts: list[int] = []

    def consume(self, view: Any) -> Any:
        self.attempts.append(view.delivery_attempt)
        return ConsumeResult.FAILURE


def dead(producer: Any) -> None:
    listener = Fails()
    failing = PushConsumer(CONFIGURATION, "sdk-python-buried", listener, {"sdk-python-dead": FilterExpression()})
    failing.startup()
    source = consumer("sdk-python-undertaker", "%DLQ%sdk-python-buried")
    producer.send(message("sdk-python-dead", "dies"))
    result("dead", f"{','.join(bodies(receive(source, 1)))} {listener.attempts}".replace(", ", ","))
    source.shutdown()
    failing.shutdown()


class Commits(TransactionChecker):  # type: ignore[misc]  # the SDK has no types
    def check(self, _view: Any) -> Any:
        return TransactionResolution.COMMIT


def transactions() -> None:
    producer = Producer(CONFIGURATION, ("sdk-python-tx",), checker=Commits())
    producer.startup()
    source = consumer("sdk-python-tx-group", "sdk-python-tx")
    for body in ("commit", "roll-back", "orphan"):
        transaction = producer.begin_transaction()
        producer.send(message("sdk-python-tx", body), transaction)
        if body == "commit":
            transaction.commit()
        elif body == "roll-back":
            transaction.rollback()
    result("transactions", ",".join(sorted(bodies(receive(source, 2)))))
    source.shutdown()
    producer.shutdown()


def main() -> None:
    producer = Producer(CONFIGURATION, tuple(f"sdk-python{kind}" for kind in ("", "-fifo", "-delay", "-push", "-dead")))
    producer.startup()
    for case in (simple, delay, fifo, push, dead):
        case(producer)
    producer.shutdown()
    transactions()


if __name__ == "__main__":
    main()
