"""Decides whether a request may be served: address, account, signature, permissions, in this order.

Source: spec broker §16.1, remoting §7.2; deny by default as `broker_core.acl.needs` lists.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from broker_core.acl.accounts import AccessRules, Account, Permission, permission_of, permissions_of, read_rules, write_rules
from broker_core.acl.addresses import AddressPattern
from broker_core.acl.needs import OPEN, Need, RecordAt, needs_of
from broker_core.errors import UsageError
from broker_core.nameserver.registration import DataVersion
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.signature import ACCESS_KEY, Credentials, signature_matches

logger = logging.getLogger(__name__)

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
INTERNAL_ACCESS_KEY = "orbit-internal"

_REMARK = "org.apache.rocketmq.acl.common.AclException: {}"
"""How clients know a refusal."""


class AccessControl:
    """The accounts of a broker and its name server.

    Args:
        path: The access control file.
        clock: Time in ms since the epoch.

    Attributes:
        internal: An account of this process, made anew at each start; the broker registers at its own name server with it.
        record_at: Gives the stored record at a position of the commit log; set once the store is open.

    Raises:
        UsageError: The file is missing or cannot be used.
    """

    def __init__(self, path: Path, *, clock: Callable[[], int]) -> None:
        self.path = path
        self.internal = Credentials(INTERNAL_ACCESS_KEY, secrets.token_hex(32))
        self.record_at: RecordAt = lambda _position: None
        self._clock = clock
        self._own = Account(self.internal.access_key, self.internal.secret_key, admin=True)
        self._stamp = _stamp_of(path)
        self.rules = read_rules(path)
        self.version = DataVersion(clock(), 0)

    # ---- deciding ----

    def refusal(self, remote_address: str, command: RemotingCommand) -> str | None:
        """Why a request is refused, in the words clients know; None when it may be served."""
        fault = self._fault(remote_address.rpartition(":")[0].strip("[]"), command)
        return None if fault is None else _REMARK.format(fault)

    def _fault(self, host: str, command: RemotingCommand) -> str | None:
        if command.code in OPEN or any(pattern.matches(host) for pattern in self.rules.white_addresses):
            return None
        access_key = command.ext_fields.get(ACCESS_KEY)
        if not access_key:
            return "No accessKey is configured"
        account = self._account(access_key)
        if account is None:
            return f"No acl config for {access_key}"
        if account.white_address.matches(host):
            return None
        if not signature_matches(command, account.secret_key):
            return f"Check signature failed for accessKey={access_key}"
        return self._missing(account, command)

    def _account(self, access_key: str) -> Account | None:
        return self._own if access_key == self._own.access_key else self.rules.accounts.get(access_key)

    def _missing(self, account: Account, command: RemotingCommand) -> str | None:
        needs = needs_of(command, self.record_at)
        if needs is None:
            if account.admin:
                return None
            return f"Need admin permission for request code={command.code}, but accessKey={account.access_key} is not"
        if account.admin and not account.names_resources:
            return None
        for need in needs:
            if not _is_granted(account, need):
                kind = "group" if need.is_group else "topic"
                return f"No default permission for {kind}: {need.name}"
        return None

    # ---- changing ----

    def reload_if_changed(self) -> None:
        """Read the file again if it is another; one that cannot be used is told in the log and changes nothing."""
        stamp = _stamp_of(self.path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.rules = read_rules(self.path)
        except UsageError as error:
            logger.error("%s; the accounts stay as they were", error.message)  # noqa: TRY400  the text says all
            return
        self._changed()

    def put_account(self, fields: Mapping[str, str]) -> None:
        """Create an account or change what is given of it (Source: spec remoting §2.5.9).

        Raises:
            UsageError: A value cannot be used, or a new account has no secret.
            StoreError: The file cannot be written.
        """
        access_key = fields.get("accessKey", "")
        if access_key == INTERNAL_ACCESS_KEY:
            raise UsageError(f"the accessKey {access_key} is the broker's own: choose another one")
        known = self.rules.accounts.get(access_key) or Account(access_key, fields.get("secretKey") or "")
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
        self._write(AccessRules({**self.rules.accounts, access_key: account}, self.rules.white_addresses))

    def remove_account(self, access_key: str) -> None:
        """Delete an account.

        Raises:
            UsageError: There is none of that key.
            StoreError: The file cannot be written.
        """
        if access_key not in self.rules.accounts:
            raise UsageError(f"there is no account with the accessKey {access_key}")
        left = {key: account for key, account in self.rules.accounts.items() if key != access_key}
        self._write(AccessRules(left, self.rules.white_addresses))

    def set_white_addresses(self, patterns: list[str]) -> None:
        """Replace the addresses that need no account.

        Raises:
            UsageError: One is no pattern.
            StoreError: The file cannot be written.
        """
        self._write(AccessRules(self.rules.accounts, tuple(AddressPattern(pattern) for pattern in patterns if pattern.strip())))

    def _write(self, rules: AccessRules) -> None:
        write_rules(self.path, rules)
        self._stamp = _stamp_of(self.path)
        self.rules = rules
        self._changed()

    def _changed(self) -> None:
        self.version = self.version.next(self._clock())
        logger.info("access control has %d accounts now", len(self.rules.accounts))


def _is_granted(account: Account, need: Need) -> bool:
    if need.name == TRACE_TOPIC and Permission.PUB in need.permissions:
        return True
    given = account.groups.get(need.name, account.default_group) if need.is_group else account.topics.get(need.name)
    if given is None:
        given = account.default_topic
    return any(permission in given for permission in need.permissions)


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        stat = os.stat(path)  # noqa: PTH116  no second Path needed each second
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
