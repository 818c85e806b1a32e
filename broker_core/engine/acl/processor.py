"""Administration of accounts over the protocol (Source: docs/spec/remoting.md §2.5.9).

Changes are answered when they are on the disk. With access control off, 50, 51 and 53 answer their code of failure, and 52
answers at once as well; brokers of RocketMQ fail with the text of a fault, or never answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from broker_core.engine.acl.access_control import INTERNAL_ACCESS_KEY
from broker_core.engine.acl.account_file import AccountFile, Change
from broker_core.engine.acl.accounts import AccessRules, Account, permission_of, permissions_of
from broker_core.engine.acl.addresses import AddressPattern
from broker_core.errors import OrbitError, UsageError
from broker_core.protocol.codes import ResponseCode, SerializeType
from broker_core.protocol.frame import RemotingCommand, reply_to
from broker_core.protocol.json_body import emit

_HIDDEN = "******"
_OFF = "access control is off: start the broker with aclEnable=true"


class Asker(Protocol):
    """The sender of a request: a connection, or the console."""

    def send(self, command: RemotingCommand) -> bool: ...


class AccessProcessor:
    """Serves changes and reads of accounts and white addresses; ``accounts`` is None with access control off."""

    def __init__(self, accounts: AccountFile | None, identity: dict[str, str]) -> None:
        self._accounts = accounts
        self._identity = identity

    def put_account(self, peer: Asker, command: RemotingCommand) -> RemotingCommand | None:
        """Create or change an account; the answer never repeats its secret."""
        fields = dict(command.ext_fields)
        failed = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
        return self._change(peer, command, failed, lambda rules: with_account(rules, fields))

    def remove_account(self, peer: Asker, command: RemotingCommand) -> RemotingCommand | None:
        access_key = command.ext_fields.get("accessKey", "")
        return self._change(
            peer, command, ResponseCode.DELETE_ACL_CONFIG_FAILED, lambda rules: without_account(rules, access_key)
        )

    def set_white_addresses(self, peer: Asker, command: RemotingCommand) -> RemotingCommand | None:
        """Replace the addresses that need no account."""
        patterns = command.ext_fields.get("globalWhiteAddrs", "").split(",")
        failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
        return self._change(peer, command, failed, lambda rules: with_white_addresses(rules, patterns))

    def version(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """The version of the accounts, which counts their changes."""
        if self._accounts is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, _OFF)
        access = self._accounts.access
        version = access.version.to_json()
        versions = {access.path.name: version}
        fields = {"version": emit(version).decode(), "allAclFileVersion": emit(versions).decode(), **self._identity}
        return command.reply(ext_fields=fields)

    def accounts(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """All accounts, without their secrets: brokers that returned them had a vulnerability.

        Source: docs/spec/broker.md §16.2.
        """
        if self._accounts is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, _OFF)
        rules = self._accounts.access.rules
        body = {
            "globalWhiteAddrs": [pattern.text for pattern in rules.white_addresses],
            "plainAccessConfigs": [{**account.to_yaml(), "secretKey": _HIDDEN} for account in rules.accounts.values()],
        }
        return command.reply(body=emit(body))

    def _change(self, peer: Asker, command: RemotingCommand, failed: ResponseCode, make: Change) -> RemotingCommand | None:
        if self._accounts is None:
            return command.reply(failed, _OFF)
        # The request is not kept, because it holds a secret and could be long.
        answer = partial(_answer, peer, command.opaque, command.serialize_type, failed, is_oneway=command.is_oneway)
        try:
            self._accounts.change(make, answer, text_bytes=sum(map(len, command.ext_fields.values())))
        except UsageError as error:
            return command.reply(failed, error.message)
        return None


def _answer(
    peer: Asker,
    opaque: int,
    serialize_type: SerializeType,
    failed: ResponseCode,
    fault: OrbitError | None,
    *,
    is_oneway: bool,
) -> None:
    if is_oneway:
        return
    if fault is None:
        peer.send(reply_to(opaque, serialize_type, ResponseCode.SUCCESS))
    else:
        peer.send(reply_to(opaque, serialize_type, failed, fault.message))


def with_account(rules: AccessRules, fields: Mapping[str, str]) -> AccessRules:
    """Create an account or change its given fields. Raises `UsageError` for a bad value, or a new account without a secret."""
    access_key = fields.get("accessKey", "")
    if access_key == INTERNAL_ACCESS_KEY:
        raise UsageError(f"the accessKey {access_key} is the broker's own: choose another one")
    known = rules.accounts.get(access_key) or Account(access_key, fields.get("secretKey") or "")
    changes: dict[str, object] = {}
    if fields.get("secretKey"):
        changes["secret_key"] = fields["secretKey"]
    if "whiteRemoteAddress" in fields:
        changes["white_address"] = AddressPattern(fields["whiteRemoteAddress"])
    if "admin" in fields:
        changes["admin"] = fields["admin"].lower() == "true"
    for name, key in (("default_topic", "defaultTopicPerm"), ("default_group", "defaultGroupPerm")):
        if fields.get(key):
            changes[name] = permission_of(fields[key])
    for name, key in (("topics", "topicPerms"), ("groups", "groupPerms")):
        if fields.get(key):
            changes[name] = permissions_of(fields[key].split(","), key)
    account = dataclasses.replace(known, **changes)  # type: ignore[arg-type]  # each is of its field's type
    return AccessRules({**rules.accounts, access_key: account}, rules.white_addresses)


def without_account(rules: AccessRules, access_key: str) -> AccessRules:
    """Delete an account. Raises `UsageError` for an unknown key."""
    if access_key not in rules.accounts:
        raise UsageError(f"there is no account with the accessKey {access_key}")
    return AccessRules({key: account for key, account in rules.accounts.items() if key != access_key}, rules.white_addresses)


def with_white_addresses(rules: AccessRules, patterns: Sequence[str]) -> AccessRules:
    """Replace the addresses that need no account. Raises `UsageError` where one is no pattern."""
    return AccessRules(rules.accounts, tuple(AddressPattern(pattern) for pattern in patterns if pattern.strip()))
