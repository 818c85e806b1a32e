"""Administration of accounts over the protocol (Source: spec remoting §2.5.9).

With access control off, 50, 51 and 53 answer their code of failure, and 52 answers at once as well; brokers of RocketMQ fail
with the text of a fault, or never answer.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.acl.access_control import AccessControl
from broker_core.errors import StoreError, UsageError
from broker_core.remoting.codes import ResponseCode
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.json_body import emit

_HIDDEN = "******"
_OFF = "access control is off: start the broker with aclEnable=true"


class AccessProcessor:
    """Serves changes of accounts and of white addresses, and what there is.

    Args:
        access: The accounts; None with access control off.
        identity: ``brokerName``, ``brokerAddr`` and ``clusterName`` for answers.
    """

    def __init__(self, access: AccessControl | None, identity: dict[str, str]) -> None:
        self._access = access
        self._identity = identity

    def put_account(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """Create or change an account; the answer never repeats its secret."""
        return self._change(
            command,
            ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
            lambda access: access.put_account(command.ext_fields),
        )

    def remove_account(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """Delete an account."""
        return self._change(
            command,
            ResponseCode.DELETE_ACL_CONFIG_FAILED,
            lambda access: access.remove_account(command.ext_fields.get("accessKey", "")),
        )

    def set_white_addresses(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """Replace the addresses that need no account."""
        patterns = command.ext_fields.get("globalWhiteAddrs", "").split(",")
        return self._change(
            command,
            ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
            lambda access: access.set_white_addresses(patterns),
        )

    def version(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """How often the accounts have changed."""
        if self._access is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, _OFF)
        version = self._access.version.to_json()
        versions = {self._access.path.name: version}
        fields = {"version": emit(version).decode(), "allAclFileVersion": emit(versions).decode(), **self._identity}
        return command.reply(ext_fields=fields)

    def accounts(self, _peer: object, command: RemotingCommand) -> RemotingCommand:
        """All accounts, without their secrets: brokers that told them had a vulnerability (Source: spec broker §16.2)."""
        if self._access is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, _OFF)
        rules = self._access.rules
        body = {
            "globalWhiteAddrs": [pattern.text for pattern in rules.white_addresses],
            "plainAccessConfigs": [{**account.to_yaml(), "secretKey": _HIDDEN} for account in rules.accounts.values()],
        }
        return command.reply(body=emit(body))

    def _change(
        self, command: RemotingCommand, failed: ResponseCode, change: Callable[[AccessControl], None]
    ) -> RemotingCommand:
        if self._access is None:
            return command.reply(failed, _OFF)
        try:
            change(self._access)
        except (UsageError, StoreError) as error:
            return command.reply(failed, error.message)
        return command.reply()
