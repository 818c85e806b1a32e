"""Requests about slaves, answered as by a master that has none.

Source: docs/spec/remoting.md §2.1, 907 and 908; answers of 5.3.3.
"""

from __future__ import annotations

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.fields import long_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit

_NO_SLAVE_RUNS = {
    "lastReadTimestamp": 0,
    "lastWriteTimestamp": 0,
    "masterFlushOffset": 0,
    "maxOffset": 0,
    "transferredByteInSecond": 0,
}


class LoneMasterProcessor:
    """Serves GET_BROKER_HA_STATUS and RESET_MASTER_FLUSH_OFFSET."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state

    def status(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The end of the commit log, and that no slave copies it."""
        body = {
            "haClientRuntimeInfo": _NO_SLAVE_RUNS,
            "haConnectionInfo": [],
            "inSyncSlaveNums": 0,
            "master": True,
            "masterCommitLogMaxOffset": self._state.store.commit_log_max_offset,
        }
        return command.reply(body=emit(body))

    def reset_flush_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Success without any effect, because only a slave keeps how far its master had flushed."""
        long_field(command.ext_fields, "masterFlushOffset")
        return command.reply()
