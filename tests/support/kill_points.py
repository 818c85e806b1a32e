"""Lets a broker process die at an exact point: just before or just after one of its puts. For the prelude of a worker."""

from __future__ import annotations

import os
import signal

from broker_core.message.model import MessageToStore
from broker_core.store.message_store import MessageStore
from broker_core.store.results import PutResult


def kill_at_put(topic: str, number: int, *, before: bool) -> None:
    """Kill this process, by SIGKILL, at the put with that number (from 0) to a topic.

    Args:
        topic: As stored.
        number: Puts to let pass.
        before: Whether the put itself is lost.
    """
    passed = 0
    put = MessageStore.put

    def counted(store: MessageStore, message: MessageToStore) -> PutResult:
        nonlocal passed
        is_it = message.topic == topic and passed == number
        passed += message.topic == topic
        if is_it and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = put(store, message)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    MessageStore.put = counted  # type: ignore[method-assign,assignment]  # the point of it
