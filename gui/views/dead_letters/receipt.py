"""The receipt of resends as CSV: what became of each dead letter. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime

from gui.views.dead_letters.columns import LetterRow
from monitoring.resending import ResendOutcome

HEAD = ("dead_letter_id", "group", "original_topic", "keys", "sent_at", "sent_to", "queue", "offset", "outcome", "reason")


def receipt_csv(rows: Sequence[LetterRow], outcome: ResendOutcome) -> bytes:
    """One line for each dead letter that was sent again, or was to be in the last resend; UTF-8, times in UTC.

    Args:
        rows: All dead letters of the group that are known.
        outcome: Of the last resend.
    """
    refused, doubtful, left = dict(outcome.refused), dict(outcome.doubtful), set(outcome.left)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEAD)
    for one in rows:
        message_id, note = one.letter.offset_message_id, one.note
        head = (message_id, one.letter.group, one.letter.origin_topic, one.letter.keys)
        if message_id in refused:
            lines.writerow((*head, "", "", "", "", "not sent", refused[message_id]))
        elif message_id in doubtful:
            lines.writerow((*head, "", "", "", "", "no answer, may be there", doubtful[message_id]))
        elif message_id in left:
            lines.writerow((*head, "", "", "", "", "not tried", ""))
        elif note.queue_offset >= 0:
            at = _time_text(note.at_ms)
            lines.writerow((*head, at, note.topic, note.queue_id, note.queue_offset, one.proof or note.mark, ""))
    return text.getvalue().encode()


def _time_text(at_ms: int) -> str:
    """A time in UTC; empty where a note of before has none."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds") if at_ms >= 0 else ""
