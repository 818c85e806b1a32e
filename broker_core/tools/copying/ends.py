"""The two ends of a copy, opened: clients of both clusters, or an embedded broker started on a store."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from broker_core.client.admin import AdminClient
from broker_core.client.instance import ClientSecurity
from broker_core.client.producer import Producer
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.order import CopyOrder
from broker_core.tools.copying.planner import CopySide
from broker_core.tools.copying.receipt import CopyReceipt

PRODUCER_GROUP = "orbit-copy"

ServeStore = Callable[[Path], contextlib.AbstractAsyncContextManager[str]]


@dataclass(frozen=True, slots=True)
class Ends:
    """Source, target, and the producer."""

    source: CopySide
    target: CopySide
    sender: Producer


@contextlib.asynccontextmanager
async def opened(
    order: CopyOrder, *, source: ClientSecurity | None, target: ClientSecurity | None, serve: ServeStore, dry: bool = False
) -> AsyncIterator[Ends]:
    """Clients of both ends while the block lasts.

    ``source`` and ``target`` are keys, TLS and address map. ``serve`` serves a store directory and yields its name server
    address, for a target that is a store. With ``dry`` the target stays unchanged: a store that does not exist is not made.
    Raises `NetworkError` when an end is not reached, and `StoreError` when the store cannot be opened.
    """
    async with contextlib.AsyncExitStack() as stack:
        name_servers = order.target
        if order.target_is_store:
            name_servers = await stack.enter_async_context(serve(_root(order, stack, dry=dry)))
        admins = [
            await stack.enter_async_context(AdminClient(order.source, security=source)),
            await stack.enter_async_context(AdminClient(name_servers, security=target)),
        ]
        sender = Producer(name_servers, PRODUCER_GROUP, security=target, creates_topics=False)
        await stack.enter_async_context(sender)
        yield Ends(
            CopySide(admins[0], order.source, dict(source.addresses) if source else {}, way=source.way if source else None),
            CopySide(admins[1], order.target, dict(target.addresses) if target else {}, way=target.way if target else None),
            sender,
        )


def _root(order: CopyOrder, stack: contextlib.AsyncExitStack, *, dry: bool) -> Path:
    root = Path(order.target)
    if dry and not root.exists():
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orbit-copy-")))
    return root


async def check_same(receipt: CopyReceipt, ends: Ends) -> None:
    """Check by the content of their queues that both ends are those of a receipt; addresses may have changed.

    Raises `UsageError` when they are not, or were emptied since; `NetworkError` and `RemoteError` without an answer.
    """
    plan = receipt.plan
    for topic in plan.topics:
        parts = [part for part in plan.parts if part.topic == topic.source]
        held = await _held(ends.source.admin, topic.source)
        for part in parts:
            found = held.get(part.source)
            if found is not None and found.max_offset < part.end:
                raise UsageError(
                    f"{ends.source.name} is not the source of this copy: queue {part.queue_id} of {part.topic} ends at "
                    f"{found.max_offset:,}, not at {part.end:,} or later"
                )
        begun = [part for part in parts if receipt.parts[part.number].next_offset > part.first]
        there = await _held(ends.target.admin, topic.target) if begun else {}
        for part in begun:
            end = there[part.target].max_offset if part.target in there else 0
            if end < receipt.parts[part.number].target_end:
                raise UsageError(
                    f"{ends.target.name} does not hold what was copied: queue {part.to_queue_id} of {part.to_topic} on "
                    f"{part.to_broker} ends at {end:,}, not at {receipt.parts[part.number].target_end:,} or later. "
                    "Name the target of before with --to or --to-store, or begin a new copy"
                )


async def _held(admin: AdminClient, topic: str) -> dict[MessageQueue, QueueOffsets]:
    """Offsets of each queue of a topic; empty when there is no such topic."""
    try:
        return await admin.topic_stats(topic)
    except RemoteError as error:
        if error.context.get("code") != ResponseCode.TOPIC_NOT_EXIST:
            raise
        return {}
