"""Drafts of the composer, kept between starts: the last ones sent, and named templates. Pure.

Large bodies are left out, because settings are no place for them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence

from gui.models.messages import MessageDraft
from monitoring.outside import read_json

DRAFTS_MAX = 20
TEMPLATES_MAX = 50
NAME_CHARACTERS_MAX = 80
BODY_BYTES_MAX = 64 * 1024


def with_draft(kept: Sequence[MessageDraft], draft: MessageDraft) -> list[MessageDraft]:
    """The newest drafts, this one first and only once."""
    if len(draft.body) > BODY_BYTES_MAX:
        return list(kept)
    return [draft, *(one for one in kept if one != draft)][:DRAFTS_MAX]


def drafts_to_text(drafts: Sequence[MessageDraft]) -> str:
    return json.dumps([_row(draft) for draft in drafts], ensure_ascii=False)


def drafts_from_text(text: str) -> list[MessageDraft]:
    """Inverse of `drafts_to_text`; unreadable drafts are left out."""
    try:
        rows = read_json(text)
    except ValueError:
        return []
    drafts = (_draft(row) for row in rows if isinstance(row, list)) if isinstance(rows, list) else ()
    return [draft for draft in drafts if draft is not None][:DRAFTS_MAX]


def templates_to_text(templates: Mapping[str, MessageDraft]) -> str:
    return json.dumps({name: _row(draft) for name, draft in templates.items()}, ensure_ascii=False)


def templates_from_text(text: str) -> dict[str, MessageDraft]:
    """Inverse of `templates_to_text`; unreadable templates are left out."""
    try:
        found = read_json(text)
    except ValueError:
        return {}
    rows = found.items() if isinstance(found, dict) else ()
    drafts = {name: _draft(row) for name, row in rows if isinstance(row, list)}
    names = sorted(drafts, key=str.casefold)[:TEMPLATES_MAX]
    return {name: draft for name in names if (draft := drafts[name]) is not None}


def with_template(kept: Mapping[str, MessageDraft], name: str, draft: MessageDraft) -> dict[str, MessageDraft]:
    """The templates with one added or replaced; unchanged where there is no room for it."""
    name = name[:NAME_CHARACTERS_MAX]
    if len(draft.body) > BODY_BYTES_MAX or (name not in kept and len(kept) >= TEMPLATES_MAX):
        return dict(kept)
    return {**kept, name: draft}


def _row(draft: MessageDraft) -> list[object]:
    pairs = [list(pair) for pair in draft.properties]
    body = base64.b64encode(draft.body).decode()
    return [draft.topic, draft.queue_id, draft.tag, draft.keys, pairs, body, draft.flag]


def _draft(row: list[object]) -> MessageDraft | None:
    match row:
        case [str(topic), int(queue_id), str(tag), str(keys), list(pairs), str(body), int(flag)]:
            properties = tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
            try:
                return MessageDraft(topic, queue_id, tag, keys, properties, base64.b64decode(body, validate=True), flag)
            except ValueError:  # other characters than those of base 64, or too few of them
                return None
    return None


def draft_name(draft: MessageDraft) -> str:
    """Name of a draft in a list: topic, tag, keys and start of its body."""
    start = " ".join(draft.body[:60].decode("utf-8", "replace").split())
    return "  ".join(part for part in (draft.topic, draft.tag, draft.keys, start) if part)
