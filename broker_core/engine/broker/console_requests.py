"""Administration by the console: remoting requests without a connection and without an account."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.engine.broker.console_peer import ConsolePeer
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.administration import ACTING, READING
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object

Handle = Callable[[ConsolePeer, RemotingCommand], RemotingCommand | None]

_SUBJECTS = ("consumerGroup", "group", "groupName", "destGroup", "topic", "key", "brokerName")
_BODY_BYTES_MAX = 4_096
"""Longer bodies are recorded up to here."""
_SECRETS = frozenset({"secretKey", "accessKey"})


async def answer_console(handle: Handle, command: RemotingCommand, journal: ActionJournal) -> RemotingCommand:
    """Serve one request; an acting one is recorded before it is carried out.

    Raises:
        UsageError: The console may not send this request.
        RemoteError: It was refused; the message is the remark.
        StoreError: The journal cannot be written; nothing was done.
        WorkerError: There was no answer in time.
    """
    if command.code in ACTING:
        return await _act(handle, command, journal)
    if command.code not in READING:
        raise UsageError(f"request {command.code} is not one of administration; the console sends no others")
    return _successful(await ConsolePeer().answer_of(handle, command))


async def _act(handle: Handle, command: RemotingCommand, journal: ActionJournal) -> RemotingCommand:
    action = f"console.{RequestCode(command.code).name.lower()}"
    fields = command.ext_fields
    details = {name: text for name, text in fields.items() if name not in _SECRETS}
    if command.body:
        details["body"] = bytes(command.body[:_BODY_BYTES_MAX]).decode(errors="replace")
    subject = _subject(command)
    await journal.record(action, subject, **details)
    try:
        return _successful(await ConsolePeer().answer_of(handle, command))
    except RemoteError as error:
        await journal.record(f"{action}.failed", subject, remark=error.message)
        raise


def _subject(command: RemotingCommand) -> str:
    """The subject of an action, from its fields or, for the config of a group, from its body."""
    fields = command.ext_fields
    if command.code == RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP:
        fields = {**fields, "groupName": str(parse_object(command.body).get("groupName", ""))}
    return next((fields[name] for name in _SUBJECTS if fields.get(name)), "broker")


def _successful(answer: RemotingCommand) -> RemotingCommand:
    if answer.code != ResponseCode.SUCCESS:
        raise RemoteError(answer.remark or f"the broker answered with code {answer.code}", code=answer.code)
    return answer
