"""Lets a process die at an exact point: just before or just after one of its calls. For the prelude of a worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from broker_core.engine.store.message_puts import MessagePuts
from broker_core.protocol.message.model import MessageToStore


def die() -> None:
    """What `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def always(*_arguments: Any, **_named: Any) -> bool:
    """Every call counts."""
    return True


def kill_at_call(
    owner: Any,
    name: str,
    number: int = 0,
    *,
    before: bool,
    when: Callable[..., bool] = always,
) -> None:
    """Kill this process, by SIGKILL, at a call of a function.

    Args:
        owner: Where the function is looked up when it is called.
        name: Its name there.
        number: Calls to let pass.
        before: Whether the call itself is not made any more.
        when: Which calls count, by their arguments.
    """
    passed = 0
    function = getattr(owner, name)

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal passed
        counts = when(*arguments, **named)
        is_it = counts and passed == number
        passed += counts
        if is_it and before:
            die()
        result = function(*arguments, **named)
        if is_it:
            die()
        return result

    setattr(owner, name, counted)


def kill_at_put(topic: str, number: int, *, before: bool) -> None:
    """Kill this process at the put with that number (from 0) to a topic, as stored."""

    def is_to_topic(_puts: MessagePuts, message: MessageToStore) -> bool:
        return message.topic == topic

    kill_at_call(MessagePuts, "put", number, before=before, when=is_to_topic)
