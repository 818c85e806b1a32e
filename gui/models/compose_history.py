"""Messages that were sent from the composer, as they were entered, kept between starts. Pure.

Large bodies are not kept: settings are no place for them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from gui.models.messages import Draft

DRAFTS_MAX = 20
BODY_BYTES_MAX = 64 * 1024


def with_draft(kept: Sequence[Draft], draft: Draft) -> list[Draft]:
    """The newest drafts, the given one first; one that was there already moves."""
    if len(draft.body) > BODY_BYTES_MAX:
        return list(kept)
    return [draft, *(one for one in kept if one != draft)][:DRAFTS_MAX]


def drafts_to_text(drafts: Sequence[Draft]) -> str:
    """Drafts as they are kept."""
    return json.dumps([
        [d.topic, d.queue_id, d.tag, d.keys, [list(pair) for pair in d.properties], base64.b64encode(d.body).decode(), d.flag]
        for d in drafts
    ], ensure_ascii=False)  # fmt: skip


def drafts_from_text(text: str) -> list[Draft]:
    """Drafts as they were kept; what cannot be read is left out."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return []
    drafts = (_draft(row) for row in rows if isinstance(row, list)) if isinstance(rows, list) else ()
    return [draft for draft in drafts if draft is not None][:DRAFTS_MAX]


def _draft(row: list[object]) -> Draft | None:
    match row:
        case [str(topic), int(queue_id), str(tag), str(keys), list(pairs), str(body), int(flag)]:
            properties = tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)
            try:
                return Draft(topic, queue_id, tag, keys, properties, base64.b64decode(body, validate=True), flag)
            except ValueError:  # other characters than those of base 64, or too few of them
                return None
    return None


def draft_name(draft: Draft) -> str:
    """What a draft is called in a list: topic and what tells it from others."""
    start = " ".join(draft.body[:60].decode("utf-8", "replace").split())
    return "  ".join(part for part in (draft.topic, draft.tag, draft.keys, start) if part)
