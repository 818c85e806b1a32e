"""Peeks: a group's next messages, without a change of its offset (Source: docs/spec/remoting.md §2.1; answers of 5.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker_core.engine.processors.pop.pop_processor import NO_FIELDS
from broker_core.engine.processors.pop.queue_reader import ANSWER_BYTES_MAX
from broker_core.engine.processors.pop.request import PopRequest, parse_peek
from broker_core.engine.store.results import GetStatus
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import Buffer, RemotingCommand

_READS_MAX = 2
"""Reads of one queue; the second after the store said that the messages begin at another offset."""


class PeekProcessor:
    """Serves PEEK_MESSAGE; ``queues`` returns the topics and queues that a pop would read, in its order."""

    def __init__(self, state: BrokerState, queues: Callable[[PopRequest], Iterable[tuple[str, int]]]) -> None:
        self._state = state
        self._queues = queues

    def peek(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Answer with messages from the group's offset on; ``restNum`` counts all available ones, those of the answer too."""
        try:
            request = parse_peek(self._state, peer, command)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message, dict(NO_FIELDS))
        records: list[Buffer] = []
        rest = 0
        for topic, queue_id in self._queues(request):
            begin = self._begin(request.group, topic, queue_id)
            rest += max(self._state.store.max_offset(topic, queue_id) - begin, 0)
            if sum(map(len, records)) < ANSWER_BYTES_MAX:
                records += self._read(request, topic, queue_id, begin, request.count_max - len(records))
        fields = {**NO_FIELDS, "restNum": str(rest)}
        if not records:
            return command.reply(ResponseCode.PULL_NOT_FOUND, GetStatus.NO_MESSAGE_IN_QUEUE.value, fields)
        return command.reply(ResponseCode.SUCCESS, GetStatus.FOUND.value, fields, body_slices=records)

    def _begin(self, group: str, topic: str, queue_id: int) -> int:
        committed = self._state.offsets.get(group, topic, queue_id)
        first = max(self._state.store.min_offset(topic, queue_id), 0)
        return max(committed, first)

    def _read(self, request: PopRequest, topic: str, queue_id: int, begin: int, count_max: int) -> list[Buffer]:
        if count_max <= 0:
            return []
        wanted = request.wanted
        for _ in range(_READS_MAX):
            result = self._state.store.get_messages(
                topic, queue_id, begin, count_max, accepts=wanted.accepts, matches=wanted.matches
            )
            if result.status is GetStatus.FOUND or result.next_offset <= begin:
                break
            begin = result.next_offset
        return list(result.records)
