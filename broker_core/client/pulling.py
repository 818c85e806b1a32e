"""One pull from one queue, used by all consumers: request, answer, decoded messages (Source: docs/spec/remoting.md §2.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from broker_core.client.instance import ClientInstance, answer_error
from broker_core.client.message import ReceivedMessage
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import Buffer, decode_records
from broker_core.protocol.subscription import Subscription

FLAG_COMMIT_OFFSET = 1
FLAG_SUSPEND = 2
FLAG_SUBSCRIPTION = 4
FLAG_LITE_PULL = 16


class PullStatus(StrEnum):
    FOUND = "FOUND"
    NO_NEW_MESSAGE = "NO_NEW_MSG"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


_STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MESSAGE,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MESSAGE,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


@dataclass(frozen=True, slots=True)
class PullResult:
    """Result of a pull.

    Attributes:
        status: With `PullStatus.OFFSET_ILLEGAL` the offset does not exist; continue at ``next_offset``.
        messages: In order, possibly empty: tags that only have the hash of a wanted one are left out.
        min_offset, max_offset: Of the queue; -1 when the broker does not report it.
    """

    status: PullStatus
    messages: list[ReceivedMessage]
    next_offset: int
    min_offset: int
    max_offset: int


class QueuePuller:
    """Pulls for one group; ``lite`` marks the pulls as those of a lite pull consumer."""

    def __init__(self, instance: ClientInstance, group: str, *, lite: bool = False) -> None:
        self._instance = instance
        self._group = group
        self._flags = FLAG_SUBSCRIPTION | (FLAG_LITE_PULL if lite else 0)

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        subscription: Subscription,
        *,
        messages_max: int,
        suspend_ms: int = 0,
        commit_offset: int = 0,
        timeout_ms: int | None = None,
        uncommitted: bool = False,
    ) -> PullResult:
        """Pull once.

        Args:
            queue: Where from.
            offset: The first offset to read.
            subscription: Filter of the pull.
            messages_max: Most messages.
            suspend_ms: How long the broker may wait for a message when there is none.
            commit_offset: The group's offset to store with the pull, if greater than 0.
            timeout_ms: For the answer; default ``pull_timeout_ms``.
            uncommitted: Get messages of open and aborted atomic transactions as well; never waits. Orbit's broker only.

        Raises:
            RemoteError: The broker refuses, or is not known.
            NetworkError: Not reachable, lost, or no answer in time.
            CodecError: The answer holds no records.
        """
        flags = self._flags | (FLAG_SUSPEND if suspend_ms else 0) | (FLAG_COMMIT_OFFSET if commit_offset > 0 else 0)
        fields = {
            "consumerGroup": self._group,
            "topic": queue.topic,
            "queueId": str(queue.queue_id),
            "queueOffset": str(offset),
            "maxMsgNums": str(messages_max),
            "sysFlag": str(flags),
            "commitOffset": str(commit_offset),
            "suspendTimeoutMillis": str(suspend_ms),
            "subscription": subscription.expression,
            "subVersion": str(subscription.version),
            "expressionType": subscription.expression_type,
        }
        address = await self._instance.address_of(queue)
        command = RemotingCommand(RequestCode.PULL_UNCOMMITTED if uncommitted else RequestCode.PULL_MESSAGE, fields)
        limit_ms = self._instance.config.pull_timeout_ms if timeout_ms is None else timeout_ms
        response = await self._instance.request(address, command, limit_ms)
        status = _STATUS.get(ResponseCode(response.code)) if response.code in _STATUS else None
        if status is None:
            raise answer_error(address, command.code, response)
        found = _decode(response.body, queue, subscription) if status is PullStatus.FOUND else []
        return PullResult(
            status,
            found,
            number(response, "nextBeginOffset", address),
            number(response, "minOffset", address, -1),
            number(response, "maxOffset", address, -1),
        )


def _decode(body: Buffer, queue: MessageQueue, subscription: Subscription) -> list[ReceivedMessage]:
    messages = [ReceivedMessage(stored, queue) for stored in decode_records(body)]
    return [message for message in messages if subscription.accepts_tag(message.tags)]


def number(response: RemotingCommand, name: str, address: str, default: int | None = None) -> int:
    """A number in a response's header; raises `RemoteError` for another text, and where it is missing without a ``default``."""
    text = response.ext_fields.get(name, "")
    if not text and default is not None:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise RemoteError(f"{address} answered with {name} “{text[:80]}”, not a number", code=response.code) from error
