"""IDs and keys of messages as people paste them, and the filters that find their messages. Pure.

An offset message ID names a place in a broker's log; a client sets the unique ID of a message it sends. Both are 32 hex digits
(56 with IPv6 addresses), so a text alone does not say which it is (Source: docs/spec/store.md §3.1, §3.2).
"""

from __future__ import annotations

import re

from gui.models.filter_text import quoted

_ID = re.compile(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56}")
_NAME = r"(?:offset[_ ]?)?(?:msg|message)[_ ]?id|uniq(?:ue)?[_ ]?(?:id|key)|id"
_QUOTE = "[\"'`“”‘’「」]?"
_NAMED_ID = re.compile(
    rf"(?<![0-9A-Za-z_])(?:{_NAME}){_QUOTE}\s*[=:：]\s*{_QUOTE}({_ID.pattern})(?![0-9A-Za-z])", re.IGNORECASE
)
_QUOTED_ID = re.compile(rf"{_QUOTE}({_ID.pattern}){_QUOTE}")
KEY_CHARACTERS_MAX = 200


def is_message_id(text: str) -> bool:
    """Whether a text may be the ID of a message, of either form."""
    return _ID.fullmatch(text) is not None


def pasted_ids(text: str) -> tuple[str, ...]:
    """The IDs in a pasted text: alone, within quotes, or after their name as logs, JSON and clients write them.

    Part of another word is no ID: keys may have such parts.
    """
    alone = _QUOTED_ID.fullmatch(text.strip().rstrip(",;"))
    return (alone[1],) if alone else tuple(dict.fromkeys(_NAMED_ID.findall(text)))


def id_filter(message_id: str) -> str:
    """The filter for messages of an ID of either form. Most clients write unique IDs in upper case."""
    written = dict.fromkeys((message_id.upper(), message_id))
    if len(written) == 1:
        return f"id = {quoted(message_id)}"
    return f"id in ({', '.join(map(quoted, written))})"


def is_key(text: str) -> bool:
    """Whether a text may be the key of a message: keys are separated by spaces, so none contains one."""
    return bool(text) and len(text) <= KEY_CHARACTERS_MAX and not any(character.isspace() for character in text)


def key_filter(key: str) -> str:
    return f"key = {quoted(key)}"
