"""Brokers' refusals of an account, turned into the fault and the remedy. Pure.

4.x answers with code 1 and the text of a Java exception, 5.x with code 16 and a sentence; a release may cut or change both, so
a refusal of another form stays unchanged.

Source: docs/spec/remoting.md §7.2, §7.3; answers of 4.9.4 and 5.3.3 to no key, an unknown key, a wrong secret and too few
permissions. An account that is switched off: RocketMQ 5.x, ``auth/…/authentication/chain/DefaultAuthenticationHandler``, which
checks that before the signature; an account deleted between the two checks:
``auth/…/authorization/chain/UserAuthorizationHandler``. Some releases end both without a full stop.
"""

from __future__ import annotations

import re

from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand

_EXCEPTION = re.compile(
    r"(?:[\w.]+\.)?AclException: (?P<words>.*?)(?:, org\.apache\.rocketmq\.[\w.]+\(\w+\.java:\d+\))?", re.DOTALL
)
"""Class, text and origin of the exception."""
_ANY = "{address} refuses this account"
_MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"No accessKey is configured|username cannot be null\.?",
        "{address} asks for keys, and this connection has none: give it the access key and the secret key of an account",
    ),
    (
        r"No acl config for (?P<account>.+)|User:(?P<user>.+?) (?:is )?not found\.?",
        "{address} has no account {account}: check the access key, or have the account made there",
    ),
    (
        r"Check signature failed for accessKey=.+|check signature failed\.?",
        "the secret key is not the one that {address} has for this access key: write it again",
    ),
    (
        r"User:(?P<user>.+) is disabled\.?",
        "the account {account} is switched off at {address}: have it switched on, or use another one",
    ),
    (
        r"Need admin permission for request code=\d+, but accessKey=(?P<account>.+) is not",
        "{address} lets administrators alone do this, and {account} is none: use another account, or have this one made one",
    ),
    (
        r"No default permission for (?P<what>(?:topic|group):.+)|User:.+ has no permission to access (?P<resource>\S+) from .*",
        "this account has no permission for {what} at {address}: have it added to what the account may do",
    ),
)


def account_refusal(address: str, response: RemotingCommand) -> str:
    """The fault of the account and the remedy, with the broker's own words; empty when ``response`` refuses no account."""
    remark = (response.remark or "").strip()
    exception = _EXCEPTION.fullmatch(remark)
    if exception is None and response.code != ResponseCode.NO_PERMISSION:
        return ""
    words = remark if exception is None else exception["words"].strip()
    for pattern, meaning in _MEANINGS:
        found = re.fullmatch(pattern, words)
        if found is not None:
            return f"{_filled(meaning, address, found.groupdict())} ({words})"
    return f"{_ANY.format(address=address)} ({words})" if exception is not None else ""


def _filled(meaning: str, address: str, found: dict[str, str | None]) -> str:
    account = found.get("account") or found.get("user") or ""
    what = found.get("what") or found.get("resource") or ""
    return meaning.format(address=address, account=account, what=what)
