"""Half and op queue of a broker, read from outside."""

import asyncio

from broker_core.remoting.frame import RemotingCommand
from broker_core.worker.attached.halves import HalfQueue


class EmptyBroker:
    """A link to a broker without transactions; counts how many questions are open at a time."""

    def __init__(self) -> None:
        self.open = self.open_max = 0

    async def stored_offset(self, _group: str, _queue: object) -> int:
        await self._answer()
        return -1

    async def ask(self, _broker: str, _command: RemotingCommand) -> RemotingCommand:
        await self._answer()
        return RemotingCommand(0, {"offset": "0"})

    def address_of(self, _broker: str) -> str:
        return "127.0.0.1:1"

    async def _answer(self) -> None:
        self.open += 1
        self.open_max = max(self.open_max, self.open)
        await asyncio.sleep(0)
        self.open -= 1


def test_looks_at_one_time_come_one_after_the_other():
    async def scenario():
        link = EmptyBroker()
        queue = HalfQueue(link, "a")
        await asyncio.gather(queue.look(), queue.look(), queue.look())
        assert (link.open_max, queue.unread, len(queue.ledger)) == (1, 0, 0)

    asyncio.run(scenario())
