"""Results of calls: status messages, refusals, and what the broker's response codes become.

Source: docs/spec/grpc.md §1.2, §3.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NoReturn

from broker_core.errors import OrbitError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb

OK: Final = pb.Status(code=pb.OK, message="OK")

CODES: Final[Mapping[int, pb.Code]] = {
    ResponseCode.SUCCESS: pb.OK,
    ResponseCode.SYSTEM_BUSY: pb.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: pb.NOT_IMPLEMENTED,
    ResponseCode.FLUSH_DISK_TIMEOUT: pb.MASTER_PERSISTENCE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: pb.HA_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: pb.SLAVE_PERSISTENCE_TIMEOUT,
    ResponseCode.SERVICE_NOT_AVAILABLE: pb.FORBIDDEN,
    ResponseCode.NO_PERMISSION: pb.FORBIDDEN,
    ResponseCode.TOPIC_NOT_EXIST: pb.TOPIC_NOT_FOUND,
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: pb.ILLEGAL_FILTER_EXPRESSION,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: pb.CONSUMER_GROUP_NOT_FOUND,
    ResponseCode.NO_MESSAGE: pb.INVALID_RECEIPT_HANDLE,
    ResponseCode.POLLING_FULL: pb.TOO_MANY_REQUESTS,
    ResponseCode.POLLING_TIMEOUT: pb.MESSAGE_NOT_FOUND,
}
"""By response code; any other is INTERNAL_SERVER_ERROR with the remark."""


class CallRefusedError(OrbitError):
    """A call is refused; `refuse` raises it.

    Attributes:
        status: The status of the reply.
    """

    status: pb.Status


def refuse(code: pb.Code, text: str) -> NoReturn:
    error = CallRefusedError(text)
    error.status = pb.Status(code=code, message=text)
    raise error


def status_of(answer: RemotingCommand) -> pb.Status:
    """The status that a broker's answer becomes."""
    if answer.code == ResponseCode.SUCCESS:
        return OK
    code = CODES.get(answer.code, pb.INTERNAL_SERVER_ERROR)
    return pb.Status(code=code, message=answer.remark or f"the broker answered {answer.code}")


def common_status(statuses: Iterable[pb.Status]) -> pb.Status:
    """The status of a reply with several results: theirs where they are alike, else MULTIPLE_RESULTS."""
    found = {status.code: status for status in statuses}
    if len(found) == 1:
        return next(iter(found.values()))
    return pb.Status(code=pb.MULTIPLE_RESULTS, message="the results differ: each entry has its own status")
