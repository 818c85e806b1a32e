"""What the C++ client of RocketMQ (PyPI ``rocketmq``) can do beside plain sending and consuming, one case per process.

    cpp_cases.py NAME_SERVER CASE

Prints ``ok RESULT`` as its last line; anything else is a failure.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.support.cpp_client import send_once_connected

WAIT_SECONDS = 90.0
RECONSUME_LATER = 1


class Cases:
    """The cases, by name with underscores."""

    def __init__(self, name_server: str) -> None:
        from rocketmq.client import Producer

        self.name_server = name_server
        self.changed = threading.Condition()
        self.producer = Producer("PG-CPP-CASES")
        self.producer.set_namesrv_addr(name_server)
        self.producer.start()

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds, looked at whenever the client's threads have told something."""
        with self.changed:
            if not self.changed.wait_for(holds, WAIT_SECONDS):
                raise SystemExit(f"waited in vain for {what}")

    def told(self, tell: Callable[[], object]) -> None:
        """Take in what a thread of the client tells."""
        with self.changed:
            tell()
            self.changed.notify_all()

    def message(self, topic: str, body: str, tag: str = "t", level: int = 0) -> Any:
        """A message."""
        from rocketmq.client import Message

        message = Message(topic)
        message.set_tags(tag)
        message.set_keys(f"key-{body}")
        message.set_property("origin", "cpp")
        message.set_body(body)
        if level:
            message.set_delay_time_level(level)
        return message

    def consumer(self, group: str, topic: str, take: Callable[[Any], None], *, instance: str = "", **options: Any) -> Any:
        """A consumer that has started."""
        from rocketmq.client import PushConsumer

        consumer = PushConsumer(group, **options)
        consumer.set_namesrv_addr(self.name_server)
        consumer.set_thread_count(2)
        if instance:
            consumer.set_instance_name(instance)
        consumer.subscribe(topic, take)
        consumer.start()
        return consumer

    def adder(self, into: list[str]) -> Callable[[Any], None]:
        """A listener that keeps bodies."""

        def take(message: Any) -> None:
            self.told(lambda: into.append(message.body.decode()))

        return take

    def ways(self) -> str:
        """Asynchronous, one-way and batch; what comes has its keys, tags and properties."""
        answered: list[int] = []

        def answer(result: Any) -> None:
            self.told(lambda: answered.append(int(result.status)))

        for number in range(20):
            self.producer.send_async(self.message("c-ways", f"async{number}"), answer, None)
        self.wait_for("answers", lambda: len(answered) == 20)
        for number in range(20):
            self.producer.send_oneway(self.message("c-ways", f"oneway{number}"))
        batch = self.producer.send_batch([self.message("c-ways", f"batch{number}") for number in range(20)])
        got: dict[str, tuple[str, str, str]] = {}

        def take(message: Any) -> None:
            words = (message.tags, message.keys, message.get_property("origin"))
            item = {message.body.decode(): tuple(word.decode() for word in words)}
            self.told(lambda: got.update(item))

        consumer = self.consumer("c-ways-group", "c-ways", take)
        self.wait_for("all messages", lambda: len(got) == 60)
        consumer.shutdown()
        wrong = {body: words for body, words in got.items() if words != ("t", f"key-{body}", "cpp")}
        return f"{set(answered)} {int(batch.status)} {wrong}"

    def ordered(self) -> str:
        """Sends that choose a queue by key, and a consumer that keeps each queue's order."""
        for number in range(60):
            send = self.producer.send_orderly if number % 2 else self.producer.send_oneway_orderly
            message = self.message("c-ordered", str(number), tag=f"k{number % 3}")
            send_once_connected(partial(send, message, number % 3))
        got: dict[str, list[int]] = {"k0": [], "k1": [], "k2": []}
        queues: dict[str, set[int]] = {"k0": set(), "k1": set(), "k2": set()}

        def take(message: Any) -> None:
            key, number, queue_id = message.tags.decode(), int(message.body), message.queue_id
            self.told(lambda: queues[key].add(queue_id))
            self.told(lambda: got[key].append(number))

        consumer = self.consumer("c-ordered-group", "c-ordered", take, orderly=True)
        self.wait_for("ordered messages", lambda: sum(map(len, got.values())) >= 60)
        consumer.shutdown()
        in_order = [got[f"k{key}"] == list(range(key, 60, 3)) for key in range(3)]
        return f"{in_order} {[len(found) for found in queues.values()]}"

    def broadcasting(self) -> str:
        """Two members that both have everything sent after they began."""
        from rocketmq.client import MessageModel

        got: list[list[str]] = [[], []]
        self.producer.send_sync(self.message("c-news", "before"))
        members = [
            self.consumer(
                "c-news-group", "c-news", self.adder(got[place]), instance=f"i{place}", message_model=MessageModel.BROADCASTING
            )
            for place in range(2)
        ]
        self.send_until("c-news", lambda: all(set(one) - {"before"} for one in got))
        for number in range(20):
            self.producer.send_sync(self.message("c-news", f"news{number}"))
        expected = {f"news{number}" for number in range(20)}
        self.wait_for("all news at both", lambda: all(expected <= set(one) for one in got))
        for member in members:
            member.shutdown()
        return "20"

    def send_until(self, topic: str, holds: Callable[[], object]) -> int:
        """Send one message after another until a condition holds; returns how many."""
        deadline, sent = time.monotonic() + WAIT_SECONDS, 0
        while not holds():
            if time.monotonic() > deadline:
                raise SystemExit(f"{sent} messages came in vain")
            self.producer.send_sync(self.message(topic, f"try{sent}"))
            sent += 1
            with self.changed:
                self.changed.wait(0.02)
        return sent

    def takeover(self) -> str:
        """A second member takes queues over, then the first leaves."""
        first: list[str] = []
        second: list[str] = []
        for number in range(50):
            self.producer.send_sync(self.message("c-takeover", str(number)))
        one = self.consumer("c-takeover-group", "c-takeover", self.adder(first), instance="one")
        self.wait_for("the first member", lambda: len(set(first)) == 50)
        two = self.consumer("c-takeover-group", "c-takeover", self.adder(second), instance="two")
        tries = self.send_until("c-takeover", lambda: second)
        one.shutdown()
        for number in range(50, 90):
            self.producer.send_sync(self.message("c-takeover", str(number)))
        expected = {*map(str, range(90)), *(f"try{number}" for number in range(tries))}
        self.wait_for("everything after the takeover", lambda: expected <= {*first, *second})
        two.shutdown()
        return str(len({*first, *second} - expected))

    def retry(self) -> str:
        """A message that is given back comes again; the usual wrapper turns a failure of the listener into a success."""
        from rocketmq.client import PushConsumer, RecvMessage, dll, ffi_check

        times: list[int] = []

        def take(_consumer: Any, handle: Any) -> int:
            message = RecvMessage(handle)
            self.told(lambda: times.append(message.reconsume_times))
            return RECONSUME_LATER if len(times) < 3 else 0

        self.producer.send_sync(self.message("c-retry", "stubborn"))
        consumer = PushConsumer("c-retry-group")
        consumer.set_namesrv_addr(self.name_server)
        ffi_check(dll.Subscribe(consumer._handle, b"c-retry", b"*"))
        consumer._register_callback(take)
        consumer.start()
        self.wait_for("two retries", lambda: len(times) >= 3)
        consumer.shutdown()
        return str(times)

    def delay(self) -> str:
        """A delayed message comes after its level, which is the first: a second."""
        got: list[tuple[int, int]] = []

        def take(message: Any) -> None:
            waited = (message.delay_time_level, message.store_timestamp - message.born_timestamp)
            self.told(lambda: got.append(waited))

        self.producer.send_sync(self.message("c-delay", "later", level=1))
        consumer = self.consumer("c-delay-group", "c-delay", take)
        self.wait_for("the delayed message", lambda: bool(got))
        consumer.shutdown()
        level, waited_ms = got[0]
        return f"{level} {waited_ms >= 1000}"

    def pull(self) -> str:
        """A pull consumer that goes over all queues."""
        from rocketmq.client import PullConsumer

        for number in range(30):
            self.producer.send_sync(self.message("c-pull", str(number), tag=f"k{number % 2}"))
        consumer = PullConsumer("c-pull-group")
        consumer.set_namesrv_addr(self.name_server)
        consumer.start()
        found = sorted(int(message.body) for message in consumer.pull("c-pull", "k1"))
        consumer.shutdown()
        return str(found == list(range(1, 30, 2)))


if __name__ == "__main__":
    print("ok", getattr(Cases(sys.argv[1]), sys.argv[2])(), flush=True)
    os._exit(0)  # the library's threads may outlive what was shut down
