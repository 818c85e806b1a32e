"""Delay levels for tools: GET_ALL_DELAY_OFFSET, and lines of the runtime figures.

Source: docs/spec/remoting.md §2.5.3, §2.5.5.
"""

from __future__ import annotations

from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.tables.peer import Peer
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit


class DelayProcessor:
    def __init__(self, delays: DelayService) -> None:
        self._delays = delays

    def all_offsets(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Level → next offset to deliver, with bare numbers as keys, as slaves read them."""
        offsets = self._delays.offsets()
        if not offsets:
            return command.reply(ResponseCode.SYSTEM_ERROR, "No delay offset in this broker")
        version = self._delays.progress.to_json().get("dataVersion")
        return command.reply(body=emit({"dataVersion": version, "offsetTable": offsets}, bare_int_keys=True))

    def runtime_lines(self) -> dict[str, str]:
        """``scheduleMessageOffset_<level>``: the delivered offset and the end of the queue."""
        levels = self._delays.delivery.levels
        return {
            f"scheduleMessageOffset_{number}": f"{offset},{levels[number].max_offset}"
            for number, offset in sorted(self._delays.offsets().items())
            if number in levels
        }
