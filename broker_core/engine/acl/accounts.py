"""Accounts and their permissions, and the file that holds them: ``plain_acl.yml``.

Source: docs/spec/remoting.md §7.2, docs/spec/broker.md §16.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag
from pathlib import Path
from typing import Any

from broker_core.engine.acl.addresses import AddressPattern
from broker_core.errors import StoreError, UsageError
from broker_core.kept_file import KeptFile, backup_path

KEY_LENGTH_MIN = 7
FILE_BYTES_MAX = 8 * 1024 * 1024


class Permission(Flag):
    """Permissions on a topic or a group; none means DENY."""

    DENY = 0
    PUB = 1
    SUB = 2


@dataclass(frozen=True, slots=True)
class Account:
    """One access key. Groups and topics without a permission of their own have the default one of their kind.

    Raises:
        UsageError: A key is too short or the white address is no pattern.
    """

    access_key: str
    secret_key: str = field(repr=False)
    admin: bool = False
    white_address: AddressPattern = field(default_factory=lambda: AddressPattern(""))
    default_topic: Permission = Permission.DENY
    default_group: Permission = Permission.DENY
    topics: Mapping[str, Permission] = field(default_factory=dict)
    groups: Mapping[str, Permission] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, key in (("accessKey", self.access_key), ("secretKey", self.secret_key)):
            if len(key) < KEY_LENGTH_MIN:
                raise UsageError(f"the {name} of account “{self.access_key}” needs {KEY_LENGTH_MIN} characters or more")

    @property
    def names_resources(self) -> bool:
        """Whether it names any topic or group; an admin that names none may use all."""
        return bool(self.topics or self.groups)

    def to_yaml(self) -> dict[str, object]:
        return {
            "accessKey": self.access_key,
            "secretKey": self.secret_key,
            "whiteRemoteAddress": self.white_address.text,
            "admin": self.admin,
            "defaultTopicPerm": permission_text(self.default_topic),
            "defaultGroupPerm": permission_text(self.default_group),
            "topicPerms": [f"{name}={permission_text(permission)}" for name, permission in self.topics.items()],
            "groupPerms": [f"{name}={permission_text(permission)}" for name, permission in self.groups.items()],
        }


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The content of an access control file."""

    accounts: Mapping[str, Account] = field(default_factory=dict)
    white_addresses: tuple[AddressPattern, ...] = ()

    def to_yaml(self) -> dict[str, object]:
        return {
            "globalWhiteRemoteAddresses": [pattern.text for pattern in self.white_addresses],
            "accounts": [account.to_yaml() for account in self.accounts.values()],
        }


def permission_of(text: str) -> Permission:
    """The permission for a word of the file; any other word denies."""
    parts = {part.strip() for part in text.split("|")}
    if not parts <= {"PUB", "SUB"}:
        return Permission.DENY
    return (Permission.PUB if "PUB" in parts else Permission.DENY) | (Permission.SUB if "SUB" in parts else Permission.DENY)


def permission_text(permission: Permission) -> str:
    return "|".join(flag.name or "" for flag in (Permission.PUB, Permission.SUB) if flag in permission) or "DENY"


def permissions_of(items: object, what: str) -> dict[str, Permission]:
    """``["topicA=DENY", …]`` as a table. Raises `UsageError` for an item that is no ``name=permission``."""
    if items is None:
        return {}
    if not isinstance(items, list):
        raise UsageError(f"{what} should be a list of NAME=PERMISSION")
    table = {}
    for item in items:
        name, equals, word = _word(item, f"an entry of {what}").partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{what} takes NAME=DENY, NAME=PUB, NAME=SUB or NAME=PUB|SUB, not “{item}”")
        table[name.strip()] = permission_of(word.strip())
    return table


RulesFile = KeptFile[AccessRules]


def rules_file(path: Path) -> RulesFile:
    """An access control file; readable by its owner only."""
    return KeptFile(path, _parsed, mode=0o600)


def read_rules(file: RulesFile) -> AccessRules:
    """Rules of an access control file. Its backup is never used for them, because an account removed since would be let in.

    Raises:
        UsageError: It is missing, cannot be read, or says something that cannot be meant; names file and place.
    """
    path = file.path
    try:
        found = file.read()
    except OSError as error:
        raise _no_rules(path, error.strerror or str(error)) from error
    if found.value is not None and not found.is_backup:
        return found.value
    fault = found.faults.get(path.name, "No such file or directory")
    older = f"; {backup_path(path).name} holds the accounts before the last change" if found.is_backup else ""
    raise _no_rules(path, f"{fault}{older}")


def _no_rules(path: Path, fault: str) -> UsageError:
    return UsageError(
        f"the access control file {path} cannot be used ({fault}): correct or restore it, or switch aclEnable off",
        path=str(path),
    )


def _parsed(data: bytes) -> AccessRules:
    import yaml

    if len(data) > FILE_BYTES_MAX:
        raise ValueError(f"it is larger than {FILE_BYTES_MAX:,} bytes")
    try:
        return rules_of(yaml.safe_load(data))
    except yaml.YAMLError as error:
        # The text of such an error quotes the line, which may hold a secret: only the place is reported.
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ValueError(f"it is no YAML{place}") from None
    except (KeyError, AttributeError, RecursionError):
        # Of a tag with a value that it does not have, such as !!bool x, and of some hundred nested lists.
        raise ValueError("it is no YAML that can be read: a tag has a wrong value, or it is nested too deeply") from None
    except UsageError as error:
        raise ValueError(error.message) from error


def rules_of(content: object) -> AccessRules:
    """The rules of a parsed file. Raises `UsageError` for a value of the wrong kind."""
    if not isinstance(content, Mapping):
        raise UsageError("it should hold globalWhiteRemoteAddresses and accounts")
    white = content.get("globalWhiteRemoteAddresses") or []
    listed = content.get("accounts") or []
    if not isinstance(white, list) or not isinstance(listed, list):
        raise UsageError("globalWhiteRemoteAddresses and accounts should be lists")
    accounts = [_account(item) for item in listed]
    patterns = tuple(AddressPattern(_word(one, "an address of globalWhiteRemoteAddresses")) for one in white)
    return AccessRules({account.access_key: account for account in accounts}, patterns)


def _account(item: object) -> Account:
    if not isinstance(item, Mapping):
        raise UsageError("an account should be a list of settings, beginning with accessKey")
    return Account(
        access_key=_text(item, "accessKey"),
        secret_key=_text(item, "secretKey"),
        admin=item.get("admin") in (True, "true"),
        white_address=AddressPattern(_text(item, "whiteRemoteAddress")),
        default_topic=permission_of(_text(item, "defaultTopicPerm")),
        default_group=permission_of(_text(item, "defaultGroupPerm")),
        topics=permissions_of(item.get("topicPerms"), "topicPerms"),
        groups=permissions_of(item.get("groupPerms"), "groupPerms"),
    )


def _text(item: Mapping[Any, Any], key: str) -> str:
    return _word(item.get(key), key)


def _word(value: object, what: str) -> str:
    """A text of the file; lists are refused, because aliases make the text of nested ones endless."""
    if isinstance(value, (Mapping, list, tuple, set)):
        raise UsageError(f"{what} should be a text, not a list")
    return "" if value is None else str(value)


def write_rules(file: RulesFile, rules: AccessRules) -> None:
    """Replace an access control file; the former accounts become its backup.

    Raises:
        StoreError: It cannot be written; the old one is still there.
    """
    import yaml

    text = yaml.safe_dump(rules.to_yaml(), sort_keys=False, allow_unicode=True)
    try:
        file.write(text.encode())
    except OSError as error:
        text = f"the access control file {file.path} cannot be written ({error.strerror}): the accounts stay as they were"
        raise StoreError(text, path=str(file.path)) from error
