"""Decides whether a request may be served: address, account, signature, permissions, in this order.

`broker_core.engine.acl.account_file` changes accounts and watches their file.

Source: docs/spec/broker.md §16.1, docs/spec/remoting.md §7.2; deny by default as `broker_core.engine.acl.needs` lists.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from broker_core.engine.acl.accounts import AccessRules, Account, Permission, read_rules, rules_file, write_rules
from broker_core.engine.acl.needs import OPEN, Need, Needs, RecordAt, needs_of
from broker_core.engine.nameserver.registration import DataVersion
from broker_core.protocol.addresses import host_of
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.names import TRACE_TOPIC
from broker_core.protocol.signature import ACCESS_KEY, Credentials, signature_matches

logger = logging.getLogger(__name__)

INTERNAL_ACCESS_KEY = "orbit-internal"

Stamp = tuple[int, int, int]
"""Identifies the content of a file without reading it."""

_REMARK = "org.apache.rocketmq.acl.common.AclException: {}"
"""The form in which clients recognize a refusal."""


class AccessControl:
    """The accounts of a broker and its name server.

    Args:
        path: The access control file.
        clock: Time in ms since the epoch.
        record_at: Returns the stored record at a position of the commit log; None while the store is not open.

    Attributes:
        internal: An account of this process, made at each start; the broker registers at its own name server with it.

    Raises:
        UsageError: The file is missing or cannot be used.
    """

    def __init__(self, path: Path, *, clock: Callable[[], int], record_at: RecordAt = lambda _position: None) -> None:
        self.path = path
        self._file = rules_file(path)
        self.internal = Credentials(INTERNAL_ACCESS_KEY, secrets.token_hex(32))
        self._record_at = record_at
        self._clock = clock
        self._own = Account(self.internal.access_key, self.internal.secret_key, admin=True)
        self._stamp = _stamp_of(path)
        self.rules = read_rules(self._file)
        self.version = DataVersion(clock(), 0)

    # ---- deciding ----

    def refusal(self, remote_address: str, command: RemotingCommand) -> str | None:
        """Why a request is refused, in the words that clients know; None when it may be served."""
        fault = self._fault(host_of(remote_address), command)
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
        needs = needs_of(command, self._record_at)
        if needs is not None:
            return self._missing_of(account, needs)
        if account.admin:
            return None
        return f"Need admin permission for request code={command.code}, but accessKey={account.access_key} is not"

    @staticmethod
    def _missing_of(account: Account, needs: Needs) -> str | None:
        if account.admin and not account.names_resources:
            return None
        for need in needs:
            if not _is_granted(account, need):
                kind = "group" if need.is_group else "topic"
                return f"No default permission for {kind}: {need.name}"
        return None

    # ---- deciding about calls of gRPC, whose signatures differ ----

    def is_open_to(self, remote_address: str) -> bool:
        """Whether calls from an address need no account."""
        host = host_of(remote_address)
        return any(pattern.matches(host) for pattern in self.rules.white_addresses)

    def fault_of(self, remote_address: str, access_key: str, is_signed: Callable[[str], bool]) -> str | None:
        """Why a call is not of an account; None when it is. ``is_signed`` compares its signature with that of a secret."""
        account = self._account(access_key)
        if account is None:
            return f"User:{access_key} is not found."
        if account.white_address.matches(host_of(remote_address)) or is_signed(account.secret_key):
            return None
        return "check signature failed."

    def missing_for(self, access_key: str, needs: Needs) -> str | None:
        """The first permission that an account lacks; None when it has all."""
        account = self._account(access_key)
        return f"User:{access_key} is not found." if account is None else self._missing_of(account, needs)

    # ---- changing ----

    @property
    def is_stale(self) -> bool:
        """Whether the file differs from the one last read or written here."""
        return _stamp_of(self.path) != self._stamp

    def read(self) -> tuple[AccessRules, Stamp]:
        """The file's rules, for `take`. Any thread. Raises `UsageError` where it is unusable; then it no longer is stale."""
        self._stamp = stamp = _stamp_of(self.path)
        return read_rules(self._file), stamp

    def write(self, rules: AccessRules) -> Stamp:
        """Write other rules to the file, for `take`. Any thread. Raises `StoreError` where it cannot be written."""
        write_rules(self._file, rules)
        return _stamp_of(self.path)

    def take(self, rules: AccessRules, stamp: Stamp) -> None:
        """Apply the rules that the file holds."""
        self._stamp = stamp
        self.rules = rules
        self.version = self.version.next(self._clock())
        logger.info("access control has %d accounts now", len(self.rules.accounts))


def _is_granted(account: Account, need: Need) -> bool:
    if need.name == TRACE_TOPIC and Permission.PUB in need.permissions:
        return True
    given = account.groups.get(need.name, account.default_group) if need.is_group else account.topics.get(need.name)
    if given is None:
        given = account.default_topic
    return any(permission in given for permission in need.permissions)


def _stamp_of(path: Path) -> Stamp:
    try:
        stat = os.stat(path)  # noqa: PTH116  no second Path needed each second
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
