"""The precisions that pending messages were aligned with, so that none is early after the setting was changed.

``TIMER_OUT_MS`` is the requested time rounded down to the precision of that moment: the message is due one such precision
later. `timerPrecision.json` holds the first queue offset of each precision; a store without it only ever had one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.engine.store.config_file import ConfigRule, whole_number
from broker_core.errors import CodecError

PRECISION_FILE = "timerPrecision.json"
PRECISION_RULE = ConfigRule("timers that were stored with another precision may be delivered early")
_CHANGES_MAX = 100


def changes_of(content: Mapping[str, Any]) -> list[tuple[int, int]]:
    """First queue offset and precision of each change in a precision file.

    Raises:
        CodecError: The content is no list of changes.
    """
    try:
        rows = [(row["fromOffset"], row["precisionMs"]) for row in content["changes"]]
    except (KeyError, TypeError) as error:
        raise CodecError(f"{PRECISION_FILE} holds no changes of the precision: {error!r}") from error
    changes = [(whole_number(offset, "fromOffset"), whole_number(ms, "precisionMs")) for offset, ms in rows]
    return [(offset, ms) for offset, ms in changes if ms > 0]


@dataclass(slots=True)
class PrecisionHistory:
    """Precisions by queue offset of the wheel topic.

    Attributes:
        current_ms: That of the setting.
        changes: First queue offset and precision of each, ascending by offset.
    """

    current_ms: int
    changes: list[tuple[int, int]]

    @classmethod
    def of_json(cls, content: Mapping[str, Any], *, current_ms: int, found_ms: int | None) -> PrecisionHistory:
        """The history of a store.

        Args:
            content: Of the file; empty if there is none.
            current_ms: The setting.
            found_ms: Precision of the timer files, if known.
        """
        return cls(current_ms, (changes_of(content) if content else []) or [(0, found_ms or current_ms)])

    @property
    def last_ms(self) -> int:
        """The precision that was used last."""
        return self.changes[-1][1]

    def begin(self, queue_offset: int) -> bool:
        """Use the current precision from an offset on; returns whether that is a change."""
        if self.last_ms == self.current_ms:
            return False
        self.changes = [change for change in self.changes if change[0] < queue_offset]
        self.changes = [*self.changes[-_CHANGES_MAX + 1 :], (queue_offset, self.current_ms)]
        return True

    def slot_ms(self, out_ms: int, queue_offset: int) -> int:
        """Slot of a message: the first whose end is not before the message is due."""
        made_with = self.changes[0][1]
        for first, precision_ms in self.changes[1:]:
            if first <= queue_offset:
                made_with = precision_ms
        return self.after_change(out_ms, made_with)

    def after_change(self, slot_ms: int, made_with_ms: int) -> int:
        """Slot for a unit of another precision's slot."""
        if made_with_ms == self.current_ms:
            return slot_ms - slot_ms % self.current_ms
        due = slot_ms + made_with_ms
        return -(-due // self.current_ms) * self.current_ms - self.current_ms

    def to_json(self) -> dict[str, Any]:
        return {"changes": [{"fromOffset": offset, "precisionMs": ms} for offset, ms in self.changes]}
