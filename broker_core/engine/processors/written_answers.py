"""Answers to administration that wait until the change is on the disk.

A request that changes a table of the broker or of its name server is carried out in memory at once. It is answered when the
table's file holds the change, so that a crash loses no acknowledged change; the answer to a change that the disk refuses has
the reason. Changes by messages and consumers (topics of first messages, retry topics, groups of first pulls, offsets that
members of a group commit) are answered without waiting, as by any RocketMQ broker; after a crash topics are restored from their
queues.

Accounts are no table of these: their file is written before they count (`broker_core.engine.acl.account_file`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from typing import Protocol

from broker_core.engine.nameserver.kv_config import KV_FILE
from broker_core.engine.nameserver.settings import NAME_SERVER_FILE
from broker_core.engine.processors.live_settings import SETTINGS_FILE
from broker_core.engine.processors.pop.assignment import MODES_FILE
from broker_core.engine.tables.config_files import RETRY_SECONDS, ConfigFiles
from broker_core.engine.tables.consumer_offsets import OFFSETS_FILE
from broker_core.engine.tables.group_table import GROUPS_FILE
from broker_core.engine.tables.topic_table import TOPICS_FILE
from broker_core.errors import RequestRefusedError, StoreError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand, reply_to

FILES_OF = {
    int(code): files
    for code, files in {
        RequestCode.UPDATE_AND_CREATE_TOPIC: (TOPICS_FILE,),
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: (TOPICS_FILE,),
        RequestCode.DELETE_TOPIC_IN_BROKER: (TOPICS_FILE, OFFSETS_FILE),
        RequestCode.LET_TOPIC_TAKE_PART: (TOPICS_FILE,),
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: (GROUPS_FILE,),
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: (GROUPS_FILE,),
        RequestCode.DELETE_SUBSCRIPTIONGROUP: (GROUPS_FILE, OFFSETS_FILE),
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: (GROUPS_FILE,),
        RequestCode.SET_MESSAGE_REQUEST_MODE: (MODES_FILE, GROUPS_FILE),
        RequestCode.UPDATE_BROKER_CONFIG: (SETTINGS_FILE,),
        RequestCode.UPDATE_CONSUMER_OFFSET: (OFFSETS_FILE, GROUPS_FILE),
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: (OFFSETS_FILE,),
        RequestCode.CLONE_GROUP_OFFSET: (OFFSETS_FILE, GROUPS_FILE),
        RequestCode.PUT_KV_CONFIG: (KV_FILE,),
        RequestCode.DELETE_KV_CONFIG: (KV_FILE,),
        RequestCode.UPDATE_NAMESRV_CONFIG: (NAME_SERVER_FILE,),
    }.items()
}
"""Request code → files of the tables that it changes."""

HELD_UP_BYTES = 96 * 1024
"""Of one connection: above this, some 250 plain answers, nothing more is read from it until less is pending."""

HELD_BYTES_MAX = 256 * 1024
"""Of one connection: plain requests that were read before stay below this. Beyond it changes are answered with an error."""

_ANSWER_BYTES = 384
"""Estimated memory of an answer without a body."""


class Waiting(Protocol):
    """Waits for an answer: a connection, or the console."""

    def send(self, command: RemotingCommand) -> bool: ...

    def hold_up(self) -> None: ...

    def go_on(self) -> None: ...

    def __hash__(self) -> int: ...


class WrittenAnswers:
    """Holds answers back. Belongs to the loop's thread.

    ``mark_offsets`` marks the file of consumer offsets if one has changed, because they are too many for a mark with each.
    """

    def __init__(self, files: ConfigFiles, *, mark_offsets: Callable[[], None]) -> None:
        self._files = files
        self._mark_offsets = mark_offsets
        self._held_bytes: Counter[Hashable] = Counter()

    def hold(self, peer: Waiting, command: RemotingCommand, response: RemotingCommand) -> RemotingCommand | None:
        """The response where nothing is left to write; else None, and it is sent when its change is on the disk."""
        files = FILES_OF.get(command.code)
        if files is None or command.is_oneway or response.code != ResponseCode.SUCCESS:
            return response
        if OFFSETS_FILE in files:
            self._mark_offsets()
        size = _ANSWER_BYTES + len(response.body)
        # One alone may be larger: the answer to a reset lists 4,096 queues.
        if self._held_bytes[peer] and self._held_bytes[peer] + size > HELD_BYTES_MAX:
            remark = (
                "the change is made, and not told to be on the disk: more than enough of this connection wait for that, "
                "send more slowly"
            )
            return _failed(response, ResponseCode.SYSTEM_BUSY, remark)
        if not self._files.when_written(files, partial(self._send, peer, response, size)):
            return response
        self._held_bytes[peer] += size
        if self._held_bytes[peer] > HELD_UP_BYTES:
            peer.hold_up()
        return None

    def held_bytes(self, peer: Hashable) -> int:
        """Memory of the pending answers of a connection."""
        return self._held_bytes[peer]

    async def wait(self, *files: str) -> None:
        """Wait as an answer does, for a change without a request. Raises `RequestRefusedError` where the disk refuses it."""
        try:
            await self._files.wait_written(files)
        except StoreError as error:
            raise RequestRefusedError(_not_written(error), code=ResponseCode.SYSTEM_ERROR) from error

    def _send(self, peer: Waiting, response: RemotingCommand, size: int, fault: StoreError | None) -> None:
        left = self._held_bytes[peer] = self._held_bytes[peer] - size
        if not left:
            del self._held_bytes[peer]
        peer.send(response if fault is None else _failed(response, ResponseCode.SYSTEM_ERROR, _not_written(fault)))
        if left <= HELD_UP_BYTES < left + size:
            peer.go_on()


def _failed(response: RemotingCommand, code: ResponseCode, remark: str) -> RemotingCommand:
    return reply_to(response.opaque, response.serialize_type, code, remark)


def _not_written(fault: StoreError) -> str:
    return (
        f"the change is in effect, but would be lost with a crash: {fault.message}. It is tried again every "
        f"{RETRY_SECONDS:g} s until the disk takes it; make room, or undo the change"
    )
