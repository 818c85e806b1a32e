"""Messages by key or unique key (Source: docs/spec/remoting.md §2.2.6, docs/spec/store.md §5.5)."""

from __future__ import annotations

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import StoreError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.record import read_head

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"

ANSWER_BYTES_MAX = 16 * 1024 * 1024 - 64 * 1024
"""Bytes of records in one answer: clients refuse frames of more than 16 MiB. The newest message is always included."""


class QueryProcessor:
    """Serves QUERY_MESSAGE.

    Where a real broker answers by the hash alone, and by times cut to seconds, these answers are exact.
    """

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._store = state.store

    def query(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The newest messages that carry a key, in the order of the log."""
        fields, config = command.ext_fields, self._state.config.store
        unique = bool_field(fields, UNIQUE_KEY_QUERY)
        asked_max = int_field(fields, "maxNum")
        count_max = config.default_query_messages if unique else min(asked_max, config.query_messages_max)
        try:
            found = self._store.query(
                text_field(fields, "topic"),
                text_field(fields, "key"),
                max_count=count_max,
                from_ms=long_field(fields, "beginTimestamp"),
                to_ms=long_field(fields, "endTimestamp"),
                unique=unique,
            )
        except StoreError as error:
            return command.reply(ResponseCode.SYSTEM_ERROR, error.message)
        last_ms, last_offset = self._store.index_last_update
        update = {"indexLastUpdateTimestamp": str(last_ms), "indexLastUpdatePhyoffset": str(last_offset)}
        if not found:
            return command.reply(ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct", update)
        records = sorted(_newest_within(found, ANSWER_BYTES_MAX), key=lambda record: read_head(record, 0).physical_offset)
        return command.reply(ext_fields=update, body_slices=records)


def _newest_within(records: list[memoryview], bytes_max: int) -> list[memoryview]:
    """As many records from the start as have room; always the first."""
    total_bytes = 0
    for count, record in enumerate(records):
        total_bytes += len(record)
        if count and total_bytes > bytes_max:
            return records[:count]
    return records
