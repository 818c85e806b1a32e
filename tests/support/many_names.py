"""Makes many topics and groups on a broker: ``python -m tests.support.many_names NAME-SERVER TOPICS QUEUES GROUPS``.

Each group has a position in one queue, so that it shows in all lists.
"""

from __future__ import annotations

import asyncio
import sys

from broker_core.client.admin import AdminClient
from broker_core.config import RemotingLimits
from broker_core.protocol.json_body import MessageQueue

REQUEST_TIMEOUT_MS = 60_000
"""A broker on a busy machine takes its time; who started this has a deadline."""


async def make(name_server: str, topics: int, queues: int, groups: int) -> None:
    """Make ``topic-0000`` and so on, and ``group-0000`` and so on."""
    async with AdminClient(name_server, limits=RemotingLimits(request_timeout_ms=REQUEST_TIMEOUT_MS)) as admin:
        broker = next(iter(await admin.master_addresses()))
        for number in range(topics):
            await admin.create_topic(f"topic-{number:04d}", queues=queues)
        for number in range(groups):
            queue = MessageQueue(f"topic-{number % topics:04d}", broker, number % queues)
            await admin.set_consumer_offset(f"group-{number:04d}", queue, 0)


if __name__ == "__main__":
    asyncio.run(make(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
