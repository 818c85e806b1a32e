"""Messages of one source queue, in order, a pull at a time. No group's offset changes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from broker_core.client.admin import AdminClient
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import CodecError, RecordError, RemoteError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message.record import decode_record, read_head
from broker_core.tools.copying.control import CopyControl
from broker_core.tools.copying.plan import CopyPart
from broker_core.tools.replay.item import ReplayItem, item_of_message


@dataclass(frozen=True, slots=True)
class SourceRead:
    """What is at a source offset: a message, or the ``reason`` why it cannot be read, empty when the source has none.

    ``count`` is that of the offsets concerned: more than one only without a message.
    """

    offset: int
    item: ReplayItem | None
    reason: str = ""
    count: int = 1


class PartReader:
    """Reads a part from an offset on; `head` returns the next message, `take` passes it."""

    def __init__(self, admin: AdminClient, part: CopyPart, offset: int, control: CopyControl) -> None:
        self.part = part
        self._admin = admin
        self._puller = Puller(admin)
        self._offset = offset
        self._control = control
        self._trusts_route = True
        self._found: deque[SourceRead] = deque()

    async def head(self) -> SourceRead | None:
        """The next message; None at the end. Waits out faults; raises `CopyStoppedError`."""
        while not self._found and self._offset < self.part.end:
            part = self.part
            what = f"reading queue {part.queue_id} of {part.topic} on {part.broker}"
            await self._control.through(what, self._pull)
        return self._found[0] if self._found else None

    @property
    def read_up_to(self) -> int:
        """Source offset after all that was read."""
        return self._offset

    def take(self) -> None:
        """Pass the next message."""
        self._found.popleft()

    async def _pull(self) -> None:
        part, offset, admin = self.part, self._offset, self._admin
        # A fresh route finds a broker that moved.
        route = await (admin.route_of(part.topic) if self._trusts_route else admin.readable_route(part.topic))
        self._trusts_route = False
        address = route.address_of(part.broker)
        if address is None:
            raise RemoteError(f"broker {part.broker} is not known to the name server", code=ResponseCode.TOPIC_NOT_EXIST)
        source = QueueSlice(part.topic, part.broker, address, part.queue_id, part.first, part.end)
        pulled = await self._puller.pull(source, offset)
        found = [self._read(record) for record in pulled.records()]
        if pulled.is_end:
            raise CodecError(f"it gives no message from offset {offset:,} on, though the plan goes up to {part.end:,}")
        self._trusts_route = True
        self._take_in(found, pulled.following)

    def _take_in(self, found: list[SourceRead], following: int) -> None:
        for one in found:
            if one.offset < self._offset:
                continue
            self._pass_over(one.offset)
            self._found.append(one)
            self._offset = one.offset + 1
        self._pass_over(following)

    def _pass_over(self, up_to: int) -> None:
        if up_to > self._offset:
            self._found.append(SourceRead(self._offset, None, count=up_to - self._offset))
            self._offset = up_to

    @staticmethod
    def _read(record: bytes) -> SourceRead:
        try:
            message = decode_record(record)
        except RecordError as error:
            return SourceRead(read_head(record, 0).queue_offset, None, f"its record cannot be read: {error.message}")
        return SourceRead(message.queue_offset, item_of_message(message))
