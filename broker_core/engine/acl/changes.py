"""Changes of accounts on requests of administrators: from rules to new rules (Source: docs/spec/remoting.md §2.5.9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from broker_core.engine.acl.access_control import INTERNAL_ACCESS_KEY
from broker_core.engine.acl.accounts import AccessRules, Account, permission_of, permissions_of
from broker_core.engine.acl.addresses import AddressPattern
from broker_core.errors import UsageError


def with_account(rules: AccessRules, fields: Mapping[str, str]) -> AccessRules:
    """Create an account or change its given fields. Raises `UsageError` for a bad value, or a new account without a secret."""
    access_key = fields.get("accessKey", "")
    if access_key == INTERNAL_ACCESS_KEY:
        raise UsageError(f"the accessKey {access_key} is the broker's own: choose another one")
    known = rules.accounts.get(access_key) or Account(access_key, fields.get("secretKey") or "")
    changes: dict[str, Any] = {}
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
    account = dataclasses.replace(known, **changes)
    return AccessRules({**rules.accounts, access_key: account}, rules.white_addresses)


def without_account(rules: AccessRules, access_key: str) -> AccessRules:
    """Delete an account. Raises `UsageError` for an unknown key."""
    if access_key not in rules.accounts:
        raise UsageError(f"there is no account with the accessKey {access_key}")
    return AccessRules({key: account for key, account in rules.accounts.items() if key != access_key}, rules.white_addresses)


def with_white_addresses(rules: AccessRules, patterns: Sequence[str]) -> AccessRules:
    """Replace the addresses that need no account. Raises `UsageError` where one is no pattern."""
    return AccessRules(rules.accounts, tuple(AddressPattern(pattern) for pattern in patterns if pattern.strip()))
